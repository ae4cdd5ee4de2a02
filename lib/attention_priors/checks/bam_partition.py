"""BAM, appendix I.1: Z as a ratio of partition functions; and the roles that one letter plays across the paper.

Evidence from exact rational arithmetic, mpmath at 50 digits and scipy's entropy.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
from scipy import stats

from attention_priors.checks.bam_inference import TOLERANCE
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.theory import inference as theory

# Pairs of Boltzmann weights x_j = e^(f_j), y_j = e^(g_j), the smallest first.
WEIGHTS = (([1], [1]), ([1, 1], [1, 1]), ([2, 1], [1, 1]), ([2, 1], [1, 2]), ([3, 1, 1], [1, 2, 1]))


def random_weights(count: int):
    draw = np.random.default_rng(11)
    for _ in range(count):
        keys = int(draw.integers(1, 9))
        yield tuple([int(w) for w in draw.integers(1, 20, keys)] for _ in range(2))


# I1, E1: the ratio of partition functions, the overlap, and the roles of Z


def fractions_of(weights) -> list[Fraction]:
    return [Fraction(w) / sum(weights) for w in weights]


def ratio(x, y) -> Fraction:
    """Z_cont Z_pos / Z_joint."""
    return Fraction(sum(x) * sum(y), sum(a * b for a, b in zip(x, y, strict=True)))


def softmax_overlap(x, y) -> Fraction:
    return sum(a * b for a, b in zip(fractions_of(x), fractions_of(y), strict=True))


def divisor(x, y) -> Fraction:
    """The Z of p_j = softmax(f)_j softmax(g)_j / Z, from the first key."""
    return fractions_of(x)[0] * fractions_of(y)[0] / fractions_of([a * b for a, b in zip(x, y, strict=True)])[0]


def extremes(readings, x, y):
    """(first reading of Z, the reading that differs most from it): equal if all are one number."""
    values = [reading(x, y) for reading in readings]
    return float(values[0]), float(max(values, key=lambda value: abs(value - values[0])))


def check_same_number(readings) -> Evidence:
    """`readings` are formulas for Z in exact rational arithmetic; are they one number?"""
    candidates = ({"x": list(x), "y": list(y)} for x, y in WEIGHTS)
    found = smallest_counterexample(extremes, readings, candidates)
    worst = max(abs(a - b) for a, b in (extremes(readings, x, y) for x, y in (*WEIGHTS, *random_weights(200))))
    detail = "largest difference between the readings, exact fractions, 205 pairs of weights"
    return compare(worst, "==", 0.0, 0.0, counterexample=found, detail=detail)


def check_interaction(logarithm) -> Evidence:
    """F_joint - F_cont - F_pos with F = -ln(partition function), at 50 digits."""
    worst = mpmath.mpf(0)
    with mpmath.workdps(50):
        for x, y in (*WEIGHTS, *random_weights(100)):
            joint = sum(a * b for a, b in zip(x, y, strict=True))
            interaction = -mpmath.log(joint) + mpmath.log(sum(x)) + mpmath.log(sum(y))
            worst = max(worst, abs(logarithm(x, y) - interaction))
    return compare(float(worst), "<=", TOLERANCE, detail="largest difference from F_joint - F_cont - F_pos")


def exact_log_ratio(x, y):
    value = ratio(x, y)
    return mpmath.log(mpmath.mpf(value.numerator) / value.denominator)


def check_sharpness(weights) -> Evidence:
    """Entropy falls and the largest weight grows as gamma grows: the largest step in the wrong direction."""
    draw, worst = np.random.default_rng(12), -np.inf
    for _ in range(30):
        scores = draw.standard_normal(int(draw.integers(2, 20)))
        laws = [weights(scores, gamma) for gamma in (0.25, 0.5, 1.0, 2.0, 4.0)]
        worst = max(worst, *np.diff([stats.entropy(p) for p in laws]), *-np.diff([p.max() for p in laws]))
    return compare(float(worst), "<", 0.0, detail="largest rise of the entropy, or fall of the peak, from step to step")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "BAM-I1",
            (
                Part(
                    "Z_cont Z_pos / Z_joint = sum_j softmax(f)_j softmax(g)_j",
                    (ratio, softmax_overlap),
                    check_same_number,
                    false=(ratio, lambda x, y: 2 * softmax_overlap(x, y)),
                    evaluate=extremes,
                ),
                Part(
                    "ln(Z_cont Z_pos / Z_joint) is the interaction free energy F_joint - F_cont - F_pos, F = -ln Z",
                    exact_log_ratio,
                    check_interaction,
                    false=lambda x, y: -exact_log_ratio(x, y),
                ),
                Part(
                    "the inverse temperature gamma in exp(gamma (f + g)) controls sharpness",
                    theory.gibbs,
                    check_sharpness,
                    false=lambda scores, gamma: theory.gibbs(scores, 1 / gamma),
                ),
            ),
            corrected=Part(
                "The two are reciprocals: Z_cont Z_pos / Z_joint = 1 / sum_j softmax(f)_j softmax(g)_j.",
                (lambda x, y: 1 / ratio(x, y), softmax_overlap),
                check_same_number,
                false=(lambda x, y: 1 / ratio(x, y), lambda x, y: softmax_overlap(x, y) ** 2),
            ),
            practice="code that takes one for the other is off by Z^2: 1 / L^2 under a uniform prior on L keys",
        ),
        Check(
            "BAM-E1",
            (
                Part(
                    "the divisor of Theorem 1, the overlap of I.2, and the ratio of I.1 and I.2's factor are one Z",
                    (divisor, softmax_overlap, ratio, lambda x, y: 1 / divisor(x, y)),
                    check_same_number,
                    false=(divisor, softmax_overlap, lambda x, y: 2 * ratio(x, y)),
                    evaluate=extremes,
                ),
            ),
            corrected=Part(
                "Z_i = <p_cont, p_pos> is the divisor; the factor is C_i = 1 / Z_i = Z_cont Z_pos / Z_joint.",
                (divisor, softmax_overlap, lambda x, y: 1 / ratio(x, y)),
                check_same_number,
                false=(divisor, lambda x, y: 1 - softmax_overlap(x, y)),
            ),
            practice="in notebook 01 Z is the divisor <p_cont, p_pos>, elsewhere it is the usual sum of exponentials",
        ),
    )
}
