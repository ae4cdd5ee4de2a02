"""The table of a benchmark's run: the mean score of each task and method with its interval over prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .. import store
from ..evaluation import binomial_interval, seed_interval
from ..figures import tables
from ..parallel.benchmarks import metrics
from ..parallel.benchmarks.methods import METHODS
from ..parallel.benchmarks.task import Task

CAPTION = (
    "Mean score of each task and method, with a 95 % interval over prompts: exact binomial where an answer is "
    "right or wrong, else Student's t. Entries: keys of the text that the question attends to. "
    "TFLOPs: of reading, counted."
)


def interval(scores: Sequence[float], binary: bool) -> tuple[float, float]:
    """Of the mean of scores between 0 and 1; one score that is no share tells nothing: [0, 1]."""
    if binary:
        return binomial_interval(int(sum(scores)), len(scores))
    low, high = seed_interval(scores)
    return max(0.0, low), min(1.0, high)


def table(records: Sequence[Mapping[str, Any]], tasks: Mapping[str, Task]) -> pd.DataFrame:
    """A row for each task and method, in their order."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in records:
        groups.setdefault((each["task"], each["method"]), []).append(each)
    rows = []
    for (name, method), group in groups.items():
        scores = [each["score"] for each in group]
        low, high = interval(scores, metrics.METRICS[tasks[name].metric].binary)
        rows.append(
            {
                "task": tasks[name].label,
                "method": METHODS[method].label,
                "score [95 % interval]": f"{np.mean(scores):.3f} [{low:.3f}, {high:.3f}]",
                "prompts": len(group),
                "tokens": round(float(np.mean([each["tokens"] for each in group]))),
                "entries": round(float(np.mean([each["entries"] for each in group]))),
                "TFLOPs": float(np.mean([each["flops"] for each in group])) / 1e12,
            }
        )
    return pd.DataFrame(rows)


def write(
    records: Sequence[Mapping[str, Any]], tasks: Mapping[str, Task], footer: str, folder: Path
) -> tuple[pd.DataFrame, list[Path]]:
    """table.{csv,md,tex}, and answers.jsonl with every answer and its score."""
    built = table(records, tasks)
    texts = {f"table.{end}": text for end, text in tables.render("benchmarks", built, CAPTION, footer).items()}
    texts["answers.jsonl"] = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records)
    for name, text in texts.items():
        store.write_text(folder / name, text)
    return built, [folder / name for name in texts]
