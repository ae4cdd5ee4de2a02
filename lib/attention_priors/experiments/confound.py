"""One training length against many: does a model look for the key, or has it learned where the key stands?

A model that reads prompts of one length alone can learn a table from that length to a place. Here some encodings are
trained at one length and, as everywhere else, at lengths drawn anew for each batch; both are asked at lengths between.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

import pandas as pd
from pydantic import Field, model_validator

from .. import evaluation
from ..config import Encodings, Evaluation, Frozen, Profile, Seeds
from ..training.runs import RunSpec
from .answers import Wanted, cost, readings, train_and_answer
from .arms import FIXED, VARIED, Corpus, changed, check_prompts, is_table, passkey_run
from .experiment import Asked, Experiment, Frames
from .grid import Job, gather
from .seeds import answered, carry, over_seeds


class Settings(Frozen):
    """Encodings that are trained both ways, with seeds of their own or the profile's, and lengths on and off the one
    of training."""

    encodings: Encodings
    seeds: Seeds | None = Field(None, json_schema_extra={"before": None})
    evaluation: Evaluation

    @model_validator(mode="after")
    def _holds_a_key(self) -> Self:
        check_prompts(evaluation=self.evaluation)
        return self


def fixed(spec: RunSpec) -> RunSpec:
    """The run on whole prompts of the recipe's length alone; its gate asks there, as many prompts in all."""
    gate = spec.recipe.gate
    if gate is not None:
        asked = {"lengths": (spec.recipe.length,), "samples": gate.samples * len(gate.lengths)}
        gate = gate.model_copy(update=asked)
    return changed(spec, varied=None, gate=gate)


def wanted(profile: Profile) -> dict[str, Wanted]:
    """By way of training: the runs, and what each is asked."""
    settings, made = profile.confound, {FIXED: {}, VARIED: {}}
    for name in settings.encodings:
        for seed in settings.seeds or profile.seeds:
            spec = passkey_run(profile, name, seed)
            for way, run in ((FIXED, fixed(spec)), (VARIED, spec)):
                made[way].setdefault(run, {})[name] = [settings.evaluation]
    return made


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    every = wanted(profile)
    return readings(every[FIXED] | every[VARIED])


def naming(profile: Profile, _: Corpus | None = None) -> dict[RunSpec, str]:
    """The runs of one length; the others are those of the passkey experiment."""
    return {spec: f"confound/{spec.model.encoding}/{spec.seed}" for spec in wanted(profile)[FIXED]}


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """A row per way of training, encoding, seed and length: prompts answered, with the exact binomial interval."""
    every = [(training, spec, asks) for training, each in wanted(profile).items() for spec, asks in each.items()]
    every.sort(key=lambda one: cost(one[1], 1), reverse=True)
    jobs = [
        Job(spec.name, train_and_answer, (spec, str(runs), profile.device, asks, {"training": training}))
        for training, spec, asks in every
    ]
    rows = gather(jobs, profile, "one length against many")

    def say(group: pd.DataFrame) -> dict:
        return answered(int(group["correct"].sum()), len(group)) | carry(group, "run")

    made = over_seeds(rows, ("training", "encoding", "seed", "length"), say, sort=True)
    return {"passkey_confound": made.assign(trained=profile.passkey.recipe.length)}


def between(frame: pd.DataFrame) -> pd.DataFrame:
    """Per way of training and encoding: accuracy at the training length, and the worst of the others up to it.

    Means over seeds with `evaluation.share_interval`; `table` counts the seeds that `arms.is_table` finds.
    """
    trained = int(frame["trained"].iloc[0])

    def say(group: pd.DataFrame) -> dict:
        models = {seed: own.set_index("length")["accuracy"] for seed, own in group.groupby("seed")}
        at = group[group["length"] == trained].set_index("seed")
        shorter = group[group["length"] < trained]
        worst = shorter.loc[shorter.groupby("seed")["accuracy"].idxmin()].set_index("seed")
        found = {"seeds": len(at)}
        for name, rows in (("at", at), ("worst", worst)):
            low, high = evaluation.share_interval(rows["correct"], rows["samples"])
            found |= {name: rows["accuracy"].mean(), f"{name}_low": low, f"{name}_high": high}
        return found | {"table": sum(is_table(own, trained) for own in models.values())}

    return over_seeds(frame, ("training", "encoding"), say, "trained", sort=True)


EXPERIMENT = Experiment(
    name="confound",
    sections=("confound", "passkey"),
    naming=naming,
    asked=asked,
    measure=measure,
    frames=("passkey_confound",),
    derive={"passkey_between": ("passkey_confound", between)},
)
