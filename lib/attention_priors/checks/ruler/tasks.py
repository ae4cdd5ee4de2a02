"""RULER's needle tasks: BAM's protocol (App. E), and its Tables 3 and 4 read as sentences about small models.

The tables are about models of 120M and 1B parameters: nothing small decides them, so that SMALL stays out of the
ledger. A run speaks on a task only where it passed the gate (`experiments.needles.gates`), and on a task that fewer
than ENOUGH encodings learned nobody is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd

from attention_priors import evaluation
from attention_priors.checks.measured import measuring
from attention_priors.claims.finding import UNKNOWN, Estimate, Finding, Frames, judge, smallest
from attention_priors.claims.law import claim, claims
from attention_priors.experiments import needles
from attention_priors.experiments.needles import ENOUGH
from attention_priors.positions.encodings import encoding

RECIPE = "passkey-small"
ANSWERS, READINGS, GATES = "ruler_answers", "ruler_readings", "ruler_gates"
OURS, ROPE = "bam-ssmax", "rope-ssmax"
EXACT = 0.9  # of the prompts of a task: no finite sample shows all; 48 of 48 have the interval [0.93, 1]
ANSWERED, GUESSED, PERFECT = 0.8, 0.1, 0.85
LEAD = 0.05  # of mean scores: less is none
ONLY = 12  # multiples of the training length: "the only one being able to perform retrieval above 6K", trained on 512
MANY = 2  # keys or more in a haystack of needles
# haystack, kind of key, kind of value; different keys, values of a key, keys asked for. RULER (Hsieh et al. 2024).
RULER = {
    "single-1": ("noise", "words", "numbers", 1, 1, 1),
    "single-2": ("prose", "words", "numbers", 1, 1, 1),
    "single-3": ("prose", "words", "uuids", 1, 1, 1),
    "multikey-1": ("prose", "words", "numbers", 4, 1, 1),
    "multikey-2": ("needles", "words", "numbers", None, 1, 1),
    "multikey-3": ("needles", "uuids", "uuids", None, 1, 1),
    "multivalue": ("prose", "words", "numbers", 1, 4, 1),
    "multiquery": ("prose", "words", "numbers", 4, 1, 4),
}
SINGLE = ("single-1", "single-2", "single-3")
TABLE_3 = (ROPE, "alibi-ssmax", "nope-ssmax", "sinusoidal-ssmax", "rope-local")  # beside BAM SSMax

Multiples = Callable[[pd.Series], pd.Series]  # which lengths, as multiples of the training length


def longer(multiples: pd.Series) -> pd.Series:
    return multiples > 1


def as_ruler_says(rows: pd.DataFrame) -> pd.Series:
    """For each prompt that was read: is it what RULER's table says of its task, and is its answer stated?"""
    read = ["haystack", "key", "value", "keys", "values", "queries"]
    found = []
    for row in rows.to_dict("records"):
        wanted = RULER[row["task"]]
        same = [row[name] == value for name, value in zip(read, wanted, strict=True) if value is not None]
        enough = wanted[3] is not None or row["keys"] >= MANY
        found.append(all(same) and enough and bool(row["stated"]) and row["tokens"] == row["length"] + 1)
    return pd.Series(found, index=rows.index)


def read(frames: Frames) -> Estimate:
    """Share of the prompts of a task that are what RULER's table says, of the task where it is lowest."""
    counts = frames[READINGS].assign(same=as_ruler_says).groupby("task")["same"].agg(["sum", "size"])
    if set(RULER) - set(counts.index):
        return UNKNOWN
    right, prompts = map(int, counts.loc[(counts["sum"] / counts["size"]).idxmin()])
    return Estimate(right / prompts, lambda level: evaluation.binomial_interval(right, prompts, level))


def estimate(rows: pd.DataFrame) -> Estimate:
    """The mean score of one encoding's rows: over lengths within a seed, then over seeds."""
    if rows.empty:
        return UNKNOWN
    each = rows.assign(score=needles.score).groupby("seed").agg({"score": "mean", "samples": "sum"})
    seeds = tuple(sorted(map(int, each.index)))
    value = float(each["score"].mean())
    return Estimate(value, lambda level: needles.score_interval(each["score"], each["samples"], level), seeds)


def learned(frames: Frames, task: str) -> pd.DataFrame:
    """The answers of the runs that passed the gate on a task; none where fewer than ENOUGH encodings did."""
    gates = frames[GATES]
    passed = gates[(gates["task"] == task) & gates["passed"].astype(bool)][["task", "encoding", "seed"]]
    answers = frames[ANSWERS]
    rows = answers[answers["task"] == task].merge(passed, on=["task", "encoding", "seed"])
    return rows if passed["encoding"].nunique() >= ENOUGH else rows.iloc[:0]


def score(frames: Frames, task: str, name: str, where: Multiples = longer) -> Estimate:
    """Mean score of an encoding that learned the task, over the lengths that `where` picks."""
    rows = learned(frames, task)
    return estimate(rows[(rows["encoding"] == name) & where(rows["length"] / rows["trained"])])


