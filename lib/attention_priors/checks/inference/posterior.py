"""BAM, section 2.1: attention is an expectation under a posterior over one variable, the key; SSMax is no normaliser.

Truths come from elsewhere than our own code: mpmath at 50 digits, and sampling that never forms a softmax (Gumbel-max,
rejection, conditioning on agreement), judged within four or more standard errors.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np

from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.theory import inference as theory

EXACT = 1e-12
PAIRS = ([0.5, 0.5], [0.75, 0.25], [0.25, 0.75])  # distributions over two keys, the simplest first
OF_TWO = grid(content=PAIRS, prior=PAIRS)
ROWS = grid(keys=(1, 2, 7, 40), seed=range(8), masked=(False, True))
PLAIN = grid(keys=(1, 2, 7, 30), seed=range(8))
DRAWN = grid(seed=(1, 2, 3), samples=[400_000])
Array = np.ndarray


def exact_softmax(logits: Array) -> Array:
    """softmax at 50 digits; -inf has weight zero."""
    with mpmath.workdps(50):
        weights = [mpmath.exp(mpmath.mpf(float(x))) for x in logits]
        total = mpmath.fsum(weights)
        return np.array([float(weight / total) for weight in weights])


def logits(keys: int, seed: int, masked: bool = False) -> tuple[Array, Array]:
    """f and g; with `masked`, some keys of g are -inf (never the last)."""
    draw = np.random.default_rng([keys, seed])
    f, g = 3 * draw.standard_normal((2, keys))
    if masked:
        g[:-1][draw.random(keys - 1) < 0.3] = -np.inf
    return f, g


def softmax(x: Array) -> Array:
    """As printed: exp(x_j) / sum_z exp(x_z)."""
    return np.exp(x) / np.exp(x).sum()


def factors(keys: int, seed: int, masked: bool = False) -> tuple[Array, Array]:
    """softmax(f), softmax(g)."""
    f, g = logits(keys, seed, masked)
    return softmax(f), softmax(g)


def attention(keys: int, seed: int, masked: bool = False) -> Array:
    """softmax(f + g) at 50 digits."""
    f, g = logits(keys, seed, masked)
    return exact_softmax(f + g)


def probability(says: Callable[[Array], Array], keys: int, seed: int, masked: bool) -> tuple[list[float], list[float]]:
    """(1, 0), and total and negative part of the weights that are said."""
    weights = says(sum(logits(keys, seed, masked)))
    return [1.0, 0.0], [float(weights.sum()), float(-weights[weights < 0].sum())]


def scores(seed: int) -> tuple[Array, Array]:
    """Scores of six keys and their values [6 4]."""
    draw = np.random.default_rng(seed)
    return draw.standard_normal(6), draw.standard_normal((6, 4))


def expectation(sign: int) -> Callable[[int], Array]:
    def mean(seed: int) -> Array:
        s, values = scores(seed)
        return softmax(sign * s) @ values

    return mean


def gumbel(seed: int, samples: int) -> Array:
    """argmax_j (s_j + Gumbel noise) is a draw from softmax(s): the mean of v at the draws needs no softmax."""
    s, values = scores(seed)
    noise = np.random.default_rng([seed, samples]).gumbel(size=(samples, 6))
    return values[np.argmax(s + noise, axis=1)].mean(axis=0)


def product(power: int) -> Callable[..., Array]:
    """softmax(f) softmax(g) Z^power."""

    def weights(keys: int, seed: int, masked: bool = False) -> Array:
        p, q = factors(keys, seed, masked)
        return p * q * (p @ q) ** float(power)

    return weights


def proportional(keys: int, seed: int) -> Array:
    p, q = factors(keys, seed)
    return p * q / np.sum(p * q)


def average(keys: int, seed: int) -> Array:
    return sum(factors(keys, seed)) / 2


def factor_total(content: list[float], prior: list[float]) -> float:
    """Sum over the keys of what multiplies the prior."""
    return float((theory.factorised(np.log(content), np.log(prior)) / prior).sum())


def five(seed: int) -> tuple[Array, Array]:
    """Content scores and a prior over five keys."""
    draw = np.random.default_rng(seed)
    return draw.standard_normal(5), draw.dirichlet(np.ones(5))


def bayes(inverse_temperature: float) -> Callable[[int], Array]:
    def posterior(seed: int) -> Array:
        f, prior = five(seed)
        weights = prior * np.exp(inverse_temperature * f)
        return weights / weights.sum()

    return posterior


def rejection(seed: int, samples: int) -> Array:
    """Bayes by experiment: draw j from the prior, keep it with probability exp(f_j - max f)."""
    f, prior = five(seed)
    draw = np.random.default_rng([seed, samples])
    proposed = draw.choice(5, size=samples, p=prior)
    kept = proposed[draw.random(samples) < np.exp(f - f.max())[proposed]]
    return np.bincount(kept, minlength=5) / len(kept)


def position_marginal(content: list[float], prior: list[float]) -> float:
    """Weight of the first position: the joint table of (content, position) of distinct keys holds the attention weights
    on its diagonal, and summing it over content leaves them."""
    return float(np.diag(exact_softmax(np.log(content) + np.log(prior))).sum(axis=0)[0])


def agreement(position: int) -> Callable[[int], list[float]]:
    """The posterior of five keys, then the probability that draws from both softmaxes agree."""

    def law(seed: int) -> list[float]:
        f, prior = five(seed)
        laws = (softmax(f), prior)
        joint = laws[0] * laws[position]
        return [*joint / joint.sum(), joint.sum()]

    return law


def agreeing(seed: int, samples: int) -> list[float]:
    """Two independent draws, one by content, one by position: the trials in which they name the same key."""
    f, prior = five(seed)
    noise = np.random.default_rng([seed, samples]).gumbel(size=(2, samples, 5))
    first, second = (np.argmax(x + noise[each], axis=1) for each, x in enumerate((f, np.log(prior))))
    agreed = first[first == second]
    return [*np.bincount(agreed, minlength=5) / len(agreed), len(agreed) / samples]


def odds(scores: list[float], scales: list[float]) -> float:
    """Of two keys at the second scale."""
    weights = theory.scalable(scores, scales[1])
    return float(weights[0] / weights[1])


def log_odds(n: int, s: float, gap: float, factor: float) -> float:
    """From weights c n^(s z), normalised, at 50 digits: two of n keys, `gap` apart."""
    with mpmath.workdps(50):
        z = [gap, *np.random.default_rng(n).standard_normal(n - 2), 0.0]
        weights = [mpmath.mpf(factor) * mpmath.mpf(n) ** (mpmath.mpf(s) * mpmath.mpf(float(each))) for each in z]
        first, *_, last = (each / mpmath.fsum(weights) for each in weights)
        return float(mpmath.log(first / last))


CHECKS = claims(
    claim(
        "BAM-D1",
        Law("The weights exp(s_j) / sum_z exp(s_z) are a probability vector.", softmax, probability, ROWS,
            wrong=lambda x: 1 / (1 + np.exp(-x)), tolerance=EXACT),
        Law("The output is the expectation of the values under them.", expectation(1), gumbel, DRAWN,
            wrong=expectation(-1), tolerance=lambda samples: 5 / samples**0.5),
        practice="Attention can be studied, and estimated by sampling, as a mean under a law over keys.",
    ),
    claim(
        "BAM-D2",
        Law("p_j is softmax(g)_j times softmax(f)_j / Z.", product(-1), attention, PLAIN, wrong=product(1),
            tolerance=EXACT),
        Law("p_j is proportional to softmax(f)_j softmax(g)_j.", proportional, attention, PLAIN, wrong=average,
            tolerance=EXACT),
        Law("The factor that multiplies the prior is a conditional probability over the same keys: it sums to 1.",
            1.0, factor_total, OF_TWO, wrong=2.0),
        corrected=Law("There is one random variable, the key j. With prior pi = softmax(g) and likelihood proportional "
                      "to exp(f_j), Bayes' rule gives p_j = pi_j exp(f_j) / sum_z pi_z exp(f_z), which is attention.",
                      bayes(1), rejection, DRAWN, wrong=bayes(2), tolerance=lambda samples: 5 / samples**0.5),
        practice="Content acts as evidence about which key answers; it is not a second variable to be marginalised.",
    ),
    claim(
        "BAM-T1",
        Law("For a score f + g, p = softmax(f) softmax(g) / Z with the divisor Z = <softmax(f), softmax(g)>.",
            product(-1), attention, ROWS, wrong=product(0), tolerance=EXACT),
        Law("softmax(f) and softmax(g) are the marginals of p over content and position (here softmax(g) of the first "
            "of two keys).", lambda prior: prior[0], position_marginal, OF_TWO, wrong=lambda content: content[0]),
        corrected=Law("Draw one key by content, J ~ softmax(f), and one by position, J' ~ softmax(g), independently: p "
                      "is the law of J given J = J', and Z_i, one number per query, is the probability of that "
                      "agreement.", agreement(1), agreeing, DRAWN, wrong=agreement(0),
                      tolerance=lambda samples: 5 / samples**0.5),
        practice="Any additive bias is a prior, and its product with content needs only a normalisation per query.",
    ),
    claim(
        "BAM-E12",
        Law("SSMax's scale does the work of the normalising scalar Z: it leaves the odds of two keys alone.",
            lambda scores, scales: 2.0 ** (scales[0] * (scores[0] - scores[1])), odds,
            grid(scores=([0, 0], [1, 0], [0, 1]), scales=[[1, 2]]),
            wrong=lambda scores, scales: 2.0 ** (scales[0] * (scores[1] - scores[0]))),
        corrected=Law("The scale is an inverse temperature: the odds of two keys are n^(s (z_j - z_k)). Z is fixed by "
                      "f and g and cancels, so nothing in attention can learn it.",
                      lambda n, s, gap: s * gap * np.log(n), log_odds,
                      grid(n=(2, 5, 40), s=(0.25, 1.0, 3.0), gap=(0.5, -2.0), factor=(1, 1e-9)),
                      wrong=lambda n, gap: gap * np.log(n), tolerance=EXACT),
        practice="What SSMax learns is how sharply a head attends as the context grows.",
    ),
)  # fmt: skip
