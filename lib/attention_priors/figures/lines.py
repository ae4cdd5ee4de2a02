"""Lines that are no methods': the looks of series in turn, one line for each group, levels, figures for sliders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, Frame

# colour, dashes, marker
SERIES = ((style.BLUE, style.SOLID, "o"), (style.ORANGE, (5, 1.5), "s"), (style.GREEN, (3, 1), "^"),
          (style.PINK, (1, 1), "D"), (style.BLACK, (5, 1, 1, 1), "v"), (style.GREY, (2, 2), "P"))  # fmt: skip
Looks = Mapping[Any, Sequence] | Sequence[Sequence]


def plot(
    ax: Axes, frame: Frame, x: str, y: str, by: str, looks: Looks = SERIES, label: Callable = str, **more: Any
) -> None:
    """A line of y over x for each group of `by`, in the frame's order.

    `looks`: colour, dashes, marker and, if it is not `label` of the group, the name; by group or in turn. `more` goes
    to every line and comes before its look.
    """
    for place, (name, rows) in enumerate(frame.groupby(by, sort=False, dropna=False)):
        color, dashes, marker, *written = looks[name] if isinstance(looks, Mapping) else looks[place]
        look = {"color": color, "dashes": dashes, "marker": marker, "label": written[0] if written else label(name)}
        ax.plot(rows[x], rows[y], **look | more)


def level(ax: Axes, y: float, **more: Any) -> None:
    """A dotted line at a height that means something: the uniform share, one half."""
    ax.axhline(y, **{"color": style.GREY, "linewidth": 0.7, "linestyle": ":"} | more)


def once(figure: Figure) -> Figure:
    """The figure of a slider, closed: a notebook shows it as the returned value and not a second time."""
    plt.close(figure)
    return figure
