"""The survey on longer contexts of RoPE: dynamic linear scaling, the base as digits, the number 600.

Independent evidence: transformers' frequencies (float32), mpmath in 40 digits, repeated division, complex numbers.
Spectra are compared by their logarithms, so that tolerances are relative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import mpmath
import numpy as np
import sympy

from attention_priors.checks.rotations import oracles
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions import extensions
from attention_priors.positions.rotary import rope

BASE, TRAINED = 10_000.0, 2048
BY = ("transformers", "ours")
LONGER = [{"trained": TRAINED, "length": n, "by": by} for n in (TRAINED, 3000, 2 * TRAINED, 16 * TRAINED) for by in BY]
SHORTER = [{"trained": TRAINED, "length": n, "by": "ours"} for n in (1, 100)]
GROWING = [{"trained": TRAINED, "length": a, "later": b} for a, b in pairwise(TRAINED * k for k in (1, 2, 3, 4, 8, 16))]
WHOLE = [{"width": d, "number": n} for d in (2, 4, 8) for n in (*range(1, 60), 99, 100, 101, 12_345, 10**6)]
PLACES = [{"width": d, "number": n, "by": by} for d in (8, 64, 128) for n in (1, 17, 4096) for by in BY]
FARTHER = [{"factor": f, "width": d} for d in (2, 128) for f in (601.0, 1200.0, 6000.0)]


def logs(frequencies) -> np.ndarray:
    return np.log(np.asarray(frequencies, dtype=float))


def with_base(width: int, base: float) -> np.ndarray:
    """Of RoPE with that base."""
    return logs([base ** (-2 * i / width) for i in range(width // 2)])


# Dynamic linear


def scaled(scale: Callable[[int, int], float]) -> Callable:
    """RoPE's frequencies of width 64 times a scale."""
    return lambda trained, length: with_base(64, BASE) + math.log(scale(trained, length))


def linear(trained: int, length: int, by: str) -> np.ndarray:
    if by == "ours":
        return logs(extensions.dynamic_linear(rope(64), length, trained).omega)
    return logs(oracles.scaled("linear", 64, length / trained, trained)[0])


def no_less_later(says: Callable, trained: int, length: int, later: int) -> tuple[float, float]:
    return says(trained, length), says(trained, later)


# Digits


def base_of(width: int) -> mpmath.mpf:
    beta = mpmath.mpf(10_000) ** (mpmath.mpf(2) / width)
    return mpmath.nint(beta) if abs(beta - mpmath.nint(beta)) < 1e-30 else beta


def digits(width: int, number: int, first: int = 0) -> list[float]:
    """floor(n / β^(m-1)) mod β, from the least one on, and the zero in front; β = 10000^(2/width)."""
    with mpmath.workdps(40):
        beta = base_of(width)
        count = math.ceil(math.log(number + 1, float(beta))) + 1
        return [float(mpmath.floor(number / beta ** (m + first)) % beta) for m in range(count)]


def divided(width: int, number: int) -> list[float]:
    """Remainders of repeated division by the whole base, until nothing is left, and the zero in front."""
    beta, found, rest = round(10_000 ** (2 / width)), [], number
    while rest:
        rest, remainder = divmod(rest, beta)
        found.append(float(remainder))
    return [*found, 0.0]


def adds_up(width: int) -> bool:
    """Do these digits add up to the number they stand for, for 2 .. 59 and numbers just beyond β² and β³?"""
    with mpmath.workdps(40):
        beta = base_of(width)
        numbers = [*range(2, 60), *(math.ceil(beta**k) for k in (2, 3))]
        sums = [sum(x * beta**m for m, x in enumerate(digits(width, n))) for n in numbers]
        return all(abs(total - n) < 1e-9 * n for total, n in zip(sums, numbers, strict=True))


def angles(width: int, number: int, by: str) -> np.ndarray:
    theta = rope(width).omega if by == "ours" else oracles.scaled("linear", width, 1.0, TRAINED)[0]
    return logs(number * np.array(theta))


