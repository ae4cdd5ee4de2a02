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
from attention_priors.claims.verdict import UNTESTABLE, Sentence, show

Frames = Mapping[str, pd.DataFrame]
LEVEL = 0.95
ANY, SHARE, RANK = (-math.inf, math.inf), (0.0, 1.0), (-1.0, 1.0)  # what numbers, shares, correlations can be
OTHER_SIDE = {"<": "at or above", "<=": "above", ">": "at or below", ">=": "below"}  # of a bound, by relation


@dataclass(frozen=True)
class Estimate:
    """A value, `interval(level)` -> (low, high), the seeds that it rests on, and what a reader must know beside it."""

    value: float
    interval: Callable[[float], tuple[float, float]]
    seeds: tuple[int, ...] = ()
    note: str = ""

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


def unknown(note: str = "") -> Estimate:
    """What a run that missed its gate, or was not made, says: nothing."""
    return Estimate(math.nan, lambda level: (-math.inf, math.inf), note=note)


UNKNOWN = unknown()


def exactly(value: float, seeds: Sequence[int] = (), note: str = "") -> Estimate:
    """A count, which no seed would change."""
    return Estimate(value, lambda level: (value, value), tuple(seeds), note)


def mean(by_seed: Mapping[int, float], within: tuple[float, float] = ANY) -> Estimate:
    """The mean over seeds with Student's t interval, cut at what the quantity can be; `UNKNOWN` without a seed."""
    values = np.asarray(list(by_seed.values()), dtype=float)
    if not len(values):
        return UNKNOWN

    def interval(level: float) -> tuple[float, float]:
        low, high = evaluation.seed_interval(values, level)
        return max(low, within[0]), min(high, within[1])

    return Estimate(float(values.mean()), interval, tuple(sorted(int(seed) for seed in by_seed)))


def share(by_seed: Mapping[int, tuple[int, int]]) -> Estimate:
    """The mean share over seeds from each seed's (successes, trials), with `evaluation.share_interval`."""
    if not by_seed:
        return UNKNOWN
    successes, trials = (np.asarray(counts) for counts in zip(*by_seed.values(), strict=True))
    seeds = tuple(sorted(int(seed) for seed in by_seed))
    value = float((successes / trials).mean())
    return Estimate(value, lambda level: evaluation.share_interval(successes, trials, level), seeds)


def lead(ours: Mapping[int, tuple[int, int]], theirs: Mapping[int, tuple[int, int]]) -> Estimate:
    """The mean difference of two shares over the seeds of both, with `evaluation.difference_interval`."""
    seeds = tuple(sorted(ours.keys() & theirs.keys()))
    if not seeds:
        return UNKNOWN
    pairs = [(*ours[seed], *theirs[seed]) for seed in seeds]
    right, asked, other_right, other_asked = (np.asarray(counts) for counts in zip(*pairs, strict=True))
    value = float((right / asked - other_right / other_asked).mean())
    return Estimate(
        value, lambda level: evaluation.difference_interval(right, asked, other_right, other_asked, level), seeds
    )


def largest(estimates: Mapping[str, Estimate]) -> Estimate:
    """The largest of several by name, for "all are below": what is unknown among them may be larger still.

    Its upper limit is that of any of them at the level; its lower one is corrected for their number (Bonferroni). The
    note names the largest, and what the notes of all say.
    """
    known = {name: each for name, each in estimates.items() if not math.isnan(each.value)}
    notes = list(dict.fromkeys(part for each in estimates.values() if each.note for part in each.note.split("; ")))
    if not known:
        return unknown("; ".join(notes))

    def interval(level: float) -> tuple[float, float]:
        low = max(each.interval(1 - (1 - level) / len(known))[0] for each in known.values())
        return low, max(each.interval(level)[1] for each in estimates.values())

    name = max(known, key=lambda name: (known[name].value, known[name].interval(LEVEL)[1]))
    seeds = tuple(sorted({seed for each in known.values() for seed in each.seeds}))
    return Estimate(known[name].value, interval, seeds, "; ".join([f"decided by {name}"] * (len(known) > 1) + notes))


def smallest(estimates: Mapping[str, Estimate]) -> Estimate:
    """The smallest of several by name, for "all are above": `largest` of their negatives."""
    found = largest({name: _negative(each) for name, each in estimates.items()})
    return _negative(found)


