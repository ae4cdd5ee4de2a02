"""BAM's claims about passkey retrieval, judged on the metrics of notebook 10 (scaled reproductions).

Every claim is split into sentences (see `intervals`). An encoding that has not learned the task at its training length
(accuracy below 0.8 there) is underestimated everywhere: its accuracies count as lower bounds, so that they may speak
for it and not against it. Accuracies have the hull of the t interval over seeds and the exact binomial interval of all
prompts together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd

from attention_priors import evaluation
from attention_priors.checks.evidence import EmpiricalCheck
from attention_priors.checks.intervals import Estimate, Sentence, difference, finding, joined, judge, sentence, share
from attention_priors.checks.passkey_worlds import (
    BY_LENGTH,
    HIGH,
    OURS,
    REACH,
    SAMPLES,
    Frames,
    Rule,
    nobody,
    only_bam,
    scaling_helps,
    scaling_hurts,
    world,
)

RECIPE = "passkey-small"
BASES = ("nope", "sinusoidal", "rope", "rope-local", "alibi")  # the encodings that BAM is compared with
PLAIN, SCALED = BASES, tuple(f"{base}-ssmax" for base in BASES)
PERFECT = 0.85  # "perfect": no finite sample shows 1; the lower limit of 25 of 25 right is 0.86
NEAR_CHANCE = 0.1
MARGIN = 0.05  # a lead below five points is none
FAR, LONG = 500, 64  # multiples of the training length
RATIO = 25
ALMOST_ALL = 5  # of the six encodings
BANDS, ZERO_CELLS = 5, 3 / 55  # of BAM's Fig. 3: 11 lengths (Table 5) and 5 depths would make 55


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


def stays(data: Accuracies, text: str, bound: float) -> Sentence:
    """BAM SSMax at every length up to 64 times the training length."""
    lengths = [length for length in data.lengths(OURS, beyond=False) if length <= LONG * data.trained]
    cells = {(OURS, length): data.at(OURS, length) for length in lengths}
    return worst(text, data, cells, ">=", bound, enough=LONG * data.trained in lengths)


def near_chance(data: Accuracies, names: Iterable[str], text: str) -> Sentence:
    cells = {(name, length): data.at(name, length) for name in names for length in data.lengths(name)}
    return worst(text, data, cells, "<=", NEAR_CHANCE)


def far(data: Accuracies, relation: str) -> Sentence:
    """BAM SSMax at 500 times the training length or more."""
    lengths = [length for length in data.lengths(OURS) if length >= FAR * data.trained]
    cells = {(OURS, length): data.at(OURS, length) for length in lengths[:1]}
    return worst(f"BAM SSMax at {FAR}×: accuracy {relation} {HIGH}", data, cells, relation, HIGH)


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


def helped(data: Accuracies) -> Sentence:
    """How many of the six encodings gain from SSMax, in mean accuracy over the lengths above the training length."""
    gains = {}
    for base in (*BASES, "bam"):
        lengths = data.lengths(base, f"{base}-ssmax")
        gain = difference(data.at(f"{base}-ssmax", lengths), data.at(base, lengths))
        gains[base] = data.trusted(judge(gain, ">", 0.0, MARGIN), ">", plus=[f"{base}-ssmax"], minus=[base])
    up, open_ = (sum(outcome == wanted for outcome in gains.values()) for wanted in ("agrees", "undecided"))
    found = Estimate(up, up, up + open_)
    text = f"SSMax helps nearly all: at least {ALMOST_ALL} of 6 encodings gain ({_names(gains, 'agrees')})"
    return sentence(text, found, ">=", ALMOST_ALL, judge(found, ">=", ALMOST_ALL), data.seeds(*BASES, *SCALED))


def _names(outcomes: Mapping[str, str], wanted: str) -> str:
    return ", ".join(name for name, outcome in outcomes.items() if outcome == wanted) or "none"


def ratio(data: Accuracies, reach: pd.DataFrame) -> Sentence:
    """Reach of BAM SSMax over that of the best other encoding, from means of log2 reach over seeds.

    A reach that equals the longest tested length is a lower bound. Any other may lie up to one step of the tested
    lengths further than the length that was counted; the interval is widened by that step.
    """
    rows = reach[reach["form"] == "plain"]
    logs: dict[str, Estimate] = {}
    for name in (OURS, *PLAIN, *SCALED):
        own = rows[rows["encoding"] == name]
        if len(own):
            values = np.log2(own["reach"].clip(lower=data.trained))
            logs[name] = Estimate(float(values.mean()), *evaluation.seed_interval(values))
    text = f"BAM SSMax reaches more than {RATIO} times further at accuracy {HIGH} than the best other encoding"
    others = [name for name in logs if name != OURS]
    if OURS not in logs or not others:
        return Sentence(text, math.nan, ">", RATIO, "undecided")
    best = max(others, key=lambda name: logs[name].value)
    found = difference(logs[OURS], logs[best])
    low = -math.inf if _ended(rows, best) else found.low - _step(data, best)
    high = math.inf if _ended(rows, OURS) else found.high + _step(data, OURS)
    found = Estimate(2.0**found.value, 2.0**low, 2.0**high)
    outcome = data.trusted(judge(found, ">", RATIO), ">", plus=[OURS], minus=[best])
    return sentence(f"{text} ({_deciding(data, best)})", found, ">", RATIO, outcome, data.seeds(OURS, best))


def _ended(rows: pd.DataFrame, name: str) -> bool:
    own = rows[rows["encoding"] == name]
    return bool((own["reach"] == own["longest_tested"]).any())


def _step(data: Accuracies, name: str) -> float:
    lengths = data.lengths(name, beyond=False)
    return max((math.log2(b / a) for a, b in itertools.pairwise(lengths)), default=0.0)


def cells(data: Accuracies, samples: pd.DataFrame) -> list[Sentence]:
    """BAM's Fig. 3 for each seed: a cell is a length and a fifth of the depth, or less finely divided where few prompts
    were asked: a cell of one prompt would be empty at its first miss."""
    rows = samples[(samples["form"] == "plain") & (samples["encoding"] == OURS)]
    prompts = rows.groupby(["seed", "length"])["depth"].transform("size")
    bands = (prompts // 2).clip(1, BANDS)
    band = np.minimum((rows["depth"] * bands).astype(int), bands - 1)
    each = rows.assign(band=band).groupby(["seed", "length", "band"])["correct"].mean()
    enough = rows["length"].max() >= FAR * data.trained
    sentences = []
    for text, hit, relation, bound in (
        ("Most cells of length and depth are perfect", each == 1, ">", 0.5),
        ("No more than 3 in 55 cells of length and depth are at 0", each == 0, "<=", ZERO_CELLS),
    ):
        counts = hit.groupby("seed").agg(["sum", "size"])
        found = share(counts["sum"], counts["size"])
        better = {"plus": [OURS]} if relation == ">" else {"minus": [OURS]}
        outcome = data.trusted(judge(found, relation, bound), relation, **better)
        outcome = "undecided" if outcome == "agrees" and not enough else outcome
        sentences.append(sentence(text, found, relation, bound, outcome, data.seeds(OURS)))
    return sentences


CHANCE_AT = "close to chance (at most 0.1) at every length above the training length"


def figure_2(frames: Frames) -> list[Sentence]:
    data = Accuracies(frames[BY_LENGTH])
    common = data.lengths(OURS, *SCALED)
    drop = difference(data.at("alibi-ssmax", data.trained), data.at("alibi-ssmax", common[-1:]))
    fell = data.trusted(judge(drop, ">", 0.0, MARGIN), ">", plus=["alibi-ssmax"], minus=["alibi-ssmax"])
    return [
        stays(data, f"BAM SSMax stays perfect up to {LONG}×: at least {PERFECT} at every length", PERFECT),
        sentence("ALiBi SSMax falls off: its accuracy at the training length minus that at the longest common one",
                 drop, ">", 0.0, fell, data.seeds("alibi-ssmax")),
        near_chance(data, ("sinusoidal-ssmax", "rope-ssmax", "nope-ssmax"),
                    f"Sinusoidal, RoPE and NoPE with SSMax are {CHANCE_AT}"),
    ]  # fmt: skip


def figure_3(frames: Frames) -> list[Sentence]:
    data = Accuracies(frames[BY_LENGTH])
    return [*cells(data, frames[SAMPLES]), far(data, ">")]


def figure_13(frames: Frames) -> list[Sentence]:
    data = Accuracies(frames[BY_LENGTH])
    lead = "Without SSMax BAM is ahead of every other encoding: lead in mean accuracy above the training length"
    return [ahead(data, "bam", PLAIN, lead), helped(data)]


def claim_1(frames: Frames) -> list[Sentence]:
    data = Accuracies(frames[BY_LENGTH])
    return [far(data, ">="), ratio(data, frames[REACH])]


def claim_6(frames: Frames) -> list[Sentence]:
    data = Accuracies(frames[BY_LENGTH])
    others = (*PLAIN, *SCALED)
    last = data.lengths(OURS, *others)[-1:]
    far_off = {(name, length): data.at(name, length) for name in others for length in last}
    return [
        stays(data, f"BAM SSMax keeps an accuracy of {HIGH} at every length up to {LONG}×", HIGH),
        worst(f"BAM alone: at the longest common length all others are below {HIGH}", data, far_off, "<", HIGH),
        near_chance(data, others, f"Every other encoding, with SSMax or without, is {CHANCE_AT}"),
    ]


def claim_13(frames: Frames) -> list[Sentence]:
    data = Accuracies(frames[BY_LENGTH])
    where = "in mean accuracy above the training length"
    return [
        helped(data),
        ahead(data, OURS, SCALED, f"A good encoding is needed: BAM SSMax leads all others that have SSMax {where}"),
        ahead(data, OURS, ("bam",), f"It does not suffice: BAM SSMax leads BAM without SSMax {where}"),
    ]


SENTENCES: dict[str, Callable[[Frames], list[Sentence]]] = {
    "BAM-F2": figure_2,
    "BAM-F3": figure_3,
    "BAM-F13": figure_13,
    "BAM-C1": claim_1,
    "BAM-C6": claim_6,
    "BAM-C13": claim_13,
}


def _check(identifier: str, metrics: tuple[str, ...], opposite: str, holds: Rule, fails: Rule) -> EmpiricalCheck:
    def verdict(frames: Frames):
        return finding(SENTENCES[identifier](frames))

    def flip(frames: Frames) -> Frames:
        return world(frames, holds if verdict(frames).outcome == "disagrees" else fails)

    return EmpiricalCheck(identifier, metrics, RECIPE, verdict, opposite, flip)


CHECKS = {
    check.id: check
    for check in (
        _check(
            "BAM-F2",
            (BY_LENGTH,),
            f"agrees: BAM SSMax at {PERFECT} or more at every length up to {LONG}×, ALiBi SSMax lower at the longest "
            f"common length than at its training length, Sinusoidal, RoPE and NoPE with SSMax at {NEAR_CHANCE} or less "
            "at every length above it; disagrees: one of these is excluded by its interval",
            only_bam,
            nobody,
        ),
        _check(
            "BAM-F3",
            (BY_LENGTH, SAMPLES),
            "agrees: over seeds, more than half of the cells perfect, at most 3 in 55 at zero, and a mean above "
            f"{HIGH} at {FAR}×; disagrees: one of these is excluded by its interval",
            only_bam,
            nobody,
        ),
        _check(
            "BAM-F13",
            (BY_LENGTH,),
            "agrees: without SSMax BAM leads every other encoding in mean accuracy above the training length, and at "
            f"least {ALMOST_ALL} of 6 encodings gain from SSMax; disagrees: an encoding that BAM certainly does not "
            f"lead by {MARGIN}, or two that certainly do not gain {MARGIN}",
            scaling_helps,
            scaling_hurts,
        ),
        _check(
            "BAM-C1",
            (BY_LENGTH, REACH),
            f"agrees: BAM SSMax at {HIGH} or more at {FAR}× and a reach more than {RATIO} times that of the best other "
            "encoding; disagrees: one of the two is excluded by its interval",
            only_bam,
            nobody,
        ),
        _check(
            "BAM-C6",
            (BY_LENGTH,),
            f"agrees: BAM SSMax at {HIGH} or more at every length up to {LONG}×, no other encoding at {HIGH} at the "
            f"longest common length, all others at {NEAR_CHANCE} or less at every length above the training length; "
            "disagrees: one of these is excluded by its interval",
            only_bam,
            nobody,
        ),
        _check(
            "BAM-C13",
            (BY_LENGTH,),
            f"agrees: at least {ALMOST_ALL} of 6 encodings gain from SSMax, and in mean accuracy above the training "
            "length BAM SSMax leads all others with SSMax and BAM without it; disagrees: two encodings that certainly "
            f"do not gain {MARGIN}, or a lead certainly below {MARGIN}",
            scaling_helps,
            scaling_hurts,
        ),
    )
}
