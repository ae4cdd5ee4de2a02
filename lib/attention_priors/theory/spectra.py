"""What a sum of R cosines and sines can say about lags 0..L-1, and what it goes on to say beyond them.

A fit is linear in its coefficients: the smallest largest error (a linear program) or the smallest KL(target ‖ fit)
with capped coefficients. A constant is always free, since softmax ignores it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_priors.positions.spectral import geometric
from attention_priors.theory.inference import log_sum_exp, softmax

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
LARGEST = 3.0  # coefficient of a wave on the fixed ladder
NEGLIGIBLE = 1e-9  # directions of the columns below this share of the largest: slow waves are nearly polynomials


def wave(lags: ArrayLike, omega: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> Vector:
    """κ(d) = sum_r alpha_r cos(omega_r d) + beta_r sin(omega_r d) (Goat, equation 12)."""
    phases = np.multiply.outer(np.asarray(lags, dtype=np.float64), np.asarray(omega, dtype=np.float64))
    return np.cos(phases) @ np.asarray(alpha, dtype=np.float64) + np.sin(phases) @ np.asarray(beta, dtype=np.float64)


def columns(lags: ArrayLike, omega: ArrayLike) -> Matrix:
    """[1, cos ω_1 d .. cos ω_R d, sin ω_1 d .. sin ω_R d] by lag: [lags, 2 R + 1]."""
    d, omega = np.asarray(lags, dtype=np.float64), np.atleast_1d(np.asarray(omega, dtype=np.float64))
    if not d.size:
        raise ValueError("lags = []: give at least one lag")
    phases = np.multiply.outer(d, omega)
    return np.concatenate([np.ones((d.size, 1)), np.cos(phases), np.sin(phases)], axis=1)


@dataclass(frozen=True)
class Fit:
    """A log-prior sum_r c_r cos ω_r d + s_r sin ω_r d + constant."""

    omega: Vector
    coefficients: Vector  # constant, cosines, sines

    def __call__(self, lags: ArrayLike) -> Vector:
        return columns(lags, self.omega) @ self.coefficients

    @property
    def largest(self) -> float:
        """The largest coefficient but the constant."""
        return float(np.abs(self.coefficients[1:]).max())


@dataclass(frozen=True)
class _Basis:
    """Orthonormal directions Q of the columns, without those that rounding would decide, and the way back."""

    omega: Vector
    directions: Matrix
    back: Matrix

    @classmethod
    def of(cls, lags: Vector, omega: ArrayLike) -> _Basis:
        u, s, vt = np.linalg.svd(columns(lags, omega), full_matrices=False)
        kept = s > NEGLIGIBLE * s[0]
        return cls(np.atleast_1d(np.asarray(omega, dtype=np.float64)), u[:, kept], vt[kept].T / s[kept])

    def fit(self, weights: Vector) -> Fit:
        return Fit(self.omega, self.back @ weights)


def minimax(target: Vector, omega: ArrayLike) -> Fit:
    """The smallest largest error: minimise t subject to |Q w - target| <= t (scipy's HiGHS)."""
    from scipy.optimize import linprog

    basis = _Basis.of(np.arange(len(target)), omega)
    q, slack = basis.directions, np.ones((len(target), 1))
    found = linprog(
        np.append(np.zeros(q.shape[1]), 1.0),
        np.block([[q, -slack], [-q, -slack]]),
        np.concatenate([target, -target]),
        bounds=[(None, None)] * q.shape[1] + [(0, None)],
        method="highs",
    )
    return basis.fit(found.x[:-1])


def capped(target: Vector, omega: ArrayLike, cap: float) -> Fit:
    """The smallest KL(softmax(target) ‖ softmax(fit)) with every coefficient but the constant in [-cap, cap].

    Raises ValueError unless cap > 0.
    """
    from scipy.optimize import minimize

    if not cap > 0:
        raise ValueError(f"cap = {cap}: the largest coefficient must be positive")
    omega = np.atleast_1d(np.asarray(omega, dtype=np.float64))
    waves, p = columns(np.arange(len(target)), omega)[:, 1:], softmax(target)

    def loss(weights: Vector) -> tuple[float, Vector]:
        logits = waves @ weights
        return float(log_sum_exp(logits) - p @ logits), waves.T @ (softmax(logits) - p)

    start, bounds = np.zeros(waves.shape[1]), [(-cap, cap)] * waves.shape[1]
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 3000, "ftol": 1e-13})
    return Fit(omega, np.append(0.0, found.x))


