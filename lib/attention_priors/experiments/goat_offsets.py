"""Goat with and without a rotation of its content, where a query names the offset of its answer (Goat, App. E.3).

A query "k" asks for the k-th last symbol of the text. A prior does not see the query, so that one head cannot obey it;
a rotation inside the content can. Heads are as wide as those of the section `goat_passkey`, recipe and questions those
of the section `division`.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ..config import Encodings, Evaluation, Frozen, Profile, Seeds
from ..model import Transformer
from ..training.runs import RunSpec
from .answers import addressed
from .arms import Corpus, address_run, trained
from .experiment import Asked, Experiment, Frames, Question, Reading
from .grid import Rows, gather, per_run
from .seeds import carry

OFFSETS = Question("offsets")


class Settings(Frozen):
    """Rows and seeds."""

    encodings: Encodings
    seeds: Seeds


def run(profile: Profile, name: str, seed: int) -> RunSpec:
    """The run of an encoding on addresses."""
    return address_run(profile, profile.goat_passkey.size, profile.division.recipe, name, seed)


def wanted(profile: Profile) -> list[RunSpec]:
    settings = profile.goat_offsets
    return [run(profile, name, seed) for name in settings.encodings for seed in settings.seeds]


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    each = profile.division.evaluation
    return {
        spec: [Reading(spec.model.encoding, length, each.samples) for length in each.lengths]
        for spec in wanted(profile)
    }


def naming(profile: Profile, _: Corpus | None = None) -> dict[RunSpec, str]:
    """The section `division` has runs of the same encodings with other heads."""
    return {spec: f"goat-offsets/{spec.model.encoding}/{spec.seed}" for spec in wanted(profile)}


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Frame `goat_offset_answers`: right answers by length and by the address that was asked for."""
    jobs = per_run(train_and_answer, wanted(profile), runs, profile.device, profile.division.evaluation)
    return {"goat_offset_answers": gather(jobs, profile, "offsets").assign(trained=profile.division.recipe.length)}


def train_and_answer(spec: RunSpec, runs: str, device: str, asks: Evaluation) -> Rows:
    """One model, trained and asked where the store lacks it."""
    done, record = trained(spec, runs, device)
    rows = OFFSETS.put(done, asks.model_dump(mode="json"), lambda: answered(done.model(), spec, asks))
    common = {"encoding": spec.model.encoding, "seed": spec.seed, "steps": record["steps"], "run": record["key"]}
    return [common | row for row in rows]


def answered(model: Transformer, spec: RunSpec, asks: Evaluation) -> Rows:
    """Right answers at each length by octave of the address: 1, 2-3, 4-7, ...; all are asked equally often.

    `address` is the first of its octave: the answer is that symbol or a later one, counted from the text's end.
    """
    rows = []
    for length in asks.lengths:
        addresses, right = addressed(model, spec, length, asks.samples, "offsets")
        octave = 2 ** addresses.double().log2().floor().long()
        for first in sorted(set(octave.flatten().tolist())):
            chosen = octave == first
            counts = {"correct": int(right[chosen].sum()), "samples": int(chosen.sum())}
            rows.append({"length": length, "address": first} | counts)
    return rows


def totals(frame: pd.DataFrame) -> pd.DataFrame:
    """Right answers per encoding, seed and length, over all addresses."""
    by = ["encoding", "seed", "length"]
    made = frame.groupby(by, sort=False, as_index=False).agg(
        correct=("correct", "sum"), samples=("samples", "sum"), steps=("steps", "first")
    )
    return made.assign(**carry(frame, "trained"))


EXPERIMENT = Experiment(
    name="goat_offsets",
    sections=("goat_offsets", "division", "goat_passkey"),
    naming=naming,
    asked=asked,
    measure=measure,
    frames=("goat_offset_answers",),
    derive={"goat_offset_totals": ("goat_offset_answers", totals)},
)
