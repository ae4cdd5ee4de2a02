"""Findings: numbers read from metrics, decided by their intervals.

A claim of several sentences corrects for their number, so an estimate gives its interval at any level of confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from attention_priors import evaluation
from attention_priors.claims.verdict import Sentence, show

Frames = Mapping[str, pd.DataFrame]
LEVEL = 0.95
OTHER_SIDE = {"<": "at or above", "<=": "above", ">": "at or below", ">=": "below"}  # of a bound, by relation


@dataclass(frozen=True)
class Estimate:
    """A value, `interval(level)` -> (low, high), and the seeds that it rests on."""

    value: float
    interval: Callable[[float], tuple[float, float]]
    seeds: tuple[int, ...] = ()

    def __sub__(self, other: Estimate) -> Estimate:
        """Limits as far off as the root of the summed squares of the terms' distances to their own limits.

        Square-and-add (Newcombe 1998; Zou and Donner 2008): exact for normal terms, and fit for skewed ones.
        """

        def interval(level: float) -> tuple[float, float]:
            (a, b), (c, d) = self.interval(level), other.interval(level)
            low = math.hypot(self.value - a, d - other.value)
            return value - low, value + math.hypot(b - self.value, other.value - c)

        value = self.value - other.value
        return Estimate(value, interval, tuple(sorted({*self.seeds, *other.seeds})))


# A run that missed its gate, or was not made: it decides nothing.
UNKNOWN = Estimate(math.nan, lambda level: (-math.inf, math.inf))


def mean(by_seed: Mapping[int, float]) -> Estimate:
    """The mean over seeds with Student's t interval; `UNKNOWN` without a seed."""
    values = np.asarray(list(by_seed.values()), dtype=float)
    if not len(values):
        return UNKNOWN
    seeds = tuple(sorted(int(seed) for seed in by_seed))
    return Estimate(float(values.mean()), lambda level: evaluation.seed_interval(values, level), seeds)


def share(by_seed: Mapping[int, tuple[int, int]]) -> Estimate:
    """The mean share over seeds from each seed's (successes, trials), with `evaluation.share_interval`."""
    if not by_seed:
        return UNKNOWN
    successes, trials = (np.asarray(counts) for counts in zip(*by_seed.values(), strict=True))
    seeds = tuple(sorted(int(seed) for seed in by_seed))
    value = float((successes / trials).mean())
    return Estimate(value, lambda level: evaluation.share_interval(successes, trials, level), seeds)


@dataclass(frozen=True)
class Finding:
    """`estimate(frames)` `relation` `bound`, decided by the interval.

    It agrees where the whole interval is on the claimed side, disagrees where none of it is. A `margin` is ours: a lead
    that is certainly smaller is undecided, and the row says so. `ours`: the bound is our choice, not the document's.
    """

    text: str
    estimate: Callable[[Frames], Estimate]
    relation: str
    bound: float
    _: KW_ONLY
    metrics: tuple[str, ...]
    margin: float = 0.0
    ours: bool = False

    def objection(self) -> str | None:
        if self.relation not in OTHER_SIDE:
            return f"cannot be judged by an interval with {self.relation!r}; use one of {', '.join(OTHER_SIDE)}"
        if not self.metrics:
            return "reads no metrics; name them"
        return None

    def fixed(self, frames: Frames) -> Finding:
        """The same finding with the estimate of these frames."""
        found = self.estimate(frames)
        return replace(self, estimate=lambda _: found)

    def side(self, found: Estimate, level: float) -> str:
        """The outcome of this sentence alone at a level of confidence."""
        low, high = self._above(*found.interval(level))
        strict = self.relation in ("<", ">")
        if math.isnan(found.value):
            return "undecided"
        if high < 0 or (strict and high == 0):
            return "disagrees"
        small = self.margin > 0 and high < self.margin
        return "agrees" if (low > 0 or (not strict and low == 0)) and not small else "undecided"

    def _above(self, low: float, high: float) -> tuple[float, float]:
        """The interval as a distance beyond the bound, towards the claimed side."""
        if self.relation in ("<", "<="):
            return self.bound - high, self.bound - low
        return low - self.bound, high - self.bound

    def note(self, found: Estimate, outcome: str, alone: str) -> str:
        """What a reader needs beside the outcome: a margin or a bound of ours, a correction that changed it."""
        notes = [f"{self.bound:g} is our bound"] if self.ours else []
        if math.isnan(found.value):
            notes.append("not measured, or its gate missed")
        elif outcome == "undecided" and alone == "disagrees":
            notes.append("excluded alone, not after correcting for the number of sentences")
        elif outcome == "undecided" and all(abs(end) < self.margin for end in self._above(*found.interval(LEVEL))):
            notes.append(f"smaller than {self.margin:g}, our margin")
        return "; ".join(notes)

    @property
    def flip(self) -> str:
        """What would have to happen for either outcome."""
        lead = f" by {self.margin:g} or more" if self.margin else ""
        other = OTHER_SIDE[self.relation]
        return (
            f"{self.text}: agrees with an interval {self.relation} {self.bound:g}{lead}, disagrees with one {other} it"
        )


@dataclass(frozen=True)
class Judged:
    """A finding held against its frames."""

    finding: Finding
    estimate: Estimate
    outcome: str
    note: str

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval; None where it excludes nothing, for JSON."""
        ends = tuple(round(end, 6) for end in self.estimate.interval(LEVEL))
        return ends if all(map(math.isfinite, ends)) else None

    def sentence(self) -> Sentence:
        return Sentence(text=self.finding.text, found=self.outcome, how="metrics", note=self.note)

    def row(self) -> dict[str, Any]:
        """What a notebook shows of it."""
        value, finding = self.estimate.value, self.finding
        return {
            "": "measured",
            "sentence": finding.text,
            "found": self.outcome,
            "measured": f"{show(None if math.isnan(value) else value)} {finding.relation} {show(float(finding.bound))}",
            "95 % interval": show(self.interval),
            "note": self.note,
        }


def judge(findings: Sequence[Finding], frames: Frames) -> list[Judged]:
    """Every finding with its outcome: one of several disagrees only after Holm's correction for their number."""
    estimates = [finding.estimate(frames) for finding in findings]
    excluded: set[int] = set()
    while left := set(range(len(findings))) - excluded:
        level = 1 - (1 - LEVEL) / len(left)
        more = {k for k in left if findings[k].side(estimates[k], level) == "disagrees"}
        if not more:
            break
        excluded |= more
    rows = []
    for k, (finding, found) in enumerate(zip(findings, estimates, strict=True)):
        alone = finding.side(found, LEVEL)
        outcome = "disagrees" if k in excluded else "undecided" if alone == "disagrees" else alone
        rows.append(Judged(finding, found, outcome, finding.note(found, outcome, alone)))
    return rows
