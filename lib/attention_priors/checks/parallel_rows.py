"""ParallelComp's tables as wide frames, and the two statements that most sentences about them make: an order, a mean.

Rows are (model, label), columns the tasks or lengths as printed; "<5" counts as 2.5, as in the paper's own averages,
and ">100" as 100.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pandas as pd

from attention_priors.checks.evidence import Evidence, agree, compare
from attention_priors.checks.printed import claimed, table

PAPER = "parallelcomp"
LLAMA2, LLAMA3 = "Llama2", "Llama3"
BACKBONES = (LLAMA2, LLAMA3)
PERPLEXITY = 3  # the one table in which lower is better
CENSORED = {"<5": 2.5, ">100": 100.0}
HALF_UNIT = 0.00501  # scores and averages are printed with two decimals

Row = tuple[str, str]  # (model, label); tables of one model have the model ""
Column = str | tuple[str, ...]  # a task, or several tasks for their mean


def number(printed: object) -> float:
    """A printed score as a number: "<5" is 2.5 and ">100" is 100."""
    return CENSORED.get(str(printed)) or float(printed)


def wide(n: int, paper: str = PAPER) -> pd.DataFrame:
    """Scores of one table, index (model, label), columns in the paper's order; without the row of lengths."""
    frame = table(paper, n)
    frame = frame[frame.label != "Max Length"]
    if "model" not in frame:
        frame = frame.assign(model="")
    value = "score" if "score" in frame else "printed"
    columns = "length" if "length" in frame else "task"
    frame = frame.assign(value=frame[value].map(number))
    return frame.pivot_table("value", ["model", "label"], columns, sort=False)


def split(n: int, paper: str = PAPER) -> tuple[pd.DataFrame, pd.Series]:
    """The scores of the tasks, and the printed averages beside them."""
    frame = wide(n, paper)
    return frame.iloc[:, :-1], frame.iloc[:, -1]


def tasks(n: int) -> list[str]:
    """The tasks of a table (the lengths of Table 3), in the paper's order."""
    return list((wide(n) if n == PERPLEXITY else split(n)[0]).columns)


def column(n: int, where: Column, frame: pd.DataFrame | None = None) -> pd.Series:
    """One task, the mean of the named tasks, or the mean of all for "mean": recomputed, not the printed one."""
    if frame is None:
        frame = wide(n) if n == PERPLEXITY else split(n)[0]
    if where == "mean":
        return frame.mean(axis=1)
    return frame[list(where)].mean(axis=1) if isinstance(where, tuple) else frame[where]


def rows(model: str, *labels: str) -> tuple[Row, ...]:
    return tuple((model, label) for label in labels)


def name(row: Row) -> str:
    return " ".join(part for part in (row[1], f"({row[0]})" if row[0] else "") if part)


@dataclass(frozen=True)
class Order:
    """In a table, each row of `ahead` is ahead of each row of `behind` in each column, or level within `slack`."""

    table: int
    ahead: tuple[Row, ...]
    behind: tuple[Row, ...]
    columns: tuple[Column, ...] = ("mean",)
    slack: float = 0.0


@dataclass(frozen=True)
class Orders:
    """All `orders` hold except in the cells `but`, where they do not: (table, column, row, row), all of them."""

    orders: tuple[Order, ...]
    but: frozenset[tuple[int, Column, Row, Row]] = field(default_factory=frozenset)


def pairs(order: Order) -> list[dict]:
    """Every comparison of an order: its cell, the two scores and by how much the first is ahead."""
    sign = -1 if order.table == PERPLEXITY else 1
    frame = wide(order.table) if order.table == PERPLEXITY else split(order.table)[0]
    scores = {where: column(order.table, where, frame) for where in order.columns}
    found = []
    for cell in cells(order):
        _, where, first, second = cell
        a, b = round(float(scores[where][first]), 4), round(float(scores[where][second]), 4)
        gap = sign * (a - b)
        holds = gap >= -order.slack if order.slack else gap > 0
        found.append({"cell": cell, "score": a, "other": b, "gap": gap, "holds": holds})
    return found


def cells(order: Order) -> list[tuple[int, Column, Row, Row]]:
    return [(order.table, *rest) for rest in product(order.columns, order.ahead, order.behind)]


def check_orders(statement: Orders) -> Evidence:
    """How many comparisons come out otherwise than stated; the worst of them is the counterexample."""
    found = [pair for order in statement.orders for pair in pairs(order)]
    wrong = [pair for pair in found if pair["holds"] == (pair["cell"] in statement.but)]
    unknown = len(statement.but - {pair["cell"] for pair in found})
    example = None
    if wrong:
        pair = max(wrong, key=lambda p: abs(p["gap"]))
        n, where, first, second = pair["cell"]
        names = {"where": place(n, where), "first": name(first), "second": name(second)}
        inputs = {**names, "score": pair["score"], "other": pair["other"]}
        said, actual = evaluate_orders(statement, **inputs)
        example = {"inputs": inputs, "claimed": said, "actual": actual}
    shown = "; ".join(
        f"{place(n, where)}: {name(first)} {pair['score']:g}, {name(second)} {pair['other']:g}"
        for pair in found if not pair["holds"] for n, where, first, second in [pair["cell"]]
    )  # fmt: skip
    least = min((pair["gap"] for pair in found if pair["holds"]), default=float("nan"))
    detail = f"comparisons otherwise than stated, of {len(found)}; "
    detail += f"not ahead: {shown}" if shown else f"smallest lead {least:.2f}"
    return compare(len(wrong) + unknown, "==", 0, 0, counterexample=example, detail=detail)


