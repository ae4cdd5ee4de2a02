"""What BAM's heads learned: exponents, where they look (BAM, Fig. 4), their curves, and what editing them does."""

import numpy as np

from ..evaluation import seed_interval
from ..experiments.learned import CORRELATED
from ..tasks import passkey
from ..theory.inference import log_sum_exp
from . import forest, lines, panels, style
from .curves import ACCURACY, within_unit
from .spec import Figure, FigureSpec, Frame, TableSpec
from .words import bounded, counted, times, trained_on

# Every head's learned exponent, and how much it looks at the passkey
LAYERS = (style.BLUE, style.ORANGE, style.GREEN, style.PINK, style.DARK, style.SKY)
MARKERS = ("o", "s", "^", "D", "v", "P")
LOCAL = 1e-6  # mass below which a point is drawn at the edge of the log axis
LINEAR = 2  # |β| up to which its axis is linear; logarithmic beyond, where a single head lies far out
TICKS = (-10, -2, -1, 0, 1, 2)


def draw_heads(frame: Frame) -> Figure:
    fig, (left, right) = style.figure(style.MIDDLE, 2.5, ncols=2, width_ratios=(1, 1.4))
    uniform = passkey.KEY_TOKENS / (passkey.SHORTEST + 768)
    for layer, rows in frame.groupby("layer"):
        look = {"color": LAYERS[layer % len(LAYERS)], "marker": MARKERS[layer % len(MARKERS)]} | style.EDGED
        look["linestyle"] = ""
        spread = (rows["head"] - rows["head"].mean()) * 0.08 + (rows["seed"] - rows["seed"].mean()) * 0.015
        left.plot(layer + 1 + spread, rows["beta"], markersize=3.5, **look)
        mass = rows["passkey_mass"].clip(lower=LOCAL)
        right.plot(rows["beta"], mass, markersize=3.7, label=f"layer {layer + 1}", **look)
    lines.level(left, 0)
    lines.place(right, 0)
    left.set_xticks(sorted(frame["layer"].unique() + 1))
    left.set(xlabel="layer", ylabel=r"learned $\beta$")
    right.axhline(uniform, color=style.GREY, linewidth=0.8, linestyle="--")
    look = {"ha": "left", "va": "bottom", "fontsize": style.SMALLEST, "color": style.DARK}
    right.text(0.01, uniform, "uniform attention", transform=right.get_yaxis_transform(), **look)
    right.set_yscale("log")
    left.set_yscale("symlog", linthresh=LINEAR)
    right.set_xscale("symlog", linthresh=LINEAR)
    shown = [tick for tick in TICKS if frame["beta"].min() <= tick <= frame["beta"].max()]
    for axis in (left.yaxis, right.xaxis):
        axis.set_ticks(shown, [f"{tick}".replace("-", "−") for tick in shown])
    left.margins(y=0.06)
    right.margins(x=0.06)
    right.set(xlabel=r"learned $\beta$", ylabel="attention on the key sentence")
    style.legend(fig, [right], "right center")
    panels.letter(fig.axes)
    return fig


def caption_heads(frame: Frame) -> str:
    return (
        f"Every head of BAM with SSMax after training on passkeys ({counted(frame['seed'])}, all heads shown). Panel "
        "a: the exponent β by layer; all started at 0. Panel b: the attention that the five answering queries give to "
        "the key sentence, which 768 tokens of filler follow (prompts of 841 tokens, a mean over 8 keys), against β; "
        f"masses below {LOCAL:g} are drawn there. The axes of β are linear up to ±{LINEAR} and logarithmic "
        "beyond. The dashed line is what uniform attention would give."
    )


def build_heads(frame: Frame) -> Frame:
    """Per seed: how many heads have β < 0, and the attention that they and the others give to the key sentence."""
    rows = []
    for seed, heads in frame.groupby("seed"):
        negative = heads["beta"] < 0
        rows.append(
            {
                "seed": seed,
                "heads": len(heads),
                "heads with β < 0": int(negative.sum()),
                "lowest β": heads["beta"].min(),
                "highest β": heads["beta"].max(),
                "lift on the key, β < 0": heads.loc[negative, "passkey_lift"].mean(),
                "lift on the key, β ≥ 0": heads.loc[~negative, "passkey_lift"].mean(),
            }
        )
    return Frame(rows).round(3)


def caption_heads_table(frame: Frame) -> str:
    return (
        "Exponents that BAM-SSMax learned on passkeys, by seed, and the attention on the key sentence relative to "
        f"uniform attention (lift; mean over heads, {counted(frame['seed'])})."
    )


HEADS_FIGURE = FigureSpec(
    "learned_heads",
    draw_heads,
    caption_heads,
    notebook="learned_priors",
    paper="BAM, Fig. 4",
    claims=("BAM-C8", "BAM-F4"),
    alt="Two scatter plots: learned exponents by layer, and attention mass on the passkey against the exponent.",
)
HEADS_TABLE = TableSpec("learned_heads", build_heads, caption_heads_table, "learned_priors", "BAM, Fig. 4")


