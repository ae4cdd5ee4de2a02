"""Across the documents: the lead in content that one far key needs (X-14).

Independent evidence: mpmath's zeta, scipy's root finding, sums over 10^6 keys.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.theory.inference import posterior, scalable

CONTEXT = 10**6


def competitors() -> list[dict]:
    draw = np.random.default_rng(3)
    return [{"prior": draw.dirichlet(np.full(20, 0.3)) * 0.98 + 1e-3, "lag": int(draw.integers(20))} for _ in range(40)]


def threshold(prior: np.ndarray, lag: int) -> float:
    """The lead at which the weight of one key is 1/2, by root finding."""
    from scipy.optimize import brentq

    one = np.eye(len(prior))[lag]
    return brentq(lambda lead: posterior(lead * one, prior)[lag] - 0.5, -50, 50, xtol=1e-13)


def alibi_margin(m: float, d: int) -> float:
    total = -math.expm1(-m * CONTEXT) / -math.expm1(-m)  # sum of exp(-m lag) over the context
    return m * d + math.log(total - math.exp(-m * d))


def gaussian_margin(d: int, keys: int, alpha: float, beta: float) -> float:
    """Of the key at lag d of `keys` under exp(-(lag / alpha)^beta), by summation."""
    fall = (np.arange(keys, dtype=np.float64) / alpha) ** beta
    return float(fall[d] + math.log(np.exp(-fall).sum() - math.exp(-fall[d])))


def power_margin(d: int, keys: int, r1: float) -> float:
    """Of the key at lag d of `keys` under (1 + lag)^(-r1), by zeta and harmonic numbers."""
    import mpmath

    total = mpmath.harmonic(keys) if r1 == 1 else mpmath.zeta(r1) - mpmath.zeta(r1, keys + 1)
    own = mpmath.mpf(1 + d) ** -mpmath.mpf(r1)
    return float(mpmath.log((total - own) / own))


def flat_margin(d: int, others: int, beta: float) -> float:
    """Of the key at lag d beside `others` under the uniform prior (beta = 0) or exp(-lag^beta), beta < 0."""
    lags = np.arange(others + 1, dtype=np.float64)
    with np.errstate(divide="ignore"):
        weights = np.exp(-(lags**beta)) if beta else np.ones(others + 1)
    return math.log((weights.sum() - weights[d]) / weights[d])


def scalable_lead(s: float, n: int) -> float:
    """Log-odds that SSMax gives a key whose score leads by 1 among n."""
    p = scalable(np.eye(n)[0], s)
    return float(np.log(p[0] / p[1]))


def normalised_power(d: int, keys: int, r1: float) -> float:
    """r1 ln(1 + d) plus the log of the normaliser by integral; a half is Euler and Maclaurin's."""
    integral = ((1 + keys) ** (1 - r1) - 1) / (1 - r1) if r1 != 1 else math.log(1 + keys)
    return r1 * math.log1p(d) + math.log(integral + 0.5)


def normalised_gaussian(d: int, keys: int, alpha: float, beta: float) -> float:
    """(d / alpha)^beta + ln(alpha Γ(1 + 1/beta) P(1/beta, (L/alpha)^beta)), P the regularised incomplete Γ."""
    from scipy.special import gamma, gammainc

    integral = alpha * gamma(1 + 1 / beta) * gammainc(1 / beta, (keys / alpha) ** beta)
    return (d / alpha) ** beta + math.log(integral + 0.5)


