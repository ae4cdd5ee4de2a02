"""What models without an encoding of positions know of them: probes by layer, and losses (PE-NOPE)."""

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_priors.figures import panels, style
from attention_priors.figures.algorithms.models import CHANCE, listed, seeds
from attention_priors.figures.curves import curve, over_seeds, seed_row
from attention_priors.figures.methods import UNTRAINED, label, look
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import trained_on

KINDS = ("causal", "masked")


def draw(frame: Frame) -> Figure:
    """R² by layer, and the losses of both kinds."""
    fig, (left, *right) = style.figure(style.MIDDLE, 2.5, ncols=3, width_ratios=(1.5, 1, 1))
    probes = frame[frame["quantity"] == "probe"]
    for kind, name in _models(probes):
        own = probes[(probes["kind"] == kind) & (probes["encoding"] == name)]
        drawn = look(name)
        if name == UNTRAINED:
            drawn["label"] = "NoPE, untrained"
        else:
            drawn |= {"dashes": style.SOLID} if kind == "causal" else {"dashes": (3, 1), "markerfacecolor": "white"}
            drawn["label"] += f", {kind}"
        curve(left, over_seeds(own, "value", by="layer"), own.set_index("layer")["value"], drawn)
    left.set(xlabel="layer (0: embedding)", ylabel="$R^2$ of the position")
    layers = sorted({int(layer) for layer in probes["layer"]})
    left.set_xticks(layers)
    left.set_xlim(layers[0] - 0.35, layers[-1] + 0.35)  # the models of one layer stand side by side
    style.direct_labels(left)
    for ax, kind in zip(right, KINDS, strict=True):
        _losses(ax, frame[(frame["quantity"] == "loss") & (frame["kind"] == kind)])
        ax.set_title(kind)
    panels.letter(fig.axes)
    return fig


def _losses(ax: Axes, rows: Frame) -> None:
    """A row for each encoding: seeds, interval and mean; a line at the loss of token frequencies."""
    names = listed(rows)
    for y, name in enumerate(names):
        seed_row(ax, rows[rows["encoding"] == name]["value"], y, look(name))
    ax.axvline(rows["reference"].iloc[0], color=style.GREY, linewidth=0.9, linestyle=CHANCE)
    ax.set_yticks(range(len(names)), [label(name) for name in names])
    ax.set(ylim=(len(names) - 0.5, -0.5), xlabel="loss (nats)")
    ax.margins(x=0.12)
    ax.xaxis.set_major_locator(MaxNLocator(4))


def _models(frame: Frame) -> list[tuple[str, str]]:
    return [(kind, name) for kind in KINDS for name in listed(frame[frame["kind"] == kind])]


def caption(frame: Frame) -> str:
    probes = frame[frame["quantity"] == "probe"]
    last = probes[probes["layer"] == probes["layer"].max()].groupby(["kind", "encoding"])["value"].mean()
    found = ", ".join(f"{label(name)} {kind} {last[kind, name]:z.2f}" for kind, name in _models(probes))
    losses = frame[frame["quantity"] == "loss"].groupby(["kind", "encoding"])[["value", "reference"]].mean()
    kept = []
    for kind, rows in losses.groupby("kind"):
        gains = (rows["reference"] - rows["value"]).droplevel("kind")
        best = gains.drop("nope").idxmax()
        beside = f"{label(best)} {gains[best]:.2f}"
        kept.append(f"{kind} NoPE gains {gains['nope']:.2f} nats over token frequencies, {beside}")
    return (
        f"Language models trained on windows of {trained_on(frame)} tokens, causal and masked. Panel a: R² of a "
        "linear probe of the position on held-out windows whose tokens stand in random order; in the last layer: "
        f"{found}. Panels b, c: loss on the next token (causal) or on hidden ones (masked) of validation text; dotted: "
        f"token frequencies alone; {'; '.join(kept)}. Bars: 95 % t intervals over {seeds(frame, 'kind')} seeds "
        "(dots and marks)."
    )


FIGURE = FigureSpec(
    "nope_models",
    draw,
    caption,
    notebook="needles",
    claims=("PE-NOPE",),
    columns=("kind", "encoding", "seed", "quantity", "layer", "value", "reference", "trained"),
    alt="Panel a: lines of the R² of a probe of the position by layer, for causal and masked models without and with "
    "an encoding. Panels b, c: two panels with the losses of causal and of masked models, a row for each encoding.",
)
