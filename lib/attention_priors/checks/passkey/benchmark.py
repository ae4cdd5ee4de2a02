"""The benchmark of all encodings (X-11): who is there, what carries retrieval, and what the theory of priors says.

Its sentences were written before any seed of a profile was trained at varied lengths, those on the newer encodings
(X-33) before any model with one of them was trained at all. They are decided in notebook 18, where all that they read
has been measured: encodings in notebook 10, ParallelComp in notebook 16.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd

from attention_priors.checks.measured import measuring
from attention_priors.checks.passkey.runs import HIGH, LONG, MARGIN, RECIPE, Runs
from attention_priors.claims.finding import Estimate, Finding, Frames, exactly, largest, smallest, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.experiments.benchmark import MULTIPLES
from attention_priors.experiments.tails import correlation

COUNTS, BY_LENGTH, TAILS = "encodings_counts", "encodings_by_length", "encodings_tails"
CHUNKS = "parallel_by_length"
FAR, FEW = 16, 0.2  # of X-33: multiples of the training length, and an accuracy that is a failure
HEAVY = ("kerple-power", "kerple-log", "sandwich", "bam", "bam-ssmax")
OTHERS = ("t5", "alibi", "nope", "rope", "sinusoidal")
# What the statement lists, and rows of which each may be any.
LISTED = {
    "sinusoidal": ("sinusoidal",),
    "RoPE": ("rope",),
    "PI": ("rope-pi",),
    "NTK": ("rope-ntk",),
    "dynamic": ("rope-dynamic-ntk", "rope-dynamic-linear"),
    "partial": ("rope-partial-ntk",),
    "ReRoPE": ("rope-rerope",),
    "T5": ("t5",),
    "ALiBi": ("alibi",),
    "KERPLE power": ("kerple-power",),
    "KERPLE log": ("kerple-log",),
    "Sandwich": ("sandwich",),
    "xPos": ("xpos",),
    "randomised": ("rope-randomised",),
    "NoPE": ("nope",),
    "BAM": ("bam",),
    "BAM SSMax": ("bam-ssmax",),
    "Goat": ("goat", "goat-composite", "goat-code"),
    "damped": ("group-damped",),
    "Jordan": ("group-defective",),
    "ParallelComp": ("k3", "k3-half"),  # ways of reading: three chosen chunks, whole or with half of their keys
}


def covered(frames: Frames) -> Estimate:
    """How many of the list have numbers at 1 to 64 times T; what is missing is not measured and decides nothing."""
    there = set()
    for frame, column in ((frames[BY_LENGTH], "encoding"), (frames[CHUNKS], "method")):
        wanted = {multiple * int(frame["trained"].iloc[0]) for multiple in MULTIPLES}
        there |= {name for name, lengths in frame.groupby(column)["length"] if wanted <= set(lengths)}
    missing = [item for item, names in LISTED.items() if not there & set(names)]
    return unknown(f"without {', '.join(missing)}") if missing else exactly(float(len(LISTED)))


def reach(extreme: Callable[[Mapping[str, Estimate]], Estimate], *names: str) -> Callable[[Runs], Estimate]:
    """The smallest or the largest accuracy of these at 64T."""
    return lambda data: extreme(data.each(names, LONG))


def lead(ours: str, theirs: str) -> Callable[[Runs], Estimate]:
    """In mean accuracy above T, within the seeds of both that passed the gate."""
    return lambda data: data.lead(ours, theirs, data.beyond(ours, theirs, least=1.0))


def far(ours: str, theirs: str) -> Callable[[Runs], Estimate]:
    """What is left of accuracy at 16T over that of another, within the seeds of both that passed the gate."""
    return lambda data: data.lead(ours, theirs, [FAR * data.trained])


def goes_with(quantity: str, by: str = "encoding") -> Callable[[pd.DataFrame], Estimate]:
    """Spearman's correlation of a mass with accuracy over encodings or families; a permutation test decides about 0.

    Where it does not exclude 0 at a level, neither does the interval.
    """

    def estimate(frame: pd.DataFrame) -> Estimate:
        found = correlation(frame, quantity, by)
        note = f"{found.n} {'encodings' if by == 'encoding' else 'families'} passed the gate"
        if math.isnan(found.rho):
            return unknown(f"{note}: too few, or all alike")

        def interval(level: float) -> tuple[float, float]:
            if found.p <= 1 - level:
                return found.low, found.high
            return min(found.low, 0.0), max(found.high, 0.0)

        return Estimate(
            found.rho,
            interval,
            tuple(sorted({int(seed) for seed in frame["seed"]})),
            f"{note}, p = {found.p:.2g} by permutation",
        )

    return estimate


measured = measuring(COUNTS, read=lambda frames: Runs(frames[COUNTS]))
of_tails = measuring(TAILS)
claim = partial(claim, recipe=RECIPE)

CHECKS = claims(
    claim(
        "X-11",
        Finding(
            f"All {len(LISTED)} that are listed have numbers from 1 to {MULTIPLES[-1]} times T",
            covered,
            ">=",
            len(LISTED),
            metrics=(BY_LENGTH, CHUNKS),
        ),
        measured(
            f"Heavy tails reach: KERPLE's kernels, Sandwich, and BAM with SSMax and without, have {HIGH} at 64T",
            reach(smallest, *HEAVY),
            ">=",
            HIGH,
            ours=True,
        ),
        measured(
            f"T5's buckets, ALiBi, NoPE, RoPE and sinusoidal embeddings do not: below {HIGH} at 64T",
            reach(largest, *OTHERS),
            "<",
            HIGH,
            ours=True,
        ),
        measured(
            f"Negative exponents are not needed: BAM leads KERPLE power by less than {MARGIN} above T",
            lead("bam", "kerple-power"),
            "<",
            MARGIN,
            ours=True,
        ),
        measured(
            f"Trained parameters are not needed: BAM leads Sandwich by less than {MARGIN} above T",
            lead("bam", "sandwich"),
            "<",
            MARGIN,
            ours=True,
        ),
        of_tails(
            "Over encodings, taken as independent, the prior's mass beyond T goes with accuracy at 64T (Spearman)",
            goes_with("far"),
        ),
        of_tails("So does the smaller of its near and its far mass (Spearman)", goes_with("both")),
        of_tails("... and over the means of their families (Spearman)", goes_with("both", "family"), decides=False),
    ),
    claim(
        "X-33",
        measured("FIRE answers more than ALiBi at 16T", far("fire", "alibi"), margin=MARGIN),
        measured("So does stick-breaking", far("stick-breaking", "alibi"), margin=MARGIN),
        measured(
            f"DAPE over KERPLE log answers no fewer there than KERPLE log, within {MARGIN}",
            far("dape", "kerple-log"),
            ">=",
            -MARGIN,
        ),
        measured(
            f"RoPE with a learned sink stays below {FEW} there",
            lambda data: data.at("rope-sinks", FAR * data.trained),
            "<",
            FEW,
        ),
    ),
)
