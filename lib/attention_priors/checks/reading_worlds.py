"""Losses, senses of order and attention that models might have had: worlds in which claims hold or fail, to test their
judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from attention_priors.checks.bam_languages import LEARNED
from attention_priors.checks.readings import AGAIN, FADING, ORDER, READINGS
from attention_priors.experiments.readings import TUNED
from attention_priors.positions.encodings import encoding

Frames = Mapping[str, pd.DataFrame]
Rule = Callable[[str, float], float]  # (encoding, + at its end if tuned; length / T) -> loss above the best
WORST = 0.06  # NoPE above the best of the others at the training length
# slopes per doubling of the length
GROWING = {"nope": 0.3, "sinusoidal": 0.3, "learned": 0.35, "rope": 0.2, "rope-ssmax": 0.2, "rope-bias": 0.05,
           "xpos": 0.1, "rope-learned": 0.1, "group-damped": 0.1, "group-defective": 0.1, "lag-table": 0.1,
           "rope+": 0.1, "rope-ssmax-base-50": 0.2, "rope-ssmax-base-100": 0.02, "rope-dynamic-linear": 0.115,
           "rope-dynamic-ntk": 0.05, "rope-rerope": 0.03, "rope-leaky-rerope": 0.04}  # fmt: skip
# extensions by a factor: loss at the training length, slope up to the factor, the factor; 0.4 per doubling beyond
FIXED = {"rope-pi-4": (0.3, 0.0, 4), "rope-ntk-4": (0.05, 0.025, 4), "rope-ntk-2": (0.03, 0.02, 2),
         "rope-ntk-8": (0.08, 0.02, 8), "rope-pi": (0.8, 0.0, 16), "rope-ntk": (0.2, 0.0, 16)}  # fmt: skip
KEPT = {"rope": 0.5, "rope-pi": 0.1, "rope-pi-4": 0.3, "rope-ntk": 0.4, "rope-ntk-4": 0.45, "nope": 0.05}  # gaps (nats)
LOST = {"rope": 0.5, "rope-pi": 0.5, "rope-ntk": 0.1}
FADES = {"nope": 0.4, "bam": 0.3, "bam-ssmax": 0.05}  # ln(largest weight) lost per doubling
STEADY = {"alibi": 0.5, "rope-local": 0.5, "bam-ssmax": 0.5}


def printed(name: str, multiple: float) -> float:
    """As printed: log-priors are level, embeddings and RoPE break, NTK beats interpolation, tuning repairs that."""
    doublings = math.log2(multiple)
    if name in FIXED:
        start, slope, factor = FIXED[name]
        within = min(doublings, math.log2(factor))
        return start + slope * within + 0.4 * (doublings - within)
    start = {"nope": WORST, "alibi": 0.0}.get(name, 0.02)
    return start + GROWING.get(name, 0.0) * doublings + 0.01 * (name == "t5" and multiple > 1)


def relative_is_enough(name: str, multiple: float) -> float:
    """The same, but RoPE and its relatives are level too."""
    return 0.02 if name.startswith(("rope", "xpos", "group")) and name not in FIXED else printed(name, multiple)


def as_summed_up(name: str, multiple: float) -> float:
    """The same, but xPos is level."""
    return 0.02 if name == "xpos" else printed(name, multiple)


def reverse(name: str, multiple: float) -> float:
    """Embeddings are level, everything relative breaks; interpolation is free and further training spoils it."""
    if name.startswith("nope"):
        return 0.0
    if name in ("sinusoidal", "learned", "lag-table"):
        return 0.2
    if name in ("rope-pi", "rope-pi-4", "rope-dynamic-linear"):
        return 0.2
    if name in FIXED or name.startswith(("rope-dynamic", "rope-rerope", "rope-leaky", "rope-ssmax-base")):
        return 3.0
    slope = 0.4 if name == "rope-bias" else 0.1 if name == "rope+" else 0.2
    return 0.2 + slope * math.log2(multiple) + 2.0 * (name == "rope-pi-4+")


def world(frames: Frames, rule: Rule) -> Frames:
    """The same models with other numbers."""
    changed = dict(frames)
    if READINGS in frames:
        frame = frames[READINGS]
        start, short = math.log(frame["unigram"].min()) - 4 * LEARNED, frame["trained"].min()
        loss, grown = [], []
        for row in frame.itertuples():
            name = row.encoding + AGAIN * (row.part == TUNED)
            base = short if row.part == TUNED else row.trained
            owner = row.encoding if row.part == TUNED else name
            owner = encoding(owner).trained_as or owner
            loss.append(start + rule(name, row.length / base))
            grown.append(rule(name, row.length / base) - rule(owner, 1.0))
        changed[READINGS] = frame.assign(loss=loss, growth=grown, perplexity=np.exp(loss))
    gaps, slopes = (LOST, STEADY) if rule is reverse else (KEPT, FADES)
    if ORDER in frames:
        frame = frames[ORDER]
        changed[ORDER] = frame.assign(gap=[gaps.get(name, 0.2) for name in frame["encoding"]])
    if FADING in frames:
        frame = frames[FADING]
        first = frame["length"].min()
        peak = [-slopes.get(row.encoding, 0.0) * math.log2(row.length / first) for row in frame.itertuples()]
        changed[FADING] = frame.assign(peak=peak)
    return changed
