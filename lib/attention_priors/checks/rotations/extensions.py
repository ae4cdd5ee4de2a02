"""The survey on RoPE's base as that of a number system (PE-BETA).

Independent evidence: transformers' frequencies (float32), mpmath in 40 digits, repeated division.
Spectra are compared by their logarithms, so that tolerances are relative.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np

from attention_priors.checks.rotations import oracles
from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.positions.rotary import rope

TRAINED = 2048
BY = ("transformers", "ours")
WHOLE = grid(width=(2, 4, 8), number=(*range(1, 60), 99, 100, 101, 12_345, 10**6))
PLACES = grid(width=(8, 64, 128), number=(1, 17, 4096), by=BY)


def logs(frequencies) -> np.ndarray:
    return np.log(np.asarray(frequencies, dtype=float))


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


CHECKS = claims(
    claim(
        "PE-BETA",
        Law(
            "The base b sets the effective context window: the d/2 places β = b^(2/d) count to b, the longest period "
            "is 2π b^(1 - 2/d), and it grows with the base.",
            lambda width, base: 2 * math.pi * base ** (1 - 2 / width),
            lambda width, base: 2 * math.pi / min(rope(width, base).omega),
            grid(width=(4, 8, 64, 128), base=(1e3, 1e4, 5e5)),
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
            grid(width=(2, 4, 6, 8, 10, 12, 16, 32, 64, 128)),
            wrong=lambda width: width <= 8,
            ours=True,
        ),
        practice="The reading explains interpolation (divide n) and NTK (enlarge β by a^(2/(d-2))), no more: at d = "
        "128 the base is 1.15, and a phase has period 2π β^(m-1), not β^m. At d = 16 the digits of 10 add up "
        "to 20.",
    ),
)
