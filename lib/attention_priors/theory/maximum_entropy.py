"""The law of largest entropy over finitely many lags for given means of statistics, from its convex dual."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_priors.theory.inference import log_sum_exp, softmax

Vector = NDArray[np.float64]


def exponential_family(statistics: ArrayLike, multipliers: ArrayLike) -> Vector:
    """q_d = exp(-<lambda, T(d)>) / Z for statistics T [statistics lags] and multipliers lambda [statistics].

    T(d) = d is the geometric law (Goat, equation 93): lambda > 0 recency, 0 uniform, < 0 the oldest lags first.
    """
    return softmax(-np.atleast_1d(np.asarray(multipliers, float)) @ np.atleast_2d(np.asarray(statistics, float)))


def maximum_entropy(
    statistics: ArrayLike, moments: ArrayLike, tolerance: float = 1e-11, steps: int = 500
) -> tuple[Vector, Vector]:
    """(q, lambda): the law of largest entropy with E_q[T] = `moments` and its multipliers.

    Newton's method with halved steps on the dual ln Z(lambda) + <lambda, moments>, whose gradient is moments - E_q[T]
    and whose Hessian is Cov_q(T) >= 0. ValueError when no law with full support has these moments.
    """
    stats, target = np.atleast_2d(np.asarray(statistics, dtype=np.float64)), np.atleast_1d(np.asarray(moments, float))
    if len(stats) != len(target) or not (np.isfinite(stats).all() and np.isfinite(target).all()):
        raise ValueError(f"{len(stats)} statistics and {len(target)} moments: give one finite moment for each")
    low, high = stats.min(axis=1), stats.max(axis=1)
    for k in range(len(target)):
        if not low[k] < target[k] < high[k]:
            raise ValueError(f"moment {target[k]:g} of statistic {k} must lie inside ({low[k]:g}, {high[k]:g})")
    scale = high - low
    stats, target = (stats - low[:, None]) / scale[:, None], (target - low) / scale
    multipliers = np.zeros(len(target))

    def dual(at: Vector) -> float:
        return log_sum_exp(-at @ stats) + float(at @ target)

    for _ in range(steps):
        q = exponential_family(stats, multipliers)
        gradient = target - stats @ q
        if np.abs(gradient).max() < tolerance:
            return q, multipliers / scale
        deviation = stats - (stats @ q)[:, None]
        # least squares: statistics that depend on each other (all buckets' indicators sum to 1) leave a flat direction
        step = -np.linalg.lstsq((deviation * q) @ deviation.T, gradient, rcond=1e-13)[0]
        size, now = 1.0, dual(multipliers)
        while size > 1e-12 and dual(multipliers + size * step) > now + 1e-4 * size * float(gradient @ step):
            size /= 2
        multipliers = multipliers + size * step
    worst = float(np.abs(target - stats @ exponential_family(stats, multipliers)).max())
    if worst < 1e-8:
        return exponential_family(stats, multipliers), multipliers / scale
    raise ValueError(f"moments {np.asarray(moments).tolist()} are met by no law with full support (gap {worst:.1e})")
