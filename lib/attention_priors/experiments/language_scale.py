"""Language models of several sizes on several times the text, read on many documents: who still grows with the context?

Text, vocabulary, scored tokens and the gate of word order are those of the section `language`.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Int
from pydantic import Field

from ..config import Encodings, Frozen, Lengths, Profile, Recipe, Seeds, Size
from ..evaluation import crossed_interval, language_documents
from ..model import count
from ..training.runs import RunSpec, build
from .arms import Corpus, corpus, language_run
from .documents import asked_of, train_and_read
from .experiment import Asked, Experiment, Frames
from .grid import Job, gather
from .seeds import carry

MODEL = ["encoding", "width", "seed"]


class Settings(Frozen):
    """Encodings, sizes and how much they read; the rest as in the section `language`."""

    encodings: Encodings
    seeds: Seeds
    sizes: tuple[Size, ...] = Field(min_length=1, description="from small to large, each of another width")
    recipe: Recipe
    lengths: Lengths
    documents: int = Field(ge=2)


def scaled(profile: Profile, size: Size) -> Profile:
    """The profile whose language models are those of one size here; they read the domain of training alone."""
    settings = profile.language_scale
    change = {
        "size": size,
        "domains": profile.language.domains[:1],
        **{name: getattr(settings, name) for name in ("recipe", "lengths", "documents")},
    }
    return profile.model_copy(update={"language": profile.language.model_copy(update=change)})


def wanted(profile: Profile, found: Corpus) -> dict[RunSpec, Profile]:
    """Every training run with the profile that it is read under, the small models first."""
    settings, made = profile.language_scale, {}
    for size in settings.sizes:
        own = scaled(profile, size)
        for seed, name in itertools.product(settings.seeds, settings.encodings):
            run = language_run(own, name, seed, *found)
            made[run.model_copy(update={"task": f"{run.task}-scale"})] = own
    return made


def asked(profile: Profile, found: Corpus) -> Asked:
    made: Asked = {}
    for spec, own in wanted(profile, found).items():
        made |= asked_of(own, {spec: [spec.model.encoding]})
    return made


def naming(profile: Profile, found: Corpus) -> dict[RunSpec, str]:
    """Runs of one encoding and seed differ in width."""
    return {
        spec: f"{spec.task}/{spec.model.width}/{spec.model.encoding}/{spec.seed}" for spec in wanted(profile, found)
    }


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Frame `scale_losses`: a row per model, length and document, with the model's size and the tokens it saw.

    `copy`: how many tokens back the scored ones stand once more (`copied`).
    """
    _, path = packed = corpus(profile, cache)
    settings, scored = profile.language_scale, profile.language.scored
    texts = language_documents(str(path), profile.language.domains[0], max(settings.lengths), settings.documents)
    every, copies = wanted(profile, packed), [copied(text, scored) for text in texts.numpy()]
    jobs = [Job(spec.name, read, (spec, str(runs), own)) for spec, own in every.items()]
    frame = gather(jobs, profile, "sizes of language models")
    about = {
        "trained": settings.recipe.length,
        "scored": scored,
        "copy": frame["document"].map(dict(enumerate(copies))),
    }
    losses = frame[[*MODEL, "parameters", "tokens", "passed", "length", "document", "loss"]]
    return {"scale_losses": losses.assign(**about).reset_index(drop=True)}


def copied(tokens: Int[np.ndarray, " tokens"], scored: int) -> int:
    """How many tokens before the last `scored` ones the same run stands for the last time; 0 where it never does."""
    runs = np.lib.stride_tricks.sliding_window_view(tokens, scored)
    places = np.flatnonzero((runs[:-scored] == runs[-1]).all(1)) if len(runs) > scored else np.array([], dtype=int)
    return int(len(runs) - 1 - places[-1]) if len(places) else 0


def read(spec: RunSpec, runs: str, profile: Profile) -> list[dict]:
    """`train_and_read` with the size of the model and how many tokens it saw."""
    recipe = spec.recipe
    about = {
        "width": spec.model.width,
        "parameters": count(build(spec))["transformer"],
        "tokens": recipe.steps * recipe.batch * recipe.length,
    }
    return [about | row for row in train_and_read(spec, runs, profile, (spec.model.encoding,))]


def growth(frame: pd.DataFrame) -> pd.DataFrame:
    """Per size, encoding and length: mean loss and its growth over that at T, of the models that know word order.

    Intervals take documents and seeds as samples, both at once (`evaluation.crossed_interval`).
    """
    rows = []
    for (width, name), own in frame.groupby(["width", "encoding"], sort=False):
        passed = own[own["passed"].astype(bool)]
        about = {"encoding": name, "width": width} | carry(own, "parameters", "tokens", "trained", "scored")
        wide = passed.pivot(index="document", columns=["length", "seed"], values="loss")
        for length in sorted(own["length"].unique()):
            row = about | {"length": length, "seeds": passed["seed"].nunique(), "documents": len(wide)}
            if len(passed):
                at = wide[length]
                for column, values in (("loss", at), ("growth", at - wide[own["trained"].iloc[0]])):
                    row |= dict(zip(_names(column), (values.to_numpy().mean(), *crossed_interval(values)), strict=True))
            rows.append(row)
    return pd.DataFrame(rows, columns=[*about, "length", "seeds", "documents", *_names("loss"), *_names("growth")])


def recalled(frame: pd.DataFrame) -> pd.DataFrame:
    """`growth` at the longest of documents whose scored tokens stand once more, T or more tokens back, and of the rest.

    A model that reads that far could say the former by heart.
    """
    far = (frame["copy"] >= frame["trained"]) & (frame["copy"] + frame["scored"] <= frame["length"].max())
    parts = ((frame[far], True), (frame[~far], False))
    found = pd.concat([growth(own).assign(copied=copied) for own, copied in parts if len(own)])
    return found[found["length"] == found["length"].max()].reset_index(drop=True)


def _names(column: str) -> tuple[str, str, str]:
    return column, f"{column}_low", f"{column}_high"


EXPERIMENT = Experiment(
    name="language_scale",
    sections=("language_scale", "language"),
    asked=asked,
    naming=naming,
    measure=measure,
    frames=("scale_losses",),
    derive={"scale_growth": ("scale_losses", growth), "scale_recalled": ("scale_losses", recalled)},
)
