"""Language models for every encoding of a profile: perplexity of the same tokens at every context length."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int
from torch import Tensor

from .. import evaluation, runtime, store
from ..config import ModelConfig, Profile
from ..evaluation import document_losses
from ..extension import extend
from ..model import Transformer
from ..positions.encodings import encoding
from ..text import hub, packing
from ..training import Run, RunSpec
from .grid import Job, run_all


def corpus(profile: Profile, cache: Path) -> tuple[packing.PackedCorpus, Path]:
    """The packed corpus of a profile and the file that holds it; built at first use, unless it is one of the hub."""
    settings = profile.language
    if hub.is_remote(settings.corpus):
        packed = hub.build(settings.corpus, settings.vocabulary, cache)
        return packed, hub.cache_path(settings.corpus, settings.vocabulary, cache)
    packed = packing.build(settings.corpus, settings.vocabulary, cache)
    if settings.corpus.startswith("packed:"):
        return packed, Path(settings.corpus.removeprefix("packed:"))
    return packed, packing.cache_path(settings.corpus, settings.vocabulary, cache)


def spec(profile: Profile, name: str, seed: int, packed: packing.PackedCorpus, path: Path) -> RunSpec:
    """The training run behind an encoding (RoPE Local uses RoPE's weights)."""
    trained = encoding(name).trained_as or name
    settings = profile.language
    model = ModelConfig(vocabulary=settings.vocabulary, encoding=trained, **settings.size.model_dump())
    inputs = (packed.meta["tokens_sha256"],)
    task = "language-stream" if settings.corpus.startswith("stream:") else "language"
    return RunSpec(task=task, model=model, recipe=settings.recipe, seed=seed, inputs=inputs, corpus=str(path))


def plan(profile: Profile, packed: packing.PackedCorpus, path: Path) -> dict[RunSpec, list[str]]:
    """Every training run, with the names under which its model is evaluated."""
    wanted: dict[RunSpec, list[str]] = {}
    for name in profile.language.encodings:
        for seed in profile.seeds_for(name):
            wanted.setdefault(spec(profile, name, seed, packed, path), []).append(name)
    return wanted


def losses(profile: Profile, runs: Path, cache: Path) -> pd.DataFrame:
    """Train what is missing, then read long documents: a row per encoding, seed, domain, length and document."""
    wanted = plan(profile, *corpus(profile, cache))
    order = sorted(wanted, key=lambda run: -len(wanted[run]))
    jobs = [Job(run.name, train_and_read, (run, str(runs), profile, tuple(wanted[run]))) for run in order]
    tables = run_all(jobs, profile.workers, profile.threads, "language models")
    frame = pd.DataFrame([row for table in tables for row in table])
    by = ["domain", "encoding", "seed", "length", "document"]
    return frame.sort_values(by, kind="stable").reset_index(drop=True)


def train_and_read(run_spec: RunSpec, runs: str, profile: Profile, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """One model: train it if it is not in the store, then measure what has not been measured yet."""
    run = Run(run_spec, runs, runtime.device(profile.device))
    record = run.train(runtime.say if runtime.headless() else None)
    rows = []
    for name in names:
        reader = Reader(run, name, profile)
        for domain in profile.language.domains:
            common = {"domain": domain, "encoding": name, "seed": run_spec.seed}
            rows += [common | row | {"run": record["key"]} for row in reader(domain, profile.language.lengths)]
    return rows


class Reader:
    """A finished run's model under one name; what it is measured on once is kept beside the run."""

    def __init__(self, run: Run, name: str, profile: Profile) -> None:
        self.run, self.name, self.settings = run, name, profile.language
        row = encoding(name)
        self.local = run.spec.recipe.length if row.local else None
        self.extends = name != run.spec.model.encoding and not row.local
        self.code = (name, store.fingerprint(extend, *row.parts())) if self.extends else ()
        self._model: Transformer | None = None

    def __call__(self, domain: str, lengths: tuple[int, ...]) -> list[dict[str, Any]]:
        """The rows of `document_losses` on the validation documents of a domain, the same whatever the lengths."""
        settings, longest = self.settings, max(self.settings.lengths)
        wanted = (lengths, settings.documents, settings.scored, domain, self.run.spec.inputs)
        cut = () if max(lengths) == longest else (longest,)

        def measure() -> list[dict[str, Any]]:
            return document_losses(self.model, self.texts(domain), lengths, settings.scored, self.local)

        code = store.fingerprint(document_losses, Transformer)
        return self.kept(f"language-{store.key(wanted, self.local, code, *self.code, *cut)}", measure)

    def texts(self, domain: str) -> Int[Tensor, "documents tokens"]:
        """The profile's validation documents of a domain."""
        settings = self.settings
        return _documents(self.run.spec.corpus, domain, max(settings.lengths), settings.documents)

    def kept(self, name: str, measure: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """<run>/<name>.json, measured if it is not there or damaged."""
        return store.kept_json(self.run.path / f"{name}.json", measure)

    @property
    def model(self) -> Transformer:
        if self._model is None:
            model = self.run.model()
            self._model = extend(model, self.name, self.run.spec.recipe.length) if self.extends else model
        return self._model


@functools.lru_cache(maxsize=4)
def _documents(path: str, domain: str, longest: int, limit: int) -> Int[Tensor, "documents tokens"]:
    return evaluation.language_documents(path, domain, longest, limit)


def perplexity(frame: pd.DataFrame) -> pd.DataFrame:
    """exp(mean loss over documents) per domain, encoding, seed and length."""
    by = ["domain", "encoding", "seed", "length"]
    grouped = frame.groupby(by, sort=True)["loss"].agg(["mean", "count"]).reset_index()
    grouped["perplexity"] = np.exp(grouped["mean"])
    return grouped.rename(columns={"mean": "loss", "count": "documents"})


def over_seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """Per domain, encoding and length: perplexity at the mean loss over seeds and its t interval."""
    rows = []
    for (domain, name, length), group in perplexity(frame).groupby(["domain", "encoding", "length"], sort=True):
        low, high = evaluation.seed_interval(group["loss"])
        rows.append({"domain": domain, "encoding": name, "length": length, "seeds": len(group),
                     "documents": int(group["documents"].iloc[0]), "perplexity": np.exp(group["loss"].mean()),
                     "low": np.exp(low), "high": np.exp(high)})  # fmt: skip
    return pd.DataFrame(rows)


def growth(frame: pd.DataFrame, trained: int) -> pd.DataFrame:
    """Loss at each length minus loss at the training length, per seed, on the same scored tokens (nats)."""
    table = perplexity(frame)
    base = table[table["length"] == trained].set_index(["domain", "encoding", "seed"])["loss"]
    index = pd.MultiIndex.from_frame(table[["domain", "encoding", "seed"]])
    return table.assign(growth=table["loss"].to_numpy() - base.reindex(index).to_numpy())
