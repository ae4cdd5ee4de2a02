"""Means over seeds with their intervals, rows of seeds, and the axes of accuracy against context length."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ..evaluation import seed_interval, share_interval
from . import style
from .spec import Frame

ACCURACY = "share with all five digits right"
LENGTH = "context length (tokens)"
Interval = Callable[[Frame], tuple[float, float]]


def t_interval(values: pd.Series) -> tuple[float, float]:
    """Student's t over seeds; nothing for one seed."""
    return seed_interval(values) if len(values) > 1 else (np.nan, np.nan)


def within_unit(values: pd.Series) -> tuple[float, float]:
    """The t interval of shares, clipped to 0 and 1."""
    return tuple(np.clip(t_interval(values), 0, 1))


def over_seeds(rows: Frame, column: str, interval: Interval | None = None, by: str = "length") -> Frame:
    """Mean, low and high of a column for each value of `by`: Student's t, or `interval` of several seeds' rows."""
    made = {}
    for place, group in rows.groupby(by):
        ends = interval(group) if interval and len(group) > 1 else t_interval(group[column])
        made[place] = group[column].mean(), *ends
    return Frame.from_dict(made, orient="index", columns=["mean", "low", "high"])


def shares(rows: Frame) -> tuple[float, float]:
    """The interval of a mean share from each seed's counts."""
    return share_interval(rows["correct"], rows["samples"])


def seed_row(ax: Axes, values: pd.Series, y: int, look: dict[str, Any]) -> None:
    """A marker for every seed in one row, and a bar below them for the interval of their mean."""
    style.interval_row(ax, t_interval(values), y, look["color"], up=-2)
    marks = {"marker": look["marker"], "linestyle": "", "color": look["color"], "markersize": 3, "markeredgewidth": 0}
    (seeds,) = ax.plot(values, [y] * len(values), **marks)
    seeds.set_transform(style.shifted(ax, up=1.5))


def accuracy_axes(ax: Axes, lengths: Iterable[int], trained: int, *, most: int) -> None:
    """Shares from 0 to 1 against context length."""
    style.length_axis(ax, lengths, trained, most=most)
    ax.set(ylim=(-0.03, 1.03), xlabel=LENGTH, ylabel=ACCURACY)
