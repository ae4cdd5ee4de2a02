"""All encodings as language models, and a trained RoPE read in other ways: losses of the same tokens at every length.

A run is a part of one or several measurements: `benchmark` (every encoding), `extensions` (the same weights read
otherwise), `tuned` (RoPE trained further on longer texts), `small` and `longer` (a second size, a second training
length), `fading` (how attention thins out). What order is worth is measured of every model and every way to read one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field

from ..config import Encodings, Extension, Frozen, Lengths, Profile, Seeds, Size
from ..evaluation import seed_interval
from ..positions.encodings import encoding
from ..training.runs import RunSpec
from .arms import OWN, Corpus, corpus, extended, language_run, longer, resized, trained
from .documents import GATE, Reader, faded, gate, unigram
from .experiment import Asked, Experiment, Frames, Reading
from .grid import Job, Rows, run_all
from .seeds import carry

BENCHMARK, EXTENSIONS, TUNED, SMALL, LONGER = "benchmark", "extensions", "tuned", "small", "longer"
FADING = "fading"
LOSSES = (BENCHMARK, EXTENSIONS, TUNED, SMALL, LONGER)
COLUMNS = ["encoding", "seed", "length", "layer", "head", "peak", "entropy", "trained", "run", "passed"]
TWICE = 2  # the second training length, in units of the first

Wanted = tuple[str, str]  # (part, name of the encoding under which the model is read)


class More(Frozen):
    """Seeds besides the usual ones for some encodings of two parts, where those left an interval open."""

    seeds: Seeds
    benchmark: Encodings
    fading: Encodings

    def of(self, part: str, name: str) -> tuple[int, ...]:
        asked = {BENCHMARK: self.benchmark, FADING: self.fading}
        return self.seeds if name in asked.get(part, ()) else ()


class Settings(Frozen):
    """All encodings as language models, and what becomes of a trained RoPE; the rest as in the section `language`.

    Every encoding is read on the domain of training. Encodings of the main comparison, and what is done with a trained
    RoPE, have its seeds; the second size, the second length and fading have the profile's.
    """

    encodings: Encodings = Field(description="trained besides those of the section `language`")
    extensions: Encodings = Field(description="ways to read those models without training")
    lengths: Lengths = Field(description="that extensions are read at")
    tuned: Encodings = Field(description="encodings with which a trained RoPE is trained further")
    tuning: Extension
    small: Encodings = Field(description="encodings that are also trained at a second size")
    size: Size
    longer: Encodings = Field(description="encodings that are also trained at twice the length")
    fading: Encodings = Field(description="encodings whose attention is measured by length")
    fading_lengths: Lengths
    fading_documents: int = Field(ge=1)
    more: More | None = Field(default=None, json_schema_extra={"before": None}, description="seeds of some of these")


def wanted(profile: Profile, found: Corpus) -> dict[RunSpec, list[Wanted]]:
    """Every training run with what it is measured for. Runs that the language experiment has too are the same runs."""
    settings = profile.readings
    made: dict[RunSpec, list[Wanted]] = {}

    def add(part: str, names: tuple[str, ...], change: Callable[[RunSpec, str], RunSpec] | None = None) -> None:
        for name in names:
            for seed in seeds(profile, part, name):
                run = language_run(profile, name, seed, *found)
                if change:
                    run = change(run, name).model_copy(update={"task": f"{run.task}-{part}"})
                made.setdefault(run, []).append((part, name))

    add(BENCHMARK, tuple(dict.fromkeys((*profile.language.encodings, *settings.encodings))))
    add(EXTENSIONS, settings.extensions)
    add(TUNED, settings.tuned, lambda run, name: extended(run, settings.tuning, name))
    add(SMALL, settings.small, lambda run, _: resized(run, settings.size))
    add(LONGER, settings.longer, lambda run, _: run.model_copy(update={"recipe": longer(run.recipe, TWICE)}))
    add(FADING, settings.fading)
    return made


def seeds(profile: Profile, part: str, name: str) -> tuple[int, ...]:
    """Those of an encoding in a part, each once."""
    usual = profile.seeds_for(name) if part in (BENCHMARK, EXTENSIONS, TUNED) else profile.seeds
    more = profile.readings.more.of(part, name) if profile.readings.more else ()
    return tuple(dict.fromkeys((*usual, *more)))


def asked(profile: Profile, found: Corpus) -> Asked:
    return {
        spec: [
            Reading(name, length, profile.language.documents)
            for part, name in names
            if part in LOSSES
            for length in lengths(profile, part, spec.recipe.length)
        ]
        for spec, names in wanted(profile, found).items()
    }


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Train what is missing and measure it: losses of texts, sense of order, fading.

    `language_readings` has a row per part, encoding, seed and length: mean loss over documents, and its growth.
    `passed` is that of the model whose weights are read. ValueError where a measurement of some seed is missing.
    """
    found = corpus(profile, cache)
    every = wanted(profile, found)
    chains: dict[RunSpec, dict[RunSpec, list[Wanted]]] = {}
    for spec, names in every.items():
        chains.setdefault(spec.start or spec, {})[spec] = names  # what starts from a run comes after it
    jobs = [Job(base.name, train_and_measure, (chain, str(runs), profile)) for base, chain in chains.items()]
    jobs.sort(key=lambda job: -sum(map(len, job.arguments[0].values())))  # the longest jobs first
    rows = [row for each in run_all(jobs, profile.workers, profile.threads, "readings") for row in each]
    listed = {(part, name, spec.seed) for spec, names in every.items() for part, name in names}
    missing = listed - {(row["part"], row["encoding"], row["seed"]) for row in rows}
    if missing:
        raise ValueError(f"not measured: {sorted(missing)}; a benchmark leaves no encoding and no seed out")
    frequencies = unigram(profile, *found)[profile.language.domains[0]]
    losses = growth(mean_losses(pd.DataFrame([row for row in rows if row["part"] in LOSSES])))
    fading = pd.DataFrame([row for row in rows if row["part"] == FADING], columns=COLUMNS)
    return {
        "language_readings": losses.assign(scored=profile.language.scored, unigram=frequencies),
        "language_fading": fading.sort_values(["encoding", "seed"], kind="stable", ignore_index=True),
    }


