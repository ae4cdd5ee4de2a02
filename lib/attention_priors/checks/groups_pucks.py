"""OPG-19: what training makes of a learned generator on sliding pucks (notebook 02; scaled reproduction)."""

from __future__ import annotations

import pandas as pd

from attention_priors import evaluation
from attention_priors.checks.evidence import EmpiricalCheck
from attention_priors.checks.intervals import Estimate, Sentence, difference, finding, judge, sentence, share
from attention_priors.checks.passkey_worlds import Frames
from attention_priors.experiments.pucks import ENCODINGS, STARTED

RECIPE = "pucks"
METRICS = "groups_pucks"
OURS = "group-defective"
MARGIN = 0.02
BEYOND = (2, 4)


def accuracy(frame: pd.DataFrame, name: str, multiples: tuple[int, ...]) -> Estimate:
    own = frame[(frame["encoding"] == name) & frame["multiple"].isin(multiples)]
    each = own.groupby("seed")[["correct", "samples"]].sum()
    return share(each["correct"], each["samples"])


def ahead(frame: pd.DataFrame, multiples: tuple[int, ...], where: str) -> Sentence:
    """The smallest lead of the defective generator over any other encoding."""
    ours = accuracy(frame, OURS, multiples)
    leads = {name: difference(ours, accuracy(frame, name, multiples)) for name in ENCODINGS if name != OURS}
    name = min(leads, key=lambda other: leads[other].value)
    text = f"Defective blocks lead every other encoding {where} (deciding: {name})"
    outcome = judge(leads[name], ">", 0.0, MARGIN)
    return sentence(text, leads[name], ">", 0.0, outcome, tuple(sorted(set(frame["seed"]))))


def selected(frame: pd.DataFrame) -> Sentence:
    """Does training use the nilpotent part?"""
    own = frame[frame["encoding"] == OURS].drop_duplicates("seed")
    found = Estimate(float(own["coupling"].mean()), *evaluation.seed_interval(own["coupling"]))
    text = (
        "Training selects defective blocks: their largest coupling over the training lags ends above where it started"
    )
    return sentence(text, found, ">", STARTED, judge(found, ">", STARTED), tuple(sorted(own["seed"])))


def sentences(frames: Frames) -> list[Sentence]:
    frame = frames[METRICS]
    return [
        ahead(frame, (1,), "within the lags of training"),
        ahead(frame, BEYOND, "at two and four times these lags"),
        selected(frame),
    ]


def verdict(frames: Frames):
    return finding(sentences(frames))


def flip(frames: Frames) -> Frames:
    """A world in which only the defective blocks, or all but these, answer."""
    frame = frames[METRICS]
    ours = frame["encoding"] == OURS
    holds = verdict(frames).outcome == "disagrees"
    right = ours if holds else ~ours
    coupling = frame["coupling"].where(~ours, (2.0 if holds else 0.5) * STARTED)
    return {**frames, METRICS: frame.assign(correct=right * frame["samples"], coupling=coupling)}


CHECKS = {
    "OPG-19": EmpiricalCheck(
        "OPG-19",
        (METRICS,),
        RECIPE,
        verdict,
        f"agrees: on sliding pucks the defective generator leads every other encoding within and beyond the lags of "
        f"training, and its coupling grows; disagrees: a lead certainly below {MARGIN}, or a coupling that falls",
        flip,
    )
}
