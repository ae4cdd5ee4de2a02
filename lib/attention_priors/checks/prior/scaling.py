"""BAM, section 2.5: scalable softmax, on content alone and on the prior too.

Truths: mpmath at 50 digits with n^(s z) written as a power, contexts of 10^60 keys, where limits show, and the library.
"""

from __future__ import annotations

from math import exp, log

import mpmath
import numpy as np
import torch

from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.positions.scaling import ScalableSoftmax
from attention_priors.theory import generalised_gaussian as theory
from attention_priors.theory.inference import scalable, softmax


def scores(keys: int) -> np.ndarray:
    return 4 * np.random.default_rng(keys).standard_normal(keys)


def powers(keys: int, scale: float, base: int = 0) -> list[float]:
    """n^(s z_i) / sum_j n^(s z_j), as powers and at 50 digits."""
    with mpmath.workdps(50):
        terms = [mpmath.mpf(keys + base) ** (mpmath.mpf(scale) * mpmath.mpf(float(z))) for z in scores(keys)]
        return [float(term / mpmath.fsum(terms)) for term in terms]


def row_factor(scale: float, row: int) -> float:
    """What the library multiplies the logits of a row of a causal context with, in a head of this scale."""
    module = ScalableSoftmax(2).double()
    with torch.no_grad():
        module.scale.copy_(torch.tensor([9.0, scale], dtype=torch.float64))
        return module(torch.tensor([row]))[1, 0].item()


def among(keys: int, lead: float) -> float:
    """Weight of one key that leads all others by `lead`, under softmax."""
    return softmax(np.r_[lead, np.zeros(keys - 1)])[0]


def lead_weight(keys: float, lead: float) -> float:
    return exp(lead) / (exp(lead) + keys - 1)


def ssmax_weight(scale: float, lead: float, long: int) -> float:
    return scalable(np.r_[lead, np.zeros(long - 1)], scale)[0]


def limit(lead: float) -> float:
    """n^(s g) / (n^(s g) + n - 1) at n = 10^60, at 200 digits."""
    with mpmath.workdps(200):
        n = mpmath.mpf(10) ** 60
        return float(n ** mpmath.mpf(lead) / (n ** mpmath.mpf(lead) + n - 1))


CHECKS = claims(
    claim(
        "BAM-D6",
        Law(
            "n^(s z) / sum n^(s z) = softmax((s ln n) z).",
            powers,
            lambda keys, scale: scalable(scores(keys), scale),
            grid(keys=(1, 2, 7, 60), scale=(-0.5, 0.0, 0.43, 1.0, 2.0)),
            wrong=lambda keys, scale: powers(keys, scale, base=1),
            tolerance=1e-12,
        ),
        Law(
            "Row i of a causal context has n = i, and each head its s: the factor is s ln i.",
            lambda scale, row: scale * log(row),
            row_factor,
            grid(scale=(0.4, 1.0, 2.5), row=(1, 2, 3, 10, 100)),
            wrong=lambda scale, row: scale * log(row + 1),
            tolerance=1e-12,
        ),
        practice="Silent about what z is: content alone, or content plus prior (BAM-E13). Both are encodings here.",
    ),
    claim(
        "BAM-C4",
        Law(
            "Softmax gives one key that leads n - 1 others by g the weight e^g / (e^g + n - 1),",
            lead_weight,
            among,
            grid(keys=(2, 50), lead=(0.5, 3.0)),
            wrong=lambda keys, lead: lead_weight(keys - 1, lead),
        ),
        Law(
            "which tends to 0: a bounded lead fades.",
            0.0,
            theory.peak_weight,
            [{"n": 1e12, "gap": g} for g in (0.5, 3.0, 10.0)],
            wrong=lambda gap: exp(gap) / 1e6,
            tolerance=1e-6,
        ),
        Law(
            "SSMax keeps the leading key's weight, whatever n: among more keys it has no less.",
            lambda scale, lead, short: short ** (scale * lead) / (short ** (scale * lead) + short - 1),
            ssmax_weight,
            grid(short=[4], long=(16, 10_000), scale=(1.0, 0.5, 2.0), lead=(0.5, 0.25, 2.0)),
            wrong=1,
            relation="<=",
            repaired=0,
            quote="preserves the sharpness of the distribution regardless of input size",
            place="§2.5",
        ),
        corrected=Law(
            "With scale s and lead g the weight n^(sg) / (n^(sg) + n - 1) tends to 1, 1/2 or 0 as s g is "
            "above, at or below 1: SSMax turns fading into a threshold on the lead.",
            lambda lead: 1.0 if lead > 1 else 0.5 if lead == 1 else 0.0,
            limit,
            [{"scale": 1, "lead": sg} for sg in (0.25, 0.5, 0.9, 1.0, 1.1, 2.0, 3.0)],
            wrong=lambda lead: 1.0 if lead > 2 else 0.5 if lead == 2 else 0.0,
            tolerance=1e-5,
        ),
        practice="At the start s = 1 a retrieved key needs a lead above 1 in the logit; the rest still fades.",
        severity="needs a repair",
    ),
)
