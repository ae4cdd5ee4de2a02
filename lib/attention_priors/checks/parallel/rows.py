"""ParallelComp's printed tables by cell: a row has a name ("Ours (Llama3)"), a column is a task, several or "mean".

"<5" counts as 2.5, as in the paper's own averages, and ">100" as 100.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pandas as pd

from attention_priors.checks.printed import table
from attention_priors.claims.law import Law

PAPER = "parallelcomp"
LLAMA2, LLAMA3 = "Llama2", "Llama3"
BACKBONES = (LLAMA2, LLAMA3)
PERPLEXITY = 3  # the one table in which lower is better, and the one without averages
CENSORED = {"<5": 2.5, ">100": 100.0}
HALF_UNIT = 0.00501  # scores and averages are printed with two decimals


def number(printed: object) -> float:
    """A printed score as a number: "<5" is 2.5 and ">100" is 100."""
    return CENSORED.get(str(printed)) or float(printed)


@functools.cache
def wide(n: int) -> pd.DataFrame:
    """Scores of one table by row name, columns in the paper's order; without the row of lengths and rows of N/A."""
    frame = table(PAPER, n)
    score = "score" if "score" in frame else "printed"
    frame = frame[(frame.label != "Max Length") & (frame[score] != "N/A")]
    model = frame.model if "model" in frame else ""
    value = frame[score].map(number)
    columns = "length" if "length" in frame else "task"
    found = frame.assign(model=model, value=value).pivot_table("value", ["model", "label"], columns, sort=False)
    return found.set_axis([f"{label} ({model})" if model else label for model, label in found.index])


def scores(n: int) -> pd.DataFrame:
    """The scores of a table without its column of averages."""
    return wide(n) if n == PERPLEXITY else wide(n).iloc[:, :-1]


def averages(n: int) -> pd.Series:
    """The printed averages."""
    return wide(n).iloc[:, -1]


def cell(n: int, column: str, row: str) -> float:
    """One score, the mean of several ("R.PK + R.KV"), or of all ("mean"): recomputed, not the printed one."""
    found = scores(n).loc[row]
    found = found if column == "mean" else found[column.split(" + ")]
    return round(float(found.mean()), 4)


def on(row: str, *backbones: str) -> list[str]:
    """Names of a row on backbones."""
    return [f"{row} ({backbone})" for backbone in backbones]


def pairs(n: int, ahead: Iterable[str], behind: Iterable[str], columns: Iterable[str] = ("mean",)) -> list[dict]:
    """A case for every comparison of a row that is said to be ahead with one that is said to be behind."""
    return [
        {"table": n, "column": column, "ahead": first, "behind": second}
        for column, first, second in product(columns, ahead, behind)
    ]


def score_ahead(table: int, column: str, ahead: str) -> float:
    return cell(table, column, ahead)


def score_behind(table: int, column: str, behind: str) -> float:
    return cell(table, column, behind)


def ahead(text: str, cases: list[dict], repaired: Any = None) -> Law:
    """In every case the score behind lies below the score ahead; of perplexities, above."""
    relation = ">" if cases[0]["table"] == PERPLEXITY else "<"
    return Law(text, score_behind, score_ahead, cases, relation=relation, wrong=score_ahead, repaired=repaired)


def printed_average(table: int, row: str) -> float:
    return float(averages(table)[row])


def mean_of(total: float, tasks: int) -> float:
    return total / tasks


def average_cases(n: int, *rows: str) -> list[dict]:
    """A case for each row: its total and the number of its tasks."""
    totals = scores(n).sum(axis=1).round(2)
    return [
        {"table": n, "row": row, "total": float(totals[row]), "tasks": scores(n).shape[1]}
        for row in rows or totals.index
    ]


def average_law(text: str, n: int, *rows: str, wrong: float | Callable) -> Law:
    """The printed averages of rows are the means of their tasks, but for rounding."""
    return Law(text, printed_average, mean_of, average_cases(n, *rows), wrong=wrong, tolerance=HALF_UNIT)


# What the figures show


def average_rows() -> list[dict]:
    """Every printed average beside the mean of its row. Rows {table, row, printed, recomputed}."""
    return [
        {"table": n, "row": row, "printed": float(averages(n)[row]), "recomputed": float(mean)}
        for n in (1, 2, 4, 5, 8, 9, 11, 12)
        for row, mean in scores(n).mean(axis=1).items()
    ]


def gain_rows() -> list[dict]:
    """ParallelComp less the model alone by task, Tables 4 and 5. Rows {model, table, task, gain}."""
    return [
        {"model": model, "table": n, "task": task, "gain": round(float(gain), 2)}
        for n, model in product((4, 5), ("Llama3.1", "Qwen2.5"))
        for task, gain in (scores(n).loc[f"ParallelComp-{model}"] - scores(n).loc[model]).items()
    ]
