"""BAM, section 2.2, appendix A, Fig. 5 and section 4: the uniform, Laplace, generalised Gaussian and T5 priors.

Evidence from scipy's laws (randint, boltzmann, gennorm, laplace, norm) and from mpmath at 50 digits.
"""

from __future__ import annotations

from itertools import product

import mpmath
import numpy as np
from scipy import stats

from attention_priors.checks.bam_inference import TOLERANCE, distance, exact_softmax, random_logits
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.theory import inference as theory

SLOPES = (2.0, 1.0, 0.25, 2.0**-8)  # ALiBi's range, and one steeper


# D5: the named laws and what a causal query sees of them


def check_uniform_law(indicator) -> Evidence:
    x, worst = np.arange(-3, 12), 0.0
    for a, b in ((0, 0), (1, 4), (2, 9)):
        weights = np.array([float(indicator(a, b, value)) for value in x])
        worst = max(worst, float(np.max(np.abs(weights / weights.sum() - stats.randint(a, b + 1).pmf(x)))))
    return compare(worst, "<=", TOLERANCE, detail="against scipy.stats.randint")


def check_generalised_shape(log_density) -> Evidence:
    """Proportional to scipy's gennorm: the difference of logarithms must not depend on x."""
    x, worst = np.linspace(-9, 9, 37), 0.0
    for alpha, beta, mu in product((0.5, 3.0), (0.3, 1.0, 2.0, 4.0), (0.0, -2.0)):
        gap = log_density(x, alpha, beta, mu) - stats.gennorm.logpdf(x, beta, loc=mu, scale=alpha)
        worst = max(worst, float(np.ptp(gap) / max(1.0, np.max(np.abs(gap)), np.max(np.abs(x / alpha) ** beta))))
    return compare(worst, "<=", TOLERANCE, detail="relative spread of the log-density minus scipy's, 16 laws")


def check_special_shapes(named) -> Evidence:
    """`named(alpha)` maps a shape to the scipy law that it should be."""
    x, alpha = np.linspace(-6, 6, 25), 3.0
    gaps = [np.abs(stats.gennorm.pdf(x, beta, scale=alpha) - law.pdf(x)).max() for beta, law in named(alpha).items()]
    return compare(float(max(gaps)), "<=", TOLERANCE, detail="largest difference of densities at alpha = 3")


def density_at_own_token(density, alpha, beta, i):
    """(density at lag 0, weight of lag 0 among the i visible lags)."""
    visible = stats.gennorm.pdf(-np.arange(i), beta, scale=alpha)
    return float(density(alpha, beta, i)[0]), float(visible[0] / visible.sum())


def check_is_the_law(density) -> Evidence:
    grid = sorted(product((1, 2), (1, 2), (1, 2)), key=sum)
    found = smallest_counterexample(
        density_at_own_token, density, ({"alpha": a, "beta": b, "i": i} for a, b, i in grid)
    )
    totals = [float(np.sum(density(a, b, i))) for a, b, i in grid]
    worst = max(totals, key=lambda total: abs(total - 1))
    return compare(worst, "==", 1.0, TOLERANCE, counterexample=found, detail="sum over visible lags farthest from one")


def check_visible_law(pmf) -> Evidence:
    worst = 0.0
    for alpha, beta, i in product((0.5, 3.0, 40.0), (0.4, 1.0, 2.0), (1, 2, 9, 300)):
        found = pmf(alpha, beta, i)
        law = stats.gennorm.pdf(-np.arange(i), beta, scale=alpha)
        worst = max(worst, float(np.max(np.abs(found - law / law.sum()))))
        if beta == 1.0:  # scipy's truncated discrete exponential, a second and independent form
            worst = max(worst, float(np.max(np.abs(found - stats.boltzmann.pmf(np.arange(i), 1 / alpha, i)))))
    return compare(worst, "<=", TOLERANCE, detail="against renormalised gennorm, and boltzmann at beta = 1")


# L1, L2: the causal mask and ALiBi


def check_causal_uniform(mask_row) -> Evidence:
    length, worst = 64, 0.0
    for i in range(1, length + 1):
        expected = stats.randint(1, i + 1).pmf(np.arange(1, length + 1))
        worst = max(worst, float(np.max(np.abs(theory.softmax(mask_row(i, length)) - expected))))
    return compare(worst, "==", 0.0, 0.0, detail="against scipy.stats.randint, exactly, all queries of 64")


def check_nope(attend) -> Evidence:
    worst = 0.0
    for i, (f, _) in enumerate(random_logits(60, 24), start=1):
        visible = 1 + i % len(f)
        exact = [*exact_softmax(f[:visible]), *[mpmath.mpf(0)] * (len(f) - visible)]
        worst = max(worst, distance(attend(f, visible), exact))
    return compare(worst, "<=", TOLERANCE, detail="against the softmax of the visible content alone")


