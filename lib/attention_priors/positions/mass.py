"""Where a prior puts its mass, by lag: tail mass, mean lag, window for a tolerance, order of two priors.

A log-prior here is a table [heads lags] over the lags 0, 1, .., L-1 that one query sees (the last query of a context of
L keys). All sums are in float64; a log-prior of -inf is an invisible key.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def normalised(log_prior: Float[Tensor, "heads lags"]) -> Float[Tensor, "heads lags"]:
    """π(d) = exp(b(d)) / Σ_z exp(b(z)): the discrete, one-sided, truncated law that attention uses (BAM, Lemma 1).

    ValueError for another shape, or without a lag.
    """
    _check(log_prior)
    return log_prior.double().softmax(-1)


def tail_mass(log_prior: Float[Tensor, "heads lags"], window: int) -> Float[Tensor, " heads"]:
    """P(lag > D) = Σ_{d > D} π(d) for D = `window`; 0 from D = L - 1 on. ValueError for D < 0."""
    if window < 0:
        raise ValueError(f"window = {window}, but a window holds lags 0..window: give at least 0")
    return normalised(log_prior)[:, window + 1 :].sum(-1)


def mean_lag(log_prior: Float[Tensor, "heads lags"]) -> Float[Tensor, " heads"]:
    """Σ_d d π(d): (L - 1) / 2 for the uniform prior, 1 / (e^m - 1) for ALiBi's as L grows.

    ValueError as for `normalised`.
    """
    weights = normalised(log_prior)
    return weights @ torch.arange(weights.shape[1], dtype=weights.dtype, device=weights.device)


def window_for(log_prior: Float[Tensor, "heads lags"], tolerance: float) -> Int[Tensor, " heads"]:
    """The smallest D with P(lag > D) <= tolerance. ValueError unless 0 <= tolerance < 1."""
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance = {tolerance}, but it is a probability: give 0 <= tolerance < 1")
    # Summed from the far end, where the terms are small and 1 - cumulative mass would lose them.
    beyond = normalised(log_prior).flip(-1).cumsum(-1).flip(-1)
    return (beyond > tolerance).sum(-1) - 1


def dominates(
    log_prior: Float[Tensor, "heads lags"], other: Float[Tensor, "heads lags"], slack: float = 1e-12
) -> Bool[Tensor, " heads"]:
    """Likelihood-ratio order: b(d) - b'(d) never falls in d.

    It implies P(lag > D) >= P'(lag > D) for every D, and survives any content: a score added to both cancels in the
    difference (the corrected form of BAM, Theorem 2). `slack` absorbs the rounding of an equality. ValueError where
    shapes differ.
    """
    if log_prior.shape != other.shape:
        raise ValueError(f"shapes {list(log_prior.shape)} and {list(other.shape)} differ; compare the same lags")
    return ((log_prior.double() - other.double()).diff(dim=-1) >= -slack).all(-1)


def tilted_tail(tail: Float[Tensor, "*shape"] | float, content_range: float) -> Float[Tensor, "*shape"] | float:
    """t e^B / (t e^B + 1 - t): the largest tail mass that content scores of range max - min <= B can make of t.

    The odds of the tail change by at most e^B; equality when every tail key scores B more than the others. ValueError
    for B < 0.
    """
    if content_range < 0:
        raise ValueError(f"content range = {content_range}, but it is max - min of the scores: give at least 0")
    boosted = tail * math.exp(content_range)
    return boosted / (boosted + 1 - tail)


def characteristic_lag(alpha: float, beta: float) -> float:
    """α Γ(2/β) / Γ(1/β): mean lag of exp(-(x/α)^β) on x >= 0; α for β = 1. ValueError unless both are above 0."""
    _domain(alpha, beta)
    return alpha * math.exp(math.lgamma(2 / beta) - math.lgamma(1 / beta))


def continuous_tail(alpha: float, beta: float, window: float) -> float:
    """Q(1/β, (D/α)^β), the regularised upper incomplete gamma function: P(x > D) of exp(-(x/α)^β) on x >= 0.

    It bounds the tail mass of the discrete prior from above at every length (the decreasing density's sums against its
    integrals); exp(-D/α) for β = 1. ValueError unless α and β are above 0.
    """
    _domain(alpha, beta)
    shape = torch.tensor(1 / beta, dtype=torch.float64)
    return float(torch.special.gammaincc(shape, torch.tensor((window / alpha) ** beta, dtype=torch.float64)))


def _check(log_prior: Tensor) -> None:
    if log_prior.ndim != 2 or 0 in log_prior.shape:
        raise ValueError(f"log-prior has shape {list(log_prior.shape)}; give [heads lags] with at least one lag")


def _domain(alpha: float, beta: float) -> None:
    if not (alpha > 0 and beta > 0):
        raise ValueError(f"alpha = {alpha}, beta = {beta}: the law has finite mass only for alpha > 0 and beta > 0")
