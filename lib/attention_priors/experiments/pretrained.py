"""What the documents say, asked of a model that nobody here trained.

Losses by position under each extension, passkeys, the prior that its heads carry, what is lost without some of the
keys, how many heads must see far, and what a cache changes. Every answer is kept as soon as it is there, by the sum of
the weights: an interrupted measurement goes on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
from pydantic import Field, PositiveInt, model_validator

from .. import config, runtime
from ..config import Frozen, Lengths, Profile
from .experiment import Experiment, Frames
from .pretrained_words import READERS, WAYS

FOLDER = "pretrained-"  # in the store of runs, before the key of the weights
FILLER = "filler"  # in place of a document
RANDOM = "random"  # a Llama of two layers that has learned nothing


class Losses(Frozen):
    """Losses by position, of one pass over each document."""

    ways: tuple[Literal[tuple(WAYS)], ...] = Field(min_length=1)
    lengths: Lengths = Field(description="the tokens before each of these are scored; the last ends the text")
    scored: int = Field(ge=1, description="tokens before each length")


class Eviction(Frozen):
    """Losses without the first, the nearest or the middle keys, by thirds of the layers."""

    length: int = Field(ge=2)
    scored: int = Field(ge=1, description="tokens at the end")


class Keys(Frozen):
    """Passkeys by length and depth."""

    document: str = Field(description="row of data/corpora.yaml, manuals, that keys are hidden in")
    prompts: int = Field(ge=2, description="of each length, at depths spread evenly")
    lengths: Lengths = Field(description="that the model is asked at as it is")
    beyond: dict[Literal[(*WAYS, *READERS)], Lengths] = Field(description="lengths at which a way of reading is asked")
    window: int = Field(ge=2, description="positions of a chunk with question and answer")


class Far(Frozen):
    """Passkeys when some heads see the whole text and all others a window."""

    document: str = Field(description="as of keys, or FILLER: a few sentences again and again")
    prompts: int = Field(ge=2, description="of each length, at depths spread evenly")
    ranked: int = Field(ge=2, description="tokens of the prompts that heads are ranked on")
    lengths: Lengths
    window: int = Field(ge=1, description="nearest keys that other heads see, beside the sinks")
    counts: tuple[PositiveInt, ...] = Field(min_length=1, description="heads that see far; none and all are asked too")
    orders: tuple[Annotated[str, Field(pattern=r"^(fetching|others|distance|random-\d+)$")], ...]

    @model_validator(mode="after")
    def _apart(self) -> Far:
        if self.ranked in self.lengths:
            raise ValueError(
                f"heads are ranked on {self.ranked} tokens, at which keys are asked for; take another length"
            )
        return self


class Dynamic(Frozen):
    """Dynamic NTK in one pass and with a cache."""

    documents: int = Field(ge=1, description="the first ones")
    trained: int = Field(ge=2, description="tokens read at once, from which on the factor grows with every token")
    length: int = Field(ge=3, description="tokens of the text; those from `trained` on are scored")


class Heads(Frozen):
    """What each head attends to."""

    length: int = Field(ge=4, description="tokens of a document; queries are those of the second half")


class Settings(Frozen):
    """What the model is asked. `model`: a folder, "random", or "" for the one of data/pretrained.yaml."""

    model: str = Field(default_factory=lambda: config.MODEL)
    documents: tuple[str, ...] = Field(min_length=2, description="rows of data/corpora.yaml, manuals")
    losses: Losses
    eviction: Eviction
    heads: Heads
    keys: Keys
    far: Far
    dynamic: Dynamic


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Every frame says in `model` whose answers it holds. NotHere where there is no model that can be asked."""
    from ..integrations import pretrained  # here: transformers takes seconds to import, and profiles are read often
    from . import pretrained_heads, pretrained_keys, pretrained_losses
    from .pretrained_answers import Answers

    settings = profile.pretrained
    answers = Answers(pretrained.opened(settings.model, device=str(runtime.device(profile.device))), runs, profile)
    heads = pretrained_heads.by_head(answers, settings.documents, settings.heads)
    fetching = pretrained_keys.fetching(answers, settings.far)
    found = {
        "pretrained_losses": pretrained_losses.by_position(answers, settings.documents, settings.losses),
        "pretrained_eviction": pretrained_losses.without_keys(answers, settings.documents, settings.eviction),
        "pretrained_heads": heads,
        "pretrained_keys": pretrained_keys.retrieved(answers, settings.keys),
        "pretrained_fetching": fetching,
        "pretrained_far": pretrained_keys.by_count(answers, settings.far, fetching, heads),
        "pretrained_dynamic": pretrained_losses.with_cache(answers, settings.documents, settings.dynamic),
    }
    trained = answers.found.model.config.max_position_embeddings
    return {name: pd.DataFrame(rows).assign(model=answers.found.label, trained=trained) for name, rows in found.items()}


def folder(profile: Profile, runs: Path) -> Path | None:
    """Where answers lie; None for a model of the user's, whose weights are not known before it is opened."""
    model = profile.pretrained.model
    if model not in ("", RANDOM):
        return None
    known = config.read_yaml((config.ROOT / "data" / "pretrained.yaml").read_text(encoding="utf-8"))
    return runs / f"{FOLDER}{known['weights'][:16] if not model else RANDOM}"


EXPERIMENT = Experiment(
    name="pretrained",
    sections=("pretrained",),
    trained=("pretrained",),
    measure=measure,
    answers=folder,
    frames=(
        "pretrained_losses",
        "pretrained_eviction",
        "pretrained_heads",
        "pretrained_keys",
        "pretrained_fetching",
        "pretrained_far",
        "pretrained_dynamic",
    ),
)
