"""BAM, section 2.2, appendix A, Fig. 5 and section 4: the uniform, Laplace, generalised Gaussian and T5 priors.

Truths: scipy's laws (randint, boltzmann, gennorm, laplace, norm), mpmath at 50 digits, and the library's attention.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

import numpy as np
import torch
from scipy import stats

from attention_priors.attention import attention
from attention_priors.checks.inference.posterior import exact_softmax
from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.theory import inference as theory

EXACT = 1e-12
SLOPES = (2.0, 1.0, 0.25, 2.0**-8)  # ALiBi's range, and one steeper
INTEGERS, WIDE = np.arange(-3, 12), np.linspace(-6, 6, 25)
VISIBLE = grid(alpha=(0.5, 3.0, 40.0), beta=(0.4, 1.0, 2.0), i=(1, 2, 9, 300))
SCHEMES = [{"alpha": a, "beta": b, "mu": m} for a, b, m in ((2.0, 1.0, 0.0), (3.0, 0.5, 0.0), (2.0, 2.0, -1.0))]
Array = np.ndarray


def normalised(weights: Array) -> Array:
    return weights / weights.sum()


def gennorm(alpha: float, beta: float, i: int) -> Array:
    """On the lags that query i sees, renormalised."""
    return normalised(stats.gennorm.pdf(-np.arange(i), beta, scale=alpha))


def geometric(alpha: float, i: int) -> Array:
    """scipy's truncated discrete exponential."""
    return stats.boltzmann.pmf(np.arange(i), 1 / alpha, i)


def power(alpha: float, beta: float, i: int) -> Array:
    """exp(-(d / alpha)^beta) / sum."""
    return normalised(np.exp(-((np.arange(i) / alpha) ** beta)))


def bell(sigma: float) -> Callable[..., Array]:
    """Laplace for shape 1, Normal of deviation sigma x alpha for shape 2."""
    return lambda beta, alpha: (stats.laplace(scale=alpha) if beta == 1 else stats.norm(scale=sigma * alpha)).pdf(WIDE)


def attended(query: int, length: int, spread: float) -> Array:
    """Weights of a query in the library's attention under the causal mask alone."""
    q, k = (spread * torch.as_tensor(each)[None, None] for each in content(length))
    return attention(q, k, torch.eye(length, dtype=torch.float64)[None, None], backend="reference")[
        0, 0, query - 1
    ].numpy()


def content(length: int) -> Array:
    """Queries and keys, [2 length width]; the width is the length, as that of the values."""
    return np.random.default_rng(length).standard_normal((2, length, length))


def nope(shift: int) -> Callable[..., Array]:
    """Softmax of content over the keys up to the query, at 50 digits."""

    def weights(query: int, length: int, spread: float) -> Array:
        q, k = spread * content(length)
        seen = min(query + shift, length)
        return np.r_[exact_softmax(k[:seen] @ q[query - 1] / length**0.5), np.zeros(length - seen)]

    return weights


def alibi(m: float, i: int) -> Array:
    """softmax(M + A) of query i by lag, at 50 digits."""
    return exact_softmax(-m * np.arange(i))


def bucket(lag: int) -> int:
    """T5's, with 32 buckets up to lag 128."""
    return lag if lag < 16 else min(31, 16 + int(log(lag / 16) / log(128 / 16) * 16))


def t5(seed: int) -> tuple[Array, Array]:
    """32 biases, and content scores of 200 keys by lag."""
    draw = np.random.default_rng(seed)
    return draw.standard_normal(32), draw.standard_normal(200)


def t5_posterior(tempering: float) -> Callable[[int], Array]:
    """Theorem 1 with the prior softmax(b[bucket(d)])."""

    def weights(seed: int) -> Array:
        biases, f = t5(seed)
        prior = normalised(np.exp([biases[bucket(d)] for d in range(200)]))
        return normalised(prior**tempering * np.exp(f))

    return weights


def t5_head(seed: int) -> Array:
    biases, f = t5(seed)
    return exact_softmax(f + biases[theory.t5_bucket(np.arange(200))])


