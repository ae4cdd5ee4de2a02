"""What a figure and a table are to the rest of the project: a function of one frame, and the words around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEDGER = "claims.json"  # in place of a metrics name: the frame of the merged ledger


@dataclass(frozen=True)
class FigureSpec:
    """A figure: `draw` reads the frame of metrics/<metrics>.csv and nothing else.

    `rows(size, seed)` simulates that frame where no experiment makes it; `size` is `config.TheoryProfile`.
    """

    metrics: str
    draw: Callable[[pd.DataFrame], Figure]
    caption: Callable[[pd.DataFrame], str]
    alt: str
    notebook: str  # its slug
    columns: tuple[str, ...]  # that the frame must have
    paper: str = ""  # what it is to be compared with, as "BAM, Fig. 2"; empty where the papers have nothing like it
    claims: tuple[str, ...] = ()  # that it shows
    rows: Callable[[Any, int], Any] | None = None


@dataclass(frozen=True)
class TableSpec:
    """A table: `build` turns the frame of metrics/<metrics>.csv into what is printed, units in the column names."""

    metrics: str
    build: Callable[[pd.DataFrame], pd.DataFrame]
    caption: Callable[[pd.DataFrame], str]
    notebook: str  # its slug
    columns: tuple[str, ...]  # that the frame must have
    paper: str = ""
    rows: Callable[[Any, int], Any] | None = None