# What β goes with over the heads of a model, layer and prior taken out one after the other
def build_correlations(frame: Frame) -> Frame:
    """A row for each reading: Spearman's ρ of every seed, their mean and its interval."""
    rows = []
    for reading in CORRELATED:
        own = frame[frame["reading"] == reading].set_index("seed")["rho"]
        seeds = {f"seed {seed}": f"{rho:.2f}" for seed, rho in own.items()}
        mean = bounded(own.mean(), *np.clip(seed_interval(own), -1, 1)) if own.notna().all() else "–"
        rows.append({"β against": reading, **seeds, "mean [95 %]": mean})
    return Frame(rows)


def caption_correlations(frame: Frame) -> str:
    return (
        "Spearman's correlation over the heads of a model between its exponent β and what the head gives the key "
        f"sentence ({counted(frame['seed'])}, {int(frame['heads'].iloc[0])} heads each; t interval over seeds, cut at "
        "−1 and 1). Attention contains the prior and so β itself; content alone does not. Within layers, heads are "
        "ranked in their layer."
    )


CORRELATIONS = TableSpec(
    "learned_correlations",
    build_correlations,
    caption_correlations,
    "learned_priors",
    "BAM, Fig. 4",
)


# Where three heads look, picked by their exponent alone
FAINT = 1e-8  # weight below which a point is drawn at the edge of the log axis


def draw_maps(frame: Frame) -> Figure:
    heads = list(dict.fromkeys(frame["panel"]))
    fig, axes = style.figure(style.MIDDLE, 2.0, ncols=len(heads), sharey=True)
    axes = np.atleast_1d(axes)
    panels.letter(axes)
    for ax, panel in zip(axes, heads, strict=True):
        rows = frame[frame["panel"] == panel].sort_values("key")
        start = passkey.DESCRIPTION_TOKENS
        ax.axvspan(start, start + passkey.KEY_TOKENS, color="#F0C9A8", linewidth=0)
        ax.plot(rows["key"], rows["weight"].clip(lower=FAINT), color=style.BLACK, linewidth=0.6)
        first = rows.iloc[0]
        where = f"layer {int(first['layer']) + 1}, head {int(first['head']) + 1}"
        ax.set_title(f"β = {first['beta']:.2f}\n({where})".replace("-", "−"))
        ax.set_yscale("log")
        ax.set(ylim=(FAINT, 1.5), xlabel="key position")
    axes[0].set_ylabel("attention weight")
    return fig


def caption_maps(frame: Frame) -> str:
    return (
        f"Attention of three heads of seed {int(frame['seed'].iloc[0])}, picked by β alone, over the keys of the "
        "prompt of BAM's Fig. 4. Means over the five answering queries and 8 keys. Panel a: the head with the lowest "
        "β; b and c: of the remaining ones, those nearest to 1/2 and then to 1, however far from it. One model; the "
        "figure of all heads shows how typical these are. Shaded: the key sentence; "
        f"weights below {FAINT:g} are drawn there."
    )


MAPS = FigureSpec(
    "learned_maps",
    draw_maps,
    caption_maps,
    notebook="learned_priors",
    paper="BAM, Fig. 4",
    claims=("BAM-F4",),
    alt="Three line plots of attention weight by key position on a logarithmic axis, the key sentence shaded.",
)


# The priors that BAM's heads learned, as curves over the lag, by layer, head and seed
KEYS = 1024  # visible to the query
COUNTED = np.arange(1, KEYS + 1)  # from the query back: the first is its own token
EPSILON = 1e-5  # of GeneralizedGaussian
NEAR_ZERO = 0.05  # an exponent that has hardly left its start at 0
LEAST, MOST = 1e-4, 1e3  # of the axis
LOOKS = {
    1: {"color": style.ORANGE, "dashes": style.SOLID, "label": f"β > {NEAR_ZERO:g}"},
    0: {"color": style.GREY, "dashes": (1, 1), "label": f"|β| ≤ {NEAR_ZERO:g}"},
    -1: {"color": style.BLUE, "dashes": (4, 1.2), "label": f"β < −{NEAR_ZERO:g}"},
}


def sign(beta: float) -> int:
    return 0 if abs(beta) <= NEAR_ZERO else int(np.sign(beta))


def ratio(theta_alpha: float, beta: float, scale: float) -> np.ndarray:
    """KEYS π(lag) for lags 0..KEYS-1, log π = -s ln(KEYS) exp(θ_α) (lag + ε)^β + const: 1 everywhere is uniform."""
    log_prior = -scale * np.log(KEYS) * np.exp(theta_alpha) * (np.arange(KEYS) + EPSILON) ** beta
    return KEYS * np.exp(log_prior - log_sum_exp(log_prior))


