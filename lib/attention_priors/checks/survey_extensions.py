"""The survey's claims about extensions of a trained RoPE, judged on its weights (notebook 09).

Sentences are about losses in nats on the same tokens. T is the training length; growth is the loss above that of the
trained model, read as it was trained, at T.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from attention_priors.checks.bam_languages import DIVERGES, LEVEL, mean
from attention_priors.checks.evidence import EmpiricalCheck
from attention_priors.checks.intervals import Sentence
from attention_priors.checks.readings import AGAIN, ORDER, READINGS, Readings, below, beyond, level
from attention_priors.checks.survey_languages import check
from attention_priors.positions.encodings import FACTOR

Frames = Mapping[str, pd.DataFrame]

ROPE, LINEAR_4, NTK_4, LINEAR, NTK = "rope", "rope-pi-4", "rope-ntk-4", "rope-pi", "rope-ntk"
TUNED, TUNED_ROPE = LINEAR_4 + AGAIN, ROPE + AGAIN
DYNAMIC, DYNAMIC_NTK, CLIPPED = "rope-dynamic-linear", "rope-dynamic-ntk", ("rope-rerope", "rope-leaky-rerope")
BY = 4  # the survey's listing has a scale of 1/4
HALF = 0.5  # of what a model gains from the order of neighbours: kept less, it no longer tells them apart
CLIPPED_TO = 8
BLOWN = 16  # times T: four times what a factor of 4 is meant for


def interpolation(frames: Frames) -> list[Sentence]:
    data = Readings(frames[READINGS])
    at, times = data.tuned_at, f"{data.tuned_at / data.trained:.3g}×"
    found = data.of(TUNED, "growth", at)
    return [
        beyond(data, LINEAR_4, LEVEL, at, enough=1),
        data.says(f"Trained further, it is within {LEVEL} nats at {times}", (TUNED,), found, "<=", LEVEL),
    ]


def neighbours(frames: Frames) -> list[Sentence]:
    """What swapping two neighbours costs (nats), compared within each seed."""
    data, frame = Readings(frames[READINGS]), frames[ORDER]
    gaps = frame.pivot(index="seed", columns="encoding", values="gap").reindex(columns=[ROPE, LINEAR, NTK])
    factor, left, more = f"{FACTOR:.3g}", gaps[LINEAR] - HALF * gaps[ROPE], gaps[NTK] - gaps[LINEAR]
    return [
        data.says("RoPE loses when two neighbours are swapped", (ROPE,), mean(gaps[ROPE]), ">", 0.0),
        data.says(f"Interpolation by {factor} loses no more than {HALF} of that", (LINEAR,), mean(left), "<=", 0.0),
        data.says(f"NTK-aware scaling by {factor} loses more than interpolation", (LINEAR, NTK), mean(more), ">", 0.0),
    ]


def without_training(frames: Frames) -> list[Sentence]:
    data, made = Readings(frames[READINGS]), []
    for ntk, linear, factor in ((NTK_4, LINEAR_4, BY), (NTK, LINEAR, FACTOR)):
        lengths = data.lengths(ntk, linear, most=factor)
        text = f"NTK-aware scaling by {factor:.3g} has a lower loss than interpolation, up to {factor:.3g}×"
        made.append(below(data, ntk, linear, text, lengths))
    return made


def short_and_long(frames: Frames) -> list[Sentence]:
    data = Readings(frames[READINGS])
    short, tail, longest = [data.trained], [BY * data.trained], max(data.lengths(LINEAR_4, ROPE), default=None)
    return [
        below(data, DYNAMIC, NTK_4, f"At 1× dynamic linear scaling is below NTK by {BY}", short),
        below(data, NTK_4, DYNAMIC, f"At {BY}× NTK by {BY} is below dynamic linear scaling", tail),
        *(beyond(data, name, DIVERGES, longest, enough=BLOWN) for name in (NTK_4, ROPE, LINEAR_4)),
    ]


def clipped(frames: Frames) -> list[Sentence]:
    data, made = Readings(frames[READINGS]), []
    for name in CLIPPED:
        lengths = data.lengths(name, ROPE, least=1.001, most=CLIPPED_TO)
        made.append(below(data, name, ROPE, f"{name} has a lower loss than RoPE at 2× to {CLIPPED_TO}×", lengths))
    return made


def figure_7(frames: Frames) -> list[Sentence]:
    """Chen et al. 2023 and SuperHOT: interpolation with further training, against further training alone."""
    data = Readings(frames[READINGS])
    at, times = [data.tuned_at], f"{data.tuned_at / data.trained:.3g}×"
    most = data.tuned_at / data.trained
    return [
        below(data, TUNED, ROPE, f"At {times} interpolation trained further is below RoPE as it was trained", at),
        below(data, TUNED, TUNED_ROPE, f"At {times} it is below RoPE trained further as much", at),
        level(data, (TUNED,), f"It stays within {LEVEL} nats up to {times}", far=most),
    ]


def figure_8(frames: Frames) -> list[Sentence]:
    """RoPE, linear scaling by 4 and NTK by 2, 4, 8, none of them trained further."""
    data = Readings(frames[READINGS])
    short, far = data.trained, BY * data.trained
    spoiled, kept = (data.gap(name, ROPE, "loss", short) for name in (LINEAR_4, NTK_4))
    return [
        beyond(data, ROPE, LEVEL, far, enough=1),
        data.says(f"At 1× linear scaling by {BY} costs more than {LEVEL} nats", (LINEAR_4, ROPE), spoiled, ">", LEVEL),
        data.says(f"At 1× NTK by {BY} costs at most {LEVEL} nats", (NTK_4, ROPE), kept, "<=", LEVEL),
        below(data, NTK_4, LINEAR_4, f"At {BY}× NTK by {BY} is below linear scaling by {BY}", [far]),
        below(data, "rope-ntk-8", "rope-ntk-2", "At 8× NTK by 8 is below NTK by 2", [8 * short]),
    ]


def figure_9(frames: Frames) -> list[Sentence]:
    data = Readings(frames[READINGS])
    short, factor = [data.trained], f"{FACTOR:.3g}"
    lengths = data.lengths(DYNAMIC, DYNAMIC_NTK, ROPE, least=1.001)
    return [
        below(data, DYNAMIC, LINEAR, f"At 1× dynamic linear scaling is below linear scaling by {factor}", short),
        below(data, DYNAMIC_NTK, NTK, f"At 1× dynamic NTK is below NTK by {factor}", short),
        below(data, DYNAMIC_NTK, DYNAMIC, "Beyond T dynamic NTK is below dynamic linear scaling", lengths),
        below(data, DYNAMIC_NTK, ROPE, "Beyond T dynamic NTK is below RoPE", lengths),
    ]


SENTENCES: dict[str, Callable[[Frames], list[Sentence]]] = {
    "PE-PI": interpolation,
    "PE-PI-E2": neighbours,
    "PE-NTK-E": without_training,
    "PE-DNTK-E": short_and_long,
    "PE-REROPE": clipped,
    "PE-F7": figure_7,
    "PE-F8": figure_8,
    "PE-F9": figure_9,
}
OPPOSITES = {
    "PE-PI": f"read at the length of the further training, interpolation by {BY} grows by more than {LEVEL} nats "
    f"without that training and by at most {LEVEL} after it",
    "PE-PI-E2": f"swapping two neighbours costs RoPE something, interpolation by {FACTOR:.3g} at most {HALF} of that, "
    "and NTK-aware scaling by the same factor more than interpolation",
    "PE-NTK-E": f"up to {BY} T NTK by {BY}, and up to {FACTOR:.3g} T NTK by {FACTOR:.3g}, have a lower mean loss than "
    "interpolation by that factor",
    "PE-DNTK-E": f"dynamic linear scaling is below NTK by {BY} at T and above it at {BY} T, and NTK by {BY}, RoPE and "
    f"linear scaling by {BY} grow by more than {DIVERGES} nats at the longest length",
    "PE-REROPE": f"ReRoPE and Leaky ReRoPE have a lower mean loss than RoPE from 2 T to {CLIPPED_TO} T",
    "PE-F7": f"at the length of the further training interpolation by {BY} has, after it, a lower loss than RoPE as "
    f"it was trained and than RoPE after as much further training, and grows by at most {LEVEL} nats up to it",
    "PE-F8": f"RoPE grows by more than {LEVEL} nats at {BY} T; at T linear scaling by {BY} costs more than {LEVEL} "
    f"nats and NTK by {BY} at most that; NTK by {BY} is below linear scaling at {BY} T, and NTK by 8 below NTK by 2 "
    "at 8 T",
    "PE-F9": "at T the dynamic forms are below the static ones; beyond T dynamic NTK has a lower mean loss than "
    "dynamic linear scaling and than RoPE",
}
CHECKS: dict[str, EmpiricalCheck] = {
    name: check(name, read, OPPOSITES[name], others=(ORDER,) if read is neighbours else ())
    for name, read in SENTENCES.items()
}
