"""Experiments: the runs and evaluations that a profile asks for, as tables of numbers."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ..config import Profile
from ..store.registry import Table
from ..training.runs import RunSpec
from .arms import Corpus, corpus, unread
from .experiment import Experiment, Frames, sources

__all__ = ["EXPERIMENTS", "Corpus", "Experiment", "Frames", "corpus", "derived", "runs", "sources", "unread"]

# To add an experiment, write its file and add its row here; its settings have a row in config.SECTIONS.
EXPERIMENTS = Table(
    "experiment",
    __name__,
    {
        "passkeys": "passkeys:EXPERIMENT",
        "confound": "confound:EXPERIMENT",
        "benchmark": "benchmark:EXPERIMENT",
        "stretches": "stretches:EXPERIMENT",
        "differences": "differences:EXPERIMENT",
        "training_ablations": "ablations:TRAINED",
        "prior_ablations": "ablations:PRIOR",
        "corpus": "languages:TEXT",
        "languages": "languages:EXPERIMENT",
        "language_scale": "language_scale:EXPERIMENT",
        "misleading": "misleading:EXPERIMENT",
        "readings": "readings:EXPERIMENT",
        "language_ablations": "ablations:LANGUAGE",
        "algorithms": "algorithms:EXPERIMENT",
        "nope": "nope:EXPERIMENT",
        "needle_readings": "needles:READINGS",
        "needles": "needles:EXPERIMENT",
        "recall": "recall:EXPERIMENT",
        "learned": "learned:EXPERIMENT",
        "sharpness": "learned:SHARPNESS",
        "division": "division:EXPERIMENT",
        "elsewhere": "elsewhere:EXPERIMENT",
        "copying": "copying:EXPERIMENT",
        "sinks": "sinks:EXPERIMENT",
        "goat_passkeys": "goat_passkeys:EXPERIMENT",
        "goat_languages": "goat_languages:EXPERIMENT",
        "goat_offsets": "goat_offsets:EXPERIMENT",
        "resolution": "resolution:EXPERIMENT",
        "robustness": "robustness:EXPERIMENT",
        "digits": "resolution:DIGITS",
        "genomes": "genomes:EXPERIMENT",
        "genomes_cost": "genomes:COST",
        "parallel_needles": "parallel_needles:EXPERIMENT",
        "parallel_language": "parallel_language:EXPERIMENT",
        "parallel_profiles": "parallel_profiles:EXPERIMENT",
        "parallel_cost": "parallel_cost:EXPERIMENT",
        "pretrained": "pretrained:EXPERIMENT",
        "predictions": "learned:PREDICTIONS",
        "published": "published:EXPERIMENT",
        "findings": "findings:EXPERIMENT",
        "power": "differences:POWER",
        "pucks": "pucks:EXPERIMENT",
        "times": "times:EXPERIMENT",
    },
)


def runs(profile: Profile, found: Corpus) -> dict[str, RunSpec]:
    """Every training run of a profile by name. ValueError where two experiments give one name to different runs."""
    named: dict[str, RunSpec] = {}
    for experiment in EXPERIMENTS.values():
        for name, spec in experiment.plan(profile, found).items():
            if named.setdefault(name, spec) != spec:
                raise ValueError(
                    f"experiment {experiment.name!r} calls another run {name!r} than those before it; "
                    "rename it in its `plan`"
                )
    return named


def derived() -> dict[str, tuple[str | tuple[str, ...], Callable[..., pd.DataFrame]]]:
    """Every derived metric: its source or sources, and the function that makes it."""
    return {metric: row for experiment in EXPERIMENTS.values() for metric, row in experiment.derive.items()}


def optional() -> frozenset[str]:
    """The metrics that an experiment derives from where they are there, and does without where a profile has none."""
    return frozenset(metric for experiment in EXPERIMENTS.values() for metric in experiment.optional)
