"""Attention as one-sided entropic optimal transport: one query sends a unit of mass to the keys.

All functions are float64 numpy on one row: scores or distributions of shape [keys]. The target marginal is free, which
is why one softmax solves the problem where two fixed marginals would need Sinkhorn's iterations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from .inference import Vector, softmax


def entropy(p: ArrayLike) -> float:
    """H(p) = -sum_j p_j ln p_j in nats, with 0 ln 0 = 0."""
    return float(special.entr(np.asarray(p, dtype=np.float64)).sum())


def divergence(p: ArrayLike, q: ArrayLike) -> float:
    """KL(p || q) = sum_j p_j ln(p_j / q_j) in nats: infinite where p has mass and q has none."""
    return float(special.rel_entr(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)).sum())


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


def temperature_of(scores: ArrayLike, mean: float) -> float:
    """The tau > 0 with <plan(s, tau), s> = mean; infinite at the plain average of the scores.

    The expected score falls from the largest score to the average as tau grows. ValueError for a mean outside
    [average, largest): below the average the law of largest entropy has a negative temperature.
    """
    s = np.asarray(scores, dtype=np.float64)
    average, largest = s.mean(), s.max()
    if not average <= mean < largest:
        raise ValueError(f"mean = {mean}, but an expected score at tau > 0 lies in [{average:.6g}, {largest:.6g})")
    if mean == average:
        return float("inf")
    gap = lambda inverse: float(softmax(inverse * s) @ s) - mean  # noqa: E731
    high = 1.0 / max(np.ptp(s), 1e-300)
    while gap(high) < 0:
        high *= 2
    return 1.0 / optimize.brentq(gap, 0.0, high, xtol=1e-15, rtol=1e-14)


def _positive(tau: float) -> None:
    if not tau > 0:
        raise ValueError(f"tau = {tau}, but the temperature must be above 0: at 0 any best key is a solution")


def frontier_rows(scores: ArrayLike, prior: ArrayLike, competitors: int, seed: int = 0) -> list[dict]:
    """Expected score against entropy, of plans over a sweep of temperatures and of random distributions.

    Rows {kind, tau, expected, entropy, key, weight}: kind "frontier" (a plan per tau, key and weight empty), "other"
    (a competitor drawn from Dirichlet laws of several concentrations), "plan" and "plan with prior" (one row a key at
    tau = 1/2, 1 and 2).
    """
    s = np.asarray(scores, dtype=np.float64)
    draw = np.random.default_rng(seed)
    empty = {"tau": np.nan, "key": np.nan, "weight": np.nan}

    def point(kind: str, p: Vector, **known: float) -> dict:
        return {"kind": kind, **empty, "expected": float(p @ s), "entropy": entropy(p), **known}

    rows = [point("frontier", plan(s, tau), tau=float(tau)) for tau in np.geomspace(0.05, 200.0, 60)]
    for concentration in np.geomspace(0.1, 10.0, competitors):
        rows.append(point("other", draw.dirichlet(np.full(len(s), concentration))))
    for tau in (0.5, 1.0, 2.0):
        for kind, given in (("plan", None), ("plan with prior", prior)):
            p = plan(s, tau, given)
            rows += [point(kind, p, tau=tau, key=j + 1, weight=float(w)) for j, w in enumerate(p)]
    return rows
