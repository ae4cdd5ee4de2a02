"""Associative recall of many pairs (MQAR, Arora et al. 2023): how many pairs does a model carry, and how far?

Every encoding is trained on texts of many lengths up to T and of many loads, and asked a grid of both. The surface of
accuracy over load and length comes down to one number by length: the load that is carried at half accuracy.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Self

import pandas as pd
import torch
from pydantic import model_validator

from .. import runtime
from ..config import Encodings, Evaluation, Frozen, Lengths, ModelConfig, Profile, Recipe, Seeds, Size
from ..evaluation import TOKENS_AT_ONCE, reader
from ..model import Transformer
from ..positions.encodings import encoding
from ..tasks import recall
from ..training.runs import RunSpec
from .arms import Corpus, trained
from .experiment import Asked, Experiment, Question, Reading
from .gate import gated
from .grid import Rows, gather, per_run
from .seeds import over_seeds, score_interval, spread

HALF = 0.5  # accuracy at which a load counts as carried
LEARNED = 16  # pairs that the gate asks
RECALLED = Question("recall")


class Settings(Frozen):
    """Which encodings, how trained, and the grid of loads and lengths that they are asked.

    A cell whose length cannot hold its load is left out. `evaluation.samples` are texts of a cell.
    """

    size: Size
    recipe: Recipe
    encodings: Encodings
    seeds: Seeds
    loads: Lengths
    evaluation: Evaluation

    @property
    def cells(self) -> list[tuple[int, int]]:
        """Every load with every length that holds it."""
        return [
            (load, length)
            for load in self.loads
            for length in self.evaluation.lengths
            if length >= recall.shortest(load)
        ]

    @model_validator(mode="after")
    def _of_its_own(self) -> Self:
        longest = max(self.evaluation.lengths)
        for name in self.encodings:
            row = encoding(name)
            if row.trained_as or (row.longest or longest) < longest:
                raise ValueError(
                    f"encodings: {name} has no weights of its own, or ends before {longest} tokens; leave it out"
                )
        return self

    @model_validator(mode="after")
    def _asked_up_to_the_gate(self) -> Self:
        if (most := max(self.loads)) > recall.VALUES:
            raise ValueError(f"loads = {most}, but there are {recall.VALUES} values; give at most so many pairs")
        if (LEARNED, self.recipe.length) not in self.cells:
            raise ValueError(
                f"loads = {list(self.loads)} and evaluation.lengths = {list(self.evaluation.lengths)} do "
                f"not ask {LEARNED} pairs at the training length {self.recipe.length}; add them, so that "
                "a run shows what it learned"
            )
        return self


def spec(profile: Profile, name: str, seed: int) -> RunSpec:
    """The training run of an encoding."""
    settings = profile.recall
    model = ModelConfig(vocabulary=recall.VOCABULARY, encoding=name, **settings.size.model_dump())
    return RunSpec(task="recall", model=model, recipe=settings.recipe, seed=seed)


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    settings = profile.recall
    return {
        spec(profile, name, seed): [Reading(name, length, settings.evaluation.samples) for _, length in settings.cells]
        for name in settings.encodings
        for seed in settings.seeds
    }


def answers(profile: Profile, runs: Path) -> pd.DataFrame:
    """Train what is missing, then ask: right answers per encoding, seed, load and length."""
    settings = profile.recall
    jobs = per_run(train_and_answer, asked(profile), runs, profile.device, settings)
    return gather(jobs, profile, "associative recall").assign(trained=settings.recipe.length)


def train_and_answer(run_spec: RunSpec, runs: str, device: str, settings: Settings) -> Rows:
    """One model, trained and asked where the store lacks it."""
    run, record = trained(run_spec, runs, device)
    given = settings.cells, settings.evaluation.samples
    rows = RECALLED.put(run, given, lambda: recalled(run.model(), *given, run_spec.seed))
    common = {"encoding": run_spec.model.encoding, "seed": run_spec.seed, "steps": record["steps"]}
    return [common | row | {"run": record["key"]} for row in rows]


@torch.inference_mode()
def recalled(model: Transformer, cells: list[tuple[int, int]], samples: int, seed: int) -> list[dict[str, int]]:
    """Right answers in each cell (load, length), of `queries` in `samples` texts that depend on seed and cell alone."""
    rows = []
    for load, length in cells:
        drawn = recall.texts(length, load, samples, runtime.generator(seed, f"recalled/{load}/{length}"))
        step = max(1, TOKENS_AT_ONCE // length)
        parts = [drawn.part(start, start + step) for start in range(0, samples, step)]
        right = sum(int(recall.right(model, part, backend=reader(model)).sum()) for part in parts)
        rows.append(
            {"load": load, "length": length, "correct": right, "queries": drawn.answers.numel(), "samples": samples}
        )
    return rows


def at_load(frame: pd.DataFrame, load: int = LEARNED) -> pd.DataFrame:
    """The rows of one load, each query a sample, as `gate.gated` and checks read them."""
    return frame[frame["load"] == load].drop(columns="samples").rename(columns={"queries": "samples"})


def learned(frame: pd.DataFrame) -> pd.DataFrame:
    """`gate.gated` of every run with LEARNED pairs, at each length up to T that holds them."""
    return gated(at_load(frame))


def accuracy(frame: pd.DataFrame) -> pd.Series:
    """Of each row: the share of queries that are answered."""
    return frame["correct"] / frame["queries"]


def surface(frame: pd.DataFrame, gates: pd.DataFrame) -> pd.DataFrame:
    """Per encoding, load and length: mean accuracy over seeds with its interval, and how many seeds passed the gate.

    A text counts as one trial, since its queries are answered by one reading.
    """
    counts = gates.groupby("encoding")["passed"].sum()

    def say(group: pd.DataFrame) -> dict:
        values = accuracy(group)
        return {
            "seeds": len(group),
            "passed": int(counts[group["encoding"].iloc[0]]),
            "samples": int(group["samples"].iloc[0]),
            **spread(values, score_interval(values, group["samples"])),
        }

    return over_seeds(frame, ("encoding", "load", "length"), say, "trained")


def carried(frame: pd.DataFrame, gates: pd.DataFrame) -> pd.DataFrame:
    """Per encoding, seed and length: the load carried at half accuracy, the most that was asked there, `passed`.

    Where accuracy first crosses HALF, on a line over log2 of the load; 0 where the least load is already below it, and
    the most that was asked where none is.
    """
    passed = gates.set_index(["encoding", "seed"])["passed"]

    def say(group: pd.DataFrame) -> dict:
        found = accuracy(group).set_axis(group["load"]).sort_index()
        name, seed = group["encoding"].iloc[0], group["seed"].iloc[0]
        return {
            "carried": crossing(list(found.index), list(found)),
            "most": int(found.index.max()),
            "least": int(found.index.min()),
            "passed": bool(passed[name, seed]),
        }

    return over_seeds(frame, ("encoding", "seed", "length"), say, "trained")


def crossing(loads: list[int], shares: list[float]) -> float:
    """The load at which shares, in the order of loads, first fall below HALF."""
    if shares[0] < HALF:
        return 0.0
    for k in range(1, len(loads)):
        if shares[k] < HALF:
            part = (shares[k - 1] - HALF) / (shares[k - 1] - shares[k])
            return 2 ** (math.log2(loads[k - 1]) + part * math.log2(loads[k] / loads[k - 1]))
    return float(loads[-1])


EXPERIMENT = Experiment(
    name="recall",
    sections=("recall",),
    asked=asked,
    measure=lambda profile, runs, cache: {"recall_answers": answers(profile, runs)},
    frames=("recall_answers",),
    derive={
        "recall_gate": ("recall_answers", learned),
        "recall_surface": (("recall_answers", "recall_gate"), surface),
        "recall_carried": (("recall_answers", "recall_gate"), carried),
    },
)
