"""BAM, Lemmas 3 and 4, Theorems 2 and 4 and the trichotomy: which priors are local, told by tail mass.

Truths: sums over up to 10^6 keys, sympy's limits, mpmath's incomplete gamma function for tails that no sum reaches, and
content scores as bad as their range allows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import mpmath
import numpy as np
import sympy
import torch
from scipy import special

from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.positions import mass
from attention_priors.theory import generalised_gaussian as theory

MANY = 10**6
FAR = 1e300
SLOPES = (0.05, 0.5, 1.0)
D, M, B = sympy.symbols("d m b", positive=True)
ORDER = grid(keys=(2, 50, 4096), m=(0.01, 0.1, 1.0, 2.0), alpha=(0.3, 1.0, 3.0, 100.0), beta=(0.1, 0.5, 0.9))


def prior(alpha: float, beta: float) -> theory.LogPrior:
    """-|d / alpha|^beta; beta = 0 is the uniform prior."""
    return theory.printed(alpha, beta) if beta else theory.laplace(0.0)


def scores(kind: str, content: float, beyond: int, keys: int) -> np.ndarray:
    """Content of range at most `content`, by lag: all of it beyond a lag (the worst there is), or drawn."""
    draw = np.random.default_rng(keys)
    return content * {"beyond": np.arange(keys) > beyond, "drawn": draw.random(keys),
                      "0 or 1": draw.integers(0, 2, keys)}[kind]  # fmt: skip


def oldest_of_alibi(slope: float, keys: int) -> float:
    return theory.far_density(theory.laplace(slope), (keys,))[0] / keys


def oldest(alpha: float, beta: float, keys: int) -> float:
    """Weight of the oldest key under equal content."""
    return theory.far_density(prior(alpha, beta), (keys,))[0] / keys


def limit_of_oldest(growth: sympy.Rational) -> float:
    """lim_i x^(i-1) / (1 + x + .. + x^(i-1)) by sympy: each key weighs x times the next younger one."""
    i, d = sympy.symbols("i d", positive=True, integer=True)
    total = sympy.summation(sympy.Integer(1) * growth**d, (d, 0, i - 1))
    return float(sympy.limit(growth ** (i - 1) / total, i, sympy.oo))


def alibi_beyond(slope: float, window: int, keys: int) -> float:
    """P(lag > D) under equal content; slope 0 is the uniform prior."""
    return theory.tails(theory.laplace(slope), (keys,), (window,))[0, 0]


def alibi_tail(slope: float, window: int, content: float, keys: int, kind: str) -> float:
    """P(lag > D) under content."""
    return theory.row(theory.laplace(slope), keys, scores(kind, content, window, keys))[window + 1 :].sum()


def tail(alpha: float, beta: float, window: int, content: float, keys: int) -> float:
    """P(lag > D) under the worst content of a range."""
    return theory.row(prior(alpha, beta), keys, scores("beyond", content, window, keys))[window + 1 :].sum()


def tilted(t: float, content: float) -> float:
    return t * np.exp(content) / (t * np.exp(content) + 1 - t)


def gamma_bound(shift: int = 0) -> Callable[..., float]:
    """The tilted Q(1/beta, ((D + shift)/alpha)^beta)."""

    def bound(alpha: float, beta: float, window: int, content: float) -> float:
        return tilted(special.gammaincc(1 / beta, ((window + shift) / alpha) ** beta), content)

    return bound


def ratio(m: float, alpha: float, beta: float, lag: int) -> float:
    """B / A of the two biases."""
    return (lag / alpha) ** beta / (m * lag)


def means(m: float, alpha: float, beta: float, keys: int) -> float:
    """Mean lag in a context of so many keys."""
    return float(theory.row(prior(alpha, beta), keys) @ np.arange(keys))


def alibis_mean(m: float, keys: int) -> float:
    weights = [np.exp(-m * d) for d in range(keys)]
    return sum(d * w for d, w in enumerate(weights)) / sum(weights)


def distant() -> list[dict[str, float]]:
    """Small contexts whose oldest key has a ratio of biases below 1."""
    cases = grid(keys=(3, 6, 10, 100), m=(1, 0.5, 2), alpha=(1, 0.25, 0.1, 10), beta=(0.5, 0.25, 0.9))
    return [case for case in cases if ratio(case["m"], case["alpha"], case["beta"], case["keys"] - 1) < 1]


def dominates(m: float, alpha: float, beta: float, keys: int) -> bool:
    """Likelihood-ratio order over the lag."""
    lags = np.arange(float(keys))
    return bool(mass.dominates(*(torch.as_tensor(b(lags))[None] for b in (prior(alpha, beta), theory.laplace(m)))))


def reaches_further(m: float, alpha: float, beta: float, keys: int) -> bool:
    """P(lag > D) at least ALiBi's for every D: without content, with drawn content, with two keys that count."""
    lags, draw = np.arange(keys), np.random.default_rng(keys)
    for content in (0 * lags, 3 * draw.standard_normal(keys), np.where(lags < 2, 0.0, -800.0)):
        ours, alibi = (np.cumsum(theory.row(b, keys, content)) for b in (prior(alpha, beta), theory.laplace(m)))
        if (ours > alibi + 1e-12).any():
            return False
    return True


