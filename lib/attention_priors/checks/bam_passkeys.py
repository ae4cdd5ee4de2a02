"""Accuracies as the checks of needles and of language models read them, until these are findings.

An encoding that has not learned the task at its training length (accuracy below 0.8 there) is underestimated
everywhere: its accuracies count as lower bounds, so that they may speak for it and not against it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import pandas as pd

from attention_priors.checks.intervals import Estimate, Sentence, difference, joined, judge, sentence, share
from attention_priors.checks.passkey_worlds import BY_LENGTH, HIGH, OURS

__all__ = ["BY_LENGTH", "NEAR_CHANCE", "OURS", "PERFECT", "Accuracies", "ahead", "worst"]
PERFECT = 0.85  # "perfect": no finite sample shows 1; the lower limit of 25 of 25 right is 0.86
NEAR_CHANCE = 0.1
MARGIN = 0.05  # a lead below five points is none


class Accuracies:
    """The plain task's part of passkey_by_length."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.rows = frame[frame["form"] == "plain"]
        self.trained = int(self.rows["trained"].iloc[0])

    def of(self, name: str) -> pd.DataFrame:
        return self.rows[self.rows["encoding"] == name]

    def seeds(self, *names: str) -> tuple[int, ...]:
        return tuple(sorted({int(seed) for name in names for seed in self.of(name)["seed"]}))

    def lengths(self, *names: str, beyond: bool = True) -> list[int]:
        """Lengths at which all of these encodings were asked, by default only those above the training length."""
        asked = [set(self.of(name)["length"]) for name in names if len(self.of(name))]
        found = sorted(set.intersection(*asked)) if asked else []
        return [int(length) for length in found if length > self.trained or not beyond]

    def at(self, name: str, lengths: int | list[int]) -> Estimate:
        """Accuracy at one length, or the mean over several."""
        rows = self.of(name)
        rows = rows[rows["length"].isin(lengths if isinstance(lengths, list) else [lengths])]
        each = rows.groupby("seed")[["correct", "samples"]].sum()
        return share(each["correct"], each["samples"])

    def learned(self, *names: str) -> bool:
        return all(self.at(name, self.trained).value >= HIGH for name in names)

    def trusted(self, outcome: str, relation: str, plus: Iterable[str] = (), minus: Iterable[str] = ()) -> str:
        """`undecided` where the outcome rests on an encoding that has not learned the task being bad.

        The judged number rises with the accuracies of `plus` and falls with those of `minus`.
        """
        large = relation in (">", ">=")
        doubted = set()
        if not self.learned(*plus):
            doubted.add("disagrees" if large else "agrees")
        if not self.learned(*minus):
            doubted.add("agrees" if large else "disagrees")
        return "undecided" if outcome in doubted else outcome


def worst(
    text: str, data: Accuracies, cells: Mapping[tuple[str, int], Estimate], relation: str, bound: float, enough=True
) -> Sentence:
    """`relation bound` for every (encoding, length): reported is the cell that decides. `enough`: all was tested."""
    outcomes = {}
    for (name, length), found in cells.items():
        outcomes[name, length] = data.trusted(judge(found, relation, bound), relation, plus=[name])
    outcome = joined(outcomes.values())
    outcome = "undecided" if outcome == "agrees" and not enough else outcome
    deciding = [cell for cell in cells if outcomes[cell] == outcome] or list(cells)
    if not deciding:
        return Sentence(f"{text} (not tested)", math.nan, relation, bound, "undecided")
    above = relation in (">", ">=")
    cell = min(
        deciding, key=lambda at: (cells[at].value, cells[at].low) if above else (-cells[at].value, -cells[at].high)
    )
    text = f"{text} ({_deciding(data, cell[0])} at {cell[1] / data.trained:.3g}×)"
    return sentence(text, cells[cell], relation, bound, outcome, data.seeds(cell[0]))


def _deciding(data: Accuracies, name: str) -> str:
    return f"deciding: {name}{'' if data.learned(name) else ', which has not learned the task,'}"


def ahead(data: Accuracies, ours: str, others: Iterable[str], text: str) -> Sentence:
    """Mean accuracy over all common lengths above the training length: the smallest lead over any of the others."""
    others = list(others)
    lengths = data.lengths(ours, *others)
    mine = data.at(ours, lengths)
    leads = {other: difference(mine, data.at(other, lengths)) for other in others}
    known = {}
    for other, lead in leads.items():
        known[other] = data.trusted(judge(lead, ">", 0.0, MARGIN), ">", plus=[ours], minus=[other])
    outcome = joined(known.values())
    deciding = [other for other in others if known[other] == outcome]
    other = min(deciding, key=lambda name: leads[name].value)
    text = f"{text} ({_deciding(data, other)})"
    return sentence(text, leads[other], ">", 0.0, outcome, data.seeds(ours, other))
