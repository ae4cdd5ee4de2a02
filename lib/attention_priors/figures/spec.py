"""What a figure and a table are to the rest of the project: a function of one frame, and the words around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ..config import TheoryProfile as Size

LEDGER = "claims.json"  # in place of a metrics name: the frame of the merged ledger
Frame = pd.DataFrame
Rows = list[dict[str, float | str]]


class NotCompared(ValueError):
    """A comparison lacks its rivals under this profile: a figure or a table of one arm is not made."""


def rivals(frame: Frame, by: str, what: str, *, but: Iterable[str] = ()) -> Frame:
    """The frame. NotCompared where the column `by` has fewer than two values, those in `but` not counted."""
    there = sorted(set(frame[by]) - set(but))
    if len(there) < 2:
        raise NotCompared(
            f"{what}: {there[0]} stands alone under this profile; a larger one has its rivals"
            if there
            else f"{what}: nothing of it is trained under this profile; a larger one has it"
        )
    return frame


def stacked(blocks: Iterable[Mapping[str, Any]]) -> Frame:
    """One frame of blocks, each a mapping from columns to values; a single value fills its block."""
    return pd.concat(map(Frame, blocks), ignore_index=True)


class _Checked:
    """A row of FIGURES or TABLES that knows which columns it reads."""

    def check(self, frame: Frame) -> Frame:
        """The frame; ValueError where it lacks one of `columns`."""
        missing = [column for column in self.columns if column not in frame]
        if missing:
            kind, act = ("figure", self.draw) if hasattr(self, "draw") else ("table", self.build)
            place = act.__module__.partition("figures.")[2].replace(".", "/")
            raise ValueError(
                f"{kind} {place}: metrics {self.metrics!r} have no column {', '.join(missing)}; run notebook "
                f"{self.notebook} again, or correct `columns` in figures/{place}.py"
            )
        return frame


@dataclass(frozen=True)
class FigureSpec(_Checked):
    """A figure: `draw` reads the frame of metrics/<metrics>.csv and nothing else.

    `rows(size, seed)` simulates that frame where no experiment makes it.
    """

    metrics: str
    draw: Callable[[Frame], Figure]
    caption: Callable[[Frame], str]
    alt: str
    notebook: str  # its slug
    columns: tuple[str, ...]  # that the frame must have
    paper: str = ""  # what it is to be compared with, as "BAM, Fig. 2"; empty where the papers have nothing like it
    claims: tuple[str, ...] = ()  # that it shows
    rows: Callable[[Size, int], Frame | Rows] | None = None


@dataclass(frozen=True)
class TableSpec(_Checked):
    """A table: `build` turns the frame of metrics/<metrics>.csv into what is printed, units in the column names."""

    metrics: str
    build: Callable[[Frame], Frame]
    caption: Callable[[Frame], str]
    notebook: str  # its slug
    columns: tuple[str, ...]  # that the frame must have
    paper: str = ""
    rows: Callable[[Size, int], Frame | Rows] | None = None