def relative_density(alpha: float, beta: float, keys: int, content: float) -> float:
    """i p e^-f mean(e^f) of the oldest key, under drawn content of a range."""
    f = scores("drawn", content, 0, keys)
    return theory.row(prior(alpha, beta), keys, f)[-1] * np.exp(-f[-1]) * np.exp(f).sum()


def limit_tail(beta: float, window: float) -> float:
    """P(lag > D): of 10^6 keys for beta <= 0; above, its bound Q(1/beta, D^beta) at 50 digits."""
    if beta <= 0:
        return theory.tails(prior(1.0, beta), (MANY,), (int(window),))[0, 0]
    with mpmath.workdps(50):
        return float(mpmath.gammainc(1 / mpmath.mpf(beta), mpmath.mpf(window) ** beta, regularized=True))


def local_density(lag: float, alpha: float, beta: float) -> float:
    """Weight at a lag over the weight at lag 10^300, where the bias is below 1e-14."""
    near, far = prior(alpha, beta)(np.array([lag, FAR]))
    return float(np.exp(near - far))


def odds_ratio(beta: float, window: int, content: float, kind: str) -> float:
    """By how much content of a range multiplies the odds of the tail, at 3000 keys."""
    rows = [theory.row(prior(1.0, beta), 3000, f) for f in (None, scores(kind, content, window, 3000))]
    before, after = (row[window + 1 :].sum() / row[: window + 1].sum() for row in rows)
    return after / before


# A vanishing weight does not tell local priors from others: that of the uniform prior (slope 0) vanishes as well.
CRITERION = Law(
    "Where the weight of the oldest key vanishes, attention is local: at most half of the mass lies beyond a window, "
    "however many keys there are.",
    0.5, alibi_beyond,
    [{"slope": m, "window": w, "keys": n} for m, w, n in ((1.0, 2, 8), (1.0, 2, MANY), (0.5, 2, MANY), (0.0, 2, 8),
                                                          (0.0, 100, 1000), (0.0, 10_000, MANY))],
    wrong=0.1, relation=">=", repaired=1.0,
)  # fmt: skip

