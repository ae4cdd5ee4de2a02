"""Language models for every encoding of a profile: their sense of order, then perplexity at every context length.

Only a model that loses at least `swap_gate` nats where two neighbours are exchanged knows word order; the others are
shown and decide nothing. Of an encoding in `more_steps` a second model is trained with so many times the tokens; it is
a row of its own, with that number as `times`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

import numpy as np
import pandas as pd
from pydantic import AfterValidator, Field, model_validator

from .. import evaluation
from ..config import EncodingName, Encodings, Frozen, Lengths, Profile, Recipe, Size
from ..corpora import corpora, hub
from ..training.runs import RunSpec
from .arms import Corpus, changed, corpus, language_run
from .documents import ROW, asked_of, by_gate, perplexity, read_all, told
from .experiment import Experiment, Frames
from .seeds import carry, over_seeds


def _corpus(name: str) -> str:
    if hub.is_remote(name):
        hub.remotes(name)
    elif not name.startswith("packed:"):
        corpora.kind_and_path(name)
    return name


class Settings(Frozen):
    """Language models and the documents that they read; the corpus is that of all experiments on text."""

    corpus: Annotated[str, AfterValidator(_corpus)]
    domains: tuple[str, ...] = Field(min_length=1, description="the first is that of training")
    vocabulary: int = Field(ge=2)
    size: Size
    recipe: Recipe
    encodings: Encodings
    lengths: Lengths
    documents: int = Field(ge=1)
    scored: int = Field(ge=1)
    pairs: int = Field(ge=1, description="of neighbours that are exchanged")
    swap_gate: float = Field(gt=0, description="nats that this has to cost on the mean")
    more_steps: dict[EncodingName, Annotated[int, Field(ge=2, le=3)]] = Field(
        description="by encoding that misses the gate at equal tokens: times the steps of a second model"
    )

    @model_validator(mode="after")
    def _second_models_have_a_first(self) -> Self:
        if alone := [name for name in self.more_steps if name not in self.encodings]:
            raise ValueError(f"more_steps has {', '.join(alone)}, but encodings does not; name it in both")
        return self

    @model_validator(mode="after")
    def _scored_at_every_length(self) -> Self:
        if self.scored > min(self.lengths):
            raise ValueError(f"{self.scored} scored tokens do not fit into a text of {min(self.lengths)}")
        return self


def wanted(profile: Profile, found: Corpus) -> dict[RunSpec, list[str]]:
    """Every training run, with the names under which its model is evaluated."""
    made: dict[RunSpec, list[str]] = {}
    for name in profile.language.encodings:
        for seed in profile.seeds_for(name):
            made.setdefault(language_run(profile, name, seed, *found), []).append(name)
    for name, times in profile.language.more_steps.items():
        for seed in profile.seeds_for(name):
            run = language_run(profile, name, seed, *found)
            more = changed(run, steps=times * run.recipe.steps)
            made[more.model_copy(update={"task": f"{run.task}-more"})] = [name]
    return made


def losses(profile: Profile, runs: Path, cache: Path) -> pd.DataFrame:
    """Train what is missing, then read long documents: a row per model, domain, length and document.

    What order is worth to the model stands in each of its rows.
    """
    every = dict(sorted(wanted(profile, corpus(profile, cache)).items(), key=lambda item: -len(item[1])))
    frame = read_all(every, runs, profile, "language models")
    return frame.sort_values(["domain", *ROW, "length", "document"], kind="stable", ignore_index=True)


def counts(profile: Profile, cache: Path) -> pd.DataFrame:
    """Documents, windows and tokens of the corpus by split and domain, and which corpus it is."""
    settings, (packed, _) = profile.language, corpus(profile, cache)
    status = {name: packed.status()[name] for name in ("corpus", "sha256", "same")}
    found = pd.DataFrame(packed.counts(settings.recipe.length, max(settings.lengths)))
    return found.assign(**status, vocabulary=settings.vocabulary)


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    settings, packed = profile.language, corpus(profile, cache)
    about = {"trained": settings.recipe.length, "scored": settings.scored}
    found = losses(profile, runs, cache)
    return {
        "language_order": by_gate(found, profile, ROW, **about),
        "language_losses": found[["domain", *ROW, "length", "document", "loss", "run", "passed"]].assign(**about),
        "language_perplexity": told(found, profile, *packed, **about),
    }


def perplexities(frame: pd.DataFrame) -> pd.DataFrame:
    """Per domain, encoding, `times` and length: perplexity at the mean loss over seeds and its t interval."""

    def say(group: pd.DataFrame) -> dict:
        low, high = evaluation.seed_interval(group["loss"])
        return {
            "seeds": len(group),
            "passed": int(group["passed"].sum()),
            "documents": int(group["documents"].iloc[0]),
            "perplexity": np.exp(group["loss"].mean()),
            "low": np.exp(low),
            "high": np.exp(high),
        }

    made = over_seeds(perplexity(frame), ("domain", "encoding", "times", "length"), say, sort=True)
    return made.assign(**carry(frame, "trained", "scored"))


TEXT = Experiment(
    name="corpus",
    sections=("language",),
    measure=lambda profile, runs, cache: {"language_corpus": counts(profile, cache)},
    frames=("language_corpus",),
    exact=("language_corpus",),
)
EXPERIMENT = Experiment(
    name="languages",
    sections=("language",),
    asked=lambda profile, found: asked_of(profile, wanted(profile, found)),
    measure=measure,
    frames=("language_order", "language_losses", "language_perplexity"),
    derive={"language_over_seeds": ("language_losses", perplexities)},
)
