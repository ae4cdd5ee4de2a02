"""BAM's claims about a second training length, a longer base, and attention that fades (notebook 09)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pandas as pd

from attention_priors.checks.bam_languages import CLOSE, DIVERGES, LEVEL, mean
from attention_priors.checks.evidence import EmpiricalCheck
from attention_priors.checks.intervals import Sentence
from attention_priors.checks.readings import FADING, READINGS, Readings, below, beyond, deciding, level, longer
from attention_priors.checks.survey_languages import check

Frames = Mapping[str, pd.DataFrame]

FAR = 32  # times the training length, as in Fig. 10
STABLE = ("alibi", "rope-local", "bam-ssmax")
FIRST = ("nope", "sinusoidal")  # break first
BASE_50, BASE_100 = "rope-ssmax-base-50", "rope-ssmax-base-100"
UNTIL = 7500 / 1024  # times the training length: where RoPE SSMax leaves ALiBi in Fig. 10
LOCAL = ("alibi", "rope-local")  # what they attend to does not grow with the context
HALF = 0.5


def figure_10(frames: Frames) -> list[Sentence]:
    data = longer(frames)
    if data is None:
        return [Sentence("no model of this profile was trained on twice T", math.nan, "<=", LEVEL, "undecided")]
    made = [level(data, STABLE, f"ALiBi, RoPE Local and BAM SSMax stay within {LEVEL} nats up to {FAR}×", far=FAR)]
    for name in FIRST:
        lengths = data.lengths(name, "rope", least=1.001)
        made.append(beyond(data, name, DIVERGES, enough=FAR))
        made.append(below(data, "rope", name, f"RoPE grows less than {name}", lengths, "growth"))
    cells = {}
    for length in data.lengths(BASE_100, "alibi", least=1.001, most=UNTIL):
        cells[BASE_100, "alibi", f"{length / data.trained:.3g}×"] = data.gap(BASE_100, "alibi", "loss", length)
    text = f"RoPE SSMax with its base × 100 is within {LEVEL} nats of ALiBi up to {UNTIL:.2g}×"
    return [*made, deciding(data, text, cells, "<=", LEVEL)]


def claim_12(frames: Frames) -> list[Sentence]:
    data = Readings(frames[READINGS])
    lengths = data.lengths(BASE_50, BASE_100, "rope", least=1.001, most=UNTIL + 1)
    lead = data.gap("rope", BASE_50, "loss", lengths)
    text = f"With its base × 50 it is no better than RoPE, by at most {CLOSE} nats"
    return [
        below(data, BASE_100, "rope", "RoPE SSMax with its base × 100 has a lower loss than RoPE", lengths),
        data.says(text, (BASE_50, "rope"), lead, "<=", CLOSE),
        below(data, BASE_100, BASE_50, "The base × 100 is better than the base × 50", lengths),
    ]


def faded(frame: pd.DataFrame, name: str) -> pd.Series:
    """What ln(largest weight of a row) loses from the shortest to the longest context: mean over heads, by seed."""
    own = frame[frame["encoding"] == name].groupby(["seed", "length"])["peak"].mean().unstack()
    return own.iloc[:, 0] - own.iloc[:, -1] if len(own) else pd.Series(dtype=float)


def claim_5(frames: Frames) -> list[Sentence]:
    data, frame = Readings(frames[READINGS]), frames[FADING]
    times = f"{frame['length'].max() / data.trained:.3g}×"
    bam, scaled = faded(frame, "bam"), faded(frame, "bam-ssmax")
    there = [name for name in LOCAL if (frame["encoding"] == name).any()]
    cells = {("bam", name): mean((bam - faded(frame, name)).dropna()) for name in there}
    left = mean((scaled - HALF * bam).dropna())
    return [
        data.says(f"The largest weight of BAM's rows falls from 1× to {times}", ("bam",), mean(bam), ">", 0.0),
        deciding(data, "It falls more than that of encodings whose reach does not grow", cells, ">", 0.0),
        data.says(f"With SSMax it falls by no more than {HALF} of that", ("bam", "bam-ssmax"), left, "<=", 0.0),
    ]


SENTENCES: dict[str, Callable[[Frames], list[Sentence]]] = {
    "BAM-F10": figure_10,
    "BAM-C12": claim_12,
    "BAM-C5": claim_5,
}
OPPOSITES = {
    "BAM-F10": f"trained on twice the length, ALiBi, RoPE Local and BAM SSMax grow by at most {LEVEL} nats up to {FAR} "
    f"times it, NoPE and Sinusoidal by more than {DIVERGES} at the longest and by more than RoPE on the mean, and RoPE "
    f"SSMax with its base × 100 is at most {LEVEL} nats above ALiBi up to {UNTIL:.2g} times it",
    "BAM-C12": f"between T and {UNTIL + 1:.2g} T RoPE SSMax with its base × 100 has a lower mean loss than RoPE, and "
    f"than with its base × 50, which is ahead of RoPE by at most {CLOSE} nats",
    "BAM-C5": "the largest weight of a row falls with the context in BAM, by more (in logarithms) than in ALiBi and "
    f"RoPE Local, and with SSMax by at most {HALF} as much",
}
CHECKS: dict[str, EmpiricalCheck] = {
    name: check(name, read, OPPOSITES[name], others=(FADING,) if read is claim_5 else ())
    for name, read in SENTENCES.items()
}
