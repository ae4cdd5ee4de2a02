"""Survey, kernels of the distance: KERPLE and Sandwich.

Independent evidence: eigenvalues of Gram matrices, transformers' sinusoidal embedding, BLOOM's weights, sympy.
"""

from __future__ import annotations

import math

import numpy as np

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.checks.survey_priors import SINGLE, bloom_slopes, bloom_weights
from attention_priors.theory.inference import softmax

POINTS = 40
ROUNDING = 1e-12  # of the largest eigenvalue
WIDTH, BASE, HEADS = 128, 1e4, 12  # of the Sandwich code that the survey lists
CONTEXT = 1024


# KERPLE: conditionally positive definite kernels


def least_eigenvalue(kernel, points) -> float:
    """Smallest eigenvalue on vectors of sum zero, relative to the largest: >= 0 is conditional definiteness."""
    n = len(points)
    centre = np.eye(n) - 1 / n
    values = np.linalg.eigvalsh(centre @ kernel(np.abs(np.subtract.outer(points, points))) @ centre)
    return float(values[0] / np.abs(values).max())


def check_powers(domain) -> Evidence:
    """`domain(r2)`: -|d|^r2 is conditionally positive definite."""
    points, wrong = np.arange(float(POINTS)), []
    for r2 in (0.1, 0.5, 1.0, 1.5, 1.9, 2.0, 2.1, 2.5, 3.0, 3.9):
        definite = least_eigenvalue(lambda d, r2=r2: -(d**r2), points) >= -ROUNDING
        if definite != domain(r2):
            wrong.append(r2)
    return compare(len(wrong), "==", 0, 0, detail=f"exponents that the eigenvalues judge otherwise: {wrong or '-'}")


def check_definite(kernel) -> Evidence:
    """`kernel(d, r1, r2)` on integers and on random reals."""
    draw, least = np.random.default_rng(0), np.inf
    for r1 in (0.1, 1.0, 5.0):
        for r2 in (0.01, 1.0, 30.0):
            for points in (np.arange(float(POINTS)), np.sort(draw.uniform(0, 100, POINTS))):
                least = min(least, least_eigenvalue(lambda d, r1=r1, r2=r2: kernel(d, r1, r2), points))
    return compare(least, ">=", -ROUNDING, detail="least relative eigenvalue on vectors of sum zero, 18 kernels")


def check_rescaled(coefficient) -> Evidence:
    """softmax((qᵀk - r1 d^r2) / sqrt(width)), as printed, against a bias of `coefficient(r1, width)` added later."""
    draw, worst = np.random.default_rng(1), 0.0
    for width, r1, r2 in ((5, 0.3, 0.5), (64, 2.0, 1.0), (12, 0.01, 2.0)):
        q, keys = draw.standard_normal(width), draw.standard_normal((30, width))
        power = np.arange(29, -1, -1.0) ** r2
        printed = softmax((keys @ q - r1 * power) / math.sqrt(width))
        added = softmax(keys @ q / math.sqrt(width) - coefficient(r1, width) * power)
        worst = max(worst, float(np.abs(printed - added).max()))
    return compare(worst, "<=", 1e-12, detail="difference of weights, widths 5, 12 and 64")


def check_triangle(kernel) -> Evidence:
    """softmax(kernel(d, r1, c) / sqrt(width)) with r1 = m sqrt(width) against BLOOM's weights, for any c."""
    lags, worst = np.arange(23, -1, -1.0), 0.0
    for m, row in zip(bloom_slopes(), bloom_weights(4)[0][:, -1], strict=True):
        for c in (0.0, 7.0, 100.0):
            worst = max(worst, float(np.abs(softmax(kernel(lags, m * 2.0, c) / 2.0) - row).max()))
    return compare(worst, "<=", SINGLE, detail="difference from BLOOM's weights at zero content, 8 heads")


