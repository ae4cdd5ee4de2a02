"""How position enters an encoding, as colour and marker, and the map of encodings by lengths that shows it."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.collections import QuadMesh
from matplotlib.lines import Line2D

from attention_priors.experiments.arms import OWN
from attention_priors.figures import heat_maps, style
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Frame
from attention_priors.figures.words import times, trained_on

NARROW = 12  # columns; with more, their names are turned
MANY = 40  # rows from which on a figure is wider, for the longer names among them
# family: name, colour, marker
FAMILIES = {
    "none": ("no position", style.DARK, "X"),
    "absolute": ("absolute embedding", style.PINK, "D"),
    "rotation": ("rotation", style.GREEN, "^"),
    "prior": ("log-prior", style.ORANGE, "o"),
    "composition": ("rotation in part, or with a log-prior", style.BLUE, "s"),
}


def draw_map(
    frame: Frame,
    value: str,
    labels: Mapping[str, str],
    states: Mapping[str, str],
    text: Callable[[float], str],
    white: Callable[[float], bool],
    **colours: Any,
) -> QuadMesh:
    """A map of a column with a row for each encoding of `labels`, the first on top, and a column for each length.

    A cell whose state is one of `states` has that text. Each row has its family's marker, of which a legend tells.
    """
    names, lengths, trained = list(labels), sorted(set(frame["length"])), trained_on(frame)
    shape = {"index": "encoding", "columns": "length"}
    values, state = (frame.pivot(**shape, values=column).loc[names, lengths] for column in (value, "state"))
    width = style.MIDDLE if len(lengths) < 10 and len(names) < MANY else style.DOUBLE
    _, ax = style.figure(width, 0.8 + style.pitch(len(names)) * len(names))

    def written(row: int, column: int, cell: float) -> str:
        return states.get(state.iloc[row, column], text(cell))

    mesh = heat_maps.cells(ax, values.to_numpy(), written, white, **colours)
    families = frame.drop_duplicates("encoding").set_index("encoding")["family"]
    for row, name in enumerate(names):
        _, color, marker = FAMILIES[families[name]]
        ax.plot(-0.12, row + 0.5, marker, color=color, markersize=4, clip_on=False)
    ax.set_yticks(np.arange(len(names)) + 0.5, labels.values())
    narrow = len(lengths) > NARROW
    ticks = [
        style.length_label(n) + (" ({})" if narrow else "\n{}").format(times(n, trained)) * (n >= trained)
        for n in lengths
    ]
    ax.set_xticks(np.arange(len(lengths)) + 0.5, ticks, rotation=90 * narrow)
    heat_maps.bare(ax)
    ax.tick_params(axis="y", pad=9)
    ax.invert_yaxis()
    ax.set_xlabel(f"context length (tokens) and its multiple of the training length ({trained})")
    drawn = [look for family, look in FAMILIES.items() if family in set(families[list(names)])]
    handles = [Line2D([], [], linestyle="", marker=m, color=c, label=family) for family, c, m in drawn]
    ax.figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), handletextpad=0.2)
    return mesh


def compared(frame: Frame) -> list[int]:
    """The lengths above the training length at which no encoding is left out."""
    beyond = frame[frame["length"] > frame["trained"]]
    known = beyond.groupby("length")["state"].agg(lambda states: (states != "left out").all())
    return list(known[known].index)


def whose(name: str, borrows: str) -> str:
    """The label, with that of the encoding whose weights it is evaluated on."""
    return label(name) if borrows == OWN else f"{label(name)} (weights of {label(borrows)})"
