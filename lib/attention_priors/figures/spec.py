"""What a figure and a table are to the rest of the project: a function of one frame, and the words around it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
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


class _Reader:
    """A row of FIGURES or TABLES, which reads metrics."""

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """ValueError where what is read within, by `draw`, `build` or `caption`, is no column of the metrics."""
        try:
            yield
        except (AttributeError, KeyError) as lacking:
            if isinstance(lacking, AttributeError) and not isinstance(lacking.obj, tuple):  # no row of a frame
                raise
            kind, act = ("figure", self.draw) if hasattr(self, "draw") else ("table", self.build)
            place = act.__module__.partition("figures.")[2].replace(".", "/")
            raise ValueError(
                f"{kind} {place}: metrics {self.metrics!r} have no column {lacking.args[0]}; run notebook "
                f"{self.notebook} again"
            ) from lacking


@dataclass(frozen=True)
class FigureSpec(_Reader):
    """A figure: `draw` reads the frame of metrics/<metrics>.csv and nothing else.

    `rows(size, seed)` simulates that frame where no experiment makes it.
    """

    metrics: str
    draw: Callable[[Frame], Figure]
    caption: Callable[[Frame], str]
    alt: str
    notebook: str  # its slug
    paper: str = ""  # what it is to be compared with, as "BAM, Fig. 2"; empty where the papers have nothing like it
    claims: tuple[str, ...] = ()  # that it shows
    rows: Callable[[Size, int], Frame | Rows] | None = None


@dataclass(frozen=True)
class TableSpec(_Reader):
    """A table: `build` turns the frame of metrics/<metrics>.csv into what is printed, units in the column names."""

    metrics: str
    build: Callable[[Frame], Frame]
    caption: Callable[[Frame], str]
    notebook: str  # its slug
    paper: str = ""
    rows: Callable[[Size, int], Frame | Rows] | None = None
