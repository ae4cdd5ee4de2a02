"""RoPE's extensions as they are used: wide heads, a factor of L / T for the length L that is read, a short tuning.

Everything that is compared has one size, with heads of 32 or more: in narrow ones few planes turn within the training
length, and interpolation by parts finds nothing to keep. The factor is that of the length, at every length. Beside the
extensions of untouched weights stand rows with a short tuning on longer texts, where a factor is fixed once, and rows
with a longer one.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Self

import pandas as pd
from pydantic import Field, model_validator

from .. import evaluation
from ..config import Encodings, Evaluation, Extension, Frozen, Profile, Size
from ..positions.encodings import encoding, stretched
from ..positions.extensions import turns
from ..positions.rotary import rope
from ..training.extension import extend
from ..training.runs import RunSpec
from .answers import Answers, cost, readings
from .arms import Corpus, extended, passkey_run, resized, trained
from .experiment import Asked, Experiment, Frames, Question
from .gate import gated
from .grid import Job, Rows, gather
from .seeds import answered, carry, over_seeds

NARROWEST = 32
KEPT, BETWEEN, INTERPOLATED, BEYOND = "kept", "between", "interpolated", "slowed further"  # what becomes of a plane
STRETCHED = Question("passkey-stretched")


class Settings(Frozen):
    """The rows, the tuned rows, one size for all of them, and what they are asked."""

    size: Size
    encodings: Encodings = Field(description="extensions of RoPE, RoPE itself, and rows that need none")
    tuned: Encodings = Field(description="rows that are trained on for a few steps on longer texts")
    tuning: Extension
    longer: dict[str, int] = Field(default={}, description="tuned rows that are also trained for more steps: how many")
    evaluation: Evaluation

    @model_validator(mode="after")
    def _wide(self) -> Self:
        if self.size.width // self.size.heads < NARROWEST:
            raise ValueError(
                f"size: heads of {self.size.width // self.size.heads}, but extensions are compared with "
                f"heads of {NARROWEST} or more; use fewer heads or a wider model"
            )
        return self

    @model_validator(mode="after")
    def _extends_rope(self) -> Self:
        if self.tuned and "rope" not in self.encodings:
            raise ValueError("encodings: without 'rope', from whose weights the tuned rows begin; add it")
        for name in self.tuned:
            if "rope" not in (name, encoding(name).trained_as):
                raise ValueError(f"tuned: {name!r} is not RoPE and does not extend it; take it out")
        for name, steps in self.longer.items():
            if name not in self.tuned or steps <= self.tuning.steps:
                raise ValueError(
                    f"longer: {name!r} with {steps} steps is no row of `tuned` with more than its "
                    f"{self.tuning.steps} steps; name one, and more"
                )
        return self


def base_run(profile: Profile, name: str, seed: int) -> RunSpec:
    """The passkey training of an encoding's weights at the size of this comparison."""
    return resized(passkey_run(profile, name, seed), profile.stretches.size)


def tuned_run(profile: Profile, name: str, seed: int, steps: int) -> RunSpec:
    """The training on longer texts from RoPE's weights."""
    tuning = profile.stretches.tuning.model_copy(update={"steps": steps})
    return extended(base_run(profile, "rope", seed), tuning, name)


def wanted(profile: Profile) -> list[tuple[str, int, RunSpec]]:
    """Every encoding and seed: its name, the steps of its tuning (0: none), and the run whose weights it has."""
    settings = profile.stretches
    rows = [(name, 0) for name in settings.encodings] + [(name, settings.tuning.steps) for name in settings.tuned]
    return [
        (name, steps, tuned_run(profile, name, seed, steps) if steps else base_run(profile, name, seed))
        for name, steps in (*rows, *settings.longer.items())
        for seed in profile.seeds_for(name)
    ]


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    made: dict[RunSpec, dict[str, list[Evaluation]]] = {}
    for name, _steps, spec in wanted(profile):
        made.setdefault(spec, {})[name] = [profile.stretches.evaluation]
    return readings(made)


def naming(profile: Profile, _: Corpus | None = None) -> dict[RunSpec, str]:
    named = {}
    for name, steps, spec in wanted(profile):
        longer = f"-{steps}" if steps > profile.stretches.tuning.steps else ""
        row = f"stretches-tuned{longer}/{name}" if steps else f"stretches/{spec.model.encoding}"
        named[spec] = f"{row}/{spec.seed}"
    return named


class StretchedAnswers(Answers):
    """The answers of a model that is stretched, at every length L, by L / T."""

    def __call__(self, length: int, samples: int) -> Rows:
        trained_on = self.run.spec.recipe.length
        factor = max(1.0, length / trained_on)

        def measure() -> Rows:
            model = extend(self.run.model(), self.name, trained_on, factor)
            return evaluation.passkey_samples(model, length, samples, self.run.spec.seed, self.form)

        return STRETCHED.put(self.run, (length, samples, self.form, factor, self.extension), measure)