def _negative(found: Estimate) -> Estimate:
    def interval(level: float) -> tuple[float, float]:
        low, high = found.interval(level)
        return -high, -low

    return replace(found, value=-found.value, interval=interval)


@dataclass(frozen=True)
class Finding:
    """`estimate(frames)` `relation` `bound`, decided by the interval.

    It agrees where the whole interval is on the claimed side, disagrees where none of it is. A `margin` is ours: a lead
    that is certainly smaller is undecided, and the row says so. `ours`: the bound is our choice, not the document's.
    `beyond`: what these runs lack that the claim is about (size, data, hardware), in words or as a function of the
    frames (empty: nothing); such a finding is measured and shown, and decides nothing. Nor does one that `decides` not:
    a reading or a control of ours, beside what the document says.
    """

    text: str
    estimate: Callable[[Frames], Estimate]
    relation: str
    bound: float
    _: KW_ONLY
    metrics: tuple[str, ...]
    margin: float = 0.0
    ours: bool = False
    beyond: str | Callable[[Frames], str] = ""
    decides: bool = True

    def lacks(self, frames: Frames) -> str:
        """What the runs behind the frames lack for a test of this."""
        return self.beyond(frames) if callable(self.beyond) else self.beyond

    def objection(self) -> str | None:
        if self.relation not in OTHER_SIDE:
            return f"cannot be judged by an interval with {self.relation!r}; use one of {', '.join(OTHER_SIDE)}"
        if not self.metrics:
            return "reads no metrics; name them"
        return None

    def fixed(self, frames: Frames) -> Finding:
        """The same finding with the estimate of these frames."""
        found, lacks = self.estimate(frames), self.lacks(frames)
        return replace(self, estimate=lambda _: found, beyond=lacks)

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
        notes = [] if self.decides else ["ours, decides nothing"]
        notes += [f"{self.bound:g} is our bound"] if self.ours else []
        notes += [found.note] if found.note else []
        if math.isnan(found.value):
            notes += [] if found.note else ["not measured, or its gate missed"]
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

    def _ends(self) -> str:
        """The interval in print, also where it excludes values on one side only."""
        low, high = (round(end, 6) for end in self.estimate.interval(LEVEL))
        if self.interval or not (math.isfinite(low) or math.isfinite(high)):
            return show(self.interval)
        return f"[{show(low)}, ∞)" if math.isfinite(low) else f"(−∞, {show(high)}]"

    def sentence(self) -> Sentence:
        ours = not self.finding.decides
        return Sentence(text=self.finding.text, found=self.outcome, how="metrics", note=self.note, ours=ours)

    def row(self) -> dict[str, Any]:
        """What a notebook shows of it."""
        value, finding = self.estimate.value, self.finding
        return {
            "": "measured",
            "statement": finding.text,
            "found": self.outcome,
            "measured": f"{show(None if math.isnan(value) else value)} {finding.relation} {show(float(finding.bound))}",
            "95 % interval": self._ends(),
            "note": self.note,
        }


def judge(findings: Sequence[Finding], frames: Frames) -> list[Judged]:
    """Every finding with its outcome: one of several disagrees only after Holm's correction for their number.

    Those that the runs cannot test are not among them, nor those that decide nothing.
    """
    estimates = [finding.estimate(frames) for finding in findings]
    lacking = {k: lacks for k, finding in enumerate(findings) if (lacks := finding.lacks(frames))}
    beside = {k for k, finding in enumerate(findings) if not finding.decides}
    excluded: set[int] = set()
    while left := set(range(len(findings))) - excluded - lacking.keys() - beside:
        level = 1 - (1 - LEVEL) / len(left)
        more = {k for k in left if findings[k].side(estimates[k], level) == "disagrees"}
        if not more:
            break
        excluded |= more
    rows = []
    for k, (finding, found) in enumerate(zip(findings, estimates, strict=True)):
        alone = finding.side(found, LEVEL)
        outcome = "disagrees" if k in excluded else "undecided" if alone == "disagrees" and k not in beside else alone
        note = finding.note(found, outcome, alone)
        if k in lacking:
            outcome, note = UNTESTABLE, lacking[k]
        rows.append(Judged(finding, found, outcome, note))
    return rows