def nearest_of_two(kernel, width, slope):
    """(claimed, actual) weight of the nearer of two keys, at lags 0 and 1, in the head of ALiBi with that slope."""
    claimed = np.atleast_2d(kernel(np.arange(2.0), 0.0))[0] / math.sqrt(width)
    return float(softmax(claimed)[0]), 1 / (1 + math.exp(-slope))


def check_slopeless(kernel) -> Evidence:
    """`kernel(d, c)`, divided by sqrt(width) or not, against BLOOM's weights in every head, for any c."""
    lags, weights = np.arange(23, -1, -1.0), bloom_weights(4)[0][:, -1]
    worst = {
        divisor: max(
            float(np.abs(softmax(row / divisor) - actual).max())
            for c in (0.0, 7.0)
            for row, actual in zip(np.broadcast_to(kernel(lags, c), weights.shape), weights, strict=True)
        )
        for divisor in (1.0, 2.0)
    }
    best, found = min(worst.values()), None
    if best > SINGLE:
        found = smallest_counterexample(nearest_of_two, kernel, [{"width": 4, "slope": 0.25}])
    return compare(best, "<=", SINGLE, counterexample=found, detail="largest difference from BLOOM's weights, 8 heads")


# Sandwich: the sum of cosines


def check_addition(expression) -> Evidence:
    """sin a sin b + cos a cos b, by sympy."""
    import sympy

    a, b = sympy.symbols("a b", real=True)
    gap = sympy.simplify(expression(sympy, a, b) - (sympy.sin(a) * sympy.sin(b) + sympy.cos(a) * sympy.cos(b)))
    return compare(str(gap), "==", "0", detail="the difference, simplified by sympy")


