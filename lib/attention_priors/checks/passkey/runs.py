"""Accuracies of the runs that passed the gate, as findings read them.

A run that misses its gate decides nothing: it is left out, and the note of the sentence names it. So is an arm that the
profile has not trained, or a length at which it was not asked. Two encodings are compared within seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pandas as pd

from attention_priors.claims.finding import Estimate, Frames, lead, share, smallest
from attention_priors.experiments.gate import gated

BY_LENGTH, SAMPLES, REACH = "passkey_by_length", "passkey_samples", "passkey_reach"
RECIPE = "passkey-small"
OURS = "bam-ssmax"
HIGH = 0.8  # "high", "accurate": the paper's own number at 500 times the training length
PERFECT = 0.85  # no finite sample shows 1; the lower limit of 25 of 25 right is 0.86
LONG = 64  # multiples of the training length
MARGIN = 0.05  # of accuracy: a smaller lead is none

Counts = dict[int, tuple[float, int]]  # (right, asked) by seed or by length


def lacking(seeds: Mapping[str, tuple[Iterable[int], Iterable[int]]]) -> str:
    """Which models are not in the profile, and which missed their gate: by name its seeds, and those that passed."""
    missed = {name: sorted({*there} - {*passed}) for name, (there, passed) in seeds.items()}
    absent = ", ".join(name for name, (there, _) in seeds.items() if not there)
    listed = ", ".join(f"{name} (seed {', '.join(map(str, each))})" for name, each in missed.items() if each)
    said = {"not in this profile": absent, "gate missed": listed}
    return "; ".join(f"{why}: {which}" for why, which in said.items() if which)


class Runs:
    """Rows of one form with `encoding`, `seed`, `length`, `correct`, `samples` and `trained`, after the gate.

    A run whose last answers hold no hit counts as without one at the longer lengths that others were asked.
    """

    def __init__(self, frame: pd.DataFrame, form: str = "plain") -> None:
        rows = frame[frame["form"] == form] if "form" in frame else frame
        self.trained = int(rows["trained"].min())
        gates = list(gated(rows).itertuples())
        self.passed = {(row.encoding, int(row.seed)): bool(row.passed) for row in gates}
        self.lengths_trained = {row.encoding: int(row.trained) for row in gates}
        self.runs: dict[tuple[str, int], Counts] = {run: {} for run in self.passed}
        for row in rows.sort_values("length").itertuples():
            self.runs[row.encoding, int(row.seed)][int(row.length)] = (int(row.correct), int(row.samples))
        prompts = rows.groupby("length")["samples"].max()
        for own in self.runs.values():
            last = max(own)
            if last > self.trained and not own[last][0]:
                own |= {int(length): (0, int(asked)) for length, asked in prompts.items() if length > last}

    def why(self, *names: str) -> str:
        """Why some of these do not decide: not in the profile, or their gate missed, with the seeds."""
        there = {name: [seed for other, seed in self.runs if other == name] for name in names}
        return lacking({name: (seeds, self.seeds(name)) for name, seeds in there.items()})

    def lengths(self, *names: str, least: float = 0.0, most: float = math.inf) -> list[int]:
        """Lengths at which all of these were asked, between `least` and `most` times T; of absent ones nothing."""
        there = [{n for (other, _), own in self.runs.items() if other == name for n in own} for name in names]
        common = set.intersection(*there) if there and all(there) else set()
        return sorted(n for n in common if least <= n / self.trained <= most)

    def beyond(self, *names: str, least: float = 2.0) -> list[int]:
        """Lengths that all of these were asked at which passed: above their own T, and from `least` times T to 64T.

        The paper's figures ask at 2T first; beyond 64T not all are asked.
        """
        names = self.present(names)
        own = max((self.lengths_trained[name] for name in names), default=0)
        return [length for length in self.lengths(*names, least=least, most=LONG) if length > own]

    def present(self, names: Iterable[str]) -> list[str]:
        """Those with a run that passed."""
        return [name for name in names if self.seeds(name)]

    def seeds(self, name: str) -> list[int]:
        """The seeds of an encoding that passed."""
        return sorted(seed for (other, seed), passed in self.passed.items() if other == name and passed)

    def counts(self, name: str, lengths: Iterable[int]) -> Counts:
        """Right and asked over some lengths by seed: of the seeds that passed and were asked at all of them."""
        lengths, made = list(lengths), {}
        for seed in self.seeds(name):
            own = [self.runs[name, seed].get(length) for length in lengths]
            if own and None not in own:
                made[seed] = tuple(map(sum, zip(*own, strict=True)))
        return made

    def at(self, name: str, lengths: int | Iterable[int]) -> Estimate:
        """Mean accuracy over one length or several."""
        lengths = [lengths] if isinstance(lengths, int) else list(lengths)
        return self._said(share(self.counts(name, lengths)), lengths, name)

    def each(self, names: Iterable[str], times: int) -> dict[str, Estimate]:
        """Accuracy of some encodings at `times` times T, by name."""
        return {name: self.at(name, times * self.trained) for name in names}

    def at_every(self, name: str, most: int) -> dict[str, Estimate]:
        """Accuracy at every length asked up to `most` times T, and at that one in any case."""
        lengths = {*self.lengths(name, most=most), most * self.trained}
        return {f"{name} at {n / self.trained:.3g}T": self.at(name, n) for n in sorted(lengths)}

    def lead(self, ours: str, theirs: str, lengths: Iterable[int]) -> Estimate:
        """Accuracy of `ours` less that of `theirs`, over the same lengths and within seeds."""
        lengths = list(lengths)
        found = lead(self.counts(ours, lengths), self.counts(theirs, lengths))
        return self._said(found, lengths, ours, theirs)

    def _said(self, found: Estimate, lengths: list[int], *names: str) -> Estimate:
        """The estimate with a note on the runs that it lacks."""
        note = self.why(*names)
        if math.isnan(found.value) and not note:
            where = ", ".join(f"{length / self.trained:.3g}T" for length in lengths) or "one length beyond T"
            note = f"{' and '.join(names)} not asked at {where}"
        return replace(found, note=note)

    def ahead(self, ours: Iterable[str], others: Iterable[str], least: float = 2.0) -> Estimate:
        """The smallest lead of any of `ours` over any of the others, in the mean over the lengths `beyond`."""
        pairs = [(a, b) for a in ours for b in others]
        return smallest({f"{a} over {b}": self.lead(a, b, self.beyond(a, b, least=least)) for a, b in pairs})


def read(frames: Frames) -> Runs:
    """The plain passkey task."""
    return Runs(frames[BY_LENGTH])
