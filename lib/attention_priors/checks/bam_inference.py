"""BAM, section 2.1: attention is an expectation under a posterior over one variable, the key; SSMax is no normaliser.

The numbers come from elsewhere than our own code: mpmath at 50 digits, and sampling that never forms a softmax
(Gumbel-max, rejection, conditioning on agreement), judged within four standard errors.
"""

from __future__ import annotations

from itertools import product

import mpmath
import numpy as np

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.theory import inference as theory

TOLERANCE = 1e-12
STANDARD_ERRORS = 4.0
PAIRS = ([0.5, 0.5], [0.75, 0.25], [0.25, 0.75])  # distributions over two keys, the simplest first


def exact_softmax(logits) -> list:
    """softmax at 50 digits; -inf has weight zero."""
    with mpmath.workdps(50):
        weights = [mpmath.exp(mpmath.mpf(float(x))) for x in logits]
        total = mpmath.fsum(weights)
        return [w / total for w in weights]


def distance(found, exact) -> float:
    return max(abs(float(mpmath.mpf(float(a)) - b)) for a, b in zip(found, exact, strict=True))


def random_logits(count: int, largest: int, masked: bool = False):
    """Pairs (f, g) of logits over 1..largest keys; with `masked`, some keys of g are -inf (never the last)."""
    draw = np.random.default_rng(0)
    for _ in range(count):
        keys = int(draw.integers(1, largest + 1))
        f, g = 3 * draw.standard_normal((2, keys))
        if masked:
            g[:-1][draw.random(keys - 1) < 0.3] = -np.inf
        yield f, g


def z_scores(hits: np.ndarray, total: int, p: np.ndarray) -> float:
    """Largest |frequency - p| in binomial standard errors; the floor of one count keeps p = 0 and 1 defined."""
    error = np.sqrt(np.maximum(p * (1 - p), 1 / total) / total)
    return float(np.max(np.abs(hits / total - p) / error))


# D1: attention is an expectation


def check_probability_vector(weights) -> Evidence:
    rows = [weights(f + g) for f, g in random_logits(200, 200, masked=True)]
    worst = max(max(abs(float(p.sum()) - 1.0), float(-p.min())) for p in rows)
    return compare(worst, "<=", TOLERANCE, detail="largest |row sum - 1| or negative weight over 200 random rows")


def check_expectation(attend) -> Evidence:
    """argmax_j (s_j + Gumbel noise) is a draw from softmax(s): the mean of v at the draws needs no softmax."""
    draw, samples = np.random.default_rng(1), 200_000
    scores, values = draw.standard_normal(6), draw.standard_normal((6, 4))
    seen = values[np.argmax(scores + draw.gumbel(size=(samples, 6)), axis=1)]
    error = seen.std(axis=0, ddof=1) / np.sqrt(samples)
    worst = float(np.max(np.abs(seen.mean(axis=0) - attend(scores, values)) / error))
    return compare(worst, "<=", STANDARD_ERRORS, detail=f"largest gap in standard errors, {samples} Gumbel-max draws")


# D2: what is left after dividing by the prior


def check_factorisation(factor) -> Evidence:
    worst = max(distance(factor(f, g) * theory.softmax(g), exact_softmax(f + g)) for f, g in random_logits(100, 30))
    return compare(worst, "<=", TOLERANCE, detail="largest |factor x prior - softmax(f + g)|")


def check_proportional(product_of_two) -> Evidence:
    """normalised(a_j) against softmax(f + g)_j."""
    worst = 0.0
    for f, g in random_logits(100, 30):
        a = product_of_two(theory.softmax(f), theory.softmax(g))
        worst = max(worst, distance(a / a.sum(), exact_softmax(f + g)))
    return compare(worst, "<=", TOLERANCE, detail="largest difference after normalising")


def factor_total(factor, content, prior):
    """(1, sum of the factor over the keys): a conditional distribution over keys would sum to one."""
    return 1.0, float(np.sum(factor(np.log(content), np.log(prior))))


def check_conditional(factor) -> Evidence:
    totals = [factor_total(factor, np.exp(f), np.exp(g))[1] for f, g in random_logits(50, 12)]
    found = smallest_counterexample(
        factor_total, factor, ({"content": p, "prior": q} for p, q in product(PAIRS, PAIRS))
    )
    measured = found["actual"] if found else max(totals, key=lambda t: abs(t - 1))
    detail = f"sums over keys between {min(totals):.3g} and {max(totals):.3g} on random rows"
    return compare(measured, "==", 1.0, TOLERANCE, counterexample=found, detail=detail)