def cosines(lag, width, first=0, base=BASE):
    """sum of cos(lag base^(-2i/width)) over width / 2 indices from `first` on."""
    i = np.arange(first, first + width // 2)
    return np.cos(np.asarray(lag, dtype=np.float64)[..., None] * base ** (-2 * i / width)).sum(-1)


def embedding_product(similarity, width, lag):
    """(claimed, actual) scalar product of two sinusoidal embeddings of that width, `lag` apart."""
    i = range(width // 2)
    return float(similarity(lag, width)), sum(math.cos(lag / BASE ** (2 * k / width)) for k in i)


def check_embeddings(similarity) -> Evidence:
    """`similarity(lag, width)` against the products of transformers' sinusoidal embeddings."""
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    worst = 0.0
    for width in (2, 16, WIDTH):
        layer = MarianSinusoidalPositionalEmbedding(300, width)
        table = layer.create_weight().double().numpy()
        products = table @ table.T
        lags = np.abs(np.subtract.outer(np.arange(300), np.arange(300)))
        worst = max(worst, float(np.abs(products - similarity(lags, width)).max()))
    found = smallest_counterexample(embedding_product, similarity, [{"width": 2, "lag": 1}, {"width": 2, "lag": 2}])
    return compare(worst, "<=", 1e-3, counterexample=found, detail="against float32 embeddings of transformers")


def check_ratios(ratio) -> Evidence:
    """The library's prior against the formula in a plain loop, with `ratio(h, H)` as its divisor."""
    import torch

    from attention_priors.positions.sandwich import Sandwich

    table, worst = Sandwich(HEADS, WIDTH).double().log_prior(torch.arange(50)).numpy(), 0.0
    for lag in range(50):
        total = 0.0
        for i in range(WIDTH // 2):
            total += math.cos(lag / BASE ** (2 * i / WIDTH))
        for h in range(1, HEADS + 1):
            worst = max(worst, abs(float(table[h - 1, lag]) * ratio(h, HEADS) / total - 1))
    return compare(worst, "<=", 1e-5, detail="relative error of bias x ratio = sum of cosines, 12 heads, 50 lags")


# Sandwich: the logarithm


def logarithm(lag, width):
    """width/2 (1 - (ln lag + gamma) / ln base)."""
    return width / 2 * (1 - (np.log(lag) + np.euler_gamma) / math.log(BASE))


def shifted_logarithm(lag, width):
    """With the half of Euler and Maclaurin: the sum has its largest term, the integral has not."""
    return logarithm(lag, width) - 0.5


def bias_at(approximate, width, lag):
    """(claimed, actual) sum of cosines."""
    return float(approximate(lag, width)), float(cosines(lag, width))


def check_every_lag(approximate) -> Evidence:
    """Within 5 % of width / 2 at every lag 16..1024."""
    lags = np.arange(16, CONTEXT + 1)
    gaps = np.abs(approximate(lags, WIDTH) - cosines(lags, WIDTH)) / (WIDTH / 2)
    candidates = [{"width": 16, "lag": 16}, *({"width": WIDTH, "lag": int(lag)} for lag in lags[gaps > 0.05])]
    found = smallest_counterexample(bias_at, approximate, candidates)
    return compare(float(gaps.max()), "<=", 0.05, counterexample=found, detail="error / (width / 2), lags 16..1024")


def check_octaves(approximate) -> Evidence:
    """Means over the lags d..2d - 1 for d = 16..2048."""
    gaps = [
        abs(float((approximate(lags, WIDTH) - cosines(lags, WIDTH)).mean()))
        for lags in (np.arange(low, 2 * low) for low in 2 ** np.arange(4, 12))
    ]
    return compare(max(gaps), "<=", 0.2, detail="largest error of a mean over an octave, of 64")


def check_gram(kernel) -> Evidence:
    values = np.linalg.eigvalsh(kernel(np.subtract.outer(np.arange(300), np.arange(300)), WIDTH))
    return compare(float(values[0] / values[-1]), ">=", -1e-12, detail="least over largest eigenvalue, 300 positions")


def power_law(lags, head):
    """KERPLE-log with the slope of the logarithm: r1 = width / (2 ratio ln base), r2 = e^gamma."""
    r1 = WIDTH / (2 * 8 * head / HEADS * math.log(BASE))
    return -r1 * np.log1p(math.exp(np.euler_gamma) * lags)


def sandwich_bias(lags, head):
    return cosines(lags, WIDTH) / (8 * head / HEADS)


def own_weight(bias, head, keys):
    """(claimed, actual) weight of the query's own key among the `keys` nearest, head `head` of 12."""
    lags = np.arange(keys)
    return float(softmax(bias(lags, head))[0]), float(softmax(sandwich_bias(lags, head))[0])


def check_close(bias) -> Evidence:
    """Total variation at most 0.1 from each of Sandwich's 12 heads over 1024 keys."""
    lags = np.arange(CONTEXT)
    worst = max(
        float(np.abs(softmax(bias(lags, head)) - softmax(sandwich_bias(lags, head))).sum()) / 2
        for head in range(1, HEADS + 1)
    )
    grid = ({"head": head, "keys": 2} for head in (1, 2, 3, 4))
    found = smallest_counterexample(own_weight, bias, grid, tolerance=0.1)
    return compare(worst, "<=", 0.1, counterexample=found, detail="largest total variation, 12 heads, 1024 keys")


KERPLE = Check(
    "PE-KERPLE",
    (
        Part(
            "-r1 |lag|^r2 is a kernel of the method (conditionally positive definite) for 0 < r2 <= 2, not beyond",
            lambda r2: 0 < r2 <= 2,
            check_powers,
            false=lambda r2: 0 < r2 <= 3,
        ),
        Part(
            "-r1 log(1 + r2 |lag|) is one for all r1, r2 > 0",
            lambda d, r1, r2: -r1 * np.log1p(r2 * d),
            check_definite,
            false=lambda d, r1, r2: r1 * np.log1p(r2 * d),
        ),
        Part(
            "inside the softmax, divided by sqrt(d) like the content of width d: r1 / sqrt(d) beside scaled content",
            lambda r1, width: r1 / math.sqrt(width),
            check_rescaled,
            false=lambda r1, width: r1,
        ),
        Part(
            "the triangle kernel c - |lag| reduces to ALiBi",
            lambda d, c: c - np.abs(d),
            check_slopeless,
            false=lambda d, c: c - d**2,
            evaluate=nearest_of_two,
            repaired=lambda d, c: c - bloom_slopes()[:, None] * np.abs(d),
        ),
    ),
    corrected=Part(
        "With a factor, r1 (c - |lag|), that is r2 = 1, the triangle kernel gives ALiBi: r1 = slope x sqrt(d) in a "
        "head of width d. Without it all heads have one slope.",
        lambda d, r1, c: r1 * (c - np.abs(d)),
        check_triangle,
        false=lambda d, r1, c: r1 * (c - d**2),
    ),
    practice="printed r1 are sqrt(d) times those of code that adds the bias after the scaling (d is the width); the "
    "logarithm with r1 <= 1 is the one kernel without a window",
)

SANDWICH = Check(
    "PE-SAND",
    (
        Part(
            "sin a sin b + cos a cos b = cos(a - b)",
            lambda sympy, a, b: sympy.cos(a - b),
            check_addition,
            false=lambda sympy, a, b: sympy.cos(a + b),
        ),
        Part(
            "the product of two embeddings is the sum of the cosines for i = 1..width/2",
            lambda lag, width: cosines(lag, width, first=1),
            check_embeddings,
            false=lambda lag, width: cosines(lag, width, first=2),
            evaluate=embedding_product,
        ),
        Part(
            "head h of H divides it by 8 h / H",
            lambda h, heads: 8 * h / heads,
            check_ratios,
            false=lambda h, heads: 8 * (h - 0.5) / heads,
        ),
    ),
    corrected=Part(
        "The product of two embeddings is the sum of cos((m - n) / 10000^(2i/width)) for i = 0..width/2 - 1, as in the "
        "listed code.",
        cosines,
        check_embeddings,
        false=lambda lag, width: cosines(lag, width, base=5e3),
    ),
    practice="the index shifts the fastest plane away: at width 128, 62.09 becomes 62.55 at lag 1. The bias has rank "
    "<= width as it is; dividing it by a number per head compresses nothing",
)

LOGARITHM = Check(
    "PE-SAND2",
    (
        Part(
            "the sum of cosines is width/2 (1 - (ln d + gamma) / ln 10^4), within 5 % of width/2, at lags 16 to 1024",
            logarithm,
            check_every_lag,
            false=lambda lag, width: width / 2 * (1 - np.log(lag) / math.log(BASE)),
            evaluate=bias_at,
            repaired=cosines,
        ),
        Part(
            "the kernel is positive definite",
            cosines,
            check_gram,
            false=lambda lag, width: cosines(lag, width) - width / 2,
        ),
        Part(
            "each head is within total variation .1 of the KERPLE-log prior of that slope",
            power_law,
            check_close,
            false=lambda lags, head: 2 * power_law(lags, head),
            evaluate=own_weight,
            repaired=sandwich_bias,
        ),
    ),
    corrected=Part(
        "At width 128, averaged over an octave of lags between 16 and 4096, the sum of cosines is width/2 (1 - "
        "(ln d + gamma) / ln 10^4) - 1/2. Single lags scatter around it, and the first lags do not have the weights "
        "of a power law.",
        shifted_logarithm,
        check_octaves,
        false=lambda lag, width: width / 2 * (1 - np.log(lag) / math.log(BASE)) - 0.5,
    ),
    practice="tails beyond a window fall like a power of exponent width / (2 ratio ln 10^4); single keys far back gain "
    "or lose up to 9 / ratio logits by where they stand",
)

CHECKS = {check.id: check for check in (KERPLE, SANDWICH, LOGARITHM)}
