"""What compositions of rotation and prior do beside passkeys and addresses: on text, and on a needle.

Nothing is trained here. Rows are the encodings of the division of work, as far as they learned text (notebook 09) and
RULER's needles (notebook 11); each task has models and a gate of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from ..evaluation import seed_interval, share_interval
from .experiment import Experiment

TEXT = "text"
NEEDLES = ("single-1", "single-2")  # a number in repeated filler, and one in prose
NEEDS = ("division_models", "language_perplexity", "ruler_answers", "ruler_gates")  # what `scores` reads
COLUMNS = ["encoding", "task", "multiple", "seeds", "passed", "value", "low", "high"]


def scores(models: pd.DataFrame, perplexity: pd.DataFrame, answers: pd.DataFrame, gates: pd.DataFrame) -> pd.DataFrame:
    """A row per encoding of the division, task, and multiple of that task's T: at T and beyond it.

    `value` is the mean over the seeds that passed the task's gate: of text the loss in nats at equal tokens with its t
    interval over seeds, of a needle the share answered with `share_interval`; what was given up counts as missed. NaN
    where no seed passed.
    """
    texts = perplexity[(perplexity["times"] == 1) & perplexity["trained_on"].astype(bool)]
    passed = gates[["task", "encoding", "seed", "passed"]]
    needles = answers[answers["task"].isin(NEEDLES)].merge(passed, on=["task", "encoding", "seed"])
    rows = []
    for name in models["encoding"].unique():
        rows += _rows(name, TEXT, texts[texts["encoding"] == name], _loss)
        for task in NEEDLES:
            own = needles[(needles["encoding"] == name) & (needles["task"] == task)]
            rows += _rows(name, task, own, _share)
    return pd.DataFrame(rows, columns=COLUMNS)


def _rows(name: str, task: str, frame: pd.DataFrame, say: Callable[[pd.DataFrame], tuple]) -> list[list]:
    made = []
    for length, own in frame[frame["length"] >= frame["trained"]].groupby("length"):
        passed = own[own["passed"].astype(bool)]
        said = (math.nan,) * 3 if passed.empty else say(passed)
        made.append([name, task, length / own["trained"].iloc[0], len(own), len(passed), *said])
    return made


def _loss(rows: pd.DataFrame) -> tuple[float, float, float]:
    return (float(rows["loss"].mean()), *seed_interval(rows["loss"]))


def _share(rows: pd.DataFrame) -> tuple[float, float, float]:
    asked = rows["samples"] * rows["required"]
    return (float((rows["right"] / asked).mean()), *share_interval(rows["right"], asked))


EXPERIMENT = Experiment(
    name="elsewhere",
    sections=("division", "language", "needles"),
    trained=("language", "needles"),
    needs=NEEDS,
    derive={"division_elsewhere": (NEEDS, scores)},
)