def reached(says: Callable[[Array], Array], seed: int) -> tuple[Array, Array]:
    """(prior from the bias that is said to reach a target, the target): a random step function on T5's buckets."""
    weights = np.random.default_rng(seed).exponential(size=32)[theory.t5_bucket(np.arange(200))]
    target = normalised(weights)
    return theory.softmax(says(target)), target


def one_slope(target: Array) -> Array:
    """The best straight line through log target: a parametric family of one slope."""
    lags = np.arange(len(target))
    return np.polyval(np.polyfit(lags, np.log(target), 1), lags)


def scheme(sign: int) -> Callable[..., Array]:
    """p_ij proportional to exp(content) x gennorm density^sign over j <= i, entry by entry, 7 x 7."""

    def weights(alpha: float, beta: float, mu: float) -> Array:
        made, (i, j) = np.random.default_rng(6).standard_normal((7, 7)), np.indices((7, 7))
        rows = np.exp(made) * stats.gennorm.pdf(j - i, beta, mu, alpha) ** sign * (j <= i)
        return rows / rows.sum(axis=1, keepdims=True)

    return weights


def three_matrices(alpha: float, beta: float, mu: float) -> Array:
    parts = theory.score_matrices(np.random.default_rng(6).standard_normal((7, 7)), alpha, beta, mu)
    return np.array([theory.softmax(row) for row in sum(parts)])


def carried(power: int) -> Callable[..., Array]:
    """Uniform(1, i) and, with the bias, its product with the generalised Gaussian (alpha 2, beta 1/2)."""

    def prior(matrices: str, i: int) -> Array:
        uniform = stats.randint(1, i + 1).pmf(np.arange(1, 10))
        shape = stats.gennorm.pdf(np.arange(1, 10) - i, 0.5, scale=2.0) ** power
        return uniform if matrices == "M" else normalised(uniform * shape)

    return prior


def rows_of(matrices: str, i: int) -> Array:
    _, mask, bias = theory.score_matrices(np.zeros((9, 9)), 2.0, 0.5, 0.0)
    return theory.softmax((mask if matrices == "M" else mask + bias)[i - 1])


