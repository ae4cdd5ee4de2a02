"""Any table as CSV, Markdown and LaTeX (booktabs)."""

from __future__ import annotations

import pandas as pd

from ..claims.ledger import cell, pipe_table
from . import typeset

FLOATS = "%.10g"  # as in metrics: more digits than anyone reads, the same on every platform


def render(name: str, frame: pd.DataFrame, caption: str, footer: str) -> dict[str, str]:
    """The text of the table's three files, by extension."""
    return {
        "csv": apart(frame).to_csv(index=False, float_format=FLOATS, lineterminator="\n"),
        "md": "\n".join([caption, "", *pipe_table(frame), "", footer, ""]),
        "tex": typeset.table(name, frame, caption, footer),
    }


def apart(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the ends of intervals in columns of their own: '0.53 [0.20, 0.80]' becomes x, x low and x high."""
    columns: dict[str, list] = {}
    for place, name in enumerate(map(str, frame.columns)):
        values = frame.iloc[:, place].tolist()
        found = [typeset.INTERVAL.fullmatch(cell(value)) for value in values]
        if not any(found):
            columns[name] = values
            continue
        bare = name.replace(" [95 % interval]", "").replace(" [95 %]", "")
        if any(match[1] for match in found if match) or any(
            cell(value) and not match for value, match in zip(values, found, strict=True)
        ):
            columns[bare] = [match[1] if match else value for value, match in zip(values, found, strict=True)]
        for end, group in (("low", 2), ("high", 3)):
            columns[f"{bare} {end}"] = [match[group] if match else None for match in found]
    return pd.DataFrame(columns)