def evaluate_orders(statement: Orders, where: str, first: str, second: str, score: float, other: float):
    """The score of the row that is said to be ahead, or is excepted from that: what the statement says, what it is."""
    for order in statement.orders:
        for n, at, a, b in cells(order):
            if (place(n, at), name(a), name(b)) == (where, first, second):
                ahead = (n, at, a, b) not in statement.but
                lower = (n == PERPLEXITY) == ahead  # the score is said to be the lower one
                bound = other + (order.slack if n == PERPLEXITY else -order.slack)
                strict = ahead == (order.slack == 0)
                return claimed(score, ("<" if lower else ">") + ("" if strict else "="), round(bound, 4))
    raise ValueError(f"nothing is said of {first} against {second} at {where}")


def place(n: int, where: Column) -> str:
    return f"Table {n}, {' + '.join(where) if isinstance(where, tuple) else where}"


@dataclass(frozen=True)
class Averages:
    """Printed averages of rows of one table over its tasks."""

    table: int
    means: Mapping[Row, float]


def check_averages(statement: Averages) -> Evidence:
    """Largest distance of a stated average from the mean of the row's tasks, which may only be rounding."""
    scores, _ = split(statement.table)
    means = scores.mean(axis=1)
    gaps = {row: abs(value - float(means[row])) for row, value in statement.means.items()}
    row = max(gaps, key=gaps.get)
    example = None
    if gaps[row] > HALF_UNIT:
        inputs = {"row": name(row), "total": round(float(scores.loc[row].sum()), 2), "tasks": scores.shape[1]}
        said, actual = evaluate_averages(statement, **inputs)
        example = {"inputs": inputs, "claimed": said, "actual": actual}
    detail = "; ".join(f"{name(r)}: {float(means[r]):.3f}" for r in statement.means)
    return compare(round(gaps[row], 4), "<=", HALF_UNIT, counterexample=example, detail=f"recomputed: {detail}")


def evaluate_averages(statement: Averages, row: str, total: float, tasks: int):
    """The average that is stated for a row, and the total of its tasks over their number."""
    said = next(value for key, value in statement.means.items() if name(key) == row)
    return said, round(total / tasks, 2)


def compare_cells(statement: Mapping[object, float], elsewhere: Mapping[object, float], detail: str = "") -> Evidence:
    """How many stated scores differ from the same scores elsewhere. Keys name the cell."""
    differ = [key for key in statement if not agree(statement[key], elsewhere[key], 1e-9)]
    example = None
    if differ:
        key = max(differ, key=lambda k: abs(statement[k] - elsewhere[k]))
        example = {"inputs": {"cell": str(key), "elsewhere": elsewhere[key]}, "claimed": statement[key],
                   "actual": elsewhere[key]}  # fmt: skip
    return compare(len(differ), "==", 0, 0, counterexample=example, detail=detail)


def evaluate_cells(statement: Mapping[object, float], cell: str, elsewhere: float):
    """What a cell is stated to hold, and what is printed elsewhere."""
    return next(value for key, value in statement.items() if str(key) == cell), elsewhere


def identical(first: pd.Series, second: pd.Series) -> bool:
    """Two rows with the same scores, whatever their columns are called."""
    return len(first) == len(second) and bool(np.allclose(first.to_numpy(), second.to_numpy(), atol=1e-9))


# What the figures show


def average_rows() -> list[dict]:
    """Every printed average beside the mean of its row. Rows {table, row, printed, recomputed}."""
    found = []
    for n in (1, 2, 4, 5, 8, 9, 11, 12):
        scores, printed = split(n)
        found += [
            {"table": n, "row": name(row), "printed": float(printed[row]), "recomputed": float(mean)}
            for row, mean in scores.mean(axis=1).items()
        ]
    return found


def gain_rows() -> list[dict]:
    """ParallelComp less the model alone by task, Tables 4 and 5. Rows {model, table, task, gain}."""
    found = []
    for n in (4, 5):
        scores = split(n)[0].loc[""]
        for model in ("Llama3.1", "Qwen2.5"):
            gain = scores.loc[f"ParallelComp-{model}"] - scores.loc[model]
            found += [{"model": model, "table": n, "task": k, "gain": round(float(g), 2)} for k, g in gain.items()]
    return found
