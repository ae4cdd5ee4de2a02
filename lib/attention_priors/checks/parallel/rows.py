"""ParallelComp's printed tables by cell, and laws whose cases are rows of data over them.

A row has a name ("Ours (Llama3)"), a column is a task, several or "mean". "<5" counts as 2.5, as in the paper's own
averages, and ">100" as 100.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import pandas as pd

from attention_priors.checks.printed import HALF_UNIT, table, told
from attention_priors.claims.law import Law, grid

PAPER = "parallelcomp"
LLAMA2, LLAMA3 = "Llama2", "Llama3"
BACKBONES = (LLAMA2, LLAMA3)
MODELS = ("Llama3.1", "Qwen2.5")  # of Tables 4 and 5
PERPLEXITY = 3  # the one table in which lower is better, and the one without averages
CENSORED = {"<5": 2.5, ">100": 100.0}


def number(printed: object) -> float:
    """A printed score as a number: "<5" is 2.5 and ">100" is 100."""
    return CENSORED.get(str(printed)) or float(printed)


def printed(n: int) -> pd.DataFrame:
    """A table as it is transcribed, a printed value a row; `score` is what it prints, also where it is text."""
    return table(PAPER, n).rename(columns={"printed": "score"})


@functools.cache
def wide(n: int) -> pd.DataFrame:
    """Scores of one table by row name, columns in the paper's order; without the row of lengths and rows of N/A."""
    frame = printed(n)
    frame = frame[(frame.label != "Max Length") & (frame.score != "N/A")]
    model = frame.model if "model" in frame else ""
    columns = "length" if "length" in frame else "task"
    values = frame.assign(model=model, value=frame.score.map(number))
    found = values.pivot_table("value", ["model", "label"], columns, sort=False)
    return found.set_axis([f"{label} ({model})" if model else label for model, label in found.index])


def scores(n: int) -> pd.DataFrame:
    """The scores of a table without its column of averages."""
    return wide(n) if n == PERPLEXITY else wide(n).iloc[:, :-1]


def averages(n: int) -> pd.Series:
    """The printed averages."""
    return wide(n).iloc[:, -1]


def lengths(n: int) -> pd.Series:
    """The greatest length of each task ("125k" is 125)."""
    frame = printed(n)
    frame = frame[frame.label == "Max Length"].set_index("task").iloc[:-1]
    return frame.score.astype(str).str.removesuffix("k").astype(float)


def cell(n: int, column: str, row: str) -> float:
    """One score, the mean of several ("R.PK + R.KV"), or of all ("mean"): recomputed, not the printed one."""
    found = scores(n).loc[row]
    found = found if column == "mean" else found[column.split(" + ")]
    return round(float(found.mean()), 4)


def on(row: str, *backbones: str) -> list[str]:
    """Names of a row on backbones."""
    return [f"{row} ({backbone})" for backbone in backbones]


def standing(n: int, row: str, column: str, whole: str, others: Iterable[str]) -> tuple[float, float, int]:
    """A score, what it is above that of the row `whole`, and how many of the others are lower."""
    values = scores(n)[column]
    own = float(values[row])
    return own, own - float(values[whole]), int((values[list(others)] < own).sum())


# Laws


def pairs(n: int, ahead: Iterable[str], behind: Iterable[str], columns: Iterable[str] = ("mean",)) -> list[dict]:
    """A case for every comparison of a row that is said to be ahead with one that is said to be behind."""
    return grid(table=[n], column=columns, ahead=ahead, behind=behind)


def score_ahead(table: int, column: str, ahead: str) -> float:
    return cell(table, column, ahead)


def score_behind(table: int, column: str, behind: str) -> float:
    return cell(table, column, behind)


def ahead(text: str, cases: list[dict], repaired: Any = None, **said: Any) -> Law:
    """In every case the score behind lies below the score ahead; of perplexities, above."""
    relation = ">" if cases[0]["table"] == PERPLEXITY else "<"
    return Law(text, score_behind, score_ahead, cases, relation=relation, wrong=score_ahead, repaired=repaired, **said)


def lowest(
    text: str, n: int, row: str, column: str, others: Iterable[str], repaired: float | None = None, **said: Any
) -> Law:
    """None of the others has so little in a column."""
    return ahead(text, pairs(n, [name for name in others if name != row], [row], [column]), repaired, **said)


def mean_of(total: float, tasks: int) -> float:
    return total / tasks


def average_cases(n: int, *rows: str) -> list[dict]:
    """A case for each row: its total and the number of its tasks."""
    totals = scores(n).sum(axis=1).round(2)
    return [
        {"table": n, "row": row, "total": float(totals[row]), "tasks": scores(n).shape[1]}
        for row in rows or totals.index
    ]


def mean(n: int, row: str) -> float:
    """The mean of a row's tasks."""
    return cell(n, "mean", row)


def average_law(text: str, n: int, *rows: str, **said: Any) -> Law:
    """The printed averages of rows are the means of their tasks, but for rounding."""
    return Law(
        text,
        lambda row: float(averages(n)[row]),
        mean_of,
        average_cases(n, *rows),
        wrong=lambda row: averages(n)[row] + 0.02,
        tolerance=HALF_UNIT,
        **said,
    )


def longest(n: int) -> dict:
    """The sum of the greatest lengths of a table, and their number."""
    return {"total": int(lengths(n).sum()), "tasks": len(lengths(n))}


def length_law(text: str, claimed: int, wrong: int, quote: str = "", place: str = "", **case: int) -> Law:
    """What the greatest lengths of a table average."""
    return Law(text, claimed, mean_of, [case], wrong=wrong, tolerance=0.5, quote=quote, place=place)


def repeated(text: str, here: int, there: int, rows: dict[str, str], wrong: str) -> Law:
    """Rows of one table stand in another number for number, averages included."""

    def same(n: int, row: str) -> list[float]:
        return wide(n).loc[row].tolist()

    return told(
        text,
        functools.partial(same, there),
        {rows[row]: same(here, row) for row in rows},
        wrong=same(there, wrong),
    )
