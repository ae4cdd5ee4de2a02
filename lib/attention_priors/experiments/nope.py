"""Language models without positional encoding, causal and masked: what they lose, and what they know of position."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import pandas as pd
import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor

from .. import runtime
from ..config import Encodings, Frozen, ModelConfig, Profile, Recipe, Size
from ..corpora import packing
from ..evaluation import TOKENS_AT_ONCE
from ..model import Transformer
from ..tasks import masking
from ..training.runs import RunSpec
from .arms import UNTRAINED, Corpus, corpus, trained, untrained
from .documents import surprises
from .experiment import Asked, Experiment, Question, Reading
from .grid import Job, Rows, gather, per_run

KINDS = ("causal", "masked")
RIDGE = 1e-6  # of the mean square of the features
REORDERED = 32  # windows
NOPE = Question("nope")


class Settings(Frozen):
    """Language models without an encoding beside others, causal and masked; the corpus is that of `language`."""

    size: Size
    recipe: Recipe
    encodings: Encodings
    windows: int = Field(ge=2, description="of validation text, as long as those of training")

    @model_validator(mode="after")
    def _compared(self) -> Self:
        if self.encodings[:1] != ("nope",) or len(self.encodings) < 2:
            raise ValueError(
                f"encodings = {list(self.encodings)}, but 'nope' and then others to compare it with are needed"
            )
        return self


def spec(profile: Profile, kind: str, name: str, seed: int, packed: packing.PackedCorpus, path: Path) -> RunSpec:
    """A causal model of the next token, or a bidirectional one of hidden tokens (with one more id, the mask)."""
    settings, causal = profile.nope, kind == "causal"
    vocabulary = profile.language.vocabulary + (not causal)
    model = ModelConfig(vocabulary=vocabulary, encoding=name, causal=causal, **settings.size.model_dump())
    inputs = (packed.meta["tokens_sha256"],)
    return RunSpec(task=kind, model=model, recipe=settings.recipe, seed=seed, inputs=inputs, corpus=str(path))


def asked(profile: Profile, found: Corpus) -> Asked:
    return {
        spec(profile, kind, name, seed, *found): [Reading(name, profile.nope.recipe.length, profile.nope.windows)]
        for kind in KINDS
        for name in profile.nope.encodings
        for seed in profile.seeds_for(name)
    }


def study(profile: Profile, runs: Path, cache: Path) -> pd.DataFrame:
    """Train what is missing, then measure: a row per model and quantity, the untrained control last.

    Quantities: "loss" (nats on validation windows; `reference` is the loss of token frequencies on the same tokens),
    "probe" (R² of position by layer, layer 0 being the embedding), "reordering" (see `reordering`).
    """
    specs = asked(profile, corpus(profile, cache))
    jobs = per_run(train_and_examine, specs, runs, profile.device, profile.nope.windows)
    bare = [run for run in specs if run.task == "causal" and run.model.encoding == "nope"]
    jobs += [Job(f"{UNTRAINED}/{run.name}", _untrained, (run, profile.nope.windows)) for run in bare]
    frame = gather(jobs, profile, "language models without positions")
    return frame.assign(trained=profile.nope.recipe.length, windows=profile.nope.windows)


def train_and_examine(run_spec: RunSpec, runs: str, device: str, windows: int) -> Rows:
    """One model, trained and measured where the store lacks it."""
    run, record = trained(run_spec, runs, device)
    found = NOPE.put(run, windows, lambda: examined(run.model(), run_spec, windows))
    common = {"kind": run_spec.task, "encoding": run_spec.model.encoding, "seed": run_spec.seed}
    return [common | row | {"run": record["key"]} for row in found]


def examined(model: Transformer, run_spec: RunSpec, windows: int) -> Rows:
    """All quantities of one model, on validation windows that are the same for all."""
    packed = packing.PackedCorpus.read(run_spec.corpus)
    text, ids = validation(packed, run_spec.recipe.length, windows)
    found, reference = loss(model, text, ids, packed)
    mixed = shuffled(text[:, :-1], packed.tokenizer.bos)
    rows = [{"quantity": "loss", "layer": None, "value": round(found, 7), "reference": round(reference, 7)}]
    rows += [
        {"quantity": "probe", "layer": layer, "value": round(score, 6), "reference": 0.0}
        for layer, score in enumerate(probe(model, mixed))
    ]
    rows.append(
        {"quantity": "reordering", "layer": None, "value": float(f"{reordering(model, mixed):.3g}"), "reference": 0.0}
    )
    return rows


def _untrained(run_spec: RunSpec, windows: int) -> Rows:
    """The control: what a probe finds in a causal model before training."""
    common = {"kind": "causal", "encoding": UNTRAINED, "seed": run_spec.seed}
    rows = examined(untrained(run_spec), run_spec, windows)
    return [common | row | {"run": UNTRAINED} for row in rows if row["quantity"] == "probe"]


def validation(packed: packing.PackedCorpus, length: int, windows: int) -> tuple[Tensor, Tensor]:
    """Validation windows of `length` inputs and a target more, [windows, length + 1], and the inputs' document ids."""
    generator = runtime.generator(0, "nope/validation")
    return next(packing.batches(packed, length, windows, generator, split="validation"))


