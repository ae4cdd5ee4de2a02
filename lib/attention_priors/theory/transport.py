"""Attention as one-sided entropic optimal transport: one query sends a unit of mass to the keys.

All functions are float64 numpy on one row: scores or distributions of shape [keys]. The target marginal is free, which
is why one softmax solves the problem where two fixed marginals would need Sinkhorn's iterations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .bands import divergence
from .inference import Vector, softmax


def entropy(p: ArrayLike) -> float:
    """H(p) = -sum_j p_j ln p_j in nats, with 0 ln 0 = 0."""
    return float(special.entr(np.asarray(p, dtype=np.float64)).sum())


def cost(p: ArrayLike, scores: ArrayLike, tau: float, prior: ArrayLike | None = None) -> float:
    """<p, -s> - tau H(p), or <p, -s> + tau KL(p || prior) (Goat, equations 2 and 4).

    With a uniform prior over L keys the two differ by the constant tau ln L (equation 3). ValueError unless tau > 0.
    """
    _positive(tau)
    p = np.asarray(p, dtype=np.float64)
    spread = -entropy(p) if prior is None else divergence(p, prior)
    return float(-p @ np.asarray(scores, dtype=np.float64) + tau * spread)


def plan(scores: ArrayLike, tau: float, prior: ArrayLike | None = None) -> Vector:
    """argmin of `cost` over distributions: softmax(s / tau + ln prior) (Goat, propositions 2.2 and 3.1).

    A key of prior zero receives nothing. The excess cost of any other p is tau KL(p || plan), hence uniqueness.
    ValueError unless tau > 0, or when the prior is zero everywhere.
    """
    _positive(tau)
    scaled = np.asarray(scores, dtype=np.float64) / tau
    if prior is None:
        return softmax(scaled)
    with np.errstate(divide="ignore"):
        return softmax(scaled + np.log(np.asarray(prior, dtype=np.float64)))


def _positive(tau: float) -> None:
    if not tau > 0:
        raise ValueError(f"tau = {tau}, but the temperature must be above 0: at 0 any best key is a solution")
