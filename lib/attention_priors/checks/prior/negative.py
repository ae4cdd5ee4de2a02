"""BAM, section 3.2 and the scale's domain: what the bias is at its limits, alpha = 0 and beta = 0.

Truths: Python's own arithmetic, and weights written out.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np

from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.theory import generalised_gaussian as theory


def bias(alpha: float, beta: float, lag: float) -> str:
    """What the printed formula gives in Python's own arithmetic."""
    try:
        return "a number" if -(abs(lag / alpha) ** beta) <= 0 else "none"
    except ZeroDivisionError:
        return "division by zero"


def admits(condition: Callable[[float], bool]) -> Callable[[float], str]:
    return lambda alpha: "a number" if condition(alpha) else "division by zero"


def relative(alpha: float, beta: float, keys: int) -> np.ndarray:
    """Weights of lags 1 .. keys - 1 and of no others, written out: exp(-(d / alpha)^beta) over their sum with lag 0."""
    lags = np.arange(1.0, keys)
    weights = np.exp(-((lags / alpha) ** beta))
    return weights / (weights.sum() + (exp(-1) if beta == 0 else 0.0))


CHECKS = claims(
    claim(
        "BAM-E2",
        Law(
            "Main text: the formula gives a number for alpha >= 0.",
            admits(lambda alpha: alpha >= 0),
            bias,
            grid(alpha=(0, 1, 2.5, 1e-3, 1e3), beta=(1, 0.5, -1), lag=[1]),
            wrong=admits(lambda alpha: alpha >= 1),
            quote=r"GGD-BAM becomes local attention as the relative length $|j-i|$ increases, for "
            r"any $\beta>0$ and $\alpha\geq 0$",
            place="§2.3, Lemma 4",
            boundary="α = 0",
        ),
        Law(
            "Appendix B: for alpha > 0.",
            admits(lambda alpha: alpha > 0),
            bias,
            grid(alpha=(1, 2.5, 1e-3, 1e3), beta=(1, 0.5, -1), lag=[1]),
            wrong=admits(lambda alpha: alpha > 1e-2),
        ),
        corrected=Law(
            "The condition is alpha > 0, as in the appendix. (In the form |alpha/d|^|beta| of the proofs for "
            "beta < 0, alpha = 0 gives bias 0 for d > 0: NoPE, which suppresses nothing.)",
            admits(lambda alpha: alpha > 0),
            bias,
            grid(alpha=(0, 1, 2.5, 1e-3, 1e3), beta=(1, 0.5, -1), lag=[1]),
            wrong=admits(lambda alpha: alpha >= 0),
        ),
        practice="theta_alpha / theta_beta = +infinity would be needed to reach the excluded value.",
        severity="editorial",
    ),
    claim(
        "BAM-E16",
        Law(
            "For beta <= 0 the prior suppresses the keys near the query: the next key weighs less than the oldest.",
            lambda alpha, beta, keys: theory.row(theory.printed(alpha, beta), keys)[1],
            lambda alpha, beta, keys: relative(alpha, beta, keys)[-1],
            grid(keys=(4, 64), alpha=(1.0, 3.0), beta=(0.0, -0.5, -2.0)),
            relation="<",
            wrong=1.0,
            repaired=0.0,
            quote=r"for $\beta\leq 0$, the GGD-BAM prior suppresses attention weights near the query token",
            place="§3.2",
            boundary="β = 0",
        ),
        corrected=Law(
            "For beta < 0 the next key weighs less than the oldest; at beta = 0 all keys weigh the same.",
            lambda beta: beta < 0,
            lambda alpha, beta, keys: bool(np.ptp(relative(alpha, beta, keys)) > 0),
            grid(keys=(4, 64), alpha=(1.0, 3.0), beta=(0.0, -0.5, -2.0)),
            wrong=lambda beta: beta <= 0,
        ),
        practice="A head at its start, beta = 0, suppresses nothing yet.",
        severity="editorial",
    ),
)