def check_rejection(update) -> Evidence:
    """Bayes by experiment: draw j from the prior, keep it with probability exp(f_j - max f)."""
    draw, samples = np.random.default_rng(2), 400_000
    f, prior = draw.standard_normal(5), draw.dirichlet(np.ones(5))
    proposed = draw.choice(5, size=samples, p=prior)
    kept = proposed[draw.random(samples) < np.exp(f - f.max())[proposed]]
    worst = z_scores(np.bincount(kept, minlength=5), len(kept), np.asarray(update(f, prior)))
    return compare(worst, "<=", STANDARD_ERRORS, detail=f"largest gap in standard errors, {len(kept)} kept draws")


# T1: the product of two softmaxes


def check_theorem_1(posterior) -> Evidence:
    cases = [*random_logits(150, 40), *random_logits(150, 40, masked=True)]
    worst = max(distance(posterior(f, g), exact_softmax(f + g)) for f, g in cases)
    return compare(worst, "<=", TOLERANCE, detail="largest difference on 300 rows, half of them with masked keys")


def position_marginal(claimed, content, prior):
    """(claimed, actual) weight of the first position. The joint table of (content, position) of distinct keys holds the
    attention weights on its diagonal; summing it over content leaves them."""
    f, g = np.log(content), np.log(prior)
    table = np.diag([float(p) for p in exact_softmax(f + g)])
    return float(claimed(f, g)[0]), float(table.sum(axis=0)[0])


def check_marginal(claimed) -> Evidence:
    candidates = ({"content": p, "prior": q} for p, q in product(PAIRS, PAIRS))
    found = smallest_counterexample(position_marginal, claimed, candidates)
    worst = max(distance(claimed(f, g), exact_softmax(f + g)) for f, g in random_logits(50, 12))
    return compare(worst, "<=", TOLERANCE, counterexample=found, detail="claimed marginal against the table's")


def check_agreement(law) -> Evidence:
    """Two independent draws, one by content, one by position: keep the trials in which they name the same key."""
    draw, trials = np.random.default_rng(3), 400_000
    f, g = draw.standard_normal((2, 5))
    first = np.argmax(f + draw.gumbel(size=(trials, 5)), axis=1)
    second = np.argmax(g + draw.gumbel(size=(trials, 5)), axis=1)
    agreed = first[first == second]
    p, z = law(f, g)
    worst = max(
        z_scores(np.bincount(agreed, minlength=5), len(agreed), np.asarray(p)),
        z_scores(np.array([len(agreed)]), trials, np.array([z])),
    )
    return compare(worst, "<=", STANDARD_ERRORS, detail=f"largest gap in standard errors, {trials} pairs of draws")


# E12: what SSMax's scale can and cannot do


def odds_after_scaling(weights, scores, scales):
    """(odds of the two keys at the first scale, at the second): a normalising scalar would cancel."""
    return tuple(float(w[0] / w[1]) for w in (weights(np.array(scores, dtype=float), s) for s in scales))


def check_cancels(weights) -> Evidence:
    candidates = ({"scores": [a, b], "scales": [1, 2]} for a, b in ((0, 0), (1, 0), (0, 1)))
    found = smallest_counterexample(odds_after_scaling, weights, candidates)
    before, after = odds_after_scaling(weights, [1, 0], [1, 2])
    detail = "odds of two keys with scores 1 and 0 when the scale goes from 1 to 2"
    return compare(after, "==", before, TOLERANCE, counterexample=found, detail=detail)


def check_odds(odds) -> Evidence:
    """Odds from n^(s z) / sum n^(s z) at 50 digits; and a factor c on every exponential changes nothing."""
    draw, worst = np.random.default_rng(7), 0.0
    for n, s in product((2, 5, 40), (0.25, 1.0, 3.0)):
        z = draw.standard_normal(n)
        for c in (1, mpmath.mpf("1e-9")):
            weights = [c * mpmath.mpf(n) ** (s * mpmath.mpf(float(v))) for v in z]
            total = mpmath.fsum(weights)
            actual = float((weights[0] / total) / (weights[1] / total))
            worst = max(worst, abs(odds(n, s, z[0] - z[1]) / actual - 1))
    return compare(worst, "<=", TOLERANCE, detail="relative error of the odds, any common factor")