CHECKS = claims(
    claim(
        "BAM-D5",
        Law("Uniform(a, b) is proportional to the indicator of a <= x <= b.",
            lambda a, b: normalised(1.0 * ((a <= INTEGERS) & (b >= INTEGERS))),
            lambda a, b: stats.randint(a, b + 1).pmf(INTEGERS), [{"a": a, "b": b} for a, b in ((0, 0), (1, 4), (2, 9))],
            wrong=lambda a, b: normalised(1.0 * ((a <= INTEGERS) & (b + 1 >= INTEGERS))), tolerance=EXACT),
        Law("The generalised Gaussian is proportional to exp(-|(x - mu) / alpha|^beta) (here: relative to x = mu).",
            lambda x, alpha, beta, mu: -(abs((x - mu) / alpha) ** beta),
            lambda x, alpha, beta, mu: np.diff(stats.gennorm.logpdf([mu, x], beta, loc=mu, scale=alpha))[0],
            grid(x=(-9.0, -1.5, 0.0, 0.5, 7.0), alpha=(0.5, 3.0), beta=(0.3, 1.0, 2.0, 4.0), mu=(0.0, -2.0)),
            wrong=lambda x, alpha, beta, mu: -(abs(x - mu) ** beta) / alpha),
        Law("Shape 1 is Laplace and shape 2 is Normal.", bell(0.5**0.5),
            lambda beta, alpha: stats.gennorm.pdf(WIDE, beta, scale=alpha), grid(beta=(1, 2), alpha=(1.0, 3.0)),
            wrong=bell(1), tolerance=EXACT),
        Law("The prior of a query over its visible lags is that law (here: weight and density at lag 0).",
            lambda alpha, beta: stats.gennorm.pdf(0, beta, scale=alpha),
            lambda alpha, beta, i: power(alpha, beta, i)[0], grid(i=(1, 2), alpha=(1, 2), beta=(1, 2)),
            wrong=lambda alpha, beta: 2 * stats.gennorm.pdf(0, beta, scale=alpha)),
        corrected=(
            Law("Query i sees a one-sided, truncated, discrete law: pi_d = exp(-(d / alpha)^beta) / sum over d < i "
                "(mu = 0);", power, gennorm, VISIBLE, wrong=lambda alpha, beta, i: power(2 * alpha, beta, i),
                tolerance=EXACT),
            Law("for beta = 1 the truncated geometric law.", power, geometric,
                [case for case in VISIBLE if case["beta"] == 1], wrong=lambda alpha, i: power(alpha, 2, i),
                tolerance=EXACT),
        ),
        practice="Moments of the continuous law (mean zero, its variance) say nothing about the prior of a query.",
    ),
    claim(
        "BAM-L1",
        Law("softmax(M_i) is 1/i on the keys 1..i and 0 beyond.",
            lambda query, length: np.where(np.arange(1, length + 1) <= query, 1 / query, 0.0), attended,
            grid(query=(1, 2, 3, 31, 64), length=[64], spread=[0.0]),
            wrong=lambda query, length: np.where(np.arange(1, length + 1) < query, 1 / query, 0.0), tolerance=EXACT),
        Law("With it, attention is the softmax of content over the visible keys (NoPE).", nope(0), attended,
            grid(query=(1, 2, 9, 24), length=(24, 40), spread=(0.5, 2.0)), wrong=nope(1), tolerance=EXACT),
        practice="NoPE is not free of position: its prior weighs every key by 1/i, so it dilutes with length.",
    ),
    claim(
        "BAM-L2",
        Law("ALiBi's prior is proportional to Uniform x Laplace(0, 1/m).",
            lambda m, i: normalised(m / 2 * np.exp(-m * np.arange(i)) / i),
            lambda m, i: stats.boltzmann.pmf(np.arange(i), m, i), grid(m=SLOPES, i=(1, 2, 7, 64, 513)),
            wrong=lambda m, i: normalised(m / 2 * np.exp(-m / 2 * np.arange(i)) / i), tolerance=EXACT),
        Law("ALiBi's prior equals Uniform x Laplace(0, 1/m) (here: at lag 0).", lambda m, i: m / (2 * i),
            lambda m, i: alibi(m, i)[0], grid(m=(1, 2, 3), i=(1, 2, 3)), wrong=lambda m, i: m / i),
        corrected=Law("At query i the lag d has prior (1 - r) r^d / (1 - r^i), r = exp(-m), d = 0..i-1: the truncated "
                      "geometric law, to which Uniform x Laplace is proportional.",
                      lambda m, i: (1 - exp(-m)) * np.exp(-m * np.arange(i)) / (1 - exp(-m * i)), alibi,
                      grid(m=SLOPES, i=(1, 2, 7, 64, 513)),
                      wrong=lambda m, i: (1 - exp(-m)) * np.exp(-m * np.arange(i)), tolerance=EXACT),
        practice="Mean lag tends to 1 / (e^m - 1) however long the context: slope 1/2 looks back 1.5 tokens.",
    ),
    claim(
        "BAM-C10",
        Law("Softmax of T5's bucketed bias is a prior over lags, to which Theorem 1 applies.",
            t5_posterior(1), t5_head, grid(seed=range(10)), wrong=t5_posterior(2), tolerance=EXACT),
        Law("It is non-parametric: a histogram on T5's buckets, free in every bucket.",
            lambda target: np.log(target), reached, grid(seed=range(10)), wrong=one_slope, tolerance=EXACT),
        practice="A histogram only: with 32 buckets up to 128, lags 16 to 18 share a value and the prior is flat "
                 "from lag 113 on, so far keys dilute as under NoPE.",
    ),
    claim(
        "BAM-F5",
        Law("The score is the sum of content, causal mask and generalised Gaussian bias.", scheme(1), three_matrices,
            SCHEMES, wrong=scheme(-1), tolerance=EXACT),
        Law("The mask carries the uniform prior, mask and bias together the generalised Gaussian one.",
            carried(1), rows_of, grid(matrices=("M", "M + B"), i=range(1, 10)), wrong=carried(2), tolerance=EXACT),
        practice="In code mask and bias are one table by lag, added to content logits scaled by 1/sqrt(width).",
    ),
)  # fmt: skip
