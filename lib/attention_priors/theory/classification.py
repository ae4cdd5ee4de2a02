"""Which log-priors an inner product of position features can carry, and how many coordinates they need.

A kernel is a function of float64 lags. On all of Z a relative kernel <φ(i), ψ(j)> is an exponential polynomial, a sum
of `Mode`s; on causal lags the count is the smallest rank to which the lower triangle can be completed (`causal_rank`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Kernel = Callable[[Vector], Vector]
RELATIVE = 1e-10  # singular values below this share of the largest count as zero


@dataclass(frozen=True)
class Mode:
    """ρ^d sum_t d^t (even_t cos ωd + odd_t sin ωd): the real part that a conjugate pair ρ e^(±iω) contributes.

    At ω = 0 and ω = π the sine vanishes on the integers, so that `odd` must be zero there.
    """

    radius: float
    frequency: float
    even: tuple[float, ...]
    odd: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not (self.radius > 0 and math.isfinite(self.radius)):
            raise ValueError(f"radius = {self.radius}: it must be finite and above 0 (the shift is invertible)")
        if not 0 <= self.frequency <= math.pi:
            raise ValueError(f"frequency = {self.frequency}: frequencies of integer lags lie in [0, pi]")
        if self.single and any(self.odd):
            raise ValueError(f"odd = {self.odd} at frequency {self.frequency}: the sine is zero there, give none")
        if not any(self.even) and not any(self.odd):
            raise ValueError("every coefficient is zero: leave the mode out")

    @property
    def single(self) -> bool:
        """A real eigenvalue, ρ or -ρ: one coordinate per degree instead of two."""
        return self.frequency in (0.0, math.pi)

    @property
    def degree(self) -> int:
        """The largest t whose coefficients are not both zero."""
        return max(t for part in (self.even, self.odd) for t, value in enumerate(part) if value)

    def __call__(self, lags: ArrayLike) -> Vector:
        d = np.asarray(lags, dtype=np.float64)
        even, odd = (np.polynomial.polynomial.polyval(d, part or (0.0,)) for part in (self.even, self.odd))
        # cos(pi d) in floating point drifts away from (-1)^d
        wave = np.where(d % 2 == 0, 1.0, -1.0) if self.frequency == math.pi else np.cos(self.frequency * d)
        return self.radius**d * (even * wave + odd * np.sin(self.frequency * d))


def kernel(modes: Sequence[Mode]) -> Kernel:
    """d -> the sum of the modes."""
    return lambda lags: sum((mode(lags) for mode in modes), np.zeros(np.shape(lags)))


# Kernels on all integers to hold a statement against: finite sums of waves, and what is none.
BOUNDED = (
    (Mode(1, 0.0, (0.7,)),),
    (Mode(1, math.pi, (1.0,)),),
    (Mode(1, 0.0, (0.7,)), Mode(1, math.pi, (1.0,))),
    (Mode(1, 0.3, (1.0,), (-0.4,)),),
    (Mode(1, 0.3, (1.0,)), Mode(1, math.pi, (0.5,))),
    (Mode(1, 0.0, (0.7,)), Mode(1, 0.3, (0.0,), (1.0,))),
    (Mode(1, 0.3, (1.0,)), Mode(1, 1.1, (0.2,), (0.9,))),
    (Mode(1, 0.0, (-2.0,)), Mode(1, math.pi, (0.5,)), Mode(1, 0.8, (1.0,)), Mode(1, 2.1, (0.6,))),
)
UNBOUNDED = (
    (Mode(0.9, 0.0, (1.0,)),),
    (Mode(1.2, 0.7, (1.0,)),),
    (Mode(0.995, 0.7, (1.0,)), Mode(1, 0.2, (3.0,))),
    (Mode(1, 0.0, (0.0, -0.1)),),
    (Mode(1, 0.4, (0.0, 1.0)), Mode(1, math.pi, (2.0,))),
    (Mode(0.9, 0.0, (1.0,)), Mode(1.2, 0.0, (-1.0,))),
)


def dimension(modes: Sequence[Mode]) -> int:
    """sum (deg + 1) (1 if the eigenvalue is real else 2): the rank of the kernel, modes at distinct eigenvalues.

    For a bounded kernel it is 1[γ != 0] + 1[π among the frequencies] + 2 #{frequencies inside (0, π)}, the corrected
    count of Goat, Theorem 2.
    """
    return sum((mode.degree + 1) * (1 if mode.single else 2) for mode in modes)


def is_bounded(modes: Sequence[Mode], causal: bool = False) -> bool:
    """sup |κ(d)| < inf over all integers; over d >= 0 if `causal`, where damped modes are bounded too."""
    return all((mode.radius == 1 and mode.degree == 0) or (causal and mode.radius < 1) for mode in modes)


def block(kappa: Kernel, queries: ArrayLike, keys: ArrayLike) -> Matrix:
    """K_ij = κ(i - j) [queries keys]."""
    return kappa(np.subtract.outer(np.asarray(queries, dtype=np.float64), np.asarray(keys, dtype=np.float64)))


def causal_block(kappa: Kernel, n: int) -> Matrix:
    """The lags that queries n - 1 .. 2n - 2 have to keys 0 .. n - 1: the largest square block without a future key.

    A Hankel matrix once the keys are reversed. Its rank bounds from below what any features on causal pairs need.
    """
    return block(kappa, np.arange(n - 1, 2 * n - 1), np.arange(n))


def centred(matrix: ArrayLike) -> Matrix:
    """K minus its row means. Softmax ignores c(i): min over c of rank(K + c 1ᵀ) is the rank of this matrix."""
    matrix = np.asarray(matrix, dtype=np.float64)
    return matrix - matrix.mean(axis=1, keepdims=True)


def numerical_rank(matrix: ArrayLike, relative: float = RELATIVE) -> int:
    """Singular values above `relative` times the largest. 0 for the zero matrix."""
    values = np.linalg.svd(np.asarray(matrix, dtype=np.float64), compute_uv=False)
    return int((values > relative * max(values[0], np.finfo(float).tiny)).sum())


def exact_rank(matrix: Iterable[Iterable]) -> int:
    """Rank over the rationals (sympy); entries are integers or fractions."""
    from sympy import QQ
    from sympy.polys.matrices import DomainMatrix

    rows = [[QQ(entry.numerator, entry.denominator) for entry in row] for row in matrix]
    return DomainMatrix(rows, (len(rows), len(rows[0])), QQ).rank() if rows and rows[0] else 0


def causal_rank(values: Sequence, rank: Callable[[list], int] = exact_rank) -> int:
    """Coordinates that the causal pairs i >= j of n positions need: the least rank of a matrix with κ(i - j) there.

    `values` are κ(0) .. κ(n - 1). Entries beyond the diagonal are free; by Woerdeman's formula for a triangle (1989)
    sum_k rank K[k.., ..k] - sum_k rank K[k+1.., ..k], over blocks of visible pairs.
    """
    n = len(values)
    if n == 0:
        raise ValueError("values = []: give κ at one lag at least")

    def corner(first: int, last: int) -> int:
        return rank([[values[i - j] for j in range(last + 1)] for i in range(first, n)])

    return sum(corner(k, k) for k in range(n)) - sum(corner(k + 1, k) for k in range(n - 1))


def causal_softmax_rank(values: Sequence, rank: Callable[[list], int] = exact_rank) -> int:
    """`causal_rank` up to a row function c(i), which softmax ignores: that of the differences κ(d) - κ(d + 1).

    Differences of neighbouring keys remove c(i), and features for the differences sum up to features for the prior.
    """
    if len(values) < 2:
        return 0
    return causal_rank([near - far for near, far in pairwise(values)], rank)
