"""ParallelComp on small models with RoPE: do chunks retrieve further than what does without them?"""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd

from attention_priors.claims.finding import LEVEL, Estimate, Finding, Frames, lead, smallest, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.parallel.methods import METHODS

BY_LENGTH = "parallel_by_length"
OURS, FAR = "k3", 16  # three chunks by self-information; multiples of the training length
FARTHER = 64  # told beside it
ENCODING = "rope"
BASELINES = tuple(name for name, method in METHODS.items() if not method.chunks)


def ahead(frames: Frames) -> Estimate:
    """The smallest lead of K = 3 over a way to read that has no chunks, at 16T, within the seeds that passed. The note
    has that at 64T."""
    found, farther = _ahead(frames[BY_LENGTH], FAR), _ahead(frames[BY_LENGTH], FARTHER)
    if math.isnan(farther.value):
        return found
    low, high = farther.interval(LEVEL)
    told = f"at {FARTHER} times it is {farther.value:.2f} [{low:.2f}, {high:.2f}] ({farther.note})"
    return replace(found, note="; ".join(filter(None, (found.note, told))))


def _ahead(rows: pd.DataFrame, multiple: int) -> Estimate:
    rows = rows[(rows["encoding"] == ENCODING) & (rows["length"] == multiple * rows["trained"])]
    passed = rows["passed"].astype(bool)
    missed = sorted(set(rows.loc[~passed, "seed"]))
    counts = {
        method: dict(zip(own["seed"], zip(own["correct"], own["samples"], strict=True), strict=True))
        for method, own in rows[passed].groupby("method")
    }
    found = smallest(
        {
            f"the lead over {METHODS[name].label}": lead(counts[OURS], counts[name])
            for name in BASELINES
            if OURS in counts and name in counts
        }
    )
    absent = [METHODS[name].label for name in BASELINES if name not in set(rows["method"])]
    said = [found.note] if found.note else []
    said += [f"gate missed: {ENCODING} (seed {', '.join(map(str, missed))})"] if missed else []
    said += [f"not in this profile: {', '.join(absent)}"] if absent else []
    return replace(found, note="; ".join(said)) if counts else unknown("; ".join(said))


CHECKS = claims(
    claim(
        "PC-MINI",
        Finding(
            f"At {FAR} times the training length three chunks by self-information retrieve more than every way to read "
            "without chunks (smallest lead in accuracy, RoPE)",
            ahead,
            ">",
            0.0,
            metrics=(BY_LENGTH,),
        ),
        missing="eviction of keys and calibration: the chunks are joined whole (with half of their keys, calibrated, "
        "they stand beside it in parallel_by_length)",
        recipe="passkey-small",
        practice="Cutting into chunks lets a model with RoPE read on, and which chunks stay matters more than how "
        "many: compare the question's self-information with a lexical score (BM25), which a question that shares "
        "words with its answer favours, and let chunks overlap by the longest fact.",
    ),
)
