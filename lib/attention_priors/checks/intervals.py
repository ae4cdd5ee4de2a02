"""Sentences with a number each, judged by its 95 % interval over seeds.

A sentence agrees when the whole interval satisfies its relation, disagrees when no part of it does, and is undecided
otherwise. A claim agrees when all of its sentences do and disagrees when one of them does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from attention_priors import evaluation
from attention_priors.checks.evidence import CheckError, Finding


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


UNKNOWN = Estimate(math.nan, -math.inf, math.inf)


@dataclass(frozen=True)
class Sentence:
    """One sentence of a claim and what the metrics say about it: `measured relation expected`."""

    text: str
    measured: float
    relation: str
    expected: float
    outcome: str
    interval: tuple[float, float] | None = None
    seeds: tuple[int, ...] = ()


def share(successes: Iterable[int], trials: Iterable[int]) -> Estimate:
    """A mean share over seeds from each seed's counts, with `evaluation.share_interval`."""
    successes, trials = np.asarray(list(successes)), np.asarray(list(trials))
    if not len(trials):
        return UNKNOWN
    return Estimate(float((successes / trials).mean()), *evaluation.share_interval(successes, trials))


def difference(a: Estimate, b: Estimate) -> Estimate:
    """a - b, with limits as far off as the root of the summed squares of the terms' distances to their own limits.

    Square-and-add (Newcombe 1998; Zou and Donner 2008): exact for normal terms, and fit for skewed ones.
    """
    value = a.value - b.value
    low = value - math.hypot(a.value - a.low, b.high - b.value)
    return Estimate(value, low, value + math.hypot(a.high - a.value, b.value - b.low))


def judge(found: Estimate, relation: str, bound: float, margin: float = 0.0) -> str:
    """The outcome of `found relation bound`. With > and a margin, certainly less than bound + margin disagrees too:
    a lead too small to matter is no lead. CheckError for a relation other than >=, >, <=, <."""
    if relation not in (">=", ">", "<=", "<"):
        raise CheckError(f"relation {relation!r} cannot be judged by an interval; use >=, >, <= or <")
    if math.isnan(found.value):
        return "undecided"
    if relation in ("<=", "<"):
        found, bound = Estimate(-found.value, -found.high, -found.low), -bound
    strict = relation in (">", "<")
    if found.low > bound or (not strict and found.low == bound):
        return "agrees"
    return "disagrees" if found.high < bound + margin or (strict and found.high == bound) else "undecided"


def joined(outcomes: Iterable[str]) -> str:
    """Of sentences that all have to hold: one that fails decides, then one that is open; nothing at all is open."""
    outcomes = list(outcomes)
    order = ("disagrees", "undecided", "agrees")
    return next((outcome for outcome in order if outcome in outcomes), "undecided")


def sentence(
    text: str, found: Estimate, relation: str, bound: float, outcome: str, seeds: tuple[int, ...] = ()
) -> Sentence:
    """With rounded numbers; an interval that excludes nothing is left out."""
    known = math.isfinite(found.low) or math.isfinite(found.high)
    interval = (round(found.low, 6), round(found.high, 6)) if known else None
    return Sentence(text, round(found.value, 6), relation, round(bound, 6), outcome, interval, seeds)


def finding(sentences: Sequence[Sentence]) -> Finding:
    """What a claim comes to: the numbers of the first sentence that decides the outcome, and all sentences in words."""
    outcome = joined(each.outcome for each in sentences)
    first = next(each for each in sentences if each.outcome == outcome)
    seeds = tuple(sorted({seed for each in sentences for seed in each.seeds}))
    detail = "; ".join(f"{each.text}: {each.outcome}" for each in sentences)
    measured = "not measured" if math.isnan(first.measured) else first.measured
    bounded = first.interval if first.interval and all(map(math.isfinite, first.interval)) else None  # for JSON
    found = (outcome, measured, first.relation, first.expected, seeds, bounded, detail)
    return Finding(*found, tuple(sentences))
