"""ParallelComp, the sketch of Theorem 3.1: how many entries of a row its bound excludes. A limit is taken by sympy."""

from __future__ import annotations

from math import exp, inf, log, sqrt

import sympy

from attention_priors.claims.law import Law, claim, claims, grid

EXCLUDED = [
    {"w": w, "epsilon": 0.1, "delta": 0.1, "d": 64, "R": R} for w in (100, 1000, 10**6) for R in (1, 0.5 * sqrt(log(w)))
]
RATES = grid(rate=(0.0, 0.5, 1.0, 1.5, 3.0, inf))


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


EPSILON, DELTA, D, LOG_W = sympy.symbols("epsilon delta d L", positive=True)

CHECKS = claims(
    claim(
        "PC-SK",
        Law(
            "R = O(sqrt(log w)), here at most sqrt(log w), ensures that the excluded number, exp(log^2(eps w)/R^2) "
            "delta/(w d), stays bounded: it is at most the w entries of the row.",
            excluded,
            lambda w: w,
            EXCLUDED,
            relation="<=",
            wrong=lambda w, epsilon, delta, d, R: excluded(w, epsilon, delta, d, R / 2),
            repaired=lambda w, epsilon, delta, d: excluded(w, epsilon, delta, d, log(w)),
            quote="ensures that the sparsity growth is bounded as",
            place="§3.2",
        ),
        corrected=(
            Law(
                "The excluded number stays bounded exactly when R grows at least like sqrt(ln w) (constant of O set to "
                "1): a lower bound on R is needed, not an upper one, and R = alpha / sqrt(d) of A.1 does not grow at "
                "all.",
                lambda rate: rate >= 1,
                bounded,
                RATES,
                wrong=lambda rate: rate >= 2,
            ),
            Law(
                "At R = sqrt(ln w) the number tends to eps^2 delta / d < 1: nothing is excluded.",
                EPSILON**2 * DELTA / D,
                limit_at_one(),
                wrong=EPSILON * DELTA / D,
                symbolic=True,
            ),
        ),
        practice="For constant R the bound excludes more entries than a row has; from R = sqrt(ln w) on, fewer "
        "than one.",
        severity="needs a repair",
    ),
)
