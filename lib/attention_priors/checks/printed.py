"""The papers' numbers as they print them: data/printed/<paper>_table<N>.csv, one value a row.

Every row names the section that holds the table. Labels, lengths and counts stay text ("1.5K", "~25M", "<1K"); rows
keep the order of the paper, so that lengths are sorted by appearance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from attention_priors import config
from attention_priors.claims.law import Law, grid

FOLDER = config.ROOT / "data" / "printed"
HALF_UNIT = 0.00501  # of numbers that are printed with two decimals
TEXT = ("label", "length", "model", "printed")


def table(paper: str, number: int) -> pd.DataFrame:
    """One printed table. ValueError when it has not been transcribed."""
    path = FOLDER / f"{paper}_table{number}.csv"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in FOLDER.glob("*_table*.csv")))
        raise ValueError(f"no printed table {path.stem!r}; transcribed are: {known}")
    return pd.read_csv(path, dtype=dict.fromkeys(TEXT, str), keep_default_na=False)


def beyond(frame: pd.DataFrame, length: str | None) -> pd.DataFrame:
    """The rows whose length stands after `length` in the table; all rows for None."""
    if length is None:
        return frame
    lengths = list(dict.fromkeys(frame.length))
    if length not in lengths:
        raise ValueError(f"length {length!r} is not in the table; it has {', '.join(lengths)}")
    return frame[frame.length.isin(lengths[lengths.index(length) + 1 :])]


def told(text: str, truth: Callable, rows: Mapping[Any, Any], wrong: Any, **more: Any) -> Law:
    """For every case truth(*case) is what its row says. `wrong`: what a near variant says of all, or of some (a dict).

    Where nothing else is given, within half a unit of the second decimal.
    """
    near = {**rows, **wrong} if isinstance(wrong, dict) else dict.fromkeys(rows, wrong)
    cases, more = grid(case=rows), {"tolerance": HALF_UNIT} | more
    return Law(text, partial(_row, rows), partial(_value, truth), cases, wrong=partial(_row, near), **more)


def _row(rows: Mapping[Any, Any], case: Any) -> Any:
    return rows[case]


def _value(truth: Callable, case: Any) -> Any:
    return truth(*case) if isinstance(case, tuple) else truth(case)
