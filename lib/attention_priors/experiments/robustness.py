"""Does the order of encodings on passkeys depend on the recipe? The benchmark beside arms that change one thing.

Texts twice as long, a larger model, the same number of steps for all, or rates of each encoding's own, chosen by its
trials on a seed that no profile uses (`tuning`), by the answer loss up to T and not by what lies beyond.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from ..config import Encodings, Evaluation, Frozen, Profile, Seeds, Size
from ..evaluation import seed_interval
from ..training.runs import RunSpec
from .answers import Wanted, readings, train_and_answer
from .arms import ENDLESS, Corpus, Rates, changed, check_rates, longer, own_rates, passkey_run, resized
from .correlation import kendall
from .experiment import Asked, Experiment, Frames
from .gate import passing
from .grid import Job, gather

BENCHMARK, LONGER, LARGER, STEPS, RATES = "benchmark", "longer texts", "larger", "equal steps", "own rates"
ARMS = (LONGER, LARGER, STEPS, RATES)
TWICE = 2  # the second training length, in units of the first
GATE, FAR = (0.75, 0.875, 1.0), (2, 4, 8, 16)  # multiples of the training length that all are asked at
ORDER = ["arm", "encodings", "tau", "low", "high", "pairs", "kept", "turned"]


class Settings(Frozen):
    """Encodings, seeds, and what the arms change; everything else as in the section `passkey`."""

    encodings: Encodings
    seeds: Seeds
    size: Size = Field(description="of the larger models")
    steps: int = Field(ge=1, description="of every run in the arm without a gate, along a cosine")
    rates: Rates = Field({}, description="by encoding, times the recipe's: the best of its trials")
    prior_rates: Rates = Field({}, description="the same for parameters of priors")
    samples: int = Field(ge=1, description="prompts at each length")

    @model_validator(mode="after")
    def _known(self) -> Self:
        check_rates("robustness.rates", self.rates, self.encodings)
        check_rates("robustness.prior_rates", self.prior_rates, self.encodings)
        return self


def run(profile: Profile, arm: str, name: str, seed: int) -> RunSpec:
    """The training run of an encoding in an arm; own rates that are the recipe's give the benchmark's run."""
    settings, spec = profile.robustness, passkey_run(profile, name, seed)
    if arm == LARGER:
        return resized(spec, settings.size)
    if arm == LONGER:
        return spec.model_copy(update={"recipe": longer(spec.recipe, TWICE)})
    if arm == STEPS:
        return changed(spec, steps=settings.steps, **ENDLESS)
    own = own_rates(spec.recipe, settings.rates, settings.prior_rates, name)
    return changed(spec, **own) if arm == RATES else spec


def wanted(profile: Profile) -> dict[str, Wanted]:
    """By arm: the runs, and the multiples of their training length that each is asked at."""
    settings, made = profile.robustness, {}
    for arm in (BENCHMARK, *ARMS):
        made[arm] = {}
        for name, seed in itertools.product(settings.encodings, settings.seeds):
            spec = run(profile, arm, name, seed)
            lengths = tuple(round(times * spec.recipe.length) for times in (*GATE, *FAR))
            made[arm][spec] = {name: [Evaluation(lengths=lengths, samples=settings.samples)]}
    return made


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    return readings({spec: asks for own in wanted(profile).values() for spec, asks in own.items()})


def naming(profile: Profile, _: Corpus | None = None) -> dict[RunSpec, str]:
    """Runs of an arm by its name; those of the benchmark are its own."""
    every = wanted(profile)
    return {
        spec: f"robustness/{arm.replace(' ', '-')}/{spec.model.encoding}/{spec.seed}"
        for arm in ARMS
        for spec in every[arm]
        if spec not in every[BENCHMARK]
    }


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Frame `robustness_counts`: a row per arm, encoding, seed and length, the passkeys answered there."""
    jobs = [
        Job(f"{arm} {spec.name}", train_and_answer, (spec, str(runs), profile.device, asks, about))
        for arm, own in wanted(profile).items()
        for spec, asks in own.items()
        for about in [{"arm": arm, "trained": spec.recipe.length}]
    ]
    rows = gather(jobs, profile, "the benchmark by other recipes")
    by = ["arm", "encoding", "seed", "length", "trained", "run"]
    counts = rows.groupby(by, sort=False)["correct"].agg(correct="sum", samples="size")
    return {"robustness_counts": counts.reset_index()}


def scores(counts: pd.DataFrame) -> pd.DataFrame:
    """Arm, encoding, seed and the mean accuracy over the multiples of T beyond it, of runs that passed the gate."""
    kept = pd.concat([passing(own) for _, own in counts.groupby("arm", sort=False)])
    far = kept[kept["length"] > kept["trained"]].assign(score=lambda rows: rows["correct"] / rows["samples"])
    return far.groupby(["arm", "encoding", "seed"], sort=False)["score"].mean().reset_index()


def order(counts: pd.DataFrame) -> pd.DataFrame:
    """Per arm: Kendall's tau-b of its means with the benchmark's over the encodings that passed in both.

    `pairs` differ for certain in the benchmark (the interval over seeds excludes 0); of these, `kept` lead the same way
    in the arm for certain, `turned` the other.
    """
    found = scores(counts)
    wide = {arm: own.pivot(index="encoding", columns="seed", values="score") for arm, own in found.groupby("arm")}
    base, rows = wide.get(BENCHMARK, pd.DataFrame()), []
    for arm in (arm for arm in ARMS if arm in set(counts["arm"])):
        own = wide.get(arm, pd.DataFrame())
        both = [name for name in base.index if name in own.index]
        means = base.loc[both].mean(axis=1), own.loc[both].mean(axis=1)
        signs = [
            (leads(base, first, second), leads(own, first, second)) for first, second in itertools.combinations(both, 2)
        ]
        certain = [(here, there) for here, there in signs if here]
        turns = [sum(here * there == way for here, there in certain) for way in (1, -1)]
        rows.append([arm, len(both), *kendall(*means), len(certain), *turns])
    return pd.DataFrame(rows, columns=ORDER)


def leads(wide: pd.DataFrame, first: str, second: str) -> int:
    """1 or -1 for the encoding that leads within seeds, with an interval that excludes 0; otherwise 0."""
    gap = (wide.loc[first] - wide.loc[second]).dropna()
    low, high = seed_interval(gap) if len(gap) > 1 else (-np.inf, np.inf)
    return int(low > 0) - int(high < 0)


EXPERIMENT = Experiment(
    name="robustness",
    sections=("robustness", "passkey"),
    asked=asked,
    naming=naming,
    measure=measure,
    frames=("robustness_counts",),
    derive={"robustness_order": ("robustness_counts", order)},
)
