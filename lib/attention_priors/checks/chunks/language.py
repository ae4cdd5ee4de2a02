"""ParallelComp on text (Table 3): which ways to read break down beyond the training length, and which do not.

The table's perplexities are those of models of seven and eight billion weights on NarrativeQA; what a small model can
say is how they move with the context. "Broken down" is more than twice the perplexity at the training length T, as in
PC-C9.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from attention_priors.checks.chunks.profiles import RECIPE, passing, told
from attention_priors.checks.measured import measuring
from attention_priors.claims.finding import Estimate, unknown
from attention_priors.claims.law import claim, claims

BY_SEED = "parallel_losses_by_seed"
TWICE = math.log(2)  # nats
LONG, LONGEST = 16, 64  # multiples of T: 64k and 128k are 16 and 32 times 4k


def wide(rows: pd.DataFrame, column: str, multiple: int) -> tuple[pd.DataFrame, str]:
    """A column at a multiple of T by seed (rows) and method, of the models that know word order; and who does not."""
    rows, note = passing(rows[rows["length"] == multiple * rows["trained"]])
    return rows.pivot(index="seed", columns="method", values=column), note


def growth(method: str, multiple: int) -> Callable[[pd.DataFrame], Estimate]:
    """Loss at a multiple of T less that at T."""

    def estimate(frame: pd.DataFrame) -> Estimate:
        found, note = wide(frame, "growth", multiple)
        if method not in found:
            return unknown(note or f"{method} not read at {multiple}T")
        return told(found[method], note)

    return estimate


def gap(upper: str, lower: str, multiple: int) -> Callable[[pd.DataFrame], Estimate]:
    """Loss of the one less that of the other, within seeds."""

    def estimate(frame: pd.DataFrame) -> Estimate:
        found, note = wide(frame, "loss", multiple)
        if not {upper, lower} <= set(found):
            return unknown(note or f"{upper} and {lower} not both read at {multiple}T")
        return told(found[upper] - found[lower], note)

    return estimate


measured = measuring(BY_SEED)

CHECKS = claims(
    claim(
        "PC-TAB3",
        measured(
            f"The model as trained breaks down: at {LONG}T its perplexity is more than twice that at T (nats)",
            growth("plain", LONG),
            ">",
            TWICE,
        ),
        measured(
            f"Three chunks by self-information do not: at {LONGEST}T at most twice (nats)",
            growth("k3", LONGEST),
            "<=",
            TWICE,
        ),
        measured(f"At {LONG}T three chunks are below the model as trained (nats)", gap("plain", "k3", LONG)),
        recipe=RECIPE,
        missing="PI, NTK, ChunkLlama, InfLLM and the levels of perplexity, which belong to the paper's models",
        practice="Compare reading in chunks with the last window alone: it cannot break down either, and here the "
        "targets need nothing that three chunks hold beyond it.",
    ),
)
