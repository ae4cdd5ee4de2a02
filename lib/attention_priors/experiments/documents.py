"""What language models lose on long documents, measured once and kept beside the run."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from torch import Tensor

from .. import evaluation
from ..config import Profile
from ..corpora import packing
from ..evaluation import document_losses
from ..training.runs import Run, RunSpec
from . import order
from .arms import trained
from .experiment import Asked, Opened, Question, Reading
from .grid import Job, Rows, gather

ROW = ["encoding", "times", "seed"]  # a model: `times` as many tokens as the recipe has
GATE = ["order_loss", "swap", "bag", "preferred", "pairs", "passed"]  # what order is worth to it
DOCUMENTS = Question("language")


class Reader(Opened):
    """A finished run's model under one name; what it is measured on once is kept beside the run."""

    def __init__(self, run: Run, name: str, profile: Profile) -> None:
        super().__init__(run, name)
        self.settings = profile.language

    def __call__(self, domain: str, lengths: tuple[int, ...]) -> Rows:
        """The rows of `document_losses` on the validation documents of a domain, the same whatever the lengths."""
        settings, longest = self.settings, max(self.settings.lengths)
        wanted = (lengths, settings.documents, settings.scored, domain, self.run.spec.inputs)
        cut = () if max(lengths) == longest else (longest,)

        def measure() -> Rows:
            return document_losses(self.model, self.texts(domain), lengths, settings.scored, self.local)

        return DOCUMENTS.put(self.run, (wanted, self.local, self.extension, cut), measure)

    def texts(self, domain: str) -> Int[Tensor, "documents tokens"]:
        """The profile's validation documents of a domain."""
        settings = self.settings
        return _documents(self.run.spec.corpus, domain, max(settings.lengths), settings.documents)


@functools.lru_cache(maxsize=4)
def _documents(path: str, domain: str, longest: int, limit: int) -> Int[Tensor, "documents tokens"]:
    return evaluation.language_documents(path, domain, longest, limit)


def perplexity(frame: pd.DataFrame) -> pd.DataFrame:
    """exp(mean loss over documents) per domain, model and length, and whether the model passed its gate."""
    grouped = frame.groupby(["domain", *ROW, "length"], sort=True, as_index=False).agg(
        loss=("loss", "mean"), documents=("loss", "size"), passed=("passed", "first")
    )
    return grouped.assign(perplexity=np.exp(grouped["loss"]))


def train_and_read(spec: RunSpec, runs: str, profile: Profile, names: tuple[str, ...]) -> Rows:
    """One model: train it if it is not in the store, then measure what has not been measured yet."""
    run, record = trained(spec, runs, profile.device)
    rows, times = [], spec.recipe.steps // profile.language.recipe.steps
    for name in names:
        reader = Reader(run, name, profile)
        common = {"encoding": name, "times": times, "seed": spec.seed, "run": record["key"]} | gate(reader, profile)
        for domain in profile.language.domains:
            rows += [common | {"domain": domain} | row for row in reader(domain, profile.language.lengths)]
    return rows


def read_all(wanted: Mapping[RunSpec, Iterable[str]], runs: Path, profile: Profile, label: str) -> pd.DataFrame:
    """`train_and_read` of every run, under the names that its model has."""
    jobs = [Job(spec.name, train_and_read, (spec, str(runs), profile, tuple(wanted[spec]))) for spec in wanted]
    return gather(jobs, profile, label)


def by_gate(frame: pd.DataFrame, profile: Profile, model: list[str], *more: str, **about: Any) -> pd.DataFrame:
    """A row per model, which the columns `model` tell apart: what order is worth to it, and the gate; `about` too."""
    found = frame[[*model, *more, *GATE, "run"]].drop_duplicates(model)
    return found.assign(gate=profile.language.swap_gate, **about).reset_index(drop=True)


def gate(reader: Reader, profile: Profile) -> dict[str, Any]:
    """What order is worth to a model, and whether exchanging neighbours costs it what the profile asks for."""
    (found,) = order.measured(reader, profile)
    return found | {"passed": found["swap"] >= profile.language.swap_gate}


def asked_of(profile: Profile, wanted: Mapping[RunSpec, Iterable[str]]) -> Asked:
    """What `train_and_read` asks, for the budget."""
    settings = profile.language
    texts = len(settings.domains) * settings.documents
    return {
        spec: [Reading(name, length, texts) for name in names for length in settings.lengths]
        for spec, names in wanted.items()
    }


def growth(frame: pd.DataFrame, trained: int) -> pd.DataFrame:
    """Loss at each length minus loss at the training length, per seed, on the same scored tokens (nats)."""
    table = perplexity(frame)
    base = table[table["length"] == trained].set_index(["domain", *ROW])["loss"]
    index = pd.MultiIndex.from_frame(table[["domain", *ROW]])
    return table.assign(growth=table["loss"].to_numpy() - base.reindex(index).to_numpy())


def told(frame: pd.DataFrame, profile: Profile, packed: packing.PackedCorpus, path: Path, **about: Any) -> pd.DataFrame:
    """`growth` with the columns `about`, the perplexity of token frequencies, and whether the domain was trained on."""
    table = growth(frame, profile.language.recipe.length).assign(**about)
    return table.assign(
        unigram=table["domain"].map(unigram(profile, packed, path)),
        trained_on=table["domain"] == profile.language.domains[0],
    )


def unigram(profile: Profile, packed: packing.PackedCorpus, path: Path) -> dict[str, float]:
    """By domain: the perplexity of the training text's token frequencies (+ 1) on the scored tokens."""
    settings = profile.language
    surprise, found = surprises(packed, settings.domains[0]), {}
    for domain in settings.domains:
        texts = evaluation.language_documents(str(path), domain, max(settings.lengths), settings.documents)
        found[domain] = float(np.exp(surprise[texts[:, -settings.scored :].numpy()].mean()))
    return found


def surprises(packed: packing.PackedCorpus, *domain: str) -> Float[np.ndarray, " vocabulary"]:
    """-ln of each token's frequency (+ 1) in the training text, of the corpus's first domain or another (nats)."""
    numbers = packed.documents("train", *domain)
    stream = packed.tokens[packed.offsets[numbers.start] : packed.offsets[numbers.stop]]
    frequency = np.bincount(stream, minlength=packed.meta["vocabulary"]) + 1.0
    return -np.log(frequency / frequency.sum())