def train_and_measure(chain: dict[RunSpec, list[Wanted]], runs: str, profile: Profile) -> Rows:
    """A run and those that start from it: train what is not in the store, then measure what has not been measured."""
    rows = []
    for spec, names in chain.items():
        run, record = trained(spec, runs, profile.device)
        for part, name in names:
            reader = Reader(run, name, profile)
            common = {"part": part, "encoding": name, "seed": spec.seed, "trained": spec.recipe.length}
            common |= {"run": record["key"]} | gate(reader, profile)
            rows += [common | row for row in _measured(reader, part, profile)]
    return rows


def _measured(reader: Reader, part: str, profile: Profile) -> Rows:
    if part == FADING:
        return faded(reader, profile)
    domain, longest = profile.language.domains[0], encoding(reader.name).longest
    asked = lengths(profile, part, reader.run.spec.recipe.length)
    asked = tuple(length for length in asked if longest is None or length <= longest)
    return [row | {"domain": domain} for row in reader(domain, asked)]


def lengths(profile: Profile, part: str, trained: int) -> tuple[int, ...]:
    """The context lengths at which a part is read."""
    if part == SMALL:
        return (trained,)
    if part in (EXTENSIONS, TUNED):
        return profile.readings.lengths
    every = profile.language.lengths
    return every if part == BENCHMARK else tuple(n for n in every if n >= trained)


def mean_losses(rows: pd.DataFrame) -> pd.DataFrame:
    """The mean loss over documents, a row per part, encoding, seed and length."""
    by = ["part", "encoding", "seed", "length"]
    table = rows.groupby(by, sort=False, as_index=False).agg(
        loss=("loss", "mean"),
        documents=("loss", "size"),
        trained=("trained", "first"),
        domain=("domain", "first"),
        run=("run", "first"),
        **{column: (column, "first") for column in GATE},
    )

    def rank(column: pd.Series) -> pd.Series:
        return column.map(LOSSES.index) if column.name == "part" else column

    return table.sort_values(by, key=rank, kind="stable", ignore_index=True).astype({"trained": int})


def growth(table: pd.DataFrame) -> pd.DataFrame:
    """Adds what a loss is above that of the trained model at its training length, on the same tokens and seed (nats).

    For an extension and for what was tuned that is the model whose weights it got, read as it was trained; whether it
    passed its gate is said of that model too.
    """
    rows = table[table["length"] == table["trained"]].itertuples()
    trained = {(row.part, row.encoding, row.seed): (row.loss, row.passed) for row in rows}
    grown, passed = [], []
    for row in table.itertuples():
        owner = row.part, row.encoding, row.seed
        if row.part in (EXTENSIONS, TUNED):
            owner = BENCHMARK, encoding(row.encoding).trained_as or row.encoding, row.seed
        if owner not in trained:
            raise ValueError(
                f"no loss of {owner[1]!r}, seed {owner[2]}, at its training length; add both to the profile"
            )
        loss, known = trained[owner]
        grown.append(row.loss - loss)
        passed.append(known)
    return table.assign(growth=grown, perplexity=np.exp(table["loss"]), passed=passed)


def by_length(table: pd.DataFrame) -> pd.DataFrame:
    """From `language_readings`: per encoding and length the mean growth over seeds with its t interval, the loss at T.

    `state`: "read"; "undefined" beyond the encoding's longest context; "left out" where a profile does not read it.
    """
    rows = table[table["part"].isin((BENCHMARK, EXTENSIONS))]
    every, made = sorted(set(rows["length"])), []
    for (part, name), group in rows.groupby(["part", "encoding"], sort=False):
        row, trained = encoding(name), int(group["trained"].iloc[0])
        at = group[group["length"] == trained]["loss"]
        low, high = seed_interval(at)
        common = {"encoding": name, "family": row.family, "borrows": row.trained_as or OWN, "part": part}
        common |= {"trained": trained, "seeds": group["seed"].nunique()}
        common |= {"passed": group.loc[group["passed"], "seed"].nunique()}
        common |= {"loss_at": at.mean(), "low_at": low, "high_at": high}
        for length in every:
            values = group[group["length"] == length]["growth"]
            state = (
                "read" if len(values) else "left out" if row.longest is None or length <= row.longest else "undefined"
            )
            low, high = seed_interval(values) if len(values) else (np.nan, np.nan)
            made.append(common | {"length": length, "growth": values.mean(), "low": low, "high": high, "state": state})
    documents = {"documents": int(table["documents"].max())} if "documents" in table else {}
    return pd.DataFrame(made).assign(**carry(table, "scored"), **documents)


EXPERIMENT = Experiment(
    name="readings",
    sections=("readings", "language"),
    asked=asked,
    measure=measure,
    frames=("language_readings", "language_fading"),
    derive={"encodings_perplexity": ("language_readings", by_length)},
)
