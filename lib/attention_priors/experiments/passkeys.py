"""Passkey retrieval for every encoding of a profile."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from .. import evaluation, runtime, store
from ..config import Evaluation, ModelConfig, Profile
from ..evaluation import passkey_samples
from ..extension import extend
from ..model import Transformer
from ..positions.encodings import encoding
from ..positions.scaling import ScalableSoftmax
from ..tasks import passkey
from ..training import Run, RunSpec
from .grid import Job, run_all

UNTRAINED = "untrained"


def spec(profile: Profile, name: str, seed: int, hard: bool = False) -> RunSpec:
    """The training run behind an encoding (RoPE Local uses RoPE's weights)."""
    trained = encoding(name).trained_as or name
    settings = profile.passkey
    model = ModelConfig(vocabulary=len(passkey.VOCABULARY), encoding=trained, **settings.size.model_dump())
    task = "passkey-hard" if hard else "passkey"
    return RunSpec(task=task, model=model, recipe=settings.recipe, seed=seed)


def plan(profile: Profile) -> dict[RunSpec, dict[str, list[Evaluation]]]:
    """Every training run, with the names under which its model is evaluated and the evaluations of each."""
    settings = profile.passkey
    wanted: dict[RunSpec, dict[str, list[Evaluation]]] = {}
    for name in settings.encodings:
        for seed in profile.seeds_for(name):
            evaluations = [settings.evaluation] + [settings.far] * (name in settings.far_encodings)
            wanted.setdefault(spec(profile, name, seed), {})[name] = evaluations
            if name in settings.hard_encodings and seed in profile.seeds:
                wanted.setdefault(spec(profile, name, seed, hard=True), {})[name] = [settings.hard]
    return wanted


def cost(run: RunSpec, evaluations: int) -> tuple[int, bool, bool]:
    """Larger for longer jobs, which come first, so that no worker is left alone with one at the end.

    Reading far takes longest; then a prior, and SSMax, make both training and reading slower.
    """
    row = encoding(run.model.encoding)
    return evaluations, row.prior is not None, row.scale is ScalableSoftmax


def samples(profile: Profile, runs: Path) -> pd.DataFrame:
    """Train what is missing, then answer prompts: one row per encoding, seed, form, length and depth.

    Form "plain" is BAM's task. Form "hard" has decoy digits: its models are trained on it, with the same recipe.
    """
    settings, wanted = profile.passkey, plan(profile)
    order = sorted(wanted, key=lambda run: cost(run, sum(map(len, wanted[run].values()))), reverse=True)
    jobs = [Job(run.name, train_and_answer, (run, str(runs), profile.device, wanted[run])) for run in order]
    jobs.append(Job(UNTRAINED, _untrained, (spec(profile, "bam-ssmax", profile.seeds[0]), settings.evaluation)))
    tables = run_all(jobs, profile.workers, profile.threads, "passkeys")
    frame = pd.DataFrame([row for table in tables for row in table])
    by = ["form", "encoding", "seed", "length", "depth"]
    return frame.sort_values(by, kind="stable").reset_index(drop=True)


def train_and_answer(
    run_spec: RunSpec, runs: str, device: str, wanted: dict[str, list[Evaluation]]
) -> list[dict[str, Any]]:
    """One model: train it if it is not in the store, then answer what has not been answered yet.

    `wanted` maps the names under which the model is evaluated (RoPE Local uses RoPE's weights) to evaluations. Lengths
    beyond what an encoding is defined for are left out, and those beyond `give_up` lengths in a row without a hit.
    """
    run = Run(run_spec, runs, runtime.device(device))
    record = run.train(runtime.say if runtime.headless() else None)
    form = "hard" if run_spec.task.endswith("hard") else "plain"
    rows = []
    for name, evaluations in wanted.items():
        answers = Answers(run, name, form)
        longest = encoding(name).longest or math.inf
        missed = 0
        for asked, length in ((each, length) for each in evaluations for length in each.lengths):
            if length > longest or 0 < asked.give_up <= missed:
                break
            found = answers(length, asked.samples)
            common = {"form": form, "encoding": name, "seed": run_spec.seed, "length": length}
            rows += [common | row | {"run": record["key"]} for row in found]
            missed = 0 if any(row["correct"] for row in found) else missed + 1
    return rows


class Answers:
    """The answers of a finished run's model under one name, each length asked once and kept beside the run."""

    def __init__(self, run: Run, name: str, form: passkey.Form) -> None:
        self.run, self.name, self.form = run, name, form
        row = encoding(name)
        self.local = run.spec.recipe.length if row.local else None
        self.extends = name != run.spec.model.encoding and not row.local
        code = store.fingerprint(passkey_samples, Transformer)
        self.code: tuple[str, ...] = (code,)
        if self.extends:
            self.code = (code, name, store.fingerprint(extend, *row.parts()))
        self.model: Transformer | None = None

    def __call__(self, length: int, samples: int) -> list[dict[str, Any]]:
        """The rows of `passkey_samples`."""
        path = self.run.path / f"passkey-{store.key(length, samples, self.form, self.local, *self.code)}.json"

        def measure() -> list[dict[str, Any]]:
            self.model = self.model or self._open()
            return passkey_samples(self.model, length, samples, self.run.spec.seed, self.form, self.local)

        return store.kept_json(path, measure)

    def _open(self) -> Transformer:
        model = self.run.model()
        return extend(model, self.name, self.run.spec.recipe.length) if self.extends else model


def _untrained(run_spec: RunSpec, wanted: Evaluation) -> list[dict[str, Any]]:
    """The control: the same model before training."""
    torch.manual_seed(runtime.seed_for(run_spec.seed, f"init/{run_spec.model.encoding}"))
    model = Transformer(run_spec.model).eval()
    common = {"form": "plain", "encoding": UNTRAINED, "seed": run_spec.seed}
    return [
        common | {"length": length} | row | {"run": UNTRAINED}
        for length in wanted.lengths
        for row in passkey_samples(model, length, wanted.samples, run_spec.seed)
    ]


def by_length(frame: pd.DataFrame) -> pd.DataFrame:
    """Accuracy per encoding, seed and length, with its exact binomial interval and the share of right digits."""
    rows = []
    for (form, name, seed, length), group in frame.groupby(["form", "encoding", "seed", "length"], sort=True):
        right, n = int(group["correct"].sum()), len(group)
        low, high = evaluation.binomial_interval(right, n)
        digits = group["digits"].mean() / passkey.DIGITS
        rows.append({"form": form, "encoding": name, "seed": seed, "length": length, "correct": right, "samples": n,
                     "accuracy": right / n, "low": low, "high": high, "digit_accuracy": digits})  # fmt: skip
    return pd.DataFrame(rows)


def over_seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """Per encoding and length: mean and median over seeds, `evaluation.share_interval` of the mean, the extremes."""
    rows = []
    for (form, name, length), group in by_length(frame).groupby(["form", "encoding", "length"], sort=True):
        values = group["accuracy"].to_numpy()
        low, high = evaluation.share_interval(group["correct"], group["samples"])
        rows.append({"form": form, "encoding": name, "length": length, "seeds": len(values), "mean": values.mean(),
                     "median": float(group["accuracy"].median()), "low": low, "high": high,
                     "worst": values.min(), "best": values.max(),
                     "samples": int(group["samples"].iloc[0])})  # fmt: skip
    return pd.DataFrame(rows)


def reached(accuracies: pd.Series, accuracy: float) -> int:
    """The longest length (the index) up to which accuracies never fell below `accuracy`; 0: not at the first."""
    below = accuracies.sort_index() < accuracy
    good = below.index[~below.cummax()]
    return int(good.max()) if len(good) else 0


def reach(frame: pd.DataFrame, accuracy: float = 0.8) -> pd.DataFrame:
    """Per encoding and seed: the longest length up to which accuracy never fell below `accuracy` (0: never reached)."""
    rows = []
    for (form, name, seed), group in by_length(frame).groupby(["form", "encoding", "seed"], sort=True):
        longest = reached(group.set_index("length")["accuracy"], accuracy)
        limit = int(group["length"].max())
        rows.append({"form": form, "encoding": name, "seed": seed, "reach": longest, "longest_tested": limit})
    return pd.DataFrame(rows)