def check_laplace_shape(law) -> Evidence:
    worst = 0.0
    for m, i in product(SLOPES, (1, 2, 7, 64, 513)):
        p = law(m, i)
        worst = max(worst, float(np.max(np.abs(p / p.sum() - stats.boltzmann.pmf(np.arange(i), m, i)))))
    return compare(worst, "<=", TOLERANCE, detail="after normalising, against scipy.stats.boltzmann")


def weight_of_own_token(law, m, i):
    """(claimed, actual) prior weight of lag 0 at query i under slope m."""
    return float(law(m, i)[0]), float(exact_softmax([-m * d for d in range(i)])[0])


def check_alibi_prior(law) -> Evidence:
    grid = sorted(product((1, 2, 3), (1, 2, 3)), key=sum)
    found = smallest_counterexample(weight_of_own_token, law, ({"m": m, "i": i} for m, i in grid))
    worst = max(
        distance(law(m, i), exact_softmax([-m * d for d in range(i)])) for m, i in product(SLOPES, (1, 2, 7, 64, 513))
    )
    return compare(worst, "<=", TOLERANCE, counterexample=found, detail="against softmax(M + A) at 50 digits")


# C10: T5's bias; F5: the scheme


def check_t5_prior(posterior) -> Evidence:
    """Theorem 1 with g = b[bucket(d)]: the attention weights of a T5 head at 200 keys."""
    draw, worst = np.random.default_rng(4), 0.0
    for _ in range(10):
        biases, f = draw.standard_normal(32), draw.standard_normal(200)
        logits = biases[theory.t5_bucket(np.arange(199, -1, -1))]
        prior = theory.softmax(logits)
        worst = max(worst, abs(float(prior.sum()) - 1), distance(posterior(f, prior), exact_softmax(f + logits)))
    return compare(worst, "<=", TOLERANCE, detail="10 random heads over 200 keys")


def check_histogram(fit) -> Evidence:
    """Every prior that is constant on the buckets is reached: `fit(target per lag)` returns the bias per lag."""
    draw, lags = np.random.default_rng(5), np.arange(200)
    worst = 0.0
    for _ in range(10):
        weights = draw.exponential(size=32)[theory.t5_bucket(lags)]
        target = weights / weights.sum()
        worst = max(worst, float(np.max(np.abs(theory.softmax(fit(target)) - target))))
    return compare(worst, "<=", TOLERANCE, detail="random step functions on T5's buckets, 200 lags")


def one_slope(target: np.ndarray) -> np.ndarray:
    """The best straight line through log target: a parametric family of one slope."""
    lags = np.arange(len(target))
    return np.polyval(np.polyfit(lags, np.log(target), 1), lags)


def check_scheme(matrices) -> Evidence:
    """p_ij proportional to exp(content) x gennorm density over j <= i, written out entry by entry."""
    content, worst = np.random.default_rng(6).standard_normal((7, 7)), 0.0
    for alpha, beta, mu in ((2.0, 1.0, 0.0), (3.0, 0.5, 0.0), (2.0, 2.0, -1.0)):
        parts = matrices(content, alpha, beta, mu)
        for i in range(7):
            row = [np.exp(content[i, j]) * stats.gennorm.pdf(j - i, beta, mu, alpha) * (j <= i) for j in range(7)]
            found = theory.softmax(sum(part[i] for part in parts))
            worst = max(worst, float(np.max(np.abs(found - np.array(row) / np.sum(row)))))
    return compare(worst, "<=", TOLERANCE, detail="attention from the sum of the three matrices, 7 x 7")


def check_two_priors(matrices) -> Evidence:
    _, mask, bias = matrices(np.zeros((9, 9)), 2.0, 0.5, 0.0)
    worst = 0.0
    for i in range(9):
        uniform = stats.randint(0, i + 1).pmf(np.arange(9))
        shaped = uniform * stats.gennorm.pdf(np.arange(9) - i, 0.5, scale=2.0)
        worst = max(worst, float(np.max(np.abs(theory.softmax(mask[i]) - uniform))))
        worst = max(worst, float(np.max(np.abs(theory.softmax(mask[i] + bias[i]) - shaped / shaped.sum()))))
    return compare(worst, "<=", TOLERANCE, detail="softmax(M) against randint, softmax(M + B) against gennorm")


def transposed_mask(content, alpha, beta, mu):
    c, mask, bias = theory.score_matrices(content, alpha, beta, mu)
    return c, mask.T, bias


def flipped_bias(content, alpha, beta, mu):
    c, mask, bias = theory.score_matrices(content, alpha, beta, mu)
    return c, mask, -bias


def visible_prior(alpha, beta, i):
    return theory.softmax(theory.log_generalised_gaussian(-np.arange(i), alpha, beta))