CHECKS = claims(
    claim(
        "BAM-L3",
        Law("With equal content the weight of the oldest key tends to 0.", 0.0, oldest_of_alibi,
            grid(keys=(1000, MANY), slope=SLOPES), wrong=lambda keys: 1 / keys,
            tolerance=1e-6),
        Law("And with any content, as with f = (m + ln growth) d, which makes each key weigh `growth` times the next "
            "younger one.", 0.0, limit_of_oldest, [{"growth": sympy.Rational(x)} for x in ("1/2", "2", "3/2")],
            wrong=lambda growth: 1 - growth),
        CRITERION,
        corrected=(
            Law("For m > 0 and content scores of range at most B: P(|i-j| > D) <= t e^B / (t e^B + 1 - t), "
                "t = e^(-m(D+1)), for every i;",
                lambda slope, window, content: tilted(np.exp(-slope * (window + 1)), content), alibi_tail,
                grid(keys=(30, 200, 2000), slope=SLOPES, window=(0, 3, 20), content=(0.0, 1.0, 4.0),
                     kind=("beyond", "drawn", "0 or 1")),
                wrong=lambda slope, window, content: tilted(np.exp(-slope * (window + 1)), content / 2),
                relation=">="),
            Law("and no smaller bound serves every i.",
                lambda slope, window, content: tilted(np.exp(-slope * (window + 1)), content), alibi_tail,
                grid(keys=[2000], slope=SLOPES, window=(0, 3, 20), content=(0.0, 1.0, 4.0), kind=["beyond"]),
                wrong=lambda slope, window, content: tilted(np.exp(-slope * window), content)),
        ),
        practice="Normalised queries and keys bound B; without that a head can outvote ALiBi.",
    ),
    claim(
        "BAM-L4",
        Law("With equal content and alpha > 0 the weight of the oldest key tends to 0.", 0.0, oldest,
            grid(keys=(10**5, MANY), alpha=[1.0], beta=(0.2, 0.5, 1.0, 2.0)), wrong=lambda keys: 1 / keys,
            tolerance=5e-7),
        CRITERION,
        corrected=(
            Law("The weight of every key tends to 0 under the uniform prior too, as 1/i, so that this is no sign of "
                "locality.", lambda keys: 1 / keys, oldest,
                grid(keys=(1, 2, 50, 10**5), alpha=[1.0], beta=[0]),
                wrong=lambda keys: 1 / (keys + 1), tolerance=1e-14),
            Law("For beta > 0, alpha > 0 (not 0) and content of range B the tail mass beyond D is at most the tilted "
                "Q(1/beta, (D/alpha)^beta), for every i.", gamma_bound(), tail,
                grid(keys=(100, 20_000), alpha=(1.0, 8.0), beta=(0.3, 0.5, 1.0, 2.0), window=(1, 4, 16, 64),
                     content=(0, 2)),
                wrong=gamma_bound(1), relation=">=", tolerance=1e-12),
        ),
        practice="Local only asymptotically: at alpha = 1, beta = .1, 99.98 % of the mass lies beyond 8,192 lags.",
    ),
    claim(
        "BAM-T2",
        Law("mu = 0, alpha = m^(-1/beta): the ratio is |j - i|^(beta - 1).", D ** (B - 1),
            (D / M ** (-1 / B)) ** B / (M * D), wrong=D ** (1 - B), symbolic=True),
        Law("With that scale it is below 1 at every lag (but 0, where it is 0/0).", 1, ratio,
            [{"m": m, "alpha": m ** (-1 / b), "beta": b, "lag": d}
             for d, m, b in product((1, 2, 10, 1000), (1.0, 0.1, 2.0), (0.5, 0.1, 0.9))],
            wrong=0.5, relation=">", repaired=1.001),
        Law("A ratio below 1 at a distant key means more context: a mean lag above ALiBi's.", alibis_mean, means,
            distant(), wrong=lambda m, keys: alibis_mean(m / 2, keys), relation="<", repaired=0),
        corrected=(
            Law("For 0 < beta < 1, mu = 0 and any content, the prior dominates ALiBi's in likelihood ratio over the "
                "lag exactly when m alpha^beta >= 1,", lambda m, alpha, beta: m * alpha**beta >= 1 - 1e-12, dominates,
                ORDER, wrong=lambda m, alpha: m * alpha >= 1),
            Law("and exactly then P(|i-j| > D) is at least as large for every D, whatever the content.",
                lambda m, alpha, beta: m * alpha**beta >= 1 - 1e-12, reaches_further, ORDER,
                wrong=lambda m, alpha, beta: m * alpha**beta > 1 + 1e-12),
        ),
        practice="Being heavier-tailed is a matter of the pair (alpha, beta): log m alpha^beta, not beta alone.",
    ),
    claim(
        "BAM-T4",
        Law("For beta < 0 the oldest key's weight does not tend to 0.", 0.0, oldest,
            grid(keys=(10, 1000, MANY), alpha=[1.0], beta=(-1.0, -0.5)),
            wrong=lambda keys: 1 / keys, relation="!=", tolerance=1e-5, repaired=1.0),
        Law("Because it tends to that of softmax(QK^T + M), beta = 0, which does not.", 0.0, oldest,
            grid(keys=(10, 1000, MANY), alpha=[1.0], beta=[0]),
            wrong=lambda keys: 1 / keys, relation="!=", tolerance=1e-5, repaired=1.0),
        corrected=(
            Law("For beta <= 0 and equal content the weight is at most e^(alpha^|beta|) / (i - 1) and tends to 0.",
                lambda alpha, beta, keys: np.exp(alpha ** abs(beta)) / (keys - 1), oldest,
                grid(keys=(2, 3, 10, 1000, 10**5), alpha=(0.5, 1.0, 2.0), beta=(-2.0, -1.0, -0.5, 0)),
                wrong=lambda keys: 1 / keys, relation=">="),
            Law("What survives is (a) the density relative to uniform, i p -> e^f / mean(e^f) at the oldest key;",
                1.0, relative_density, [{"alpha": a, "beta": b, "keys": MANY, "content": c} for c in (0.0, 2.0)
                                        for a, b in ((1.0, 0), (1.0, -0.5), (2.0, -1.0), (1.0, -2.0))],
                wrong=lambda content: np.exp(content), tolerance=5e-3),
            Law("(b) P(|i-j| > D) -> 1 for all D. beta = 0 has both.", 1.0, limit_tail,
                grid(beta=(0, -0.5, -1.0, -2.0), window=[1024]), wrong=0.99, tolerance=2e-3),
        ),
        practice="Arbitrarily long context is right in the sense of (b), but NoPE has it too; beta < 0 adds "
                 "the suppression of the vicinity.",
    ),
    claim(
        "BAM-T4b",
        Law("T(D) < 1 at every D for beta > 0.", 1, limit_tail,
            grid(beta=(0.1, 0.3, 0.5, 1.0, 2.0), window=(1, 8, 64)), wrong=0.99, relation=">"),
        Law("T(D) -> 0 for beta > 0, T(D) = 1 for beta = 0 and beta < 0.",
            lambda beta: 0 if beta > 0 else 1, limit_tail,
            [*grid(beta=(0.1, 0.2, 0.3, 0.5, 1.0, 2.0), window=[1e60]),
             *grid(beta=(0, -0.05, -0.5, -1.0, -2.0), window=(1, 64, 512))],
            wrong=lambda beta: 0 if beta >= 0 else 1, tolerance=1e-3),
        Law("beta < 0: relative density e^-(alpha/d)^|beta| at lag d.",
            lambda lag, alpha, beta: np.exp(-((alpha / lag) ** abs(beta))), local_density,
            grid(lag=(1.0, 2.0, 10.0, 500.0), alpha=(0.5, 1.0, 20.0), beta=(-0.1, -0.5, -1.0, -2.0)),
            wrong=lambda lag, alpha, beta: np.exp(-((alpha / lag) ** (2 * abs(beta)))), tolerance=1e-12),
        Law("Content of range B multiplies the odds of the tail by at most e^B.", lambda content: np.exp(content),
            odds_ratio,
            grid(beta=(0.5, 1e-9, -0.5), window=(1, 10, 1000), content=(0.0, 0.5, 3.0), kind=("beyond", "drawn")),
            wrong=lambda content: np.exp(content / 2), relation=">=", tolerance=1e-9),
        practice="At 10^7 keys beta = .1 keeps .9999 of its mass beyond lag 64; its limit lies beyond any context.",
    ),
)  # fmt: skip
