"""Passkey retrieval for every encoding of a profile."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import pandas as pd
from pydantic import model_validator

from .. import evaluation, runtime
from ..config import Encodings, Evaluation, Frozen, Profile, Recipe, Size
from ..evaluation import passkey_samples
from ..tasks import passkey
from ..training.runs import Run, RunSpec
from .answers import Wanted, answers, reached, readings
from .arms import OURS, UNTRAINED, passkey_run, untrained
from .experiment import Experiment, Frames
from .gate import gated
from .grid import Job, Rows
from .seeds import answered, over_seeds, spread


class Settings(Frozen):
    """Which encodings, how trained, how far evaluated.

    All are asked `evaluation` and, with fewer prompts, `far`; `farthest_encodings` are asked `farthest` too, also
    where another section lists them.
    """

    size: Size
    recipe: Recipe
    encodings: Encodings
    evaluation: Evaluation
    far: Evaluation
    farthest: Evaluation
    farthest_encodings: Encodings
    hard: Evaluation
    hard_encodings: Encodings

    @model_validator(mode="after")
    def _holds_a_key(self) -> Self:
        names = ("evaluation", "far", "farthest", "hard")
        lengths = [("recipe.length", self.recipe.length)]
        if self.recipe.varied is not None:
            lengths.append(("recipe.varied.shortest", self.recipe.varied.shortest))
        lengths += [(f"{name}.lengths", length) for name in names for length in getattr(self, name).lengths]
        for name, length in lengths:
            if length < passkey.SHORTEST:
                raise ValueError(f"{name} = {length}, but a prompt takes at least {passkey.SHORTEST} tokens")
        return self

    @model_validator(mode="after")
    def _asked_at_the_gate(self) -> Self:
        if self.recipe.gate is not None:
            for name, asked in (("evaluation", self.evaluation), ("hard", self.hard)):
                if missing := sorted(set(self.recipe.gate.lengths) - set(asked.lengths)):
                    raise ValueError(
                        f"{name}.lengths lack {missing}, at which the gate asks; add them, so that a run "
                        "shows what it learned"
                    )
        return self

    def asked(self, name: str) -> list[Evaluation]:
        """What an encoding is asked on the plain task."""
        return [self.evaluation, self.far] + [self.farthest] * (name in self.farthest_encodings)


def wanted(profile: Profile) -> Wanted:
    """Every training run, with the names under which its model is evaluated and the evaluations of each."""
    settings, made = profile.passkey, {}
    for name in settings.encodings:
        for seed in profile.seeds_for(name):
            made.setdefault(passkey_run(profile, name, seed), {})[name] = settings.asked(name)
            if name in settings.hard_encodings and seed in profile.seeds:
                made.setdefault(passkey_run(profile, name, seed, hard=True), {})[name] = [settings.hard]
    return made


def samples(profile: Profile, runs: Path) -> pd.DataFrame:
    """Train what is missing, then answer prompts: one row per encoding, seed, form, length and depth.

    Form "plain" is BAM's task. Form "hard" has decoy digits: its models are trained on it, with the same recipe.
    """
    control = passkey_run(profile, OURS, profile.seeds[0]), profile.passkey.evaluation
    frame = answers(profile, runs, wanted(profile), "passkeys", Job(UNTRAINED, _untrained, control))
    by = ["form", "encoding", "seed", "length", "depth"]
    return frame.sort_values(by, kind="stable", ignore_index=True)


def _untrained(spec: RunSpec, wanted: Evaluation) -> Rows:
    model, common = untrained(spec), {"form": "plain", "encoding": UNTRAINED, "seed": spec.seed}
    return [
        common | {"length": length} | row | {"run": UNTRAINED}
        for length in wanted.lengths
        for row in passkey_samples(model, length, wanted.samples, spec.seed)
    ]


def turns(profile: Profile, runs: Path) -> pd.DataFrame:
    """Held-out accuracy while each model was trained: a row per turn of its gate; `steps` of at most `most` it took."""
    found, most = [], profile.passkey.recipe.steps
    for spec in wanted(profile):
        record = Run(spec, runs, runtime.device(profile.device)).record()
        form = "hard" if spec.task.endswith("hard") else "plain"
        found += [
            (form, spec.model.encoding, spec.seed, step, accuracy, record["steps"], most, record["key"])
            for step, accuracy in record["gate"]
        ]
    return pd.DataFrame(found, columns=["form", "encoding", "seed", "step", "accuracy", "steps", "most", "run"])


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    trained = profile.passkey.recipe.length
    return {
        "passkey_samples": samples(profile, runs).assign(trained=trained),
        "passkey_training": turns(profile, runs),
    }


def learned(frame: pd.DataFrame, training: pd.DataFrame) -> pd.DataFrame:
    """`gate.gated` of every trained model, with the steps that it took and could have had."""
    own = frame[(frame["encoding"] != UNTRAINED) & (frame["length"] <= frame["trained"])]
    steps = training.groupby(["form", "encoding", "seed"])[["steps", "most"]].first().reset_index()
    return gated(own).merge(steps, how="inner", on=["form", "encoding", "seed"])


def by_length(frame: pd.DataFrame) -> pd.DataFrame:
    """Accuracy per encoding, seed and length, with its exact binomial interval and the share of right digits."""

    def say(group: pd.DataFrame) -> dict:
        digits = group["digits"].mean() / passkey.DIGITS
        return answered(int(group["correct"].sum()), len(group)) | {"digit_accuracy": digits}

    return over_seeds(frame, ("form", "encoding", "seed", "length"), say, "trained", sort=True)


def accuracy(frame: pd.DataFrame) -> pd.DataFrame:
    """Per encoding and length: mean and median over seeds, `evaluation.share_interval` of the mean, the extremes."""

    def say(group: pd.DataFrame) -> dict:
        found = spread(group["accuracy"].to_numpy(), evaluation.share_interval(group["correct"], group["samples"]))
        return {
            "seeds": len(group),
            "mean": found.pop("mean"),
            "median": float(group["accuracy"].median()),
            **found,
            "samples": int(group["samples"].iloc[0]),
        }

    return over_seeds(by_length(frame), ("form", "encoding", "length"), say, "trained", sort=True)


def reach(frame: pd.DataFrame, accuracy: float = 0.8) -> pd.DataFrame:
    """Per encoding and seed: the longest length up to which accuracy never fell below `accuracy` (0: never reached)."""

    def say(group: pd.DataFrame) -> dict:
        longest = reached(group.set_index("length")["accuracy"], accuracy)
        return {"reach": longest, "longest_tested": int(group["length"].max())}

    return over_seeds(by_length(frame), ("form", "encoding", "seed"), say, "trained", sort=True)


EXPERIMENT = Experiment(
    name="passkeys",
    sections=("passkey",),
    asked=lambda profile, _: readings(wanted(profile)),
    measure=measure,
    frames=("passkey_samples", "passkey_training"),
    derive={
        "passkey_by_length": ("passkey_samples", by_length),
        "passkey_gate": (("passkey_by_length", "passkey_training"), learned),
        "passkey_over_seeds": ("passkey_samples", accuracy),
        "passkey_reach": ("passkey_samples", reach),
    },
)
