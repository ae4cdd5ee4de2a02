"""Out to 500 times the training length: the encodings that still answer at 64 times it, every seed of each."""

import math

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.curves import over_seeds, shares
from attention_priors.figures.methods import UNTRAINED, label, look
from attention_priors.figures.passkey import lines
from attention_priors.figures.passkey.main import FARTHEST
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import CHANCE, GOOD, times, trained_on

ABREAST = 5  # panels in a row


def _far(frame: Frame) -> Frame:
    """The plain answers of the encodings that were asked beyond 64 times the training length, from that length on."""
    rows = lines.plain(frame)
    rows = rows[(rows["length"] >= rows["trained"]) & (rows["encoding"] != UNTRAINED)]
    asked = set(rows["encoding"][rows["length"] > FARTHEST * rows["trained"]])
    return rivals(rows[rows["encoding"].isin(asked)], "encoding", "passkey_far")


def draw(frame: Frame) -> Figure:
    """A panel an encoding: seeds side by side with their exact intervals, and their mean."""
    rows = _far(frame)
    names = list(dict.fromkeys(rows["encoding"]))
    high = math.ceil(len(names) / ABREAST)
    wide = math.ceil(len(names) / high)
    fig, axes = style.figure(style.DOUBLE, 0.6 + 1.8 * high, nrows=high, ncols=wide, sharey=True, squeeze=False)
    for ax, name in zip(style.panels(axes, len(names)), names, strict=True):
        own, drawn = rows[rows["encoding"] == name], look(name)
        seeds = sorted(set(own["seed"]))
        for place, seed in enumerate(seeds):
            one = own[own["seed"] == seed].sort_values("length")
            x = one["length"] * 2 ** (0.12 * (place - (len(seeds) - 1) / 2))  # intervals would cover one another
            errors = np.maximum([one["accuracy"] - one["low"], one["high"] - one["accuracy"]], 0)
            ax.errorbar(x, one["accuracy"], errors, fmt=".", markersize=3, color=drawn["color"], elinewidth=0.6,
                        ecolor=style.lighten(drawn["color"], 0.55), zorder=4)  # fmt: skip
        ax.plot(over_seeds(own, "accuracy", shares)["mean"], color=drawn["color"], linewidth=1, zorder=3)
        ax.axhline(GOOD, color=style.PALE, linewidth=0.6, zorder=0)
        lengths, trained = sorted(set(own["length"])), trained_on(own)
        ax.set_xscale("log", base=2)
        ticks = lengths[::3]
        ax.set_xticks(ticks, [times(length, trained) for length in ticks], rotation=45)
        ax.minorticks_off()
        ax.set_title(label(name))
        ax.set_ylim(-0.04, 1.04)
    fig.supxlabel("context length / training length")
    fig.supylabel("share of passkeys retrieved")
    return fig


def caption(frame: Frame) -> str:
    rows = _far(frame)
    last, trained = lines.last_and_trained(rows)
    ends = rows[rows["length"] == last].groupby("encoding")["accuracy"].mean().sort_values(ascending=False)
    each = ", ".join(f"{label(name)} {value:.2f}" for name, value in ends.items())
    return (
        f"Encodings that are asked beyond {FARTHEST} times their training length of {trained} tokens, out to "
        f"{times(last, trained)[:-1]} times. Dots: every seed, side by side, with its exact 95 % binomial interval; "
        f"line: mean over seeds; grey line: {GOOD}. Mean at {last:,} tokens: {each}. Chance is {CHANCE}. "
        f"{lines.counts(rows)}."
    )


FIGURE = FigureSpec(
    "passkey_by_length", draw, caption, notebook=lines.NOTEBOOK, paper="BAM, Fig. 3", claims=("BAM-C1", "BAM-F3"),
    columns=(*lines.COLUMNS, "low", "high"),
    alt="Panels, one for each encoding that is asked furthest: passkey accuracy of every seed against context length, "
    "as dots with error bars side by side, and their mean as a line.",
)  # fmt: skip