def draw_curves(frame: Frame) -> Figure:
    made, layers = {}, frame["layer"].nunique()
    for (seed, layer), heads in frame.groupby(["seed", "layer"]):
        made[f"seed {seed}, layer {layer + 1}"] = [
            panels.Line(COUNTED, ratio(head.theta_alpha, head.beta, head.scale), LOOKS[sign(head.beta)])
            for head in heads.itertuples()
        ]
    axis = {"base": 10, "yscale": "log", "ylim": (LEAST, MOST), "xlim": (0.8, KEYS), "levels": [1], "legend": "above"}
    labels = ("key, from the query back", f"prior / uniform share, {KEYS:,} keys")
    return panels.draw(made, *labels, width=style.DOUBLE, across=layers, height=1.15, **axis)[0]


def caption_curves(frame: Frame) -> str:
    signs, turned = frame["beta"].map(sign), frame["scale"] < 0
    heads = frame.groupby(["seed", "layer"]).size().iloc[0]
    below = frame[(signs < 0) & ~turned]
    shares = np.array([ratio(head.theta_alpha, head.beta, head.scale)[:3] for head in below.itertuples()]).reshape(
        -1, 3
    )
    hidden = shares[:, 0] < 0.5
    return (
        f"The priors that BAM SSMax learned on passkeys, with what SSMax makes of them: weight of a key over the "
        f"uniform share (dotted), {KEYS:,} keys of equal content; the first key is the query's own token. A line for "
        f"each of {heads} heads a layer; {counted(frame['seed'])}. Of {len(frame)} heads {(signs > 0).sum()} have "
        f"β > {NEAR_ZERO:g} and {(signs < 0).sum()} β < −{NEAR_ZERO:g}. Of the latter {hidden.sum()} hide the first "
        f"key, {(hidden & (shares[:, 2] > 0.5)).sum()} of them no more than two: they give the third more than half of "
        f"the uniform share. In {turned.sum()} of all heads SSMax's s is negative and turns the prior round. The axis "
        f"ends at {LEAST:g} and {MOST:g}."
    )


CURVES = FigureSpec(
    "learned_heads",
    draw_curves,
    caption_curves,
    notebook="learned_priors",
    paper="BAM, Fig. 4",
    claims=("BAM-C8",),
    alt="Small panels, a column for each layer and a row for each seed: a curve for each head of its prior over the "
    "uniform share against the key's place from the query back, on two log axes; some fall, many begin near 0 and are "
    "level soon.",
)


# Passkey accuracy of trained models whose exponents are edited
EDITS = ("as trained", "negative to uniform", "random to uniform", "positive to uniform", "all uniform")
MULTIPLES = (1, 2, 4, 16)  # of the training length: the panels
KEPT = 0.1  # accuracy at T: an edit that costs more has broken the task, not shortened its reach


def draw_edits(frame: Frame) -> Figure:
    trained, there = trained_on(frame), set(frame["length"])
    lengths = {m * trained: f"{m * trained:,} tokens ({m}×)" for m in MULTIPLES if m * trained in there}
    made = []
    for edit in EDITS:
        if cells := forest.cells(
            frame[frame["edit"] == edit], "accuracy", lengths, lambda rows: within_unit(rows["accuracy"])
        ):
            made.append(forest.Row(edit, cells, style.ORANGE if edit == EDITS[0] else style.DARK))
    return forest.draw(made, list(lengths.values()), ACCURACY)[0]


def caption_edits(frame: Frame) -> str:
    return (
        "Passkey accuracy when the exponents of trained BAM SSMax models are edited at test time. An edited head gets "
        "the uniform prior, its content weights stay; as many random heads as have β < 0 are the control. "
        f"{at_training_length(frame)} Mark: mean over {counted(frame['seed'])}, "
        f"{int(frame['samples'].iloc[0])} prompts each; bar: t interval over seeds, cut at 0 and 1; dots above: seeds."
    )


def at_training_length(frame: Frame) -> str:
    """What the edit of the negative heads, and its control, do where the model was trained, and at the farthest."""
    means = frame.groupby(["length", "edit"])["accuracy"].mean()
    trained, last = trained_on(frame), int(frame["length"].max())
    edit, control = "negative to uniform", "random to uniform"
    if any(name not in means[trained].index for name in ("as trained", edit, control)):
        return ""
    said = ", ".join(f"{name} {means[trained][name]:.2f}" for name in ("as trained", edit, control))
    by_seed = frame[frame["length"] == trained].pivot(index="seed", columns="edit", values="accuracy")
    broken = int((by_seed["as trained"] - by_seed[edit] > KEPT).sum())
    far = f" At {times(last, trained)}: {means[last][edit]:.2f} edited, {means[last][control]:.2f} the control."
    costs = f"there the edit costs more than {KEPT:g} with {broken} of {len(by_seed)} seeds"
    return f"At {trained} tokens: {said}; {costs}." + far * (last > trained)


EDITS_FIGURE = FigureSpec(
    "learned_edits",
    draw_edits,
    caption_edits,
    notebook="learned_priors",
    claims=("BAM-C21",),
    alt="Rows of passkey accuracy for the trained model, three edits of its exponents and the same edit of random "
    "heads, a panel for each of some context lengths.",
)
