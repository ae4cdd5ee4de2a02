"""BAM on its prior's start, its trained parameters and the sign of beta (section 2.5, appendix F.1; Figs. 8 and 9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import pandas as pd
import torch

from attention_priors.checks.ablation.study import HEADS, LANGUAGE, PRIORS, asked, study
from attention_priors.checks.measured import measuring
from attention_priors.checks.passkey.runs import MARGIN, OURS, RECIPE
from attention_priors.claims.finding import Estimate, Finding, Frames, mean, unknown
from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.positions.priors import GeneralizedGaussian

LAPLACE, CODED = "bam-laplace-ssmax", "bam-code-c-ssmax"
SHAPE, LOCATION = "bam-shape-ssmax", "bam-location-ssmax"
NEGATIVE, POSITIVE = "bam-negative-ssmax", "bam-positive-ssmax"
NOPE = "nope-ssmax"  # BAM from the uniform start with theta_beta fixed: whatever theta_alpha is, the prior is uniform
OTHERS = (NOPE, "sinusoidal-ssmax", "rope-ssmax", "alibi-ssmax")
LONG = 8  # multiples of T that count as long
LITTLE, CLOSE = 0.1, 0.05  # what mu = 0 may cost: of accuracy, and in nats
BELOW = -0.05  # an exponent that has clearly left its start at 0
RETRIEVES = 5  # times its even share: attention of a retrieval head on the key sentence
BOTH = f"{RECIPE}, language-small"


def matters(data) -> Estimate:
    """What freeing beta gains over a uniform prior, less what freeing mu gains on top of it."""
    names = (OURS, NOPE, LOCATION)
    lengths = data.beyond(*names)
    shares = [{seed: right / asked for seed, (right, asked) in data.counts(name, lengths).items()} for name in names]
    ours, nope, location = shares
    gains = {seed: 2 * ours[seed] - nope[seed] - location[seed] for seed in ours.keys() & nope.keys() & location.keys()}
    return mean(gains) if gains else unknown(data.why(*names))


def loss(first: str, second: str, longer: bool, gated: bool = True) -> Callable[[pd.DataFrame], Estimate]:
    """The loss of the first less that of the second in nats, within seeds that passed: at T, or mean over lengths.

    Not `gated`: the first need not pass, since what its gate asks for is what it is said to lack.
    """

    def estimate(frame: pd.DataFrame) -> Estimate:
        rows = frame[frame["trained_on"].astype(bool)]
        rows = rows if longer else rows[rows["length"] == rows["trained"]]
        passed = rows[rows["passed"].astype(bool)]
        one, other = (
            own[own["encoding"] == name].groupby("seed")["loss"].mean()
            for own, name in ((passed if gated else rows, first), (passed, second))
        )
        gap = (one - other).dropna()
        there = set(rows["encoding"])
        why = [
            f"gate of word order missed: {name}" if name in there else f"not in this profile: {name}"
            for name, own in ((first, one), (second, other))
            if own.empty
        ]
        return mean(gap.to_dict()) if len(gap) else unknown("; ".join(why))

    return estimate


def over_seeds(quantity: Callable[[pd.DataFrame], pd.Series], *names: str) -> Callable[[Frames], Estimate]:
    """A quantity of the heads by encoding and seed: of one encoding, or its difference between two, that passed."""

    def estimate(frames: Frames) -> Estimate:
        data, heads = study(frames[PRIORS], "sign"), frames[HEADS]
        if data is None or data.why(*names).startswith("not in"):
            return unknown(data.why(*names) if data else "the study of sign is not in this profile")
        found = quantity(heads).unstack("seed").reindex(names)
        common = sorted(set.intersection(*(set(data.seeds(name)) for name in names)))
        first, *second = (found.loc[name].reindex(common) for name in names)
        values = (first - second[0] if second else first).dropna()
        return mean(values.to_dict()) if len(values) else unknown(data.why(*names))

    return estimate


def recent(heads: pd.DataFrame) -> pd.Series:
    """Attention on the 32 latest tokens, mean over heads."""
    return heads.groupby(["encoding", "seed"])["recent_mass"].mean()


def best_negative(heads: pd.DataFrame) -> pd.Series:
    """The lift of that head with beta < -0.05 that gives the key sentence most; 0 where there is none."""
    lift = heads["passkey_lift"].where(heads["beta"] < BELOW, 0.0)
    return heads.assign(lift=lift).groupby(["encoding", "seed"])["lift"].max()


@torch.no_grad()
def mode(mu: float) -> int:
    """The lag at which the prior is largest; lags below 0 are masked."""
    prior, lags = GeneralizedGaussian([0.0], [1.0], [math.asinh(mu / 2)]), torch.arange(-9, 10)
    return int(lags[prior.log_prior(lags)[0].argmax()])


def leads(text: str, name: str, ours: Sequence[str], others: Iterable[str], least: float = 2.0) -> Finding:
    """Every one of `ours` leads every one of the others, in mean accuracy from `least` times T on."""
    others = tuple(others)
    few = len(ours) == len(others) == 1
    return accuracy(
        f"{text} ({'lead' if few else 'smallest lead'} in mean accuracy from {least:g}T on)",
        asked(name, lambda data: data.ahead(ours, others, least)),
        margin=MARGIN,
    )


accuracy, in_nats, of_heads = measuring(PRIORS), measuring(LANGUAGE), measuring(HEADS, PRIORS)
claim = partial(claim, recipe=RECIPE)

CHECKS = claims(
    claim(
        "BAM-F8",
        leads("The uniform start leads that from ALiBi's slopes", "start", [OURS], [LAPLACE]),
        leads("It leads the start from slopes whose logarithm was left out", "start", [OURS], [CODED]),
    ),
    claim(
        "BAM-F9",
        leads("theta_alpha and theta_beta lead theta_beta alone", "subset", [OURS], [SHAPE]),
        leads("theta_beta alone leads all three", "subset", [SHAPE], [LOCATION]),
        leads("theta_alpha and theta_beta lead all three", "subset", [OURS], [LOCATION]),
        leads("Every subset leads every other encoding", "subset", [OURS, SHAPE, LOCATION], OTHERS),
    ),
    claim(
        "BAM-C2",
        accuracy(
            f"mu = 0 costs at most {LITTLE} of mean accuracy from 2T on",
            asked("subset", lambda data: data.ahead([LOCATION], [OURS])),
            "<=",
            LITTLE,
            ours=True,
        ),
        in_nats(
            f"mu = 0 costs at most {CLOSE} nats, mean over lengths", loss(OURS, LOCATION, True), "<=", CLOSE, ours=True
        ),
        accuracy(
            "Freeing beta gains more than freeing mu on top of it, in mean accuracy from 2T on",
            asked("subset", matters),
            margin=MARGIN,
        ),
        Law(
            "mu > 0 puts the mode at the lag -mu of a masked key.",
            lambda mu: -mu,
            mode,
            grid(mu=(1, 2, 5)),
            wrong=lambda mu: mu,
        ),
        recipe=BOTH,
    ),
    claim(
        "BAM-C3",
        of_heads(
            "Models with beta < 0 alone give the 32 latest tokens less attention than free ones (difference)",
            over_seeds(recent, OURS, NEGATIVE),
        ),
        in_nats(
            "Their loss at T is higher, in nats (not gated by word order: not to see neighbours is what is said of "
            "them)",
            loss(NEGATIVE, OURS, False, gated=False),
            margin=CLOSE,
        ),
        of_heads(
            f"In free models a head with beta < 0 gives the key over {RETRIEVES} times its even share",
            over_seeds(best_negative, OURS),
            ">",
            RETRIEVES,
            ours=True,
        ),
        leads("Free models lead those of one sign", "sign", [OURS], [NEGATIVE, POSITIVE]),
        recipe=BOTH,
    ),
    claim(
        "BAM-C11",
        leads("The uniform start leads both others", "start", [OURS], [LAPLACE, CODED], LONG),
        leads("Without SSMax it leads ALiBi's", "start", ["bam"], ["bam-laplace"], LONG),
    ),
)
