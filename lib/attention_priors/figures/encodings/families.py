"""How position enters an encoding, as colour and marker, and the map of encodings by lengths that shows it."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from attention_priors.experiments.arms import OWN
from attention_priors.figures import heat_maps, style
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Frame
from attention_priors.figures.words import times

# family: name, colour, marker
FAMILIES = {
    "none": ("no position", style.DARK, "X"),
    "absolute": ("absolute embedding", style.PINK, "D"),
    "rotation": ("rotation", style.GREEN, "^"),
    "prior": ("log-prior", style.ORANGE, "o"),
}


def grid(frame: Frame, names: Sequence[str], value: str) -> Frame:
    """A column of the frame as encodings, in the order of `names`, by lengths."""
    return frame.pivot(index="encoding", columns="length", values=value).loc[names].sort_index(axis=1)


def label_map(ax: Axes, first: Frame, rows: Sequence[str], lengths: Sequence[int], trained: int) -> None:
    """Ticks and legend of a map with a row for each encoding, the first on top, and a column for each length.

    Each row has its family's marker; `first` has one row for each encoding.
    """
    for row, family in enumerate(first["family"]):
        _, color, marker = FAMILIES[family]
        ax.plot(-0.12, row + 0.5, marker, color=color, markersize=4, clip_on=False)
    ax.set_yticks(np.arange(len(rows)) + 0.5, rows)
    ax.set_xticks(np.arange(len(lengths)) + 0.5, [f"{style.length_label(n)}\n{times(n, trained)}" for n in lengths])
    heat_maps.bare(ax)
    ax.tick_params(axis="y", pad=9)
    ax.invert_yaxis()
    ax.set_xlabel(f"context length (tokens) and its multiple of the training length ({trained})")
    handles = [Line2D([], [], linestyle="", marker=m, color=c, label=text) for text, c, m in FAMILIES.values()]
    ax.figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), handletextpad=0.2)


def whose(name: str, borrows: str) -> str:
    """The label, with that of the encoding whose weights it is evaluated on."""
    return label(name) if borrows == OWN else f"{label(name)} (weights of {label(borrows)})"
