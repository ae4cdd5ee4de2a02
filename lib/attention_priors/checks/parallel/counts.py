"""ParallelComp, Theorem 3.1 (Parts 2 and 3), its sketch, A.3 and A.6: how many weights of a row exceed a threshold.

Truths: mixed-integer programs, exact fractions, uniform rows, ranks by numpy, simulation, limits by sympy.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import count, product
from math import ceil, erfc, exp, inf, log, sqrt

import numpy as np
import sympy
from scipy import optimize, special, stats

from attention_priors.claims.law import Law, claim, claims

THRESHOLDS = [
    {"epsilon": e}
    for e in (Fraction(1, 2), Fraction(2, 5), Fraction(1, 3), Fraction(3, 20), Fraction(1, 10), Fraction(1, 17))
]
LONG = [{"epsilon": e, "keys": n} for e, n in ((0.5, 3), (0.5, 100), (0.1, 24), (0.1, 100))]
UNIFORM = [
    {"keys": w, "delta": x, "constant": c, "R": r, "d": d}
    for c, (w, x), (r, d) in product((1.0, 0.5, 4.0, 0.0, -1.0, -4.0), ((2, 0.5), (8, 0.05)), ((1, 1), (2, 4)))
]
RANKS = [{"alpha": a, "d": d, "keys": w} for w, a, d in product((2, 5, 9), (1.0, 3.0), (1, 16))]
WIDTHS = [  # beyond 1 / epsilon
    {"rate": r, "epsilon": e, "keys": n}
    for r, e in ((1.0, 0.1), (0.0, 0.1), (0.1, 0.01)) for n in (16, 128, 1024, 8192) if n > 1 / e
]  # fmt: skip
EXCLUDED = [
    {"w": w, "epsilon": 0.1, "delta": 0.1, "d": 64, "R": R} for w in (100, 1000, 10**6) for R in (1, 0.5 * sqrt(log(w)))
]
RATES = [{"rate": r} for r in (0.0, 0.5, 1.0, 1.5, 3.0, inf)]
SHARES = [{"c": c, "s": s} for c in (0.5, 1.0, 3.0) for s in (0.5, 1.0, 1.5)]


def largest_count(epsilon: Fraction | float, keys: int = 24) -> int:
    """max #{j : p_j > epsilon} over all rows p of `keys` weights, by a mixed-integer program."""
    epsilon = float(epsilon) + 1e-4  # the program has >= in place of >
    one, zero = np.ones(keys), np.zeros(keys)
    above = np.hstack([np.eye(keys), -epsilon * np.eye(keys)])  # p_j - epsilon z_j >= 0
    constraints = [
        optimize.LinearConstraint(np.concatenate([one, zero])[None], 1, 1),
        optimize.LinearConstraint(above, 0, np.inf),
    ]
    found = optimize.milp(
        np.concatenate([zero, -one]), constraints=constraints, integrality=np.concatenate([zero, one]),
        bounds=optimize.Bounds(0, 1),
    )  # fmt: skip
    return round(-found.fun)


def uniform_count(keys: int) -> int:
    """Entries above .8 / w in a uniform row, a matrix of rank 1."""
    return int((special.softmax(np.zeros(keys)) > 0.8 / keys).sum())


def bound(keys: int, delta: float, constant: float, R: float, d: int) -> float:
    """w - exp(c ln^2(eps w) / R^2) delta / (w d) at eps w = .8."""
    return keys - exp(constant * log(0.8) ** 2 / R**2) * delta / (keys * d)


def rank(alpha: float, d: int, keys: int) -> int:
    """Of the matrix softmax(-alpha |i - j| / sqrt(d)), without a mask."""
    lags = np.abs(np.subtract.outer(np.arange(keys), np.arange(keys)))
    return int(np.linalg.matrix_rank(special.softmax(-alpha / sqrt(d) * lags, axis=1)))


def further(rate: float, epsilon: float, keys: int) -> int:
    """Ineffective entries that the row exp(-R d) has at 2 w keys beyond those at w."""
    narrow, wide = (special.softmax(-rate * np.arange(n)) for n in (keys, 2 * keys))
    return int((wide <= epsilon).sum() - (narrow <= epsilon).sum())


def excluded(w: float, epsilon: float, delta: float, d: int, R: float) -> float:
    """exp(ln^2(eps w) / R^2) delta / (w d): how many entries Theorem 3.1 excludes."""
    return exp(log(epsilon * w) ** 2 / R**2) * delta / (w * d)


def bounded(rate: float) -> bool:
    """Whether ln(excluded) is below 0 at ln w = 1e6 for R = rate sqrt(ln w), R = 1 at rate 0, R = ln w at rate inf."""
    log_w = 1e6
    R = 1.0 if rate == 0 else log_w if rate == inf else rate * sqrt(log_w)
    return (log(0.1) + log_w) ** 2 / R**2 + log(0.1 / 64) - log_w < 0


def limit_at_one() -> sympy.Expr:
    """The limit of `excluded` for R = sqrt(ln w)."""
    exponent = sympy.expand((sympy.log(EPSILON) + LOG_W) ** 2 / LOG_W - LOG_W)
    return DELTA / D * sympy.exp(sympy.limit(exponent, LOG_W, sympy.oo))


def share_above(c: float, s: float) -> float:
    """Mean share of weights above c / w in 24 rows of 2^15 keys with independent logits N(0, s^2)."""
    logits = s * np.random.default_rng(0).standard_normal((24, 2**15))
    return float((special.softmax(logits, axis=1) > c / 2**15).mean())


