"""The survey's table of RoPE's equations beside its code.

Independent evidence: scipy's matrix exponential, transformers' coding and frequencies, mpmath.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from itertools import product

import mpmath
import numpy as np
import torch
from scipy.linalg import expm

from attention_priors.checks.rotations import oracles
from attention_priors.claims.law import Law, claim, claims

PLANES = [{"width": d, "plane": i} for d in (2, 4, 8, 64) for i in range(d // 2)]
ENTRIES = [
    {"width": d, "position": m, "unit": u, "component": c}
    for d, m in product((2, 4, 8), (1, 7))
    for u, c in product(range(d), repeat=2)
]
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def frequencies(width: int) -> np.ndarray:
    return 10_000.0 ** (-np.arange(0, width, 2) / width)


def transformers_frequency(width: int, plane: int) -> float:
    return float(oracles.scaled("linear", width, 1.0, 2048)[0][plane])


def near(width: int, plane: int) -> float:
    """float32's error of a frequency."""
    return 1e-5 * 10_000 ** (-2 * plane / width)


def angles_at(width: int, positions: Sequence[float]) -> torch.Tensor:
    return torch.outer(torch.as_tensor(positions).double(), torch.from_numpy(frequencies(width)))


def neighbours(width: int) -> list[list[int]]:
    return [[2 * i, 2 * i + 1] for i in range(width // 2)]


def halves(width: int) -> list[list[int]]:
    return [[i, i + width // 2] for i in range(width // 2)]


def entry_of(pairs: Callable, last_first: bool = False) -> Callable:
    """A component of the turned unit vector: R with M_i on the i-th of these pairs."""

    def entry(width: int, position: int, unit: int, component: int) -> float:
        for (first, second), theta in zip(pairs(width)[:: -1 if last_first else 1], frequencies(width), strict=True):
            if {unit, component} <= {first, second}:
                sign = 0 if unit == component else 1 if component == second else -1
                return sign * math.sin(position * theta) if sign else math.cos(position * theta)
        return 0.0

    return entry


def rotate_half(width: int, position: int, unit: int, component: int) -> float:
    """Of q * cos + rotate_half(q) * sin as transformers runs it."""
    return float(_rotate_half(width, position)[unit, component])


@functools.cache
def _rotate_half(width: int, position: int) -> np.ndarray:
    units = torch.eye(width, dtype=torch.float64)[None]
    return oracles.rotate_half(units, units, angles_at(width, [position] * width))[0][0].numpy()


def matrix(angle: float, sign: int = 1) -> np.ndarray:
    cos, sin = math.cos(angle), sign * math.sin(angle)
    return np.array([[cos, -sin], [sin, cos]])


def exact_angles(position: int) -> list[float]:
    """m θ_i at width 8, in 40 digits."""
    with mpmath.workdps(40):
        return [float(position / mpmath.mpf(10_000) ** (mpmath.mpf(2 * i) / 8)) for i in range(4)]


CHECKS = claims(
    claim(
        "PE-ROPE-MAP",
        Law(
            "θ_i = 10000^(-2i/d) is inv_freq.",
            lambda width, plane: 1 / 10_000 ** (2 * plane / width),
            transformers_frequency,
            PLANES,
            wrong=lambda width, plane: 1 / 10_000 ** (plane / width),
            tolerance=near,
        ),
        Law(
            "The angles m θ_i are einsum('i,j->ij', t, inv_freq).",
            lambda position: np.einsum("i,j->ij", [position], frequencies(8))[0].tolist(),
            exact_angles,
            [{"position": m} for m in (0, 1, 7, 59)],
            wrong=lambda position: np.einsum("i,j->ij", [position], frequencies(8)[::-1])[0].tolist(),
        ),
        Law(
            "R is the pair cos, sin.",
            matrix,
            lambda angle: expm(angle * TURN),
            [{"angle": a} for a in (0.0, 0.3, 2.0, 40.0)],
            wrong=lambda angle: matrix(angle, -1),
        ),
        Law(
            "x' = R x, R as in the survey's matrix equation (neighbouring coordinates), is q * cos + rotate_half(q) * "
            "sin.",
            entry_of(neighbours),
            rotate_half,
            ENTRIES,
            wrong=entry_of(neighbours, last_first=True),
            tolerance=1e-12,
            quote=r"$x_m' = R_{m\theta} \cdot x_m$ (q * cos) + (rotate_half(q) * sin)",
            place="Notes:",
        ),
        corrected=Law(
            "q * cos + rotate_half(q) * sin is R x with the planes (x_i, x_(i + d/2)): the matrix equation's "
            "rotation after "
            "a fixed permutation of coordinates, which the survey's later listings name, with the same scores.",
            entry_of(halves),
            rotate_half,
            ENTRIES,
            wrong=entry_of(halves, last_first=True),
            tolerance=1e-12,
        ),
        practice="The first three rows hold for every coding; the last needs rotate_half's own pairing. Mixed with the "
        "equation's pairing it is another rotation, equal at d = 2 only.",
        severity="editorial",
    ),
)
