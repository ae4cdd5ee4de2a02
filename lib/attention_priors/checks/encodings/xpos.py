"""The survey on xPos: the sign of the keys' damping and its derivation.

Independent evidence: scores at shifted places, complex numbers in numpy against the library's damped rotation.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable
from itertools import product

import numpy as np
import torch

from attention_priors.checks.rotations import oracles
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.rotary import DampedRotary, xpos

Encode = Callable[[float, float, int], complex]
GAMMA, SCALE = 0.4, 512.0  # as released
PLACES = [
    {"xi": xi, "theta": theta, "m": m, "n": n, "shift": s}
    for xi, theta in product((-0.1, 0.01), (0.0, 0.7))
    for m, n, s in ((1, 1, 1), (10, 3, 100), (200, 0, 30))
]
FACTORS = [{"xi": xi, "theta": theta, "n": n} for theta, xi, n in product((0.0, 2.0), (1.0, -0.3), (1, 4))]
POSITIONS = (0, 3, 40, 200)
SCORES = [{"m": m, "n": n} for m, n in product(POSITIONS, repeat=2)]


def growing(xi: float, theta: float, n: int) -> complex:
    """e^{ξn + iθn}, what queries are multiplied by."""
    return cmath.exp((xi + 1j * theta) * n)


def opposite(xi: float, theta: float, n: int) -> complex:
    return cmath.exp((-xi + 1j * theta) * n)


def inverse(xi: float, theta: float, n: int) -> complex:
    """e^{-λn}, λ = ξ + iθ."""
    return cmath.exp(-(xi + 1j * theta) * n)


def real(q: complex, k: complex) -> float:
    return (q * k.conjugate()).real


def bilinear(q: complex, k: complex) -> float:
    return (q * k).real


def shifted(inner: Callable[[complex, complex], float]) -> Callable:
    """Score of q = k = 1 at (m, n), and at (m + shift, n + shift)."""

    def scores(says: tuple[Encode, Encode], xi: float, theta: float, m: int, n: int, shift: int) -> tuple[float, float]:
        query, key = says
        here, there = (inner(query(xi, theta, m + s), key(xi, theta, n + s)) for s in (0, shift))
        return here, there

    return scores


def factor_of(sign: tuple[int, int]) -> Callable:
    """e^{(aξ + ibθ)n} as [real part, imaginary part]."""

    def factor(xi: float, theta: float, n: int) -> list[float]:
        found = cmath.exp((sign[0] * xi + sign[1] * 1j * theta) * n)
        return [found.real, found.imag]

    return factor


def content() -> tuple[np.ndarray, np.ndarray]:
    """A query and a key of width 8."""
    return tuple(np.random.default_rng(1).standard_normal((2, 8)))


def by_planes(m: int, n: int, sign: int = 1, width: int = 8) -> float:
    """Σ e^{ξ(m-n)} Re[q conj(k) e^{iθ(m-n)}], ξ = ln ζ / 512, ζ_i = (2i/width + .4) / 1.4."""
    i = np.arange(width // 2)
    xi = np.log((2 * i / width + GAMMA) / (1 + GAMMA)) / SCALE
    q, k = (oracles.planes(x) for x in content())
    return float(oracles.score(q, k, (xi + sign * 1j * 10_000.0 ** (-2 * i / width)) * (m - n)))


def library(m: int, n: int) -> float:
    q, k = (torch.from_numpy(x)[None, None, None] for x in content())
    q, k = DampedRotary(xpos(8))(q, k, torch.tensor([m]), torch.tensor([n]))
    return float((q * k).sum())


CHECKS = claims(
    claim(
        "PE-XPOS",
        Law(
            "f_q = q e^(ξn + iθn) with f_k = k e^(ξn + iθn): scores depend on m - n (the real inner product, as for "
            "RoPE).",
            (growing, growing),
            shifted(real),
            PLACES,
            wrong=(growing, lambda xi, theta, n: growing(2 * xi, theta, n)),
            repaired=(growing, opposite),
            quote=r"$&{}:= ke^{\xi n + i\theta n}$",
            place="xPos",
        ),
        Law(
            "f_k = k e^(ξn + iθn) is A_k k e^(-λn), λ = ξ + iθ, without A_k.",
            factor_of((1, 1)),
            factor_of((-1, -1)),
            FACTORS,
            wrong=factor_of((1, -1)),
            quote=r"$&{}:= ke^{\xi n + i\theta n}$",
            place="xPos",
        ),
        Law(
            "The line before, A_q q e^(λn) with A_k k e^(-λn), is relative (the product without conjugation).",
            (growing, inverse),
            shifted(bilinear),
            PLACES,
            wrong=(growing, growing),
        ),
        corrected=Law(
            "f_k = k e^(-ξn + iθn): the score is e^(ξ(m-n)) Re[q conj(k) e^(iθ(m-n))], falling with the lag for ξ < 0.",
            by_planes,
            library,
            SCORES,
            wrong=lambda m, n: by_planes(m, n, -1),
            answers=(1, 2),
        ),
        practice="With the printed sign scores shrink as e^(ξ(m+n)): not with distance, but with how late both tokens "
        "are. Implementations divide keys by the scale that multiplies queries.",
        severity="needs a repair",
    ),
)
