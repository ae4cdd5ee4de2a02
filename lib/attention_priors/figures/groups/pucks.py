"""Accuracy on the sliding pucks by longest lag, a row for each encoding of time."""

import numpy as np

from ...experiments import pucks
from .. import forest, lines, methods, style
from ..curves import shares
from ..spec import Figure, FigureSpec, Frame

LOOKS = {  # colour and marker of the encodings that are drawn nowhere else
    "rope-learned": (style.GREEN, "v"),
    "group-damped": (style.PINK, "D"),
    "group-defective": (style.ORANGE, "o"),
}
ORDER = ("group-defective", "group-damped", "rope-learned", "rope", "nope", "alibi")


def draw(frame: Frame) -> Figure:
    multiples = {m: f"{m * pucks.TRAINED} ({m}×)" for m in sorted(set(frame["multiple"]))}
    made = []
    for name in ORDER:
        own = frame[frame["encoding"] == name]
        own = own.assign(share=own["correct"] / own["samples"])
        cells = forest.cells(own, "share", multiples, shares, by="multiple")
        color, marker = LOOKS.get(name) or (methods.look(name)["color"], methods.look(name)["marker"])
        made.append(forest.Row(pucks.ENCODINGS[name][0], cells, color, marker))
    xlabel = f"share of the furthest pucks found, by longest lag (steps; in training {pucks.TRAINED})"
    fig, axes = forest.draw(made, list(multiples.values()), xlabel)
    for ax in axes:
        lines.place(ax, pucks.CHANCE, zorder=0)
    return fig


def caption(frame: Frame) -> str:
    ours = frame[frame["encoding"] == "group-defective"].drop_duplicates("seed")
    asked = int(frame["samples"].iloc[0])
    return (
        f"Sliding pucks: one head, trained on lags up to {pucks.TRAINED}, names the one of {pucks.PUCKS} pucks that is "
        f"furthest along a direction now, each seen once with its place and velocity. Share of {asked:,} questions a "
        f"seed at each longest lag. Mark: mean of {frame['seed'].nunique()} seeds; bar: its 95 % interval. The "
        f"defective generator can be exact at every lag; after training its largest coupling over {pucks.TRAINED} "
        f"steps is {ours['coupling'].mean():.2g} (it starts at {pucks.STARTED:.2g}), and its slowest decay takes "
        f"{1 - np.exp(-ours['decay'].mean()):.0%} of a score over the same steps. Dots above: seeds. "
        f"Dotted: chance, {pucks.CHANCE:.3g}."
    )


FIGURE = FigureSpec(
    "groups_pucks",
    draw,
    caption,
    notebook="one_parameter_groups",
    paper="the post's pucks",
    alt="Rows of accuracy for six encodings, a panel for each longest lag; all fall beyond the lags of training.",
)
