"""BAM, section 2.5: scalable softmax, on content alone and on the prior too.

Truths: mpmath at 50 digits with n^(s z) written as a power, contexts of 10^60 keys, where limits show, and the library.
"""

from __future__ import annotations

from itertools import pairwise
from math import exp, log

import mpmath
import numpy as np
import torch

from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.positions import mass
from attention_priors.positions.scaling import ScalableSoftmax
from attention_priors.theory import generalised_gaussian as theory
from attention_priors.theory.inference import scalable, softmax

CONTEXTS = (512, 32_768, 524_288)
TINY = 1e-300  # as epsilon


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


def power_prior(n: int, s: float, c: float, beta: float) -> np.ndarray:
    """n^(-s c d^beta) over the lags 1..n-1, normalised."""
    weights = float(n) ** (-s * c * np.arange(1.0, n) ** beta)
    return weights / weights.sum()


def scaled_prior(n: int, s: float, c: float, beta: float) -> np.ndarray:
    """Softmax of s ln n times the library's log-prior."""
    return softmax(s * log(n) * theory.coded(log(c), beta, epsilon=TINY)(np.arange(1.0, n)))


def mean_lag(beta: float, long: int) -> float:
    table = log(long) * theory.coded(0.0, beta)(np.arange(float(long)))
    return mass.mean_lag(torch.as_tensor(table)[None]).item()


def mean_of_powers(beta: float, short: int) -> float:
    lags = np.arange(float(short))
    weights = float(short) ** -(lags**beta)
    return float(weights @ lags / weights.sum())


def suppressed(n: int, beta: float, x: float, lag: int) -> bool:
    """Whether the lag weighs less than x times a far key, the prior being scaled; s = .7, c = 2."""
    return bool(0.7 * log(n) * theory.coded(log(2.0), beta, epsilon=TINY)([lag])[0] < log(x))


def radius(n: int, beta: float, x: float) -> float:
    return (0.7 * 2.0 * log(n) / log(1 / x)) ** (1 / abs(beta))


def both_readings(says: float, keys: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights at theta_beta = `says`: content alone is scaled, and content plus prior."""
    content, b = scores(keys) / 4, theory.coded(0.3, says)(np.arange(float(keys)))
    return softmax(log(keys) * content + b), softmax(log(keys) * (content + b))


CHECKS = claims(
    claim(
        "BAM-D6",
        Law("n^(s z) / sum n^(s z) = softmax((s ln n) z).", powers, lambda keys, scale: scalable(scores(keys), scale),
            grid(keys=(1, 2, 7, 60), scale=(-0.5, 0.0, 0.43, 1.0, 2.0)),
            wrong=lambda keys, scale: powers(keys, scale, base=1), tolerance=1e-12),
        Law("Row i of a causal context has n = i, and each head its s: the factor is s ln i.",
            lambda scale, row: scale * log(row), row_factor, grid(scale=(0.4, 1.0, 2.5), row=(1, 2, 3, 10, 100)),
            wrong=lambda scale, row: scale * log(row + 1), tolerance=1e-12),
        practice="Silent about what z is: content alone, or content plus prior (BAM-E13). Both are encodings here.",
    ),
    claim(
        "BAM-C4",
        Law("Softmax gives one key that leads n - 1 others by g the weight e^g / (e^g + n - 1),", lead_weight, among,
            grid(keys=(2, 50), lead=(0.5, 3.0)), wrong=lambda keys, lead: lead_weight(keys - 1, lead)),
        Law("which tends to 0: a bounded lead fades.", 0.0, theory.peak_weight,
            [{"n": 1e12, "gap": g} for g in (0.5, 3.0, 10.0)], wrong=lambda gap: exp(gap) / 1e6, tolerance=1e-6),
        Law("SSMax keeps it, whatever n: among more keys the leading one has no less.",
            lambda scale, lead, short: short ** (scale * lead) / (short ** (scale * lead) + short - 1), ssmax_weight,
            grid(short=[4], long=(16, 10_000), scale=(1.0, 0.5, 2.0), lead=(0.5, 0.25, 2.0)),
            wrong=1, relation="<=", repaired=0),
        corrected=Law("With scale s and lead g the weight n^(sg) / (n^(sg) + n - 1) tends to 1, 1/2 or 0 as s g is "
                      "above, at or below 1: SSMax turns fading into a threshold on the lead.",
                      lambda lead: 1.0 if lead > 1 else 0.5 if lead == 1 else 0.0, limit,
                      [{"scale": 1, "lead": sg} for sg in (0.25, 0.5, 0.9, 1.0, 1.1, 2.0, 3.0)],
                      wrong=lambda lead: 1.0 if lead > 2 else 0.5 if lead == 2 else 0.0, tolerance=1e-5),
        practice="At the start s = 1 a retrieved key needs a lead above 1 in the logit; the rest still fades.",
    ),
    claim(
        "BAM-E13",
        Law("The prior becomes proportional to n^(-s c d^beta), c = e^theta_alpha.", power_prior, scaled_prior,
            grid(n=(2, 64, 4096), s=(0.4, 1.0), c=(0.2, 1.0), beta=(0.5, 1.0, -0.5)),
            wrong=lambda n, s, c, beta: power_prior(n, s, c, 2 * beta), tolerance=1e-12),
        Law("Heads with beta > 0 become more local as n grows.", mean_of_powers, mean_lag,
            [{"beta": b, "short": short, "long": long} for b in (0.5, 1.0)
             for short, long in pairwise(CONTEXTS)],
            wrong=lambda beta, short: mean_of_powers(beta, short) / 1000, relation=">"),
        Law("With beta < 0 the suppressed radius grows like (s c ln n)^(1/|beta|).",
            lambda n, beta, x, lag: lag < radius(n, beta, x), suppressed,
            grid(n=CONTEXTS, beta=(-0.5, -1.0), x=(0.5, 1e-3), lag=range(1, 512, 3)),
            wrong=lambda n, beta, x, lag: lag < radius(n, 1 / beta, x)),
        Law("At theta_beta = 0 both readings of SSMax coincide.", 0.0, both_readings, [{"keys": 300}], wrong=-0.2,
            tolerance=1e-12),
        practice="A comparison that scales BAM's prior but not ALiBi's compares two things at once.",
    ),
)  # fmt: skip
