"""Slips in the survey's listings of code (PE-E-CODE).

Facts transcribed from the survey are run as they stand. Independent evidence: Python's own lookup of names,
transformers' YaRN ramp, torch's Variable; the tests add its rotary embedding, which grows by what it holds.
"""

from __future__ import annotations

import importlib
import inspect
import math
import operator
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch

from attention_priors.checks import printed
from attention_priors.checks.printed import told
from attention_priors.checks.rotations import oracles
from attention_priors.claims.law import Law, claim, claims, grid

TRAINED = 2048
LENGTHS = (1, TRAINED, TRAINED + 1, 2 * TRAINED, 4 * TRAINED)
PAIRS = grid(trained=[TRAINED], first=LENGTHS, length=LENGTHS)
RAMPS = grid(width=(4, 64, 128), trained=(512, TRAINED, 131_072, *(10**power for power in range(6, 13))))


def facts(listing: str) -> dict[str, str]:
    """What a listing of the survey does, fact -> value (data/printed/survey_listings.csv). ValueError if unknown."""
    frame = pd.read_csv(printed.FOLDER / "survey_listings.csv", dtype=str, keep_default_na=False)
    rows = frame[frame.listing == listing]
    if rows.empty:
        raise ValueError(f"no listing {listing!r}; transcribed are: {', '.join(frame.listing.unique())}")
    return dict(zip(rows.fact, rows.value, strict=True))


class Listed:
    """The table of angles that a listing makes and rebuilds, run by the facts on it (scaled frequencies left aside)."""

    def __init__(self, listing: str, dim: int, *place: int, **keyword: int) -> None:
        self.facts = facts(listing)
        name = self.facts["length parameter"]
        taken = [] if name == "none" else [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        given = inspect.Signature(taken).bind(*place, **keyword)
        length = next(iter(given.arguments.values()), None) if self.facts["built"] == "at the start" else None
        self.theta = float(self.facts["base"]) ** (-np.arange(0, dim, 2) / dim)
        self.state, self.builds = {self.facts["compared"]: length, self.facts["stored"]: length}, 0
        self._build(length or 0)

    def _build(self, length: int) -> None:
        self.angles = np.multiply.outer(np.arange(length), self.theta)
        self.builds += 1

    def __call__(self, length: int) -> np.ndarray:
        """The angles of positions 0 .. length - 1, after the listing's test."""
        differs = {"length > compared": operator.gt, "length != compared": operator.ne}[self.facts["rebuilt if"]]
        if differs(length, self.state[self.facts["compared"]]):
            self.state[self.facts["stored"]] = length
            self._build(length)
        return self.angles[:length]


def outcome(call: Callable) -> str:
    """What the call returns, or the name of the error."""
    try:
        return str(call())
    except Exception as error:
        return type(error).__name__


def called(listing: str) -> str:
    """Python looks the name that a listing calls up among its own class and torch's names."""
    known = facts(listing)
    names = {**vars(torch.nn), **vars(torch), known["defines"]: Listed}
    return outcome(lambda: eval(known["calls"], names) and "found")


def rows_made(keyword: str) -> str:
    """Rows of the Llama class when 4096 is passed by that keyword ("": by place), or the error."""
    place, named = ((), {keyword: 4096}) if keyword else ((4096,), {})
    return outcome(lambda: len(Listed("huggingface", 64, *place, **named).angles))


def rebuilds(listing: str, trained: int, lengths: Sequence[int]) -> list[tuple[int, bool]]:
    """(rows held, rebuilt?) of each of these calls in turn."""
    listed, found = Listed(listing, 4, trained), []
    for length in lengths:
        held, before = len(listed.angles), listed.builds
        listed(length)
        found.append((held, listed.builds > before))
    return found


def rebuilt(trained: int, first: int, length: int) -> bool:
    """Whether the Llama listing rebuilds its cache in the second of two calls."""
    return rebuilds("huggingface", trained, [first, length])[1][1]


def ramp(width: int, trained: int, clamp: int, entries: int) -> np.ndarray:
    """The blend from 1.25 to 0.75 turns with this upper clamp and so many entries; 0 at planes that turn often."""
    low, high = (width * math.log(trained / (2 * math.pi * t)) / (2 * math.log(10_000)) for t in (1.25, 0.75))
    low, high = max(math.floor(low), 0), min(math.ceil(high), clamp)
    return np.clip((np.arange(entries) - low) / (high - low or 1e-3), 0, 1)


def written(width: int) -> list[int]:
    """(upper clamp, entries) as the listing has them."""
    known = facts("partial")
    return [eval(known[key], {"dim": width}) for key in ("ramp clamped to", "ramp entries")]


def wrapped(name: str) -> str:
    """What the wrapper, called as the listing does, makes of a tensor."""
    module, _, short = name.rpartition(".")
    table = torch.ones(2)
    requires = facts("sinusoidal")["requires grad"] == "True"
    found = getattr(importlib.import_module(module), short)(table, requires_grad=requires)
    same = found.data_ptr() == table.data_ptr() and not found.requires_grad
    return f"{type(found).__name__}, {'unchanged' if same else 'changed'}"


CHECKS = claims(
    claim(
        "PE-E-CODE",
        told(
            "GPT-NeoX: Rotary is defined and RotaryEmbedding called, a NameError.",
            called,
            {"neox": "NameError"},
            wrong="found",
        ),
        Law(
            "The cache is rebuilt by the calls that ask for more than the trained length, even when it is "
            "long enough already, and by no others.",
            lambda trained, length: length > trained,
            rebuilt,
            PAIRS,
            wrong=lambda trained, first, length: length > max(trained, first),
        ),
        Law(
            "No slip: max_position_embedding is not the name that is passed, but the listing passes it by place.",
            lambda keyword: "TypeError" if keyword == "max_position_embeddings" else "4096",
            rows_made,
            grid(keyword=("max_position_embeddings", "max_position_embedding", "")),
            wrong="4096",
            ours=True,
        ),
        Law(
            "The ramp's upper end is clamped to d - 1 where the mask has d/2 entries.",
            lambda width: [width - 1, width // 2],
            written,
            grid(width=(4, 64, 128)),
            wrong=lambda width: [width // 2 - 1, width // 2],
            ours=True,
        ),
        Law(
            "That is no slip either: so clamped it is the ramp that transformers' YaRN has, up to 10^12 positions.",
            lambda width, trained: ramp(width, trained, width - 1, width // 2),
            lambda width, trained: oracles.ramp(1.25, 0.75, width, trained),
            RAMPS,
            wrong=lambda width, trained: ramp(width, trained, width // 2 - 1, width // 2),
            tolerance=1e-5,
            ours=True,
        ),
        told(
            "Variable, which is deprecated, does nothing any more.",
            wrapped,
            {"torch.autograd.Variable": "Tensor, unchanged"},
            wrong="Parameter, unchanged",
        ),
        practice="Only the first slip stops a program. The rebuilt cache costs time; the keyword costs nothing as the "
        "listing calls by place; the clamp does no harm, and d/2 - 1 in its place would. Not on our list: "
        "with a key cache GPT-NeoX's code, which has no offset, turns each new token by position 0.",
    ),
)