def learn(spec: RunSpec, runs: str, device: str) -> Rows:
    """Train a run that others begin with."""
    trained(spec, runs, device)
    return []


def answer(name: str, steps: int, spec: RunSpec, runs: str, device: str, wanted: Evaluation) -> Rows:
    """Train what is missing, then ask at every length."""
    run, record = trained(spec, runs, device)
    by_factor = stretched(encoding(name), 1.0) is not None and not steps
    answers = (StretchedAnswers if by_factor else Answers)(run, name, "plain")
    common = {"encoding": name, "steps": steps, "seed": spec.seed, "trained": (spec.start or spec).recipe.length}
    return [
        common | {"length": length, "run": record["key"]} | row
        for length in wanted.lengths
        for row in answers(length, wanted.samples)
    ]


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """A row per encoding, steps of tuning (0: none), seed and length: prompts answered, with the binomial interval.

    `passed`: the weights answer at every length up to T as they were trained (`gate.gated`), RoPE's where it is read in
    another way or tuned: an extension that breaks a model within T has failed, and counts.
    """
    settings = profile.stretches
    every = sorted(wanted(profile), key=lambda one: cost(one[2], 1), reverse=True)
    first = dict.fromkeys(spec.start for _, steps, spec in every if steps)
    gather([Job(spec.name, learn, (spec, str(runs), profile.device)) for spec in first], profile, "RoPE, wide heads")
    jobs = [
        Job(f"{name}/{spec.seed}", answer, (name, steps, spec, str(runs), profile.device, settings.evaluation))
        for name, steps, spec in every
    ]
    rows = gather(jobs, profile, "RoPE's extensions as they are used")

    def say(group: pd.DataFrame) -> dict:
        return answered(int(group["correct"].sum()), len(group)) | carry(group, "trained", "run")

    found = over_seeds(rows, ("encoding", "steps", "seed", "length"), say, sort=True)
    return {
        "extensions_retrieval": found.assign(passed=_passed(found)),
        "extensions_planes": planes(settings, profile.passkey.recipe.length),
    }


def _passed(frame: pd.DataFrame) -> list[bool]:
    gates = gated(frame[frame["steps"] == 0]).set_index(["encoding", "seed"])["passed"]
    names = ["rope" if row.steps else encoding(row.encoding).trained_as or row.encoding for row in frame.itertuples()]
    return [bool(gates[name, seed]) for name, seed in zip(names, frame["seed"], strict=True)]


def planes(settings: Settings, length: int) -> pd.DataFrame:
    """Per extension, factor and plane: turns within T, how many times slower the plane becomes, and what that is.

    `acts` is False where all planes stay, or all are interpolated though some should stay: at this size the method is
    RoPE, or it is position interpolation, and says nothing of its own.
    """
    width = settings.size.width // settings.size.heads
    turned = turns(rope(width, settings.size.rope_base), length)
    factors = sorted({each / length for each in settings.evaluation.lengths if each > length})
    rows = []
    for name in settings.encodings:
        for factor in factors if stretched(encoding(name), 1.0) else ():
            ratios = slower(name, width, settings.size.rope_base, factor, length)
            kinds = [_kind(ratio, factor) for ratio in ratios]
            acts = {*kinds} != {KEPT} and (name == "rope-pi" or {*kinds} != {INTERPOLATED})
            each = zip(range(len(kinds)), turned, ratios, kinds, strict=True)
            rows += [[name, factor, *plane, acts] for plane in each]
    return pd.DataFrame(rows, columns=["encoding", "factor", "plane", "turns", "slower", "kind", "acts"])


def slower(name: str, width: int, base: float, factor: float, length: int) -> list[float]:
    """ω / ω' of every plane of a head for a context `factor` times the trained `length`."""
    rotary = stretched(encoding(name), factor)(width, base)
    made = rotary.stretch(rotary.spectrum, round(factor * length), length)
    return [a / b for a, b in zip(rotary.spectrum.omega, made.omega, strict=True)]


def _kind(ratio: float, factor: float) -> str:
    if math.isclose(ratio, 1, rel_tol=1e-9):
        return KEPT
    if math.isclose(ratio, factor, rel_tol=1e-9):
        return INTERPOLATED
    return BETWEEN if ratio < factor else BEYOND


EXPERIMENT = Experiment(
    name="stretches",
    sections=("stretches", "passkey"),
    naming=naming,
    asked=asked,
    measure=measure,
    frames=("extensions_retrieval", "extensions_planes"),
)
