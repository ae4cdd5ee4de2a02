"""ParallelComp on text (Table 3): which ways to read break down beyond the training length, and which do not.

The table's perplexities are those of models of seven and eight billion weights on NarrativeQA; what a small model can
say is how they move with the context. "Broken down" is more than twice the perplexity at the training length T, as in
PC-C9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from attention_priors.claims.finding import Estimate, Finding, Frames, mean, unknown
from attention_priors.claims.law import claim, claims

BY_SEED = "parallel_losses_by_seed"
ENCODING, RECIPE = "rope", "language-small"
TWICE = math.log(2)  # nats
LONG, LONGEST = 16, 64  # multiples of T: 64k and 128k are 16 and 32 times 4k


def wide(frames: Frames, column: str, multiple: int) -> tuple[pd.DataFrame, str]:
    """A column at a multiple of T by seed (rows) and method, of the models that know word order; and who does not."""
    rows = frames[BY_SEED]
    rows = rows[(rows["encoding"] == ENCODING) & (rows["length"] == multiple * rows["trained"])]
    passed = rows["passed"].astype(bool)
    missed = ", ".join(map(str, sorted(set(rows.loc[~passed, "seed"]))))
    note = f"gate missed: {ENCODING} (seed {missed})" if missed else ""
    return rows[passed].pivot(index="seed", columns="method", values=column), note


def growth(method: str, multiple: int) -> Callable[[Frames], Estimate]:
    """Loss at a multiple of T less that at T."""

    def estimate(frames: Frames) -> Estimate:
        found, note = wide(frames, "growth", multiple)
        if method not in found:
            return unknown(note or f"{method} not read at {multiple}T")
        return replace(mean(found[method].dropna().to_dict()), note=note)

    return estimate


def gap(upper: str, lower: str, multiple: int) -> Callable[[Frames], Estimate]:
    """Loss of the one less that of the other, within seeds."""

    def estimate(frames: Frames) -> Estimate:
        found, note = wide(frames, "loss", multiple)
        if not {upper, lower} <= set(found):
            return unknown(note or f"{upper} and {lower} not both read at {multiple}T")
        return replace(mean((found[upper] - found[lower]).dropna().to_dict()), note=note)

    return estimate


CHECKS = claims(
    claim(
        "PC-TAB3",
        Finding(
            f"The model as trained breaks down: at {LONG}T its perplexity is more than twice that at T (nats)",
            growth("plain", LONG),
            ">",
            TWICE,
            metrics=(BY_SEED,),
        ),
        Finding(
            f"Three chunks by self-information do not: at {LONGEST}T at most twice (nats)",
            growth("k3", LONGEST),
            "<=",
            TWICE,
            metrics=(BY_SEED,),
        ),
        Finding(
            f"At {LONG}T three chunks are below the model as trained (nats)",
            gap("plain", "k3", LONG),
            ">",
            0.0,
            metrics=(BY_SEED,),
        ),
        recipe=RECIPE,
        missing="PI, NTK, ChunkLlama, InfLLM and the levels of perplexity, which belong to the paper's models",
        practice="Compare reading in chunks with the last window alone: it cannot break down either, and here the "
        "targets need nothing that three chunks hold beyond it.",
    ),
)
