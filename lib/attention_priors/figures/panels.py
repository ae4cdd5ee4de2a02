"""Panels of lines with intervals and seeds, as most figures are: a figure names its lines, and this draws them."""

from __future__ import annotations

import string
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from . import style
from .curves import Interval, over_seeds
from .lines import grouped
from .spec import Figure, Frame
from .words import times, trained_on

# behind the line asked for
OTHER = {"color": style.PALE, "linewidth": 0.5, "alpha": 0.6, "zorder": 1, "label": "_other"}
MARGIN = 0.05  # of the axis, on either side of what stands farthest out
SHARES = {"ylim": (-0.04, 1.04), "yticks": (0, 0.5, 1)}
OUTSIDE = {"above": "outside upper center", "beside": "outside right center"}


@dataclass(frozen=True)
class Line:
    """y over x as `look` says, with its interval as bars (or as a band) and a dot for each of `seeds`, by place."""

    x: Sequence
    y: Sequence
    look: Mapping[str, Any]
    low: Sequence | None = None
    high: Sequence | None = None
    seeds: pd.Series | None = None
    band: bool = False


def over(
    rows: Frame, column: str, look: Mapping[str, Any], interval: Interval | None = None, by: str = "length"
) -> Line:
    """The mean of a column over seeds by place, its interval, and the seeds."""
    mean = over_seeds(rows, column, interval, by)
    return Line(mean.index, mean["mean"], look, mean["low"], mean["high"], rows.set_index(by)[column])


def series(frame: Frame, x: str, y: str, by: str, *looks: Any, **more: Any) -> list[Line]:
    """A line of y over x for each of `lines.grouped`."""
    return [Line(rows[x], rows[y], look) for look, rows in grouped(frame, by, *looks, **more)]


def behind(rows: Frame, column: str) -> list[Line]:
    """The means of all encodings, in grey."""
    means = (own.groupby("length")[column].mean() for _, own in rows.groupby("encoding"))
    return [Line(mean.index, mean, OTHER) for mean in means]


def multiple(frame: Frame) -> str:
    """The label of an axis of `multiples`."""
    return f"context length / training length ({trained_on(frame)} tokens)"


def lengths(values: Iterable[int], trained: int | Iterable[int] = (), most: int = 9) -> dict[str, Any]:
    """Keywords of `draw`: lengths on a log axis; training lengths are dotted."""
    trained = np.unique(trained).tolist()
    ticks = style.length_ticks(values, trained, most)
    return {"base": 2, "xticks": {tick: style.length_label(tick) for tick in ticks}, "dotted": trained}


def multiples(values: Iterable[int], trained: int) -> dict[str, Any]:
    """Keywords of `draw`: every fourfold of the training length, which is dotted, on a log axis."""
    ticks = [n for n in sorted(set(values)) if n >= trained and np.log2(n / trained) % 2 == 0]
    return {"base": 2, "xticks": {n: times(n, trained) for n in ticks}, "dotted": [trained]}


