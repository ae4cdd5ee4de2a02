"""ParallelComp on small models with RoPE: do chunks retrieve further than what does without them?"""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd

from attention_priors.checks.chunks.profiles import ENCODING, passing
from attention_priors.checks.measured import measuring
from attention_priors.claims.finding import LEVEL, Estimate, lead, smallest, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.parallel.methods import METHODS

BY_LENGTH = "parallel_by_length"
OURS, FAR = "k3", 16  # three chunks by self-information; multiples of the training length
FARTHER = 64  # told beside it
BASELINES = tuple(name for name, method in METHODS.items() if not method.chunks)


def ahead(frame: pd.DataFrame) -> Estimate:
    """The smallest lead of K = 3 over a way to read that has no chunks, at 16T, within the seeds that passed. The note
    has that at 64T."""
    found, farther = _ahead(frame, FAR), _ahead(frame, FARTHER)
    if math.isnan(farther.value):
        return found
    low, high = farther.interval(LEVEL)
    told = f"at {FARTHER} times it is {farther.value:.2f} [{low:.2f}, {high:.2f}] ({farther.note})"
    return replace(found, note="; ".join(filter(None, (found.note, told))))


def _ahead(rows: pd.DataFrame, multiple: int) -> Estimate:
    asked = rows[(rows["encoding"] == ENCODING) & (rows["length"] == multiple * rows["trained"])]
    rows, missed = passing(asked)
    counts = {
        method: dict(zip(own["seed"], zip(own["correct"], own["samples"], strict=True), strict=True))
        for method, own in rows.groupby("method")
    }
    leads = {
        f"the lead over {METHODS[name].label}": lead(counts[OURS], counts[name])
        for name in BASELINES
        if OURS in counts and name in counts
    }
    found = smallest(leads)
    if len(leads) > 1:
        widest = min(leads, key=lambda name: leads[name].interval(LEVEL)[0])
        value, (low, high) = leads[widest].value, leads[widest].interval(LEVEL)
        found = replace(
            found, note=f"{found.note}; the interval reaches lowest in {widest}: {value:.2f} [{low:.2f}, {high:.2f}]"
        )
    absent = ", ".join(METHODS[name].label for name in BASELINES if name not in set(asked["method"]))
    note = "; ".join(filter(None, (found.note, missed, absent and f"not in this profile: {absent}")))
    return replace(found, note=note) if counts else unknown(note)


CHECKS = claims(
    claim(
        "PC-MINI",
        measuring(BY_LENGTH)(
            f"At {FAR} times the training length three chunks by self-information retrieve more than every way to read "
            "without chunks (smallest lead in accuracy, RoPE)",
            ahead,
        ),
        missing="eviction of keys and calibration: the chunks are joined whole (with half of their keys, calibrated, "
        "they stand beside it in parallel_by_length)",
        recipe="passkey-small",
        practice="Cutting into chunks lets a model with RoPE read on, and which chunks stay may matter more than how "
        "many: compare the question's self-information with a lexical score (BM25), which a question that shares "
        "words with its answer favours, and try chunks that overlap by the longest fact where there are few.",
    ),
)
