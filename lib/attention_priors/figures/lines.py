"""Lines that are no methods': the looks of series in turn, one line for each group, levels, figures for sliders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from . import style
from .spec import Figure, Frame

# colour, dashes, marker
SERIES = ((style.BLUE, style.SOLID, "o"), (style.ORANGE, (5, 1.5), "s"), (style.GREEN, (3, 1), "^"),
          (style.PINK, (1, 1), "D"), (style.BLACK, (5, 1, 1, 1), "v"), (style.GREY, (2, 2), "P"))  # fmt: skip
DOTTED = {"color": style.GREY, "linewidth": 0.7, "linestyle": ":"}
Looks = Mapping[Any, Sequence] | Sequence[Sequence]


def look(color: str, dashes: tuple, marker: str, label: str, **more: Any) -> dict[str, Any]:
    """Keywords of `Axes.plot`."""
    return {"color": color, "dashes": dashes, "marker": marker, "label": label} | more


def grouped(
    frame: Frame, by: str, looks: Looks = SERIES, label: Callable = str, **more: Any
) -> Iterator[tuple[dict[str, Any], Frame]]:
    """The look and the rows of each group of `by`, in the frame's order.

    `looks`: colour, dashes, marker and, if it is not `label` of the group, the name; by group or in turn.
    """
    for place, (name, rows) in enumerate(frame.groupby(by, sort=False, dropna=False)):
        color, dashes, marker, *written = looks[name] if isinstance(looks, Mapping) else looks[place]
        yield look(color, dashes, marker, written[0] if written else label(name), **more), rows


def plot(ax: Axes, frame: Frame, x: str, y: str, by: str, *looks: Any, **more: Any) -> None:
    """A line of y over x for each of `grouped`."""
    for drawn, rows in grouped(frame, by, *looks, **more):
        ax.plot(rows[x], rows[y], **drawn)


def level(ax: Axes, y: float, **more: Any) -> None:
    """A dotted line at a height that means something: the uniform share, one half."""
    ax.axhline(y, **DOTTED | more)


def place(ax: Axes, x: float, **more: Any) -> None:
    """The same at a place of the x axis."""
    ax.axvline(x, **DOTTED | more)


def once(figure: Figure) -> Figure:
    """The figure of a slider, closed: a notebook shows it as the returned value and not a second time."""
    plt.close(figure)
    return figure
