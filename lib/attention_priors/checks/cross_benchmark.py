"""The benchmark of all encodings against what the theory of priors predicts (X-11; scaled reproduction)."""

from __future__ import annotations

import math

import pandas as pd

from attention_priors.checks.evidence import EmpiricalCheck
from attention_priors.checks.intervals import Estimate, Sentence, finding, judge, sentence
from attention_priors.checks.passkey_worlds import Frames
from attention_priors.experiments.benchmark import MULTIPLES
from attention_priors.experiments.tails import correlation

RECIPE = "passkey-small"
BY_LENGTH, TAILS = "encodings_by_length", "encodings_tails"
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


def covered(frame: pd.DataFrame) -> Sentence:
    """What is missing is not measured: nobody is wrong because of it, and nothing is decided."""
    trained = int(frame["trained"].iloc[0])
    wanted = {multiple * trained for multiple in MULTIPLES}
    lengths = frame.groupby("encoding")["length"].agg(set)
    there = {name for name, found in lengths.items() if wanted <= found}
    missing = [item for item, names in LISTED.items() if not there & set(names)]
    text = f"All {len(LISTED)} that are listed have numbers from 1 to {MULTIPLES[-1]} times the training length"
    text += f" (without: {', '.join(missing)})" if missing else ""
    found = len(LISTED) - len(missing)
    return Sentence(text, found, ">=", len(LISTED), "undecided" if missing else "agrees")


def predicted(frame: pd.DataFrame) -> Sentence:
    """Does the tail mass of its prior order encodings by what they retrieve?"""
    rho, low, high, n = correlation(frame, "accuracy")
    text = (
        f"Spearman's correlation over {n} encodings of prior mass beyond the training length with accuracy is above 0"
    )
    found = Estimate(rho, low, high)
    seeds = tuple(sorted({int(seed) for seed in frame["seed"]}))
    if math.isnan(rho):
        return Sentence(text, math.nan, ">", 0.0, "undecided")
    return sentence(text, found, ">", 0.0, judge(found, ">", 0.0), seeds)


def sentences(frames: Frames) -> list[Sentence]:
    """The prediction first: it is what can fail."""
    return [predicted(frames[TAILS]), covered(frames[BY_LENGTH])]


def verdict(frames: Frames):
    return finding(sentences(frames))


def flip(frames: Frames) -> Frames:
    """A world in which the encodings with the widest priors retrieve least, or most where that is so already."""
    ranks = frames[TAILS]["tail"].rank(pct=True)
    other = ranks if verdict(frames).outcome == "disagrees" else 1 - ranks
    return {**frames, TAILS: frames[TAILS].assign(accuracy=other)}


CHECKS = {
    "X-11": EmpiricalCheck(
        "X-11",
        (BY_LENGTH, TAILS),
        RECIPE,
        verdict,
        "agrees: every item of the list measured from 1 to 64 times the training length, and a positive Spearman "
        "correlation of prior mass beyond it with accuracy; disagrees: the interval of that correlation is below 0",
        flip,
    )
}
