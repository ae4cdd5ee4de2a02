"""Ablations of BAM as their judges read them, and worlds in which the claims hold or fail, to test these judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from attention_priors.checks.bam_passkeys import MARGIN, Accuracies
from attention_priors.checks.intervals import Sentence, difference, joined, judge, sentence
from attention_priors.checks.passkey_worlds import HIGH, OURS

PRIORS, TRAINING, HEADS, LANGUAGE = "ablation_priors", "ablation_training", "ablation_heads", "ablation_language"
LAPLACE, CODED = "bam-laplace-ssmax", "bam-code-c-ssmax"
SHAPE, LOCATION = "bam-shape-ssmax", "bam-location-ssmax"
NEGATIVE, POSITIVE = "bam-negative-ssmax", "bam-positive-ssmax"
EXTENDED = "-extended"

Frames = Mapping[str, pd.DataFrame]
Rule = Callable[[str, str, float], float]  # (study, arm, length / shortest training length) -> accuracy


class Study(Accuracies):
    """One study, its arms in the place of encodings. `trained` is the shortest training length among them."""

    def __init__(self, frame: pd.DataFrame, study: str) -> None:
        rows = frame[frame["study"] == study]
        super().__init__(rows.assign(form="plain", encoding=rows["arm"]))
        self.trained = int(self.rows["trained"].min())
        own = self.rows[self.rows["length"] == self.rows["trained"]]
        shares = (own["correct"] / own["samples"]).groupby(own["encoding"]).mean()
        self.able = set(shares.index[shares >= HIGH])

    def learned(self, *names: str) -> bool:
        """Each at its own training length."""
        return self.able.issuperset(names)

    def beyond(self, *names: str) -> list[int]:
        """Lengths that all of these arms were asked at, above the longest training length among them."""
        trained = self.rows[self.rows["encoding"].isin(names)]["trained"].max()
        return [length for length in self.lengths(*names) if length > trained]

    def missing(self, *names: str) -> list[str]:
        return [name for name in names if self.of(name).empty]


def leads(
    data: Study, ours: Sequence[str], others: Sequence[str], text: str, lengths: Sequence[int] | None = None
) -> Sentence:
    """Mean accuracy at some lengths (default: `beyond`): the smallest lead of any of `ours` over any of `others`."""
    if gone := data.missing(*ours, *others):
        return Sentence(f"{text} (not trained: {', '.join(gone)})", np.nan, ">", 0.0, "undecided")
    at = data.beyond(*ours, *others) if lengths is None else list(lengths)
    found = {(a, b): difference(data.at(a, at), data.at(b, at)) for a in ours for b in others}
    known = {
        (a, b): data.trusted(judge(lead, ">", 0.0, MARGIN), ">", plus=[a], minus=[b]) for (a, b), lead in found.items()
    }
    outcome = joined(known.values())
    pair = min((each for each in found if known[each] == outcome), key=lambda each: found[each].value)
    text = f"{text} (deciding: {pair[0]} and {pair[1]})"
    return sentence(text, found[pair], ">", 0.0, outcome, data.seeds(*pair))


def _trained(study: str, arm: str) -> int:
    """The training length of an arm as a multiple of the shortest one."""
    return int(arm[-2]) if study == "length" else 2 if arm.endswith(EXTENDED) else 1


def as_printed(study: str, arm: str, multiple: float) -> float:
    """A world in which all ablation claims hold."""
    if multiple <= _trained(study, arm):
        return 1.0
    if study == "size":
        return 1.0 if arm.endswith(EXTENDED) else {"32x2": 1.0, "64x3": 0.5}.get(arm, 0.0)
    if study == "length":
        return {"1T": 0.88, "2T": 0.95, "4T": 1.0}[arm.rpartition("-")[2]]
    return {OURS: 1.0, SHAPE: 0.7, LOCATION: 0.4, LAPLACE: 0.3, CODED: 0.3, NEGATIVE: 0.3, POSITIVE: 0.3}.get(arm, 0.05)


def reversed_(study: str, arm: str, multiple: float) -> float:
    """A world in which they all fail."""
    if multiple <= _trained(study, arm):
        return 1.0
    if study == "size":
        return 0.3 if arm.endswith(EXTENDED) else {"32x2": 0.2, "64x3": 0.5}.get(arm, 1.0)
    if study == "length":
        return {"1T": 1.0, "2T": 0.4, "4T": 0.2}[arm.rpartition("-")[2]]
    return {OURS: 0.2, SHAPE: 0.4, LOCATION: 0.9}.get(arm, 1.0)


def world(frames: Frames, rule: Rule) -> Frames:
    """The same runs with other answers, heads and losses: `rule` is `as_printed`, `reversed_`, or any other rule."""
    changed = dict(frames)
    for metric in (PRIORS, TRAINING):
        if metric in frames:
            frame = frames[metric]
            shortest = frame["trained"].min()
            shares = np.array([rule(row.study, row.arm, row.length / shortest) for row in frame.itertuples()])
            changed[metric] = frame.assign(correct=np.round(shares * frame["samples"]).astype(int))
    holds = rule is as_printed
    if HEADS in frames:
        heads = frames[HEADS]
        local = (heads["encoding"] == OURS) == holds
        lift = 20.0 if holds else 0.5
        changed[HEADS] = heads.assign(recent_mass=np.where(local, 0.3, 0.05), passkey_lift=lift)
    if LANGUAGE in frames:
        losses = frames[LANGUAGE]
        more = {NEGATIVE: 0.5, LOCATION: 0.0} if holds else {NEGATIVE: -0.5, LOCATION: -0.5}
        level = np.log(losses["unigram"].min()) - 2
        changed[LANGUAGE] = losses.assign(loss=level + losses["encoding"].map(more).fillna(0.0))
    return changed
