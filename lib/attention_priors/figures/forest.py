"""Rows beside each other: a row for each thing that is compared, a panel for each question that is put to all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from . import lines, style
from .curves import Interval, over_seeds
from .spec import Figure, Frame

SHARES = (-0.06, 1.06)
PITCH, HEADING = 0.165, 1.1  # inches from row to row; rows that the heading of a group takes
ABOVE = 0.75  # inches for titles and labels
SEEDS_UP = 3.4  # points from a row to the dots of its seeds


@dataclass(frozen=True)
class Cell:
    """The values of seeds, their mean, and its interval; NaN where there is none. A colour in place of its row's."""

    seeds: Sequence[float]
    mean: float
    low: float = np.nan
    high: float = np.nan
    color: str = ""
    hollow: bool = False  # decides nothing


@dataclass(frozen=True)
class Row:
    """A name under its group's heading, with a look, and a cell for each panel in which it has one."""

    name: str
    cells: Mapping[str, Cell]
    color: str = style.DARK
    marker: str = "o"
    group: str = ""
    hollow: bool = False  # decides nothing: a gate was missed


def draw(
    rows: Sequence[Row],
    panels: Sequence[str],
    xlabel: str,
    *,
    width: float = style.DOUBLE,
    xlim: tuple[float, float] | None = SHARES,
) -> tuple[Figure, list[Axes]]:
    """A panel for each title of `panels`: marks for means on interval bars, small dots above for seeds, the first row
    on top."""
    heights = _heights(rows)
    height = min(ABOVE + PITCH * (max(heights) + 1), style.PAGE)
    fig, axes = style.figure(width, height, ncols=len(panels), sharey=True, squeeze=False)
    first = axes[0, 0]
    for ax, panel in zip(axes[0], panels, strict=True):
        for row, y in zip(rows, heights, strict=True):
            if cell := row.cells.get(panel):
                _cell(ax, cell, y, row)
        ax.set_title(panel)
        ax.tick_params(axis="y", length=0)
        if xlim:
            ax.set_xlim(xlim)
        if xlim == SHARES:
            ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    first.set_yticks(heights, [row.name for row in rows])
    tops = {row.group: y - 1 for row, y in reversed(list(zip(rows, heights, strict=True))) if row.group}
    for group, y in reversed(tops.items()):
        look = {"xycoords": first.get_yaxis_transform(), "ha": "right", "va": "center", "fontweight": "bold"}
        style.note(first, group, (0, y), (-5, 0), **look)
    first.set_ylim(max(heights) + 0.7, -0.8)
    fig.supxlabel(xlabel)
    return fig, list(axes[0])


def differences(rows: Sequence[Row], panels: Sequence[str], width: float = style.DOUBLE) -> Figure:
    """Rows of differences between two shares of passkeys, with a line at 0."""
    fig, axes = draw(rows, panels, "difference in the share of passkeys retrieved", width=width, xlim=(-1.05, 1.05))
    for ax in axes:
        lines.place(ax, 0)
        ax.set_xticks([-1, 0, 1])
    return fig


def cells(
    rows: Frame, column: str, titles: Mapping[float, str], interval: Interval | None = None, by: str = "length"
) -> dict[str, Cell]:
    """A cell for each titled place of `by` that has rows: the seeds of a column, their mean and its interval."""
    means, seeds = over_seeds(rows, column, interval, by), rows.groupby(by)[column]
    there = {place: title for place, title in titles.items() if place in seeds.groups}
    return {title: Cell(list(seeds.get_group(place)), *means.loc[place]) for place, title in there.items()}


def _heights(rows: Sequence[Row]) -> list[float]:
    """Where rows stand: one apart, with room for the heading of each group that has a name."""
    heights, y, before = [], -1.0, ""
    for row in rows:
        y += 1 + (HEADING if row.group != before else 0)
        heights.append(y)
        before = row.group
    return heights


def _cell(ax: Axes, cell: Cell, y: float, row: Row) -> None:
    color = cell.color or row.color
    style.interval_row(ax, (cell.low, cell.high), y, color)
    face = "white" if row.hollow or cell.hollow else color
    look = {"markersize": 3.8, "markeredgewidth": 0.8, "markerfacecolor": face}
    ax.plot(cell.mean, y, row.marker, color=color, zorder=4, label="_mean", **look)
    style.seed_dots(ax, cell.seeds, [y] * len(cell.seeds), style.DARK, up=SEEDS_UP)