EPSILON, DELTA, D, LOG_W = sympy.symbols("epsilon delta d L", positive=True)
MOST = Law("k <= ceil(1/eps) - 1 in every row, and the maximum is attained.",
           lambda epsilon: ceil(1 / epsilon) - 1, largest_count, THRESHOLDS, wrong=lambda epsilon: ceil(1 / epsilon),
           tolerance=0)  # fmt: skip
SETTLES = Law("The count of ineffective entries has a limit: at some width beyond 1/eps, w more keys add none.",
              0, further, WIDTHS, quantifier="exists", wrong=1, repaired=lambda keys: keys, tolerance=0)  # fmt: skip
HALF = Law("With S = {A > eps}, |S| = w - k and k = o(w): some long row has half of its weights above eps.",
           lambda keys: keys / 2, largest_count, LONG, relation="<=", quantifier="exists",
           wrong=lambda keys: 3 * keys / 4, repaired=0)  # fmt: skip

CHECKS = claims(
    claim(
        "PC-T3.1b",
        Law("k <= w - exp(c ln^2(eps w)/R^2) delta/(w d) for some constant c of the O; here at eps = .8/w.",
            bound, uniform_count, UNIFORM, relation=">=",
            wrong=lambda keys, delta, constant, R, d: bound(keys, delta, 2 * constant, R, d),
            repaired=lambda keys: ceil(keys / 0.8) - 1),
        Law("R = alpha/sqrt(d) is the rank of the attention matrix.",
            lambda alpha, d: alpha / sqrt(d), rank, RANKS, wrong=lambda alpha, d: alpha * sqrt(d)),
        corrected=MOST,
        practice="The printed bound is anything from w (no information) down to below 0 (impossible), depending on "
                 "the constant and on R; uniform rows break it at every constant. Use 1/eps, or the bound of PC-TA.2x "
                 "where there is decay.",
    ),
    claim(
        "PC-T3.1c",
        SETTLES,
        corrected=replace(MOST, text="k <= ceil(1/eps) - 1 in every row of every width: w - k grows without limit, and "
                                     "the share of ineffective entries tends to 1."),
        practice="Nothing probabilistic is left of Part 3: that k entries are effective and w - k are not is "
                 "bookkeeping, true with probability 1, and says nothing about a model.",
    ),
    claim(
        "PC-SK",
        Law("R = O(sqrt(log w)), here at most sqrt(log w), ensures that the excluded number, exp(log^2(eps w)/R^2) "
            "delta/(w d), stays bounded: it is at most the w entries of the row.",
            excluded, lambda w: w, EXCLUDED, relation="<=",
            wrong=lambda w, epsilon, delta, d, R: excluded(w, epsilon, delta, d, R / 2),
            repaired=lambda w, epsilon, delta, d: excluded(w, epsilon, delta, d, log(w))),
        corrected=(
            Law("The excluded number stays bounded exactly when R grows at least like sqrt(ln w) (constant of O set to "
                "1): a lower bound on R is needed, not an upper one, and R = alpha / sqrt(d) of A.1 does not grow at "
                "all.", lambda rate: rate >= 1, bounded, RATES, wrong=lambda rate: rate >= 2),
            Law("At R = sqrt(ln w) the number tends to eps^2 delta / d < 1: nothing is excluded.",
                EPSILON**2 * DELTA / D, limit_at_one(), wrong=EPSILON * DELTA / D, symbolic=True),
        ),
        practice="For constant R the bound excludes more entries than a row has; from R = sqrt(ln w) on, fewer "
                 "than one.",
    ),
    claim(
        "PC-TA.3",
        HALF,
        corrected=replace(MOST, text="|S| <= ceil(1/eps) - 1 in every row, so the share above eps tends to 0, with or "
                                     "without decay."),
        practice="A constant threshold counts 1/eps keys at most. That most weights fall below it in a long row "
                 "says that weights sum to one.",
    ),
    claim(
        "PC-TA.3x",
        replace(MOST, text="Fewer than 1/eps entries exceed eps, and uniform weights reach ceil(1/eps) - 1."),
        Law("Uniform attention collapses too: no entry exceeds eps once w >= 1/eps.",
            lambda epsilon: ceil(1 / epsilon), lambda epsilon: next(w for w in count(1) if Fraction(1, w) <= epsilon),
            THRESHOLDS, wrong=lambda epsilon: ceil(1 / epsilon) + 1, tolerance=0),
        Law("For independent logits N(0, s^2) the share above c/w tends to Q((ln c + s^2/2)/s).",
            lambda c, s: 0.5 * erfc((log(c) + s * s / 2) / s / sqrt(2)), share_above, SHARES,
            wrong=lambda c, s: 0.5 * erfc(log(c) / s / sqrt(2)), tolerance=0.004),
        Law("That is .309 when c = s = 1.", 0.309, float(stats.norm.sf(0.5)), [{"c": 1, "s": 1}], wrong=0.308,
            tolerance=0.0005),
        practice="Compare weights with the uniform share 1/w. A row has collapsed if the share above c/w falls "
                 "with w, not if weights fall below a constant.",
    ),
    claim(
        "PC-TA.6",
        replace(SETTLES, text="The limit over w_q of |S| is (C w + w_q) - k_g, k_g counted above eps as in the proof: "
                              "at some length beyond 1/eps, twice as many keys leave it as it is."),
        replace(HALF, text="The k_g entries below eps are o(C w + w_q): some long row has half of its weights above "
                           "eps."),
        corrected=replace(MOST, text="|S| <= ceil(1/eps) - 1 for all C, w and w_q, so k_g >= C w + w_q - 1/eps and "
                                     "k_g/(C w + w_q) tends to 1; what is o(C w + w_q) is |S|."),
        practice="The proof counts k_g above eps, the theorem below: only the proof's reading is possible. It "
                 "holds for every attention matrix.",
    ),
)  # fmt: skip
