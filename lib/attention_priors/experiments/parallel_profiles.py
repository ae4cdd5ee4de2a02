"""Where attention goes in chunks (ParallelComp, section 4): profiles over the text, their biases, and eviction.

A text that fits into the training length is read with a question: as ever (plain), in four chunks (local), and joined
(global). So positions are familiar however it is read. A profile is the attention that the last eight question rows pay
to the keys of the text, a mean over layers, heads and rows, over its mean over keys: 1 is the uniform share. It is told
in fifths of a chunk. Then half of the keys go: of the whole text at once, of each chunk apart, and of each chunk with
the heaviest besides. Last, outliers alone go, those of one region of every chunk in some of the layers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..config import Profile
from ..model import Transformer
from ..parallel import condense
from ..parallel.chunks import LAYERS, Calibration, Options, rows
from ..parallel.methods import EDGE
from ..parallel.ours import Ours
from ..parallel.read import Joined, everything
from ..training.runs import RunSpec
from .arms import Corpus, corpus, language_run, trained
from .documents import Reader, gate
from .experiment import Asked, Experiment, Frames, Question, Reading
from .grid import Rows, Tables, gather_tables, per_run

CHUNKS, FIFTHS, QUESTION, LAST = 4, 5, 16, 8
THRESHOLD = 0.05  # of a weight that counts as effective
STEEP = 1.25  # by which an end of a head's profile differs from its middle, to count
SHAPES = ("U", "mountain", "uniform", "other")
SHARES = (0.25, 0.5, 1.0)  # of T less the question: chunks in which effective entries are counted
PLAIN, LOCAL, GLOBAL = "plain", "local", "global"
WHOLE, APART, CALIBRATED = "evicted from the whole", "evicted by chunk", "evicted by chunk, calibrated"
KINDS = (PLAIN, LOCAL, GLOBAL, WHOLE, APART, CALIBRATED)
# Layers of 32 that evict, by name: those of the paper's own calibration (Table 6), and all.
NONE, EARLY, INTERMEDIATE, DEEP, ALL = "none", "early", "intermediate", "deep", "all"
DEPTHS = {EARLY: (1, 8), INTERMEDIATE: (9, 16), DEEP: (25, LAYERS), ALL: (1, LAYERS)}
SINK, RECENCY, MIDDLE, ENDS = "sink", "recency", "middle", "sink and recency"
REGIONS = {SINK: (SINK,), RECENCY: (RECENCY,), MIDDLE: (MIDDLE,), ENDS: (SINK, RECENCY), ALL: (SINK, RECENCY, MIDDLE)}
LOOKED, EVICTED = Question("parallel-profiles"), Question("parallel-regions")


def specs(profile: Profile, found: Corpus) -> list[RunSpec]:
    """The models whose text is read in chunks."""
    names = profile.parallel_language.encodings
    return [language_run(profile, name, seed, *found) for name in names for seed in profile.seeds]


def asked(profile: Profile, found: Corpus) -> Asked:
    length, texts = profile.language.recipe.length, len(KINDS) * profile.language.documents
    return {spec: [Reading(spec.model.encoding, length, texts)] for spec in specs(profile, found)}


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """`parallel_profiles`: by kind and fifth, a mean over documents. `parallel_biases`: by kind and document.
    `parallel_effective`: entries above THRESHOLD in a row of local attention, by window. `parallel_shapes`: by layer
    and head. `parallel_regions`: by region and layers that lose their outliers, and document."""
    every = specs(profile, corpus(profile, cache))
    found = gather_tables(per_run(read, every, runs, profile), profile, "attention in chunks")
    return {name: frame.assign(trained=profile.language.recipe.length) for name, frame in found.items()}


def read(spec: RunSpec, runs: str, profile: Profile) -> Tables:
    """One model: train it if the store lacks it, then look where it attends."""
    run, record = trained(spec, runs, profile.device)
    reader, language = Reader(run, spec.model.encoding, profile), profile.language
    passed = gate(reader, profile)["passed"]
    common = {"encoding": spec.model.encoding, "seed": spec.seed, "run": record["key"], "passed": passed}
    asked = language.documents, max(language.lengths), spec.recipe.length

    def measured(look: Callable[..., Any]) -> Any:
        return look(reader.model, reader.texts(language.domains[0]), spec.recipe.length)

    (found,) = LOOKED.put(run, asked, lambda: [measured(looked)])
    found = found | {"parallel_regions": EVICTED.put(run, asked, lambda: measured(regions))}
    return {name: [common | row for row in found[name]] for name in FRAMES}


@torch.inference_mode()
def looked(model: Transformer, documents: Int[Tensor, "documents tokens"], window: int) -> dict[str, list]:
    """The rows of all frames but that of regions, less what tells the model."""
    size = chunk(window)
    profiles: dict[str, list[Tensor]] = {kind: [] for kind in KINDS}
    biased, effective, heads = [], [], []
    for index, document in enumerate(documents):
        text, question = end_of(document, size)
        for kind in KINDS:
            profile = fifths(profile_of(model, text, question, size, kind))
            profiles[kind].append(profile)
            biased.append({"kind": kind, "document": index} | biases(profile))
        heads.append(local(model, text, question, len(text))[:, 0].mean(2))
        for share in SHARES:
            width = QUESTION + round(share * (window - QUESTION))
            part = document[-width:].split([width - QUESTION, QUESTION])
            effective.append({"window": width, "document": index, "entries": above(model, *part)})
    means = {kind: torch.stack(each).mean(0) for kind, each in profiles.items()}
    return {
        "parallel_profiles": [
            {"kind": kind, "fifth": fifth, "share": round(share, 6)}
            for kind, mean in means.items()
            for fifth, share in enumerate(mean.tolist())
        ],
        "parallel_biases": biased,
        "parallel_effective": effective,
        "parallel_shapes": shapes(torch.stack(heads).mean(0), size // FIFTHS),
    }


@torch.inference_mode()
def regions(model: Transformer, documents: Int[Tensor, "documents tokens"], window: int) -> Rows:
    """The joined profile's `distance` from the uniform share and its `middle`, the mean over the middles of chunks, by
    document: with all keys, then without the outliers (λ of `Calibration`) of a region in some layers.

    A region's edge is a fifth of a chunk, so that profiles tell it apart. `evicted`: the share of keys that go in those
    layers. Layers that a model of few lacks have no rows.
    """
    size, made = chunk(window), []
    whole = Options(window=size + QUESTION, keep=None)
    ways: dict[tuple[str, str], tuple[Options, int]] = {(NONE, NONE): (whole, 1)}
    for (region, parts), (depth, span) in itertools.product(REGIONS.items(), DEPTHS.items()):
        named = {part: span if part in parts else None for part in (SINK, RECENCY, MIDDLE)}
        calibration = Calibration(edge=size // FIFTHS, **named)
        if there := sum(bool(calibration.regions(layer, len(model.blocks))) for layer in range(len(model.blocks))):
            ways[region, depth] = replace(whole, calibration=calibration), there
    for index, document in enumerate(documents):
        text, question = end_of(document, size)
        for (region, depth), (how, there) in ways.items():
            profile, kept = joined(model, text, question, how)
            told = fifths(profile).view(CHUNKS, FIFTHS)
            gone = (1 - kept / len(text)) * len(model.blocks) / there
            made.append(
                {
                    "region": region,
                    "layers": depth,
                    "document": index,
                    "evicted": round(gone, 6),
                    "distance": biases(told.flatten())["distance"],
                    "middle": round(float(told[:, 1:-1].mean()), 6),
                }
            )
    return made


def chunk(window: int) -> int:
    """Tokens of a chunk: four of them and the question fit into the window, and a fifth of one is whole."""
    return (window - QUESTION) // CHUNKS // FIFTHS * FIFTHS


def end_of(document: Int[Tensor, " tokens"], size: int) -> tuple[Int[Tensor, " text"], Int[Tensor, " question"]]:
    """The end of a document as text and question."""
    text, question = document[-CHUNKS * size - QUESTION :].split([CHUNKS * size, QUESTION])
    return text, question


def profile_of(
    model: Transformer, text: Int[Tensor, " tokens"], question: Int[Tensor, " tokens"], size: int, kind: str
) -> Float[Tensor, " tokens"]:
    """The attention to each token of the text, over its mean: of a `kind`."""
    if kind in (PLAIN, LOCAL):
        cut = len(text) if kind == PLAIN else size
        return _normal(local(model, text, question, cut).mean((0, 2, 3)).flatten())
    parts, span = Options(window=size + len(question), keep=None), DEPTHS[ALL]
    halved = replace(parts, budget=size // 2)
    calibration = Calibration(edge=max(1, round(EDGE * size)), sink=span, middle=span, recency=span)
    how = {
        GLOBAL: parts,
        WHOLE: Options(window=None, budget=len(text) // 2),
        APART: halved,
        CALIBRATED: replace(halved, calibration=calibration),
    }[kind]
    return joined(model, text, question, how)[0]


def joined(
    model: Transformer, text: Int[Tensor, " tokens"], question: Int[Tensor, " tokens"], how: Options
) -> tuple[Float[Tensor, " tokens"], float]:
    """The attention to each token of a text that was read so, over its mean; and how many keys stay, a mean over layers
    and key heads."""
    total = torch.zeros(len(text))

    def observe(layer: int, p: Tensor, cache: Joined) -> None:
        held, groups = cache.layers[layer], p.shape[1] // cache.layers[layer].k.shape[1]
        starts = torch.cat(
            [torch.full((count,), start) for (start, _), count in zip(session.spans, cache.sizes[layer], strict=True)]
        )
        at = held.positions[0, :, : len(starts)] + starts
        mass = p[0, :, -LAST:, : len(starts)].mean(1).unflatten(0, (-1, groups)).mean(1).cpu()
        valid = held.valid[0, :, : len(starts)]
        total.scatter_add_(0, at[valid].cpu(), mass[valid.cpu()].float())

    session = condense(Ours(model, observe), text, question, how)
    session.feed(question)
    return _normal(total), session.entries


def local(
    model: Transformer, text: Int[Tensor, " tokens"], question: Int[Tensor, " tokens"], size: int
) -> Float[Tensor, "layers chunks heads last size"]:
    """The weights of the last question rows on the keys of their chunk."""
    reader, seen = Ours(model), []

    def record(layer: int, weights: Tensor, kv_heads: int, batch: Any) -> Tensor:
        seen.append(weights[..., : batch.end].cpu())
        return everything(batch, kv_heads)

    device = reader.device
    reader.read(rows(list(text.to(device).split(size)), question.to(device), size, None), record, LAST, True)
    return torch.stack(seen)


def _normal(mass: Float[Tensor, " tokens"]) -> Float[Tensor, " tokens"]:
    return mass / mass.mean()


def fifths(profile: Float[Tensor, " tokens"]) -> Float[Tensor, " fifths"]:
    """Means over fifths of a chunk."""
    return profile.view(CHUNKS * FIFTHS, -1).mean(1).double()


def biases(profile: Float[Tensor, " fifths"]) -> dict[str, float]:
    """Of a profile in fifths: `sink`, its first; `recency`, its last; `middle`, the mean of the others; `peaks`, those
    above the uniform share and both neighbours; `repeats`, the share of chunks whose ends are both above their middle
    (a U); `distance`, the total variation from the uniform share; `largest`."""
    beside = torch.cat([profile.new_tensor([-1.0]), profile, profile.new_tensor([-1.0])])
    peak = (profile > beside[:-2]) & (profile > beside[2:]) & (profile > 1)
    each = profile.view(CHUNKS, FIFTHS)
    middle = each[:, 1:-1].mean(1)
    repeats = (each[:, 0] > middle) & (each[:, -1] > middle)
    found = {
        "sink": profile[0],
        "recency": profile[-1],
        "middle": profile[1:-1].mean(),
        "peaks": peak.sum(),
        "repeats": repeats.double().mean(),
        "distance": (profile - 1).abs().mean() / 2,
        "largest": profile.max(),
    }
    return {name: round(float(value), 6) for name, value in found.items()}


def shapes(weights: Float[Tensor, "layers heads tokens"], edge: int) -> Rows:
    """The shape of each head's profile: a U, where the mean of its first `edge` keys and that of its last are both more
    than STEEP times its middle; a mountain, where the middle is more than STEEP times both; uniform, where neither end
    differs by so much; other, as one that only rises. `largest`: its highest key. All over the uniform share."""
    rows = []
    for layer, head in np.ndindex(*weights.shape[:2]):
        own = _normal(weights[layer, head])
        first, middle, last = (float(part.mean()) for part in (own[:edge], own[edge:-edge], own[-edge:]))
        ends, shape = (first, last), "other"
        if min(ends) > STEEP * middle:  # no ratios: heads that look near have a middle of 0
            shape = "U"
        elif max(ends) < middle / STEEP:
            shape = "mountain"
        elif min(ends) >= middle / STEEP and max(ends) <= STEEP * middle:
            shape = "uniform"
        found = {"first": first, "middle": middle, "last": last, "largest": float(own.max())}
        found = {name: round(value, 6) for name, value in found.items()}
        rows.append({"layer": layer, "head": head, **found, "shape": shape})
    return rows


def above(model: Transformer, text: Int[Tensor, " tokens"], question: Int[Tensor, " tokens"]) -> float:
    """Weights above THRESHOLD in a row, a mean over layers, heads and the last question rows of one chunk."""
    return round(float((local(model, text, question, len(text)) > THRESHOLD).sum(-1).double().mean()), 6)


FRAMES = ("parallel_profiles", "parallel_biases", "parallel_effective", "parallel_shapes", "parallel_regions")
EXPERIMENT = Experiment(
    name="parallel_profiles",
    sections=("parallel_language", "language"),
    asked=asked,
    measure=measure,
    frames=FRAMES,
)
