"""Every seed of BAM SSMax out to the longest length, with the exact binomial interval of each of its accuracies."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.methods import OURS, UNTRAINED, look
from attention_priors.figures.passkey import lines
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import CHANCE, GOOD, times


def _of(frame: Frame, name: str) -> Frame:
    return frame[(frame["form"] == "plain") & (frame["encoding"] == name)]


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.DOUBLE, 2.8)
    ours, drawn = _of(frame, OURS), look(OURS)
    seeds = sorted(set(ours["seed"]))
    for place, seed in enumerate(seeds):
        own = ours[ours["seed"] == seed].sort_values("length")
        x = own["length"] * 2 ** (0.09 * (place - (len(seeds) - 1) / 2))  # side by side: intervals would cover another
        errors = np.maximum([own["accuracy"] - own["low"], own["high"] - own["accuracy"]], 0)
        ax.errorbar(
            x, own["accuracy"], errors, fmt=".", markersize=4, color=drawn["color"], elinewidth=0.9, zorder=4,
            ecolor=style.lighten(drawn["color"], 0.55), label="_seed" if place else "one seed, exact 95 % interval",
        )  # fmt: skip
    line = drawn | {"marker": "None", "label": f"{drawn['label']}, mean over seeds"}
    ax.plot(ours.groupby("length")["accuracy"].mean(), **line, zorder=3)
    control = _of(frame, UNTRAINED).groupby("length")["accuracy"].mean()
    ax.plot(control, **look(UNTRAINED) | lines.CONTROLS, zorder=1)
    ax.axhline(GOOD, color=style.PALE, linewidth=0.6, zorder=0)
    lines.axes(ax, ours)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def caption(frame: Frame) -> str:
    ours = _of(frame, OURS)
    last, trained = lines.last_and_trained(ours)
    end = ours[ours["length"] == last].sort_values("seed")
    each = ", ".join(f"{row.correct} of {row.samples}" for row in end.itertuples())
    return (
        f"BAM SSMax, trained on {trained} tokens, out to {times(last, trained)[:-1]} times that length. Dots: every "
        f"seed, side by side, with its exact 95 % binomial interval; line: mean over seeds; grey line: {GOOD}. At "
        f"{last:,} tokens the seeds answer {each}. The untrained control is the same model before its first step; "
        f"chance is {CHANCE}. {lines.counts(ours)}."
    )


FIGURE = FigureSpec(
    "passkey_by_length", draw, caption, notebook=lines.NOTEBOOK, paper="BAM, Fig. 3", claims=("BAM-C1", "BAM-F3"),
    columns=(*lines.COLUMNS, "low", "high"),
    alt="Passkey accuracy of every seed of BAM SSMax against context length up to the longest one, as dots with error "
    "bars side by side, and their mean as a line.",
)  # fmt: skip
