"""The runs that several experiments share: on passkeys, on text, longer, and trained further."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from pydantic import PositiveFloat

from .. import runtime
from ..config import Evaluation, Extension, ModelConfig, Profile, Recipe, Size
from ..corpora import hub, packing
from ..model import Transformer
from ..positions.encodings import encoding
from ..tasks import addressing, copying, passkey
from ..training.runs import Run, RunSpec, build

Corpus = tuple[packing.PackedCorpus, Path]  # and the file that holds it
Rates = dict[str, PositiveFloat]  # by encoding, times that of the recipe
OURS = "bam-ssmax"
UNTRAINED = "untrained"  # the control: a model before training
OWN = "own"  # weights, not those of another encoding
FIXED, VARIED = "one length", "varied lengths"  # of training texts
ENDLESS = {"target": None, "gate": None, "cooldown": 0}  # of a recipe that takes all of its steps
RIGHT, WRONG = 0.9, 0.5  # accuracy at the training length, and at a shorter one, of what has learned a table


def check_rates(name: str, rates: Rates, encodings: Sequence[str]) -> None:
    """ValueError for rates of rows that a section does not train."""
    if unknown := [each for each in rates if each not in encodings]:
        raise ValueError(f"{name}: {', '.join(unknown)}, which encodings lacks; name rows of encodings alone")


def check_prompts(**asked: Evaluation) -> None:
    """ValueError for lengths that hold no passkey prompt."""
    for name, each in asked.items():
        for length in each.lengths:
            if length < passkey.SHORTEST:
                raise ValueError(f"{name}.lengths: {length}, but a prompt takes {passkey.SHORTEST} tokens or more")


def check_methods(methods: Sequence[str], far: Sequence[str], known: Sequence[str]) -> None:
    """ValueError for ways to read chunks that there are not, or that are asked only far."""
    for name in methods:
        if name not in known:
            raise ValueError(f"methods: unknown method {name!r}; choose from {', '.join(known)}")
    if missing := [name for name in far if name not in methods]:
        raise ValueError(f"far_methods: {missing[0]!r} is none of the methods; add it there too")


def is_table(accuracy: pd.Series, trained: int) -> bool:
    """Whether a model has learned where the key stands: right at the training length, wrong at some shorter one.

    `accuracy` by length.
    """
    shorter = accuracy[accuracy.index < trained]
    return bool(accuracy[trained] >= RIGHT and shorter.min() <= WRONG)


def passkey_run(profile: Profile, name: str, seed: int, hard: bool = False) -> RunSpec:
    """The training run behind an encoding (RoPE Local uses RoPE's weights)."""
    trained = encoding(name).trained_as or name
    settings = profile.passkey
    model = ModelConfig(vocabulary=len(passkey.VOCABULARY), encoding=trained, **settings.size.model_dump())
    task = "passkey-hard" if hard else "passkey"
    return RunSpec(task=task, model=model, recipe=settings.recipe, seed=seed)


def address_run(profile: Profile, size: Size, recipe: Recipe, name: str, seed: int) -> RunSpec:
    """The training run of an encoding on the addresses of the section `division`."""
    vocabulary = addressing.vocabulary(profile.division.reach)
    model = ModelConfig(vocabulary=vocabulary, encoding=name, **size.model_dump())
    return RunSpec(task="addressing", model=model, recipe=recipe, seed=seed)


def copying_run(profile: Profile, name: str, seed: int) -> RunSpec:
    """The training run of an encoding on the mixture of copies, at the rates of its best trial."""
    settings, recipe = profile.copying, profile.copying.recipe
    model = ModelConfig(vocabulary=copying.SYMBOLS, encoding=name, **settings.size.model_dump())
    rates = own_rates(recipe, settings.rates, settings.prior_rates, name)
    return RunSpec(task="copying", model=model, recipe=recipe.model_copy(update=rates), seed=seed)


def language_run(profile: Profile, name: str, seed: int, packed: packing.PackedCorpus, path: Path) -> RunSpec:
    """The training run behind an encoding (RoPE Local uses RoPE's weights)."""
    trained = encoding(name).trained_as or name
    settings = profile.language
    model = ModelConfig(vocabulary=settings.vocabulary, encoding=trained, **settings.size.model_dump())
    inputs = (packed.meta["tokens_sha256"],)
    task = "language-stream" if settings.corpus.startswith("stream:") else "language"
    return RunSpec(task=task, model=model, recipe=settings.recipe, seed=seed, inputs=inputs, corpus=str(path))


def corpus(profile: Profile, cache: Path) -> Corpus:
    """The packed corpus of a profile and the file that holds it; built at first use, unless it is one of the hub."""
    settings = profile.language
    if hub.is_remote(settings.corpus):
        packed = hub.build(settings.corpus, settings.vocabulary, cache)
        return packed, hub.cache_path(settings.corpus, settings.vocabulary, cache)
    packed = packing.build(settings.corpus, settings.vocabulary, cache)
    if settings.corpus.startswith("packed:"):
        return packed, Path(settings.corpus.removeprefix("packed:"))
    return packed, packing.cache_path(settings.corpus, settings.vocabulary, cache)


def unread(profile: Profile) -> Corpus:
    """A corpus without text and the file that it is not in: enough to name the runs of a profile."""
    meta = {"corpus": profile.language.corpus, "vocabulary": profile.language.vocabulary, "tokens_sha256": ""}
    empty = np.zeros(0, dtype=np.uint16)
    return packing.PackedCorpus(empty, np.zeros(1, dtype=np.int64), empty, meta), Path("unread.npz")


def resized(spec: RunSpec, size: Size) -> RunSpec:
    """The run with a model of another size."""
    return spec.model_copy(update={"model": spec.model.model_copy(update=size.model_dump())})


def changed(spec: RunSpec, **recipe: Any) -> RunSpec:
    """The run with some settings of its recipe changed."""
    return spec.model_copy(update={"recipe": spec.recipe.model_copy(update=recipe)})


def own_rates(recipe: Recipe, rates: Rates, prior_rates: Rates, name: str) -> dict[str, float]:
    """The rates of an encoding, which are given in units of the recipe's."""
    return {
        "rate": rates.get(name, 1.0) * recipe.rate,
        "prior_rate": prior_rates.get(name, 1.0) * recipe.prior_rate,
    }


def longer(recipe: Recipe, multiple: int) -> Recipe:
    """The recipe at `multiple` times the length, with as many tokens a step. ValueError where texts do not divide."""
    if recipe.batch % (multiple * recipe.accumulate):
        raise ValueError(
            f"batch = {recipe.batch} in {recipe.accumulate} parts cannot be {multiple} times fewer and longer texts; "
            f"use a multiple of {multiple * recipe.accumulate}"
        )
    return stretched(recipe, multiple).model_copy(update={"batch": recipe.batch // multiple})


def stretched(recipe: Recipe, multiple: int) -> Recipe:
    """The recipe at `multiple` times the length: its gate asks there too, and varied texts begin where they did."""
    gate = recipe.gate
    if gate is not None:
        gate = gate.model_copy(update={"lengths": tuple(multiple * length for length in gate.lengths)})
    return recipe.model_copy(update={"length": multiple * recipe.length, "gate": gate})


def extended(spec: RunSpec, extension: Extension, name: str | None = None) -> RunSpec:
    """A short training from the weights of `spec` on longer texts, as the encoding `name` (default: its own)."""
    change = {"steps": extension.steps, "warmup": extension.warmup, "rate": extension.rate * spec.recipe.rate}
    recipe = longer(spec.recipe, extension.factor).model_copy(update=change | ENDLESS)
    model = spec.model.model_copy(update={"encoding": name or spec.model.encoding})
    return spec.model_copy(update={"model": model, "recipe": recipe, "start": spec})


def trained(spec: RunSpec, runs: str | Path, device: str) -> tuple[Run, dict[str, Any]]:
    """A finished run and its record; it is trained if the store lacks it."""
    run = Run(spec, runs, runtime.device(device))
    return run, run.train(runtime.say if runtime.headless() else None)


def untrained(spec: RunSpec) -> Transformer:
    """The control: the model of a run before training."""
    torch.manual_seed(runtime.seed_for(spec.seed, f"init/{spec.model.encoding}"))
    return build(spec).eval()
