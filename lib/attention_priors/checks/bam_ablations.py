"""BAM's claims about its prior's start, its trained parameters and the sign of β, judged on ablations (notebook 12).

Accuracies are judged as in `bam_passkeys`; losses, in nats on the same scored tokens, as in `language.losses`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import torch

from attention_priors import evaluation
from attention_priors.checks.ablation_worlds import (
    CODED,
    HEADS,
    LANGUAGE,
    LAPLACE,
    LOCATION,
    NEGATIVE,
    POSITIVE,
    PRIORS,
    SHAPE,
    Frames,
    Study,
    as_printed,
    leads,
    reversed_,
    world,
)
from attention_priors.checks.bam_passkeys import MARGIN
from attention_priors.checks.evidence import EmpiricalCheck
from attention_priors.checks.intervals import Estimate, Sentence, difference, finding, judge, sentence
from attention_priors.checks.language.losses import CLOSE, Losses
from attention_priors.checks.language.losses import RECIPE as LANGUAGE_RECIPE
from attention_priors.checks.passkey_worlds import OURS
from attention_priors.positions.priors import GeneralizedGaussian

RECIPE = "passkey-small"
NOPE = "nope-ssmax"  # BAM from the uniform start with θβ fixed: whatever θα is, the prior stays uniform
OTHERS = (NOPE, "sinusoidal-ssmax", "rope-ssmax", "alibi-ssmax")
PLAIN, PLAIN_LAPLACE = "bam", "bam-laplace"
LONG = 8  # multiples of the training length that count as long
LITTLE = 0.1  # of accuracy: what μ = 0 may cost
BELOW = -0.05  # an exponent that has clearly left its start at 0
RETRIEVES = 5  # times its even share: attention of a retrieval head on the key sentence

MEAN = "in mean accuracy above T"


def figure_8(frames: Frames) -> list[Sentence]:
    data = Study(frames[PRIORS], "start")
    return [
        leads(data, [OURS], [LAPLACE], f"The uniform start leads that from ALiBi's slopes {MEAN}"),
        leads(data, [OURS], [CODED], f"It leads the start from slopes whose logarithm was left out {MEAN}"),
    ]


def claim_11(frames: Frames) -> list[Sentence]:
    data = Study(frames[PRIORS], "start")
    far = [length for length in data.beyond(OURS) if length >= LONG * data.trained]
    text = f"The uniform start leads both others in mean accuracy from {LONG}T on"
    found = [leads(data, [OURS], [LAPLACE, CODED], text, far)]
    if not data.missing(PLAIN, PLAIN_LAPLACE):
        found.append(leads(data, [PLAIN], [PLAIN_LAPLACE], f"Without SSMax it leads ALiBi's from {LONG}T on", far))
    return found


def figure_9(frames: Frames) -> list[Sentence]:
    data = Study(frames[PRIORS], "subset")
    return [
        leads(data, [OURS], [SHAPE], f"θα and θβ lead θβ alone {MEAN}"),
        leads(data, [SHAPE], [LOCATION], f"θβ alone leads all three {MEAN}"),
        leads(data, [OURS], [LOCATION], f"θα and θβ lead all three {MEAN}"),
        leads(data, [OURS, SHAPE, LOCATION], OTHERS, f"Every subset leads every other encoding {MEAN}"),
    ]


def claim_2(frames: Frames) -> list[Sentence]:
    data = Study(frames[PRIORS], "subset")
    at = data.beyond(OURS, LOCATION, NOPE)
    free, pinned, flat = (data.at(name, at) for name in (LOCATION, OURS, NOPE))
    cost = difference(free, pinned)
    outcome = data.trusted(judge(cost, "<=", LITTLE), "<=", plus=[LOCATION], minus=[OURS])
    retrieval = sentence(
        f"μ = 0 costs at most {LITTLE} {MEAN}", cost, "<=", LITTLE, outcome, data.seeds(OURS, LOCATION)
    )
    more = difference(difference(pinned, flat), cost)
    outcome = data.trusted(judge(more, ">", 0.0, MARGIN), ">", plus=[OURS], minus=[LOCATION, NOPE])
    text = f"Freeing β gains more than freeing μ on top of it {MEAN}"
    matters = sentence(text, more, ">", 0.0, outcome, data.seeds(OURS, LOCATION, NOPE))
    paid, seeds = nats(frames, OURS, LOCATION)
    text = f"μ = 0 costs at most {CLOSE} nats, mean over lengths"
    cheap = sentence(text, paid, "<=", CLOSE, judge(paid, "<=", CLOSE), seeds)
    return [retrieval, cheap, matters, future()]


def nats(frames: Frames, first: str, second: str, most: float = math.inf) -> tuple[Estimate, tuple[int, ...]]:
    """Loss of the first less that of the second on text of the kind trained on, over lengths up to `most` times T."""
    losses = Losses(frames[LANGUAGE].query("trained_on"))
    found = losses.gap(first, second, "loss", losses.lengths(first, second, most=most))
    return Estimate(found.value, *found.interval(0.95)), found.seeds


@torch.no_grad()
def future() -> Sentence:
    """The lag at which the prior with μ = 2 is largest; lags below 0 are masked."""
    prior = GeneralizedGaussian([0.0], [1.0], [math.asinh(1.0)])
    lags = torch.arange(-9, 10)
    mode = float(lags[prior.log_prior(lags)[0].argmax()])
    point = Estimate(mode, mode, mode)
    return sentence("With μ = 2 the mode lies at the lag of a masked key", point, "<", 0.0, judge(point, "<", 0.0))


def claim_3(frames: Frames) -> list[Sentence]:
    heads = frames[HEADS]
    recent = {name: heads[heads["encoding"] == name].groupby("seed")["recent_mass"].mean() for name in (OURS, NEGATIVE)}
    seen = difference(*(_mean(recent[name]) for name in (OURS, NEGATIVE)))
    seeds = tuple(sorted({int(seed) for values in recent.values() for seed in values.index}))
    text = "Models with β < 0 alone give the 32 latest tokens less attention than free ones"
    blind = sentence(text, seen, ">", 0.0, judge(seen, ">", 0.0), seeds)
    worse, seeds = nats(frames, NEGATIVE, OURS, most=1)
    outcome = judge(worse, ">", 0.0, CLOSE)
    text = "Their loss at T is higher"
    return [
        blind,
        sentence(text, worse, ">", 0.0, outcome, seeds),
        retrieval_heads(heads),
        leads(
            Study(frames[PRIORS], "sign"), [OURS], [NEGATIVE, POSITIVE], f"Free models lead those of one sign {MEAN}"
        ),
    ]


def _mean(by_seed: pd.Series) -> Estimate:
    return Estimate(float(by_seed.mean()), *evaluation.seed_interval(by_seed))


def retrieval_heads(heads: pd.DataFrame) -> Sentence:
    """In each seed, the lift of that head with β < -0.05 that gives the key sentence most (0: there is none)."""
    ours = heads[heads["encoding"] == OURS]
    lift = ours["passkey_lift"].where(ours["beta"] < BELOW, 0.0)
    best = lift.groupby(ours["seed"]).max()
    found = _mean(best)
    text = f"In free models a head with β < 0 gives the key over {RETRIEVES} times its even share"
    return sentence(text, found, ">", RETRIEVES, judge(found, ">", RETRIEVES), tuple(int(seed) for seed in best.index))


SENTENCES: dict[str, Callable[[Frames], list[Sentence]]] = {
    "BAM-F8": figure_8,
    "BAM-F9": figure_9,
    "BAM-C2": claim_2,
    "BAM-C3": claim_3,
    "BAM-C11": claim_11,
}


def check(
    identifier: str, metrics: tuple[str, ...], opposite: str, read: Callable[[Frames], list[Sentence]]
) -> EmpiricalCheck:
    """The check of a claim whose sentences `read` gives."""

    def verdict(frames: Frames):
        return finding(read(frames))

    def flip(frames: Frames) -> Frames:
        return world(frames, as_printed if verdict(frames).outcome == "disagrees" else reversed_)

    recipe = f"{RECIPE}, {LANGUAGE_RECIPE}" if LANGUAGE in metrics else RECIPE
    return EmpiricalCheck(identifier, metrics, recipe, verdict, opposite, flip)


EXCLUDED = f"disagrees: one of these is excluded by its 95 % interval, a lead also where it is certainly below {MARGIN}"
CHECKS = {
    identifier: check(identifier, metrics, f"agrees: {agrees}; {EXCLUDED}", SENTENCES[identifier])
    for identifier, metrics, agrees in (
        (
            "BAM-F8",
            (PRIORS,),
            "the uniform start leads ALiBi's start, with the logarithm of the slopes and without, in mean accuracy "
            "above the training length",
        ),
        (
            "BAM-F9",
            (PRIORS,),
            "in mean accuracy above the training length θα and θβ lead θβ alone, which leads all three, and each of "
            "these leads NoPE, Sinusoidal, RoPE and ALiBi with SSMax",
        ),
        (
            "BAM-C2",
            (PRIORS, LANGUAGE),
            f"μ = 0 costs at most {LITTLE} of accuracy above the training length and {CLOSE} nats, freeing β gains "
            "more than freeing μ, and a positive μ has its mode at a masked key",
        ),
        (
            "BAM-C3",
            (PRIORS, LANGUAGE, HEADS),
            "models with β < 0 alone attend less to the 32 latest tokens and have a higher loss than free ones, in "
            f"free ones a head with β < 0 gives the key over {RETRIEVES} times its share, and these lead models of one "
            "sign, negative or positive, in accuracy above the training length",
        ),
        (
            "BAM-C11",
            (PRIORS,),
            f"the uniform start leads all others in mean accuracy from {LONG} times the training length on, with "
            "SSMax, and without it where that is trained",
        ),
    )
}