def arguments(first: int) -> Callable:
    """n / β^(m-1)."""
    return lambda width, number: logs([number / 10_000 ** (2 / width * (m + first)) for m in range(width // 2)])


# The number 600


def error_over_bound(factor: float, width: int) -> float:
    """Largest error of reading a score linearly between integer lags, at lags k / factor, over its bound Σ θ_j² / 8.

    The score Re Σ h_j e^{i s θ_j} with |h_j| <= 1 has a second derivative of at most Σ θ_j², so that the error is at
    most (s - s₁)(s₂ - s)/2 · Σ θ_j² <= Σ θ_j² / 8, at any s. The worst phases of h make it a sum of moduli. At width 2
    it is 1 - cos(1/2) = 0.1224 of 1/8, near the middle.
    """
    theta = BASE ** (-np.arange(0, width, 2) / width)
    s = (np.unique(np.round(np.linspace(0, factor, 400))) / factor)[:, None]
    errors = np.abs(np.exp(1j * s * theta) - (1 - s) - s * np.exp(1j * theta)).sum(1)
    return float(errors.max() / (np.sum(theta**2) / 8))


def ratio_of_bounds(base: int) -> float:
    """2 d max|h| to the maximum over s of d max|h| (s - s₁)(s₂ - s) / (8 ln c), s₂ - s₁ = 1."""
    s, d = sympy.symbols("s d", positive=True)
    inner = d * s * (1 - s) / (8 * sympy.log(base))
    return float(2 * d / inner.subs(s, sympy.solve(sympy.diff(inner, s), s)[0]))


CHECKS = claims(
    claim(
        "PE-PI-E1",
        Law(
            "The ~600 of the position interpolation paper is a largest factor, beyond which its bound fails: the error "
            "of reading a score linearly between integer lags exceeds it (is more than 1 of the bound).",
            1.0,
            error_over_bound,
            FARTHER,
            wrong=1.01,
            relation="<",
            repaired=0.97,
            quote="this is corroborated by the recent paper by Meta … that suggests an upper bound of ~600x",
            place="NTK-Aware Scaled RoPE",
        ),
        corrected=Law(
            "The ~600 is the ratio of two bounds on attention scores, 2 d max|h| for extrapolation to d "
            "max|h| / (32 ln c) for interpolation: 64 ln c = 589 at base c = 10000, whatever the factor.",
            lambda base: 64 * math.log(base),
            ratio_of_bounds,
            [{"base": c} for c in (100, 10_000, 500_000)],
            wrong=lambda base: 32 * math.log(base),
        ),
        practice="No theory says how far positions may be squeezed; resolution does: at factor f neighbours differ by "
        "1/f radians in the fastest plane.",
        severity="needs a repair",
    ),
    claim(
        "PE-DLIN",
        Law(
            "Scaling positions by L_max / L_cur keeps a longer text within the trained range: it is linear scaling by "
            "L_cur / L_max.",
            scaled(lambda trained, length: trained / length),
            linear,
            LONGER,
            wrong=scaled(lambda trained, length: length / trained),
            tolerance=oracles.FLOAT32,
        ),
        Law(
            "This scale grows as the text grows.",
            lambda trained, length: trained / length,
            no_less_later,
            GROWING,
            wrong=lambda trained, length: (trained / length) ** 2,
            relation="<=",
            repaired=lambda trained, length: length / trained,
            quote="set the scale to max_seq_len / current_position_length, which can slowly increase the scale",
            place="Dynamic Linear RoPE",
        ),
        corrected=(
            Law(
                "As a multiplier of positions the scale is min(1, L_max / L_cur), which falls: up to L_max nothing is "
                "scaled.",
                scaled(lambda trained, length: min(1, trained / length)),
                linear,
                [*SHORTER, *LONGER],
                wrong=scaled(lambda trained, length: trained / length),
                tolerance=oracles.FLOAT32,
            ),
            Law(
                "As a divisor it is max(1, L_cur / L_max), which grows.",
                lambda trained, length: max(1, length / trained),
                no_less_later,
                GROWING,
                wrong=lambda trained, length: min(1, trained / length),
                relation="<=",
            ),
        ),
        practice="The class listed under this heading divides positions by a fixed scale: a reader who sets that scale "
        "to L_max / L_cur stretches positions instead. The dynamic variant is the other branch of the dynamic "
        "NTK listing, which multiplies.",
        severity="editorial",
    ),
    claim(
        "PE-BETA",
        Law(
            "The base b sets the effective context window: the d/2 places β = b^(2/d) count to b, the longest period "
            "is 2π b^(1 - 2/d), and it grows with the base.",
            lambda width, base: 2 * math.pi * base ** (1 - 2 / width),
            lambda width, base: 2 * math.pi / min(rope(width, base).omega),
            [{"width": d, "base": b} for d in (4, 8, 64, 128) for b in (1e3, 1e4, 5e5)],
            wrong=lambda width, base: 2 * math.pi * base,
            relation="==",
            tolerance=lambda width, base: 1e-5 * base,
            quote="theoretical insight into the relationship between the base and the effective context window",
            place="$\\beta$-ary RoPE",
        ),
        Law(
            "Digit m of n in base β is floor(n / β^(m-1)) mod β. (The formula is that of the post that the survey "
            "cites for it. It is judged for whole β, where there are digits: RoPE's β = 10000^(2/d) at d = 2, 4, 8.)",
            digits,
            divided,
            WHOLE,
            wrong=lambda width, number: digits(width, number, 1),
            tolerance=0,
            ours=True,
        ),
        Law(
            "RoPE takes cosine and sine of n / β^(m-1).",
            arguments(0),
            angles,
            PLACES,
            wrong=arguments(1),
            tolerance=oracles.FLOAT32,
            ours=True,
        ),
        Law(
            "It only resembles positional notation: for RoPE's other β these numbers do not add up to every n.",
            lambda width: width in (2, 4, 8),
            adds_up,
            [{"width": d} for d in (2, 4, 6, 8, 10, 12, 16, 32, 64, 128)],
            wrong=lambda width: width <= 8,
            tolerance=0,
            ours=True,
        ),
        practice="The reading explains interpolation (divide n) and NTK (enlarge β by a^(2/(d-2))), no more: at d = "
        "128 the base is 1.15, and a phase has period 2π β^(m-1), not β^m. At d = 16 the digits of 10 add up "
        "to 20.",
    ),
)
