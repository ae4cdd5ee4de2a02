"""Local or not: what the normaliser of a prior, its slope on a logarithmic scale and its content can do.

Σ_d exp(b(d)) is finite: the prior is local, its tail mass P(lag > D) has a limit T(D) < 1 as the context grows.
Σ_d exp(b(d)) diverges: every fixed window loses all mass, T(D) = 1. Since Σ d^(-ρ) converges exactly for ρ > 1, the
slope ρ(d) = -d b'(d) tells on which side a prior is; ρ = 1 is the border.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]


def octave_exponents(log_prior: ArrayLike) -> tuple[Vector, Vector]:
    """(d, ρ(d)) at d = 2, 4, 8, ..: ρ(d) = (mean of b over [d/2, d) - mean over [d, 2d)) / ln 2, from a table by lag.

    The power of the distance by which the prior falls around lag d: 0 for the uniform prior, .75 m d / ln 2 for ALiBi,
    growing like d^β for the generalised Gaussian, about r1 for KERPLE's logarithm beyond 1/r2. Means over octaves, so
    that waves cancel. ValueError for fewer than 4 lags.
    """
    table = np.asarray(log_prior, dtype=np.float64)
    if len(table) < 4:
        raise ValueError(f"the table has {len(table)} lags, but two octaves need at least 4")
    edges = 2 ** np.arange(int(np.log2(len(table))) + 1)
    sums = np.concatenate([[0.0], np.cumsum(table)])
    means = np.diff(sums[edges]) / np.diff(edges)
    return edges[1:-1].astype(np.float64), -np.diff(means) / np.log(2)


def power_tail(r1: float, r2: float, window: int) -> float:
    """lim T(D) of (1 + r2 d)^(-r1): ζ(r1, 1/r2 + D + 1) / ζ(r1, 1/r2) (Hurwitz) for r1 > 1, and 1 for r1 <= 1.

    ValueError unless r1, r2 > 0 and D >= 0.
    """
    if not (r1 > 0 and r2 > 0 and window >= 0):
        raise ValueError(f"r1 = {r1}, r2 = {r2}, window = {window}: give r1 > 0, r2 > 0 and window >= 0")
    if r1 <= 1:
        return 1.0
    zeta = torch.special.zeta(
        torch.tensor(r1, dtype=torch.float64), torch.tensor([1 / r2 + window + 1, 1 / r2], dtype=torch.float64)
    )
    return float(zeta[0] / zeta[1])


def required_margin(own: float, total: float) -> float:
    """ln((1 - π)/π) for π = e^(own - total): the lead in content that gives a key half of the weight, others equal.

    From the logarithms of the key's weight and of the sum of all, since π of a far key underflows (`margins.margin`
    takes π itself). ln(n - 1) for the uniform prior over n keys; -inf for a key that is alone. ValueError for
    own > total.
    """
    if own > total:
        raise ValueError(f"own = {own}, total = {total}: a key weighs at most as much as all keys together")
    return float(total - own + np.log1p(-np.exp(own - total))) if own < total else -np.inf
