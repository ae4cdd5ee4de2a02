"""Accuracy on the sliding pucks by longest lag, one line an encoding of time."""

import numpy as np

from attention_priors.evaluation import share_interval
from attention_priors.experiments import pucks
from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame

LOOKS = {
    "nope": ("#4D4D4D", (1, 1), "X"),
    "alibi": (style.BLUE, (5, 1.5), "s"),
    "rope": ("#009E73", (3, 1), "^"),
    "rope-learned": ("#7FC8A9", (3, 1, 1, 1), "v"),
    "group-damped": ("#CC79A7", (2, 1), "D"),
    "group-defective": (style.ORANGE, style.SOLID, "o"),
}


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.5)
    for name, (color, dashes, marker) in LOOKS.items():
        seeds = frame[frame["encoding"] == name]
        own = seeds.groupby("multiple")
        shares = own["correct"].sum() / own["samples"].sum()
        ends = np.array([share_interval(rows["correct"], rows["samples"]) for _, rows in own])
        style.interval_band(ax, shares.index, ends[:, 0], ends[:, 1], color=color, dashes=dashes)
        style.seed_dots(ax, seeds["multiple"], seeds["correct"] / seeds["samples"], color=color)
        ax.plot(shares.index, shares, color=color, marker=marker, dashes=dashes, label=pucks.ENCODINGS[name][0])
    multiples = sorted(set(frame["multiple"]))
    ax.plot(multiples, [pucks.CHANCE] * len(multiples), **style.CONTROLS["chance"])
    ax.set_xscale("log", base=2)
    ax.set_xticks(multiples, [f"{m}×" for m in multiples])
    ax.set(xlabel=f"longest lag (in training: {pucks.TRAINED})", ylabel="furthest puck found", ylim=(0, 1.02))
    style.direct_labels(ax)
    return fig


def caption(frame: Frame) -> str:
    ours = frame[frame["encoding"] == "group-defective"].drop_duplicates("seed")
    asked = int(frame["samples"].iloc[0])
    return (
        f"Sliding pucks: one head, trained on lags up to {pucks.TRAINED}, names the one of {pucks.PUCKS} pucks that is "
        f"furthest along a direction now, each seen once with its place and velocity. Share of {asked:,} questions a "
        f"seed at each longest lag; mean of {frame['seed'].nunique()} seeds with its 95 % interval. The defective "
        f"generator can be exact at every lag; after training its largest coupling over {pucks.TRAINED} steps is "
        f"{ours['coupling'].mean():.2g} (it starts at {pucks.STARTED:.2g}), and its slowest decay takes "
        f"{1 - np.exp(-ours['decay'].mean()):.0%} of a score over the same steps. Dots: seeds. "
        f"Chance is {pucks.CHANCE:.3g}."
    )


FIGURE = FigureSpec(
    "groups_pucks", draw, caption, notebook="one_parameter_groups", paper="the post's pucks",
    columns=("encoding", "seed", "multiple", "correct", "samples", "coupling", "decay"),
    alt="Lines of accuracy against the longest lag for six encodings; all fall beyond the lags of training.",
)  # fmt: skip