@torch.inference_mode()
def loss(model: Transformer, text: Tensor, ids: Tensor, packed: packing.PackedCorpus) -> tuple[float, float]:
    """Mean loss (nats), and that of the training text's token frequencies (+ 1) on the same tokens.

    A causal model predicts each next token, a bidirectional one those that are hidden from it.
    """
    tokens, targets = text[:, :-1], text[:, 1:]
    scored = torch.ones_like(targets, dtype=torch.bool)
    if not model.config.causal:
        generator = runtime.generator(0, "nope/masks")
        targets, (tokens, scored) = tokens, masking.masked(tokens, model.config.vocabulary - 1, generator)
    device, step = next(model.parameters()).device, max(1, TOKENS_AT_ONCE // tokens.shape[1])
    total = 0.0
    for start in range(0, len(tokens), step):
        part = slice(start, start + step)
        logits = model(tokens[part].to(device), document_ids=ids[part].to(device)).float().cpu()
        total += float(F.cross_entropy(logits[scored[part]], targets[part][scored[part]], reduction="sum"))
    return total / int(scored.sum()), float(surprises(packed)[targets[scored].numpy()].mean())


def shuffled(tokens: Tensor, first: int) -> Tensor:
    """The token `first`, as at the start of a document, then those of each window (but for its last) in random order.

    Whatever the tokens after the first are, they say nothing about where they stand.
    """
    order = torch.rand(tokens[:, 1:].shape, generator=runtime.generator(0, "nope/shuffled")).argsort(1)
    return F.pad(tokens[:, :-1].gather(1, order), (1, 0), value=first)


@torch.inference_mode()
def activations(model: Transformer, tokens: Tensor) -> list[Tensor]:
    """What stands between the layers, [windows, length, width] in float64: the embedding, then every block's output."""
    kept: list[Tensor] = []
    hooks = [model.blocks[0].register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0].double().cpu()))]
    hooks += [block.register_forward_hook(lambda *made: kept.append(made[2].double().cpu())) for block in model.blocks]
    try:
        model(tokens.to(next(model.parameters()).device))
    finally:
        for hook in hooks:
            hook.remove()
    return kept


def probe(model: Transformer, tokens: Tensor) -> list[float]:
    """R² of a least-squares probe of the position, by layer: fitted on half of the windows, scored on the others.

    1 - Σ (i - î)² / Σ (i - mean)², î = w·x_i + b with a slight ridge, over all places but the first, whose token gives
    it away. Noise alone scores a little less than 0.
    """
    half = len(tokens) // 2
    places = torch.arange(tokens.shape[1] - 1, dtype=torch.float64)
    target = (places - places.mean()).repeat(half)
    scores = []
    for features in activations(model, tokens):
        x = F.pad(features[:, 1:], (0, 1), value=1.0)
        fitted, held = x[:half].flatten(0, 1), x[half : 2 * half].flatten(0, 1)
        gram = fitted.T @ fitted
        gram += RIDGE * gram.diagonal().mean() * torch.eye(len(gram), dtype=gram.dtype)
        wrong = held @ torch.linalg.solve(gram, fitted.T @ target) - target
        scores.append(1 - float(wrong.square().sum() / target.square().sum()))
    return scores


@torch.inference_mode()
def reordering(model: Transformer, tokens: Tensor) -> float:
    """max |f(x P) - f(x) P| / max |f(x)| over windows x for one permutation P of their places.

    0 (to rounding) for an encoder without positions: its outputs move with its inputs, whatever it has learned.
    """
    device = next(model.parameters()).device
    order = torch.randperm(tokens.shape[1], generator=runtime.generator(0, "nope/order"))
    tokens = tokens[:REORDERED].to(device)
    plain = model(tokens)
    return float((model(tokens[:, order]) - plain[:, order]).abs().max() / plain.abs().max())


EXPERIMENT = Experiment(
    name="nope",
    sections=("nope", "language"),
    asked=asked,
    measure=lambda profile, runs, cache: {"nope_models": study(profile, runs, cache)},
    frames=("nope_models",),
)
