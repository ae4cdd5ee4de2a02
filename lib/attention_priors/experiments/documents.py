"""What language models lose on long documents, whether they know word order, and how their attention thins out.

The gate of language models is what it costs them to exchange two neighbours, or to shuffle all that is read: one that
loses nothing cannot say anything about encodings of order.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from .. import evaluation, runtime
from ..config import Profile
from ..corpora import packing
from ..evaluation import document_losses
from ..model import Transformer
from ..training.runs import Run, RunSpec
from .arms import trained
from .experiment import Asked, Opened, Question, Reading
from .grid import Job, Rows, gather

ROW = ["encoding", "times", "seed"]  # a model: `times` as many tokens as the recipe has
GATE = ["order_loss", "swap", "bag", "preferred", "pairs", "passed"]  # what order is worth to it
DOCUMENTS, ORDER, FADING = Question("language"), Question("order"), Question("fading")
CONTEXT = 32  # tokens that are read; the last one asks, and stays
NEAR = (2, 1)  # lags of the two that are swapped
AT_ONCE = 256  # texts


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
    """One model, trained and measured where the store lacks it."""
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
    (found,) = ordered(reader, profile)
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


def ordered(reader: Reader, profile: Profile) -> Rows:
    """One row: mean loss of texts as written, what `swap` and `bag` add to it, and how often a swap costs something."""
    wanted, longest = profile.language, max(profile.language.lengths)
    pairs = wanted.pairs
    about = (pairs, wanted.documents, longest, wanted.domains[0], reader.run.spec.inputs, reader.local)

    def measure() -> Rows:
        chosen = pieces(reader.texts(wanted.domains[0]), pairs)
        true, swap, bag = (
            last_losses(reader.model, each, reader.local) for each in (chosen, swapped(chosen), bags(chosen))
        )
        return [
            {
                "order_loss": round(float(true.mean()), 7),
                "swap": round(float((swap - true).mean()), 7),
                "bag": round(float((bag - true).mean()), 7),
                "preferred": float((swap > true).double().mean()),
                "pairs": len(chosen),
            }
        ]

    return ORDER.put(reader.run, (about, reader.extension), measure)


def pieces(documents: Int[Tensor, "documents tokens"], count: int) -> Int[Tensor, "count context+1"]:
    """At most `count` pieces of CONTEXT + 1 tokens, evenly spaced, whose two neighbours differ.

    ValueError where there is none.
    """
    size = CONTEXT + 1
    found = documents[:, : documents.shape[1] // size * size].reshape(-1, size)
    first, second = (found[:, CONTEXT - 1 - lag] for lag in NEAR)
    found = found[first != second]
    if not len(found):
        raise ValueError(f"no piece of {size} tokens has two neighbours that differ; give more or longer documents")
    return found[torch.linspace(0, len(found) - 1, min(count, len(found))).round().long()]


def swapped(chosen: Int[Tensor, "count tokens"]) -> Int[Tensor, "count tokens"]:
    """The same with the tokens at the two lags of NEAR before the asking one exchanged."""
    places = [CONTEXT - 1 - lag for lag in NEAR]
    made = chosen.clone()
    made[:, places] = chosen[:, places[::-1]]
    return made


def bags(chosen: Int[Tensor, "count tokens"]) -> Int[Tensor, "count tokens"]:
    """The same with all tokens before the asking one in random order, another in each text, alike for all models."""
    generator, before = runtime.generator(0, "bags"), CONTEXT - 1
    orders = torch.rand(len(chosen), before, generator=generator).argsort(1)
    return torch.cat([chosen[:, :before].gather(1, orders), chosen[:, before:]], 1)


@torch.inference_mode()
def last_losses(model: Transformer, chosen: Int[Tensor, "count tokens"], local: int | None) -> Float[Tensor, " count"]:
    """Loss of the last token of each text (nats)."""
    device, parts = next(model.parameters()).device, []
    for some in chosen.split(AT_ONCE):
        some = some.to(device)
        logits = model(some[:, :-1], last=1, local=local)[:, -1]
        parts.append(F.cross_entropy(logits.float(), some[:, -1], reduction="none").double().cpu())
    return torch.cat(parts)


def faded(reader: Reader, profile: Profile) -> Rows:
    """A row per length, layer and head: means over the last queries of the documents."""
    wanted, settings = profile.language, profile.readings
    longest, asked = max(wanted.lengths), settings.fading_lengths
    texts = wanted.scored, wanted.documents, longest, wanted.domains[0], reader.run.spec.inputs
    about = asked, settings.fading_documents, *texts

    def measure() -> Rows:
        documents = reader.texts(wanted.domains[0])[: settings.fading_documents]
        return [
            row for length in asked for row in thinned(reader.model, documents, length, wanted.scored, reader.local)
        ]

    return FADING.put(reader.run, (about, reader.local, reader.extension), measure)


@torch.no_grad()
def thinned(
    model: Transformer, documents: Int[Tensor, "documents tokens"], length: int, queries: int, local: int | None
) -> Rows:
    """Per layer and head: mean of ln(largest weight) and of the entropy (nats) over the last `queries` rows."""
    device, made = next(model.parameters()).device, {}
    for document in documents:
        tokens = document[None, -length - 1 : -1].to(device)
        for layer, weights in enumerate(model.attention_maps(tokens, queries, local)):
            p = weights[0].double()  # [heads, queries, length]
            entropy = -torch.special.xlogy(p, p).sum(-1).mean(-1)
            peak = p.amax(-1).log().mean(-1)
            for head, pair in enumerate(zip(peak.tolist(), entropy.tolist(), strict=True)):
                made.setdefault((layer, head), []).append(pair)
    return [
        {
            "length": length,
            "layer": layer,
            "head": head,
            "peak": round(sum(peak for peak, _ in found) / len(found), 6),
            "entropy": round(sum(entropy for _, entropy in found) / len(found), 6),
        }
        for (layer, head), found in made.items()
    ]
