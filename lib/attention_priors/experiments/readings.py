"""All encodings as language models, and a trained RoPE read in other ways: losses of the same tokens at every length.

A run is a part of one or several measurements: `benchmark` (every encoding), `extensions` (the same weights read
otherwise), `tuned` (RoPE trained further on longer texts), `small` and `longer` (a second size, a second training
length), `order` and `fading` (what a model tells apart, and how its attention thins out).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .. import runtime
from ..config import Profile
from ..evaluation import seed_interval
from ..positions.encodings import encoding
from ..text import packing
from ..training import Run, RunSpec
from . import ablations, fading, languages, order
from .benchmark import OWN, family
from .grid import Job, run_all
from .languages import Reader

BENCHMARK, EXTENSIONS, TUNED, SMALL, LONGER = "benchmark", "extensions", "tuned", "small", "longer"
ORDER, FADING = "order", "fading"
LOSSES = (BENCHMARK, EXTENSIONS, TUNED, SMALL, LONGER)
COLUMNS = {
    ORDER: ["encoding", "seed", "loss", "swapped", "gap", "preferred", "pairs", "trained", "run"],
    FADING: ["encoding", "seed", "length", "layer", "head", "peak", "entropy", "trained", "run"],
}
TWICE = 2  # the second training length, in units of the first

Wanted = tuple[str, str]  # (part, name of the encoding under which the model is read)


def plan(profile: Profile, packed: packing.PackedCorpus, path: Path) -> dict[RunSpec, list[Wanted]]:
    """Every training run with what it is measured for. Runs that `languages.plan` has too are the same runs."""
    settings = profile.language.benchmark
    wanted: dict[RunSpec, list[Wanted]] = {}

    def add(part: str, names: tuple[str, ...], spec: Callable[[RunSpec, str], RunSpec] = lambda run, _: run) -> None:
        for name in names:
            for seed in profile.seeds:
                run = spec(languages.spec(profile, name, seed, packed, path), name)
                wanted.setdefault(run, []).append((part, name))

    add(BENCHMARK, tuple(dict.fromkeys((*profile.language.encodings, *settings.encodings))))
    add(EXTENSIONS, settings.extensions)
    add(TUNED, settings.tuned, lambda run, name: tuned(run, name, profile))
    add(SMALL, settings.small, lambda run, _: small(run, profile))
    add(LONGER, settings.longer, lambda run, _: longer(run))
    add(ORDER, settings.order)
    add(FADING, settings.fading)
    return wanted


def tuned(run: RunSpec, name: str, profile: Profile) -> RunSpec:
    """`run` trained further on longer texts, as the encoding `name`."""
    made = ablations.extended(run, profile.language.benchmark.tuning, name)
    return made.model_copy(update={"task": f"{run.task}-{TUNED}"})


def small(run: RunSpec, profile: Profile) -> RunSpec:
    """The same at the second size."""
    model = run.model.model_copy(update=profile.language.benchmark.size.model_dump())
    return run.model_copy(update={"task": f"{run.task}-{SMALL}", "model": model})


def longer(run: RunSpec) -> RunSpec:
    """The same at the second training length."""
    return run.model_copy(update={"task": f"{run.task}-{LONGER}", "recipe": ablations.longer(run.recipe, TWICE)})


def measure(profile: Profile, runs: Path, cache: Path) -> dict[str, pd.DataFrame]:
    """Train what is missing and measure it: frames `readings`, `order` and `fading`.

    `readings` has a row per part, encoding, seed and length: mean loss over documents, and its growth. ValueError
    where a measurement of some seed is missing.
    """
    wanted = plan(profile, *languages.corpus(profile, cache))
    chains: dict[RunSpec, dict[RunSpec, list[Wanted]]] = {}
    for spec, names in wanted.items():
        chains.setdefault(spec.start or spec, {})[spec] = names  # what starts from a run comes after it
    jobs = [Job(base.name, train_and_measure, (chain, str(runs), profile)) for base, chain in chains.items()]
    jobs.sort(key=lambda job: -sum(map(len, job.arguments[0].values())))  # the longest jobs first
    tables = run_all(jobs, profile.workers, profile.threads, "readings")
    rows = [row for table in tables for row in table]
    asked = {(part, name, spec.seed) for spec, names in wanted.items() for part, name in names}
    missing = asked - {(row["part"], row["encoding"], row["seed"]) for row in rows}
    if missing:
        raise ValueError(f"not measured: {sorted(missing)}; a benchmark leaves no encoding and no seed out")
    made = {"readings": growth(mean_losses(pd.DataFrame([row for row in rows if row["part"] in LOSSES])))}
    for part in (ORDER, FADING):
        own = pd.DataFrame([row for row in rows if row["part"] == part])[COLUMNS[part]]
        made[part] = own.sort_values(["encoding", "seed"], kind="stable").reset_index(drop=True)
    return made


def train_and_measure(chain: dict[RunSpec, list[Wanted]], runs: str, profile: Profile) -> list[dict[str, Any]]:
    """A run and those that start from it: train what is not in the store, then measure what has not been measured."""
    rows = []
    for spec, wanted in chain.items():
        run = Run(spec, runs, runtime.device(profile.device))
        record = run.train(runtime.say if runtime.headless() else None)
        for part, name in wanted:
            reader = Reader(run, name, profile)
            common = {"part": part, "encoding": name, "seed": spec.seed, "trained": spec.recipe.length,
                      "run": record["key"]}  # fmt: skip
            rows += [common | row for row in _measured(reader, part, profile)]
    return rows


def _measured(reader: Reader, part: str, profile: Profile) -> list[dict[str, Any]]:
    if part == ORDER:
        return order.measured(reader, profile)
    if part == FADING:
        return fading.measured(reader, profile)
    domain, longest = profile.language.domains[0], encoding(reader.name).longest
    asked = lengths(profile, part, reader.run.spec.recipe.length)
    asked = tuple(length for length in asked if longest is None or length <= longest)
    return [row | {"domain": domain} for row in reader(domain, asked)]


def lengths(profile: Profile, part: str, trained: int) -> tuple[int, ...]:
    """The context lengths at which a part is read."""
    settings = profile.language
    if part == SMALL:
        return (trained,)
    if part in (EXTENSIONS, TUNED):
        return settings.benchmark.lengths
    return settings.lengths if part == BENCHMARK else tuple(n for n in settings.lengths if n >= trained)


def mean_losses(rows: pd.DataFrame) -> pd.DataFrame:
    """The mean loss over documents, a row per part, encoding, seed and length."""
    by = ["part", "encoding", "seed", "length"]
    table = rows.groupby(by, sort=False, as_index=False).agg(
        loss=("loss", "mean"), documents=("loss", "size"), trained=("trained", "first"), domain=("domain", "first"),
        run=("run", "first"),
    )  # fmt: skip
    ranks = {part: rank for rank, part in enumerate(LOSSES)}
    return table.sort_values(by, key=lambda column: column.map(ranks) if column.name == "part" else column,
                             kind="stable").astype({"trained": int}).reset_index(drop=True)  # fmt: skip


def growth(table: pd.DataFrame) -> pd.DataFrame:
    """Adds what a loss is above that of the trained model at its training length, on the same tokens and seed (nats).

    For an extension and for what was tuned that is the model whose weights it got, read as it was trained.
    """
    trained = table[table["length"] == table["trained"]].set_index(["part", "encoding", "seed"])["loss"]
    grown = []
    for row in table.itertuples():
        owner = row.part, row.encoding, row.seed
        if row.part in (EXTENSIONS, TUNED):
            owner = BENCHMARK, encoding(row.encoding).trained_as or row.encoding, row.seed
        if owner not in trained.index:
            raise ValueError(
                f"no loss of {owner[1]!r}, seed {owner[2]}, at its training length; add both to the profile"
            )
        grown.append(row.loss - trained[owner])
    return table.assign(growth=grown, perplexity=np.exp(table["loss"]))


def by_length(table: pd.DataFrame) -> pd.DataFrame:
    """From `readings`: per encoding and length the mean growth over seeds with its t interval, and the loss at T.

    `state`: "read"; "undefined" beyond the encoding's longest context; "left out" where a profile does not read it.
    """
    rows = table[table["part"].isin((BENCHMARK, EXTENSIONS))]
    every, made = sorted(set(rows["length"])), []
    for (part, name), group in rows.groupby(["part", "encoding"], sort=False):
        row, trained = encoding(name), int(group["trained"].iloc[0])
        at = group[group["length"] == trained]["loss"]
        low, high = seed_interval(at)
        common = {"encoding": name, "family": family(row), "borrows": row.trained_as or OWN, "part": part,
                  "trained": trained, "seeds": group["seed"].nunique(), "loss_at": at.mean(), "low_at": low,
                  "high_at": high}  # fmt: skip
        for length in every:
            values = group[group["length"] == length]["growth"]
            state = (
                "read" if len(values) else "left out" if row.longest is None or length <= row.longest else "undefined"
            )
            low, high = seed_interval(values) if len(values) else (np.nan, np.nan)
            made.append(common | {"length": length, "growth": values.mean(), "low": low, "high": high, "state": state})
    return pd.DataFrame(made)