GAUSSIANS = [
    {"d": d, "keys": CONTEXT, "alpha": alpha, "beta": beta}
    for beta, alpha, d in product((0.1, 0.5, 1.0, 2.0), (1.0, 50.0), (1000, CONTEXT - 1))
]
POWERS = [
    {"d": d, "keys": keys, "r1": r1}
    for r1, keys in product((0.5, 1.0, 1.5, 3.0), (100, 10**4, 10**8))
    for d in (1, keys // 2, keys - 1)
]
ALIBI = [{"m": m, "d": round(far / m)} for m in (0.5, 0.0625, 2**-8) for far in (6, 50, 1000)]

CHECKS = claims(
    claim(
        "X-14",
        Law(
            "Half of the weight takes a lead of ln((1 - pi_d) / pi_d) over uniform competitors.",
            lambda prior, lag: math.log((1 - prior[lag]) / prior[lag]),
            threshold,
            competitors(),
            wrong=lambda prior, lag: -math.log(prior[lag]),
        ),
        Law(
            "ALiBi: m d + ln(1 / (1 - e^-m)), within 1 % where m d >= 6.",
            lambda m, d: m * d - math.log(-math.expm1(-m)),
            alibi_margin,
            ALIBI,
            wrong=lambda m, d: m * d / 2 - math.log(-math.expm1(-m)),
            tolerance=lambda m, d: 0.01 * m * d,
        ),
        Law(
            "GGD, beta > 0: (d / alpha)^beta to leading order, within 10 %.",
            lambda d, alpha, beta: (d / alpha) ** beta,
            gaussian_margin,
            GAUSSIANS,
            wrong=lambda d, alpha, beta: d**beta / alpha,
            tolerance=lambda d, alpha, beta: 0.1 * (d / alpha) ** beta,
            witness=[{"d": 1000, "keys": CONTEXT, "alpha": 50.0, "beta": 1.0}],
        ),
        Law(
            "KERPLE-log (r2 = 1): r1 ln d to leading order, for every r1, within 10 %.",
            lambda d, r1: r1 * math.log(d),
            power_margin,
            [{"d": d, "keys": CONTEXT, "r1": r1} for r1, d in product((0.5, 1.5, 3.0), (1000, CONTEXT - 1))],
            wrong=lambda d, r1: r1 * math.log(d) / 2,
            tolerance=lambda d, r1: 0.1 * r1 * math.log(d),
            witness=[{"d": keys - 1, "keys": keys, "r1": 0.5} for keys in (4, 100)],
        ),
        Law(
            "Uniform prior or beta < 0: ln L to leading order, within 10 %.",
            lambda others: math.log(others),
            flat_margin,
            [{"d": d, "others": CONTEXT, "beta": beta} for beta, d in product((0.0, -0.5, -2.0), (10, 1000, CONTEXT))],
            wrong=lambda others: math.log(others) / 2,
            tolerance=lambda others: 0.1 * math.log(others),
        ),
        Law(
            "SSMax supplies s ln n per unit of lead in the raw score.",
            lambda s, n: s * math.log(n),
            scalable_lead,
            grid(s=(0.3, 1.0, 2.0), n=(2, 100, 10**4)),
            wrong=lambda s, n: s * math.log(n) / 2,
        ),
        corrected=(
            Law(
                "-ln of the weight plus ln of the normaliser: KERPLE-log (r2 = 1) needs r1 ln(1 + d) + ln N_L, where "
                "N_L grows like L^(1 - r1) for r1 < 1 and like ln L at 1, so that at r1 = 1/2 a key at the far end "
                "costs ln L, as under the uniform prior;",
                normalised_power,
                power_margin,
                POWERS,
                tolerance=1.0,
                wrong=lambda d, keys, r1: r1 * math.log1p(d),
                answers=(2,),
            ),
            Law(
                "the GGD needs (d / alpha)^beta + ln(alpha Γ(1 + 1/beta)), times P(1/beta, (L/alpha)^beta) inside the "
                "logarithm while the context is too short for that.",
                normalised_gaussian,
                gaussian_margin,
                GAUSSIANS,
                tolerance=1.0,
                wrong=lambda d, alpha, beta: (d / alpha) ** beta,
                answers=(1,),
            ),
        ),
        practice="of any k keys one costs ln(k - 1) or more, whatever the prior: only a lead that grows with ln L "
        "keeps a fixed share of the context readable at every length (SSMax with s x lead >= 1 does, under a "
        "flat prior)",
    ),
)
