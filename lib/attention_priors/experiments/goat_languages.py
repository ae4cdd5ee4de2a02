"""Goat as a language model: its forms and starts beside their rivals, from the training length to 16 times it.

Text, model, recipe, lengths and gate are those of the section `language`, whose runs of the rivals are the same.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pandas as pd

from ..config import Encodings, Frozen, Profile, Seeds
from ..evaluation import seed_interval
from ..training.runs import RunSpec
from .arms import Corpus, corpus, language_run
from .documents import ROW, asked_of, read_all, told
from .experiment import Experiment, Frames
from .seeds import carry


class Settings(Frozen):
    """Rows and seeds; the rest as in the section `language`."""

    encodings: Encodings
    seeds: Seeds


def wanted(profile: Profile, found: Corpus) -> dict[RunSpec, list[str]]:
    """Every training run, with the name under which its model is read."""
    settings, made = profile.goat_language, {}
    for name in settings.encodings:
        for seed in settings.seeds:
            made.setdefault(language_run(profile, name, seed, *found), []).append(name)
    return made


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Frames `goat_language_losses` (a row per model, length and document) and `goat_language_perplexity`."""
    packed = corpus(profile, cache)
    frame = read_all(wanted(profile, packed), runs, profile, "Goat on text")
    about = {"trained": profile.language.recipe.length, "scored": profile.language.scored}
    known = {"trained_on": frame["domain"] == profile.language.domains[0]}
    by = ["domain", *ROW, "length"]
    return {
        "goat_language_perplexity": told(frame, profile, *packed, **about),
        "goat_language_losses": frame[[*by, "document", "loss", "run", "passed"]]
        .assign(**about, **known)
        .sort_values([*by, "document"], kind="stable", ignore_index=True),
    }


def differences(frame: pd.DataFrame) -> pd.DataFrame:
    """Per domain, pair of encodings and length: the loss of `encoding` less that of `rival` on the same documents.

    The differences are paired by document and seed, averaged over documents, then over the seeds of both that passed
    their gate (`seeds`; of none the gap is NaN), with Student's t interval. `better`: the share of documents on which
    the mean over seeds is lower.
    """
    known = frame.assign(loss=frame["loss"].where(frame["passed"].astype(bool)))
    at = ["domain", "trained_on", "length"]
    wide = known.pivot(index=[*at, "seed", "document"], columns="encoding", values="loss")
    columns = [*at, "encoding", "rival", "seeds", "documents", "gap", "low", "high", "better"]
    rows = []
    for name, rival in itertools.permutations(wide.columns, 2):
        for place, every in (wide[name] - wide[rival]).groupby(level=at):
            own = every.dropna()
            by_seed, by_document = own.groupby(level="seed").mean(), own.groupby(level="document").mean()
            counts, better = (len(by_seed), len(by_document)), (by_document < 0).mean()
            rows.append((*place, name, rival, *counts, by_seed.mean(), *seed_interval(by_seed), better))
    return pd.DataFrame(rows, columns=columns).assign(**carry(frame, "trained", "scored"))


EXPERIMENT = Experiment(
    name="goat_languages",
    sections=("goat_language", "language"),
    asked=lambda profile, found: asked_of(profile, wanted(profile, found)),
    measure=measure,
    frames=("goat_language_perplexity", "goat_language_losses"),
    derive={"goat_language_differences": ("goat_language_losses", differences)},
)
