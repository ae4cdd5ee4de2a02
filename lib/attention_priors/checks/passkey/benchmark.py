"""The benchmark of all encodings (X-11): who is there, what carries retrieval, and what the theory of priors says.

The sentences on properties and on masses were written before the runs of the varied recipe.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from attention_priors.checks.passkey.runs import LONG, MARGIN, RECIPE, Runs
from attention_priors.claims.finding import Estimate, Finding, Frames, exactly, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.experiments.benchmark import MULTIPLES
from attention_priors.experiments.tails import correlation

COUNTS, BY_LENGTH, TAILS = "encodings_counts", "encodings_by_length", "encodings_tails"
ALIKE = 0.1  # of accuracy: what a property may add and still not be needed
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
    "Goat": ("goat",),
    "damped": ("group-damped",),
    "Jordan": ("group-defective",),
    "ParallelComp": ("parallelcomp",),
}


def covered(frames: Frames) -> Estimate:
    """How many of the list have numbers at 1 to 64 times T; what is missing is not measured and decides nothing."""
    frame = frames[BY_LENGTH]
    wanted = {multiple * int(frame["trained"].iloc[0]) for multiple in MULTIPLES}
    there = {name for name, lengths in frame.groupby("encoding")["length"] if wanted <= set(lengths)}
    missing = [item for item, names in LISTED.items() if not there & set(names)]
    return unknown(f"without {', '.join(missing)}") if missing else exactly(float(len(LISTED)))


def lead(ours: str, theirs: str) -> Callable[[Frames], Estimate]:
    """At 64T, within the seeds of both that passed the gate."""

    def estimate(frames: Frames) -> Estimate:
        data = Runs(frames[COUNTS])
        return data.lead(ours, theirs, [LONG * data.trained])

    return estimate


def goes_with(quantity: str) -> Callable[[Frames], Estimate]:
    """Spearman's correlation of a mass with accuracy over encodings; the permutation test decides about 0.

    Where it does not exclude 0 at a level, neither does the interval.
    """

    def estimate(frames: Frames) -> Estimate:
        frame = frames[TAILS]
        found = correlation(frame, quantity)
        note = f"{found.n} encodings passed the gate"
        if math.isnan(found.rho):
            return unknown(f"{note}: too few, or all alike")

        def interval(level: float) -> tuple[float, float]:
            if found.p <= 1 - level:
                return found.low, found.high
            return min(found.low, 0.0), max(found.high, 0.0)

        return Estimate(found.rho, interval, tuple(sorted({int(seed) for seed in frame["seed"]})),
                        f"{note}, p = {found.p:.2g} by permutation")  # fmt: skip

    return estimate


CHECKS = claims(
    claim(
        "X-11",
        Finding(f"All {len(LISTED)} that are listed have numbers from 1 to {MULTIPLES[-1]} times T", covered, ">=",
                len(LISTED), metrics=(BY_LENGTH,)),
        Finding("The shape carries: at 64T a power of the lag (KERPLE) leads an exponential (ALiBi)",
                lead("kerple-power", "alibi"), ">", 0.0, metrics=(COUNTS,), margin=MARGIN),
        Finding(f"Exponents of 0 and below are not needed: at 64T BAM gains at most {ALIKE} on KERPLE power",
                lead("bam", "kerple-power"), "<=", ALIKE, metrics=(COUNTS,), ours=True),
        Finding(f"Training is not needed: at 64T KERPLE log gains at most {ALIKE} on Sandwich, which has no parameter",
                lead("kerple-log", "sandwich"), "<=", ALIKE, metrics=(COUNTS,), ours=True),
        Finding(f"SSMax is not needed: at 64T BAM with SSMax gains at most {ALIKE} on KERPLE power without",
                lead("bam-ssmax", "kerple-power"), "<=", ALIKE, metrics=(COUNTS,), ours=True),
        Finding("Over encodings the prior's mass beyond T goes with accuracy at 64T (Spearman)", goes_with("far"), ">",
                0.0, metrics=(TAILS,)),
        Finding("So does the smaller of its near and its far mass (Spearman)", goes_with("both"), ">", 0.0,
                metrics=(TAILS,)),
        recipe=RECIPE,
    ),
)  # fmt: skip