CHECKS = {
    check.id: check
    for check in (
        Check(
            "BAM-D5",
            (
                Part(
                    "Uniform(a, b) is proportional to the indicator of a <= x <= b",
                    lambda a, b, x: a <= x <= b,
                    check_uniform_law,
                    false=lambda a, b, x: a <= x <= b + 1,
                ),
                Part(
                    "the generalised Gaussian is proportional to exp(-|(x - mu) / alpha|^beta)",
                    theory.log_generalised_gaussian,
                    check_generalised_shape,
                    false=lambda x, alpha, beta, mu: -(np.abs(x - mu) ** beta) / alpha,
                ),
                Part(
                    "shape 1 is Laplace and shape 2 is Normal",
                    lambda alpha: {1: stats.laplace(scale=alpha), 2: stats.norm(scale=alpha / np.sqrt(2))},
                    check_special_shapes,
                    false=lambda alpha: {1: stats.laplace(scale=alpha), 2: stats.norm(scale=alpha)},
                ),
                Part(
                    "the prior of a query over its visible lags is that law",
                    lambda alpha, beta, i: stats.gennorm.pdf(-np.arange(i), beta, scale=alpha),
                    check_is_the_law,
                    false=lambda alpha, beta, i: 2 * stats.gennorm.pdf(-np.arange(i), beta, scale=alpha),
                    evaluate=density_at_own_token,
                    repaired=visible_prior,
                ),
            ),
            corrected=Part(
                "Query i sees a one-sided, truncated, discrete law: pi_d = exp(-(d / alpha)^beta) / sum over d < i "
                "(mu = 0); for beta = 1 the truncated geometric law.",
                visible_prior,
                check_visible_law,
                false=lambda alpha, beta, i: 2 * stats.gennorm.pdf(np.arange(i), beta, scale=alpha),
            ),
            practice="moments of the continuous law (mean zero, its variance) say nothing about the prior of a query",
        ),
        Check(
            "BAM-L1",
            (
                Part(
                    "softmax(M_i) is 1/i on the keys 1..i and 0 beyond",
                    theory.causal_row,
                    check_causal_uniform,
                    false=lambda i, length: theory.causal_row(min(i + 1, length), length),
                ),
                Part(
                    "with it, attention is the softmax of content over the visible keys (NoPE)",
                    lambda f, i: theory.posterior(f, theory.softmax(theory.causal_row(i, len(f)))),
                    check_nope,
                    false=lambda f, i: theory.softmax(f),
                ),
            ),
            practice="NoPE is not free of position: its prior weighs every key by 1/i, so it dilutes with length",
        ),
        Check(
            "BAM-L2",
            (
                Part(
                    "ALiBi's prior is proportional to Uniform x Laplace(0, 1/m)",
                    theory.uniform_times_laplace,
                    check_laplace_shape,
                    false=lambda m, i: theory.uniform_times_laplace(2 * m, i),
                ),
                Part(
                    "ALiBi's prior equals Uniform x Laplace(0, 1/m)",
                    theory.uniform_times_laplace,
                    check_alibi_prior,
                    false=lambda m, i: 2 * theory.uniform_times_laplace(m, i),
                    evaluate=weight_of_own_token,
                ),
            ),
            corrected=Part(
                "At query i the lag d has prior (1 - r) r^d / (1 - r^i), r = exp(-m), d = 0..i-1: the truncated "
                "geometric law, to which Uniform x Laplace is proportional.",
                theory.truncated_geometric,
                check_alibi_prior,
                false=lambda m, i: -np.expm1(-m) * np.exp(-m * np.arange(i)),
            ),
            practice="mean lag tends to 1 / (e^m - 1) however long the context: slope 1/2 looks back 1.5 tokens",
        ),
        Check(
            "BAM-C10",
            (
                Part(
                    "softmax of T5's bucketed bias is a prior over lags, to which Theorem 1 applies",
                    theory.posterior,
                    check_t5_prior,
                    false=lambda f, prior: theory.posterior(f, prior**2),
                ),
                Part(
                    "it is non-parametric: a histogram on T5's buckets, free in every bucket",
                    np.log,
                    check_histogram,
                    false=one_slope,
                ),
            ),
            practice="a histogram only: with 32 buckets up to 128, lags 16 to 18 share a value and the prior is flat "
            "from lag 113 on, so far keys dilute as under NoPE",
        ),
        Check(
            "BAM-F5",
            (
                Part(
                    "the score is the sum of content, causal mask and generalised Gaussian bias",
                    theory.score_matrices,
                    check_scheme,
                    false=flipped_bias,
                ),
                Part(
                    "the mask carries the uniform prior, mask and bias together the generalised Gaussian one",
                    theory.score_matrices,
                    check_two_priors,
                    false=transposed_mask,
                ),
            ),
            practice="in code mask and bias are one table by lag, added to content logits scaled by 1/sqrt(width)",
        ),
    )
}
