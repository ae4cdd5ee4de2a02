"""Encoders trained on short strings for algorithmic tasks, and asked about longer ones (Ruoss et al. 2023)."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
import torch
from pydantic import Field, model_validator
from scipy import stats

from .. import runtime
from ..config import Encodings, Frozen, ModelConfig, Profile, Recipe, Size
from ..evaluation import TOKENS_AT_ONCE
from ..model import Transformer
from ..positions.encodings import encoding
from ..tasks import algorithms
from ..training.runs import RunSpec
from .arms import UNTRAINED, Corpus, trained, untrained
from .experiment import Asked, Experiment, Question, Reading
from .grid import Job, Rows, gather, per_run

TRAINED, BEYOND = "trained", "beyond"  # the two parts of the lengths
SOLVED = Question("algorithms")


class Settings(Frozen):
    """Algorithmic tasks for encoders: the length of a recipe is that of the longest string in training."""

    size: Size
    recipe: Recipe
    tasks: tuple[str, ...]
    encodings: Encodings
    longest: int = Field(description="strings of every length up to this one are evaluated ...")
    every: int = Field(default=1, ge=1, description="... that is a multiple of this number")
    samples: int = Field(ge=1, description="strings of each length")

    @property
    def lengths(self) -> tuple[int, ...]:
        """Those of the evaluation, within training and beyond."""
        return tuple(range(self.every, self.longest + 1, self.every))

    @model_validator(mode="after")
    def _both_sides(self) -> Self:
        if not self.every <= self.recipe.length <= self.longest - self.every:
            raise ValueError(
                f"every = {self.every} and longest = {self.longest} leave no length within training or "
                f"none beyond it; trained up to {self.recipe.length}"
            )
        for task in self.tasks:
            algorithms.find(task)
        for name in self.encodings:
            longest = encoding(name).longest
            if longest is not None and longest < 2 * self.longest:
                raise ValueError(
                    f"strings of {self.longest} symbols and their slots take {2 * self.longest} "
                    f"positions, but {name} has {longest}; take an encoding with more"
                )
        return self


def spec(profile: Profile, task: str, name: str, seed: int) -> RunSpec:
    """The training run of an encoding on a task."""
    settings = profile.algorithms
    model = ModelConfig(vocabulary=algorithms.VOCABULARY, encoding=name, causal=False, **settings.size.model_dump())
    return RunSpec(task=f"algorithms/{task}", model=model, recipe=settings.recipe, seed=seed)


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    """A string of n symbols and its slots are 2 n tokens."""
    settings = profile.algorithms
    return {
        spec(profile, task, name, seed): [Reading(name, 2 * length, settings.samples) for length in settings.lengths]
        for task in settings.tasks
        for name in settings.encodings
        for seed in profile.seeds
    }


def answers(profile: Profile, runs: Path) -> pd.DataFrame:
    """Train what is missing, then ask: right symbols per task, encoding, seed and length, an untrained control last.

    At a given seed all encodings are trained on the same strings and asked about the same ones.
    """
    specs, lengths, samples = asked(profile), profile.algorithms.lengths, profile.algorithms.samples
    jobs = per_run(train_and_solve, specs, runs, profile.device, lengths, samples)
    first = [run for run in specs if run.model.encoding == profile.algorithms.encodings[0]]
    jobs += [Job(f"{UNTRAINED}/{run.name}", _untrained, (run, lengths, samples)) for run in first]
    return gather(jobs, profile, "algorithmic tasks").assign(trained=profile.algorithms.recipe.length)


def train_and_solve(run_spec: RunSpec, runs: str, device: str, lengths: tuple[int, ...], samples: int) -> Rows:
    """One model, trained and asked where the store lacks it."""
    run, record = trained(run_spec, runs, device)
    asked = lengths, samples
    found = SOLVED.put(run, asked, lambda: solved(run.model(), run_spec.task, *asked, run_spec.seed))
    common = {"task": _name(run_spec), "encoding": run_spec.model.encoding, "seed": run_spec.seed}
    return [common | row | {"run": record["key"]} for row in found]


@torch.inference_mode()
def solved(model: Transformer, task: str, lengths: tuple[int, ...], samples: int, seed: int) -> list[dict[str, int]]:
    """Right symbols at the slots of `samples` strings of each length, and strings without a wrong one.

    The strings depend on (seed, task, length) alone.
    """
    device = next(model.parameters()).device
    rows = []
    for length in lengths:
        generator = runtime.generator(seed, f"solved/{task}/{length}")
        tokens, expected = algorithms.strings(task.removeprefix("algorithms/"), length, samples, generator)
        step, slots = max(1, TOKENS_AT_ONCE // tokens.shape[1]), expected.shape[1]
        guesses = [model(part.to(device), last=slots).argmax(-1).cpu() for part in tokens.split(step)]
        right = torch.cat(guesses) == expected
        counts = {"right": int(right.sum()), "symbols": right.numel(), "whole": int(right.all(1).sum())}
        rows.append({"length": length} | counts | {"samples": samples})
    return rows


def _untrained(run_spec: RunSpec, lengths: tuple[int, ...], samples: int) -> Rows:
    found = solved(untrained(run_spec), run_spec.task, lengths, samples, run_spec.seed)
    common = {"task": _name(run_spec), "encoding": UNTRAINED, "seed": run_spec.seed}
    return [common | row | {"run": UNTRAINED} for row in found]


def _name(run_spec: RunSpec) -> str:
    return run_spec.task.removeprefix("algorithms/")


def order_free(task: str, length: int) -> float:
    """The best expected share of right symbols for a model to which all slots look alike: parity 1, others E[max] / n.

    Such a model, an encoder without positions, knows how often each symbol stands in the string and gives the most
    frequent one at every slot. The counts (N_1, ..., N_k) of n symbols are independent Poisson variables given their
    sum, so that P(max <= c) is a k-fold convolution of a truncated Poisson law, at n, over the whole law's.
    """
    symbols = algorithms.find(task).symbols
    if task == "parity":
        return 1.0
    law = stats.poisson.pmf(np.arange(length + 1), length / symbols)
    total, expected = stats.poisson.pmf(length, length), 0.0
    for most in range(length):
        below = np.where(np.arange(length + 1) <= most, law, 0.0)
        joint = np.ones(1)
        for _ in range(symbols):
            joint = np.convolve(joint, below)[: length + 1]
        expected += 1 - joint[length] / total  # E[max] is the sum of P(max > c)
    return float(expected / length)


def unread(task: str, length: int) -> float:
    """The best expected share of right symbols for a model that has not read the string.

    It knows which slot of how many it fills, and gives the likeliest symbol there: any of them, but for `bucket-sort`,
    where slot i of n holds the i-th smallest of n symbols, P(y_i <= s) = P(Binomial(n, (s + 1) / symbols) >= i).
    """
    known = algorithms.find(task)
    if task != "bucket-sort":
        return known.chance
    slots, shares = np.arange(1, length + 1)[:, None], np.arange(1, known.symbols + 1) / known.symbols
    up_to = stats.binom.sf(slots - 1, length, shares)  # [slots, symbols]
    return float(np.diff(up_to, axis=1, prepend=0).max(axis=1).mean())


def accuracy(frame: pd.DataFrame) -> pd.DataFrame:
    """Per task, encoding, seed and part of the lengths: the mean over lengths of the share of right symbols.

    Parts: "trained", up to the longest string of training, and "beyond". `whole` is the mean share of strings without a
    wrong symbol. `chance` (`unread`) and `order_free` are means over the same lengths. ValueError where a model lacks a
    length.
    """
    rows = []
    for (task, part), group in frame.assign(part=_part(frame)).groupby(["task", "part"], sort=False):
        lengths = sorted(set(group["length"]))
        common = {
            "part": part,
            "shortest": lengths[0],
            "longest": lengths[-1],
            "lengths": len(lengths),
            "samples": int(group["samples"].iloc[0]),
            "trained": int(group["trained"].iloc[0]),
            "chance": float(np.mean([unread(task, length) for length in lengths])),
            "order_free": float(np.mean([order_free(task, length) for length in lengths])),
        }
        for (name, seed), own in group.groupby(["encoding", "seed"], sort=False):
            if sorted(own["length"]) != lengths:
                raise ValueError(
                    f"{name} on {task} with seed {seed} was asked at {sorted(own['length'])}, others at "
                    f"{lengths}; ask all models at the same lengths"
                )
            shares = {"accuracy": own["right"] / own["symbols"], "whole": own["whole"] / own["samples"]}
            means = {column: float(values.mean()) for column, values in shares.items()}
            rows.append({"task": task, "encoding": name, "seed": seed} | common | means)
    return pd.DataFrame(rows)


def _part(frame: pd.DataFrame) -> np.ndarray:
    return np.where(frame["length"] <= frame["trained"], TRAINED, BEYOND)


EXPERIMENT = Experiment(
    name="algorithms",
    sections=("algorithms",),
    asked=asked,
    measure=lambda profile, runs, cache: {"algorithms_answers": answers(profile, runs)},
    frames=("algorithms_answers",),
    derive={"algorithms_accuracy": ("algorithms_answers", accuracy)},
)
