"""Answers that passkey models might have given: worlds in which BAM's claims hold or fail, to test their judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from attention_priors import evaluation

BY_LENGTH, SAMPLES, REACH = "passkey_by_length", "passkey_samples", "passkey_reach"
OURS = "bam-ssmax"
HIGH = 0.8  # "high", "accurate": the paper's own number at 500 times the training length

Frames = Mapping[str, pd.DataFrame]
Rule = Callable[[str, float], float]  # (encoding, length / training length) -> accuracy


def only_bam(name: str, multiple: float) -> float:
    """A world in which BAM SSMax is perfect everywhere and the others only at the training length."""
    return float(multiple <= 1 or name == OURS)


def nobody(name: str, multiple: float) -> float:
    return float(multiple <= 1)


def scaling_helps(name: str, multiple: float) -> float:
    """A world in which SSMax helps all, BAM is the best of each kind and needs SSMax."""
    score = {OURS: 1.0, "bam": 0.5}.get(name, 0.4 if name.endswith("-ssmax") else 0.0)
    return 1.0 if multiple <= 1 else score


def scaling_hurts(name: str, multiple: float) -> float:
    return float(multiple <= 1 or (not name.endswith("-ssmax") and name != "bam"))


def world(frames: Frames, rule: Rule) -> Frames:
    """The same runs with other answers."""
    changed = dict(frames)
    if BY_LENGTH in frames:
        frame = frames[BY_LENGTH].copy()
        accuracy = [rule(row.encoding, row.length / row.trained) for row in frame.itertuples()]
        frame["correct"] = np.round(np.array(accuracy) * frame["samples"]).astype(int)
        frame["accuracy"] = frame["correct"] / frame["samples"]
        counts = list(zip(frame["correct"], frame["samples"], strict=True))
        limits = {pair: evaluation.binomial_interval(*map(int, pair)) for pair in set(counts)}
        frame["low"], frame["high"] = zip(*(limits[pair] for pair in counts), strict=True)
        changed[BY_LENGTH] = frame
    if SAMPLES in frames:
        frame = frames[SAMPLES]
        right = [int(rule(row.encoding, row.length / row.trained) >= 0.5) for row in frame.itertuples()]
        changed[SAMPLES] = frame.assign(correct=right)
    if REACH in frames:
        frame = frames[REACH]
        far_off = [rule(row.encoding, row.longest_tested / row.trained) >= HIGH for row in frame.itertuples()]
        changed[REACH] = frame.assign(reach=np.where(far_off, frame["longest_tested"], frame["trained"]))
    return changed
