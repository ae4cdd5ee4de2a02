"""Heads of trained models: attention on the key sentence against the mass that their priors leave there."""

from attention_priors.experiments.learned import FIGURE_LENGTH
from attention_priors.experiments.predictions import spearman
from attention_priors.figures import lines, methods, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.tasks import passkey

FLOOR = 1e-5  # masses below it are drawn at it: the corner of the heads without any


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.5)
    looks = ((True, style.ORANGE, "o", r"$\beta \leq 0$"), (False, style.BLUE, "s", r"$\beta > 0$"))
    for sign, color, marker, label in looks:
        shown = frame[(frame["beta"] <= 0) == sign][["predicted", "measured"]].clip(lower=FLOOR)
        ax.plot(shown["predicted"], shown["measured"], marker, color=color, markerfacecolor="none", label=label)
    corner = _cornered(frame)
    if corner > 1:
        ax.annotate(f"{corner} heads", (FLOOR, FLOOR), xytext=(6, 0), textcoords="offset points", va="center",
                    fontsize=style.SMALLEST)  # fmt: skip
    ends = [FLOOR, 1.0]
    ax.plot(ends, ends, color=style.GREY, linewidth=0.8, dashes=(2, 1), label="prior alone")
    lines.level(ax, 0.5)
    ax.set(xscale="log", yscale="log", xlabel="prior mass of the key sentence", ylabel="attention measured there")
    ax.legend(loc="lower right")
    return fig


def _cornered(frame: Frame) -> int:
    """Heads whose prior and attention both leave less than FLOOR on the key sentence: one mark in the figure."""
    return int((frame[["predicted", "measured"]] <= FLOOR).all(axis=1).sum())


def caption(frame: Frame) -> str:
    half, seen = frame[frame["measured"] >= 0.5], frame[(frame[["predicted", "measured"]] > FLOOR).all(axis=1)]
    rank = spearman(seen, "predicted", "measured")
    nowhere = frame[frame["predicted"] < 1e-4]
    return (
        f"{len(frame)} heads of {frame['seed'].nunique()} trained models ({methods.label(methods.OURS)}): "
        f"mass of the prior on the key sentence of a prompt of {FIGURE_LENGTH} tokens, from the learned parameters, "
        f"and attention measured there. The prompt ends in {passkey.DIGITS - 1} digits of the answer. Masses "
        f"below {FLOOR:g} are drawn there (both: {_cornered(frame)} heads). "
        f"Vertical distance from the dashed line is what content adds. {len(half)} heads give it half of their weight; "
        f"all of these have a prior mass of at least {half['predicted'].min():.2g}. Of the {len(nowhere)} heads below "
        f"1e-4, {int((nowhere['measured'] >= 0.5).sum())} do. Spearman's correlation over the {len(seen)} "
        f"heads of which neither is that low: {rank:.2f}."
    )


FIGURE = FigureSpec(
    "phase_heads", draw, caption, notebook="phase_diagram", columns=("seed", "beta", "predicted", "measured"),
    alt="Scatter of attention on the key sentence against prior mass there: high attention only where the prior leaves "
    "mass.",
)  # fmt: skip