def conditional_factor(f, g):
    return theory.softmax(f) / theory.overlap(theory.softmax(f), theory.softmax(g))


CHECKS = {
    check.id: check
    for check in (
        Check(
            "BAM-D1",
            (
                Part(
                    "the weights exp(s_j) / sum_z exp(s_z) are a probability vector",
                    theory.softmax,
                    check_probability_vector,
                    false=lambda scores: 1 / (1 + np.exp(-scores)),
                ),
                Part(
                    "the output is the expectation of the values under them",
                    lambda scores, values: theory.softmax(scores) @ values,
                    check_expectation,
                    false=lambda scores, values: theory.softmax(-scores) @ values,
                ),
            ),
            practice="attention can be studied, and estimated by sampling, as a mean under a law over keys",
        ),
        Check(
            "BAM-D2",
            (
                Part(
                    "p_j is softmax(g)_j times softmax(f)_j / Z",
                    conditional_factor,
                    check_factorisation,
                    false=lambda f, g: theory.softmax(f) * theory.overlap(theory.softmax(f), theory.softmax(g)),
                ),
                Part(
                    "p_j is proportional to softmax(f)_j softmax(g)_j",
                    lambda p, q: p * q,
                    check_proportional,
                    false=lambda p, q: p + q,
                ),
                Part(
                    "the factor that multiplies the prior is a conditional probability over the same keys",
                    conditional_factor,
                    check_conditional,
                    false=lambda f, g: 2 * conditional_factor(f, g),
                    evaluate=factor_total,
                    repaired=lambda f, g: theory.softmax(f),
                ),
            ),
            corrected=Part(
                "There is one random variable, the key j. With prior pi = softmax(g) and likelihood proportional to "
                "exp(f_j), Bayes' rule gives p_j = pi_j exp(f_j) / sum_z pi_z exp(f_z), which is attention.",
                theory.posterior,
                check_rejection,
                false=lambda f, prior: theory.posterior(2 * f, prior),
            ),
            practice="content acts as evidence about which key answers; it is not a second variable to be marginalised",
        ),
        Check(
            "BAM-T1",
            (
                Part(
                    "for a score f + g, p = softmax(f) softmax(g) / Z with the divisor Z = <softmax(f), softmax(g)>",
                    theory.factorised,
                    check_theorem_1,
                    false=lambda f, g: theory.softmax(f) * theory.softmax(g),
                ),
                Part(
                    "softmax(f) and softmax(g) are the marginals of p over content and position",
                    lambda f, g: theory.softmax(g),
                    check_marginal,
                    false=lambda f, g: theory.softmax(f),
                    evaluate=position_marginal,
                    repaired=lambda f, g: theory.softmax(f + g),
                ),
            ),
            corrected=Part(
                "Draw one key by content, J ~ softmax(f), and one by position, J' ~ softmax(g), independently: p is "
                "the law of J given J = J', and Z_i, one number per query, is the probability of that agreement.",
                lambda f, g: (theory.factorised(f, g), theory.overlap(theory.softmax(f), theory.softmax(g))),
                check_agreement,
                false=lambda f, g: (theory.factorised(f, g), theory.overlap(theory.softmax(f), theory.softmax(f))),
            ),
            practice="any additive bias is a prior, and its product with content needs only a normalisation per query",
        ),
        Check(
            "BAM-E12",
            (
                Part(
                    "SSMax's scale does the work of the normalising scalar Z (a scalar leaves the odds of keys alone)",
                    theory.scalable,
                    check_cancels,
                    false=lambda z, s: theory.gibbs(z, s),
                    evaluate=odds_after_scaling,
                    repaired=lambda z, s: s * theory.softmax(z),
                ),
            ),
            corrected=Part(
                "The scale is an inverse temperature: the odds of two keys are n^(s (z_j - z_k)). Z is fixed by f and "
                "g and cancels, so nothing in attention can learn it.",
                lambda n, s, gap: n ** (s * gap),
                check_odds,
                false=lambda n, s, gap: n**gap,
            ),
            practice="what SSMax learns is how sharply a head attends as the context grows",
        ),
    )
}