def draw(
    panels: Mapping[str, Sequence[Line]],
    xlabel: str,
    ylabel: str,
    *,
    across: int = 6,
    height: float = 1.3,
    width: float | None = None,
    base: int | None = None,
    xticks: Mapping[float, str] | None = None,
    dotted: Iterable[float] = (),
    levels: Mapping[float, str] | Iterable[float] = (),
    legend: str = "",
    ncols: int = 3,
    sharey: bool | str = True,
    rotation: float = 0,
    **axes: Any,
) -> tuple[Figure, list[Axes]]:
    """A panel for each title, lettered where there are several; `axes`: keywords of `Axes.set` for every panel.

    `base`: of a log axis; `dotted`: places, and `levels` heights (with their names for the legend) that mean something.
    `legend`: "above" or "beside" all panels, names at the "ends" of lines, or a place in the first panel.
    """
    across, count = min(across, len(panels)), len(panels)
    down = -(-count // across)
    across = -(-count // down)  # no lone panel in the last row
    width = width or (style.SINGLE if across == 1 else style.MIDDLE if across < 5 else style.DOUBLE)
    shape = {"nrows": down, "ncols": across, "sharex": True, "sharey": sharey, "squeeze": False}
    fig, grid = style.figure(width, 0.75 + height * down, **shape)
    drawn = style.panels(grid, count)
    letter(drawn)
    for ax, lines in zip(drawn, panels.values(), strict=True):  # all, before an end of a shared axis is set
        for line in lines:
            add(ax, line)
    for ax, (title, lines) in zip(drawn, panels.items(), strict=True):
        for place in dotted:
            ax.axvline(place, color=style.DARK, linewidth=0.6, linestyle=":", zorder=0)
        for y in levels:
            label = levels[y] if isinstance(levels, Mapping) else "_level"
            ax.axhline(y, color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=0, label=label)
        if base:
            ax.set_xscale("log", base=base)
        ax.set(**dict(sorted(axes.items())))  # limits first: a log scale would begin with limits of its own
        if xticks is not None:
            ax.set_xticks(list(xticks), list(xticks.values()), rotation=rotation)
        ax.minorticks_off()
        own = [line.look["color"] for line in lines if not line.look.get("label", "_").startswith("_")]
        color = style.darken(own[0], 0.25) if count > 1 and len(own) == 1 else style.BLACK
        ax.set_title(broken(title, width / across), color=color, fontsize=style.SMALLEST if across > 2 else None)
    if count == 1:
        drawn[0].set(xlabel=xlabel, ylabel=ylabel)
    else:
        fig.supxlabel(xlabel)
        fig.supylabel(ylabel)
    _name(fig, drawn, legend, ncols if width > style.SINGLE else 2)
    return fig, drawn


def add(ax: Axes, line: Line) -> None:
    """Draw it; each next line with bars stands some points beside the one before, its dots beside its bars."""
    color, right = line.look["color"], 0.0
    if line.low is not None and line.band:
        style.interval_band(ax, line.x, line.low, line.high, color, line.look.get("dashes", style.SOLID))
    elif line.low is not None:
        right = style.aside(ax)
        style.interval_bars(ax, line.x, line.low, line.high, color, right=right)
    if line.seeds is not None:
        style.seed_dots(ax, line.seeds.index, line.seeds, color, right=right + style.ASIDE / 2)
    (drawn,) = ax.plot(line.x, line.y, **line.look)
    drawn.set_transform(style.shifted(ax, right))
    points = 72 * ax.get_position().width * ax.figure.get_figwidth()
    ax.margins(x=max(ax.margins()[0], MARGIN + abs(right) / points))


def broken(title: str, inches: float) -> str:
    """A title in lines as wide as its panel, in small type."""
    return "\n".join(textwrap.fill(line, int(style.WIDE * inches)) for line in title.split("\n"))


def letter(axes: Sequence[Axes]) -> None:
    """A letter beside the title of each of several panels, for the caption."""
    letters = [*string.ascii_lowercase, *(f"a{second}" for second in string.ascii_lowercase)]
    for name, ax in zip(letters, axes if len(axes) > 1 else (), strict=False):
        ax.set_title(name, loc="left", fontweight="bold", x=-0.02, ha="right")


def _name(fig: Figure, drawn: Sequence[Axes], legend: str, ncols: int) -> None:
    """The names of lines, each once; a name whose colour changes from panel to panel stands beside a dark line."""
    if legend == "ends":
        for ax in drawn:
            style.direct_labels(ax)
        return
    handles: dict[str, Any] = {}
    for ax in drawn:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            if name in handles and handles[name].get_color() != handle.get_color():
                handle = Line2D([], [], color=style.DARK, marker="o", markersize=2.5, linewidth=1.0)
            handles[name] = handle
    if legend in OUTSIDE:
        place, ncols = OUTSIDE[legend], ncols if legend == "above" else 1
        fig.legend(handles.values(), handles, loc=place, ncols=ncols)
    elif legend:
        drawn[0].legend(handles.values(), handles, loc=legend)