def answered(frames: Frames) -> Estimate:
    """Score up to T, of all seeds, of the encoding that is the ENOUGH-th best, on the task where this is highest."""
    rows = frames[ANSWERS]
    rows = rows[(rows["encoding"] != needles.UNTRAINED) & (rows["length"] <= rows["trained"])]
    found = []
    for task, own in rows.groupby("task"):
        if len(learned(frames, str(task))):
            by_name = sorted((estimate(each) for _, each in own.groupby("encoding")), key=lambda one: -one.value)
            found.append(by_name[ENOUGH - 1])
    return max(found, key=lambda one: one.value, default=UNKNOWN)


def guessed(frames: Frames) -> Estimate:
    """Score of the untrained control at T, on the task where it is highest."""
    rows = frames[ANSWERS]
    rows = rows[(rows["encoding"] == needles.UNTRAINED) & (rows["length"] == rows["trained"]) & rows["asked"]]
    return max((estimate(each) for _, each in rows.groupby("task")), key=lambda one: one.value, default=UNKNOWN)


def lead(task: str, others: Iterable[str], ours: str = OURS) -> Callable[[Frames], Estimate]:
    """The lead of `ours` in mean score above T over the nearest of the others; who has not learned it keeps it open."""

    def nearest(frames: Frames) -> Estimate:
        mine = score(frames, task, ours)
        return smallest({encoding(other).label: mine - score(frames, task, other) for other in others})

    return nearest


def each_length(task: str, names: Iterable[str], pick: Callable, where: Multiples) -> Callable[[Frames], Estimate]:
    """The score at one length that `pick` (min, max) takes of all encodings and lengths."""

    def extreme(frames: Frames) -> Estimate:
        rows = learned(frames, task)
        rows = rows[rows["encoding"].isin(list(names)) & where(rows["length"] / rows["trained"])]
        found = [estimate(each) for _, each in rows.groupby(["encoding", "length"])]
        return pick(found, key=lambda one: one.value, default=UNKNOWN)

    return extreme


of_models = measuring(ANSWERS, GATES)


def compared(frames: Frames) -> pd.DataFrame:
    """What the trained models say of one another: BAM SSMax against every other encoding on every task, with Holm.

    A pair of which one has not learned the task, or nobody may speak on it, has no interval.
    """
    rows = frames[ANSWERS]
    pairs = rows[~rows["encoding"].isin([OURS, needles.UNTRAINED])][["task", "encoding"]].drop_duplicates()
    findings = [
        of_models(
            f"{row.task}: BAM SSMax leads {encoding(row.encoding).label}, mean score above T",
            lead(row.task, [row.encoding]),
            margin=LEAD,
        )
        for row in pairs.itertuples()
    ]
    return pd.DataFrame([each.row() for each in judge(findings, frames)]).set_index("")


SMALL = claims(
    claim(
        "BAM-TAB3",
        *(
            of_models(
                f"Single {number}: BAM SSMax leads all others of Table 3, mean score above T",
                lead(task, TABLE_3),
                margin=LEAD,
            )
            for number, task in enumerate(SINGLE, 1)
        ),
        of_models(
            "Single 1: BAM SSMax at every length",
            each_length("single-1", [OURS], min, lambda multiples: multiples > 0),
            ">=",
            PERFECT,
            ours=True,
        ),
        of_models(
            f"Single 1: from {ONLY} T on only BAM retrieves: the best of all others of Table 3",
            each_length("single-1", TABLE_3, max, lambda multiples: multiples >= ONLY),
            "<=",
            GUESSED,
            ours=True,
        ),
        of_models(
            "Single 1: RoPE SSMax leads ALiBi SSMax, mean score above T",
            lead("single-1", ["alibi-ssmax"], ROPE),
            margin=LEAD,
        ),
        recipe=RECIPE,
    ),
    claim(
        "BAM-TAB4",
        *(
            of_models(f"{task}: BAM SSMax leads RoPE SSMax, mean score above T", lead(task, [ROPE]), margin=LEAD)
            for task in RULER
        ),
        recipe=RECIPE,
    ),
)


CHECKS = claims(
    claim(
        "BAM-D8",
        Finding(
            "Of each of RULER's eight tasks, most prompts are what its table says (the lowest share of a task)",
            read,
            ">=",
            EXACT,
            metrics=(READINGS,),
            ours=True,
        ),
        of_models(
            f"A task can be answered: the score up to T of the {ENOUGH}th best encoding, all seeds counted, on "
            f"the easiest task that {ENOUGH} encodings learned",
            answered,
            ">=",
            ANSWERED,
            ours=True,
        ),
        of_models(
            "Nobody guesses: the score of the untrained control at T, on the task where it is highest",
            guessed,
            "<=",
            GUESSED,
            ours=True,
        ),
        recipe=RECIPE,
    ),
)