def greedy(target: Vector, modes: int, grid: int = 2) -> Vector:
    """`modes` frequencies chosen one by one, each the one that leaves the smallest sum of squares (free frequencies).

    Candidates are `grid` per natural spacing π/L, from one of these steps to π.
    """
    lags, spacing = np.arange(len(target)), math.pi / len(target)
    candidates = np.arange(1, grid * len(target) + 1) * spacing / grid
    waves = np.stack([np.cos(np.outer(candidates, lags)), np.sin(np.outer(candidates, lags))], axis=1)
    chosen: list[float] = []
    basis = np.full((1, len(target)), len(target) ** -0.5)
    for _ in range(modes):
        free = waves - (waves @ basis.T) @ basis
        residual = target - (target @ basis.T) @ basis
        gram, inner = free @ free.transpose(0, 2, 1), free @ residual
        gain = np.einsum("cr,crs,cs->c", inner, np.linalg.pinv(gram, rcond=1e-8, hermitian=True), inner)
        chosen.append(float(candidates[int(np.argmax(gain))]))
        basis = np.linalg.svd(columns(lags, chosen).T @ np.eye(len(lags)), full_matrices=False)[2]
    return np.array(chosen)


def rope_ladder(modes: int, length: int) -> Vector:
    """Wavelengths from 2π to 2π 10^4, whatever the length: the fixed geometric frequencies of RoPE's kind."""
    return np.array(geometric(modes))


def harmonics(modes: int, length: int) -> Vector:
    """ω_r = π r / L: half waves on the window, period 2 L."""
    return math.pi / length * np.arange(1, modes + 1)


def slow(modes: int, length: int) -> Vector:
    """ω_r = r / (4 L): waves much longer than the window, which act on it like polynomials of degree 2 R."""
    return np.arange(1, modes + 1) / (4 * length)


LADDERS: dict[str, Callable[[int, int], Vector]] = {
    "RoPE's ladder": rope_ladder,
    "harmonics": harmonics,
    "slow waves": slow,
}


def targets(length: int) -> dict[str, Callable[[Vector], Vector]]:
    """The log-priors to be fitted, as functions of float lags; scales go with the window."""
    return {
        "slope": lambda d: -16 * d / length,
        "root": lambda d: -np.sqrt(d),
        "logarithm": lambda d: -np.log1p(d),
        "window": lambda d: np.where(d < length / 8, 0.0, -8.0),
    }


def divergence_of(log_prior: Callable, fit: Callable, length: int) -> float:
    """KL(π ‖ q) over the lags 0..length-1, from logarithms: a fit that runs away has a large KL, not an infinite one.

    At most e²/2 where the fit is within e of the log-prior everywhere (KL <= ω²/8 with scores of range ω = 2 e).
    """
    lags = np.arange(float(length))
    p, q = log_prior(lags), fit(lags)
    p, q = p - log_sum_exp(p), q - log_sum_exp(q)
    return float(np.exp(p) @ (p - q))


def shapes(length: int) -> dict[str, Callable[[Vector], Vector]]:
    """Log-priors of four kinds, none a wave: attracting, repelling, a band of lags, periodic (triangles)."""
    return {
        "attracts": lambda d: -2 * np.log1p(d / (length / 8)),
        "repels": lambda d: -3 * np.exp(-d / (length / 16)),
        "band": lambda d: np.maximum(-((d - length / 3) ** 2) / (2 * (length / 16) ** 2), -6.0),
        "periodic": lambda d: 2 * np.abs((d / (length / 8)) % 2 - 1),
    }
