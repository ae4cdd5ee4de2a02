"""Across the documents: RoPE with bias contains Goat, powers that a plain call carries, bounded priors, fits by waves.

Truths: sympy, the library's rotation, exact rational ranks, determinants with 200 digits, scipy's bounded search.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import cos, exp, fsum, log, pi, sin

import mpmath
import numpy as np
import sympy
import torch
from scipy import optimize, special

from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions import rotary
from attention_priors.positions.spectral import Fourier
from attention_priors.theory import classification, spectra

OMEGA = (1.0, 0.1, 0.37)
TURNS = [{"m": m, "n": n, "seed": s} for s, (m, n) in enumerate(((0, 0), (7, 2), (3, 90), (1000, 1)))]
COEFFICIENTS = [
    {"alpha": a, "beta": b, "lag": d} for a, b, d in product((-1.2, 0.0, 0.7), (-0.4, 2.0), (-20, 0, 1, 13))
]
BOXES = [{"bound": b, "keys": n, "count": m} for b, n, m in ((0.5, 4, 1), (1.0, 10, 3), (2.0, 6, 1))]
LONG = [{"keys": n} for n in (10**3, 10**5, 10**6)]
FITS = [{"target": name, "length": 64} for name in spectra.targets(64)]
SLOPES = [{"m": m, "omega": w, "length": n} for m, w, n in ((0.5, 1e-3, 64), (0.0625, 1e-4, 512), (1.0, 0.002, 100))]
A1, A2, B1, B2, T = sympy.symbols("a1 a2 b1 b2 t", real=True)
TURN = sympy.Matrix([[sympy.cos(T), sympy.sin(T)], [-sympy.sin(T), sympy.cos(T)]])  # of the angle -t = -omega d

# RoPE with bias


def drawn(seed: int) -> np.ndarray:
    """q, k, a, b [4, 3 planes, 2]."""
    return np.random.default_rng(seed).standard_normal((4, 3, 2))


def inner(x: np.ndarray, y: np.ndarray, m: int, n: int) -> float:
    """x^T R_(n - m) y by the library's rotation, half-split."""
    halves = (torch.as_tensor(each.T.ravel())[None, None, None] for each in (x, y))
    x, y = rotary.Rotary(rotary.Spectrum(OMEGA))(*halves, torch.tensor([m]), torch.tensor([n]))
    return float((x * y).sum())


def content_free(m: int, n: int, seed: int) -> float:
    """(q + a)^T R (k + b) less its terms with content."""
    q, k, a, b = drawn(seed)
    return inner(q + a, k + b, m, n) - inner(q, k, m, n) - inner(a, k, m, n) - inner(q, b, m, n)


def waves(m: int, n: int, seed: int, sign: int = 1) -> float:
    """sum_r a_r . b_r cos(omega_r d) + a_r x b_r sin(omega_r d), d = m - n."""
    _, _, a, b = drawn(seed)
    return sum(
        (x @ y) * cos(w * (m - n)) + sign * (x[0] * y[1] - x[1] * y[0]) * sin(w * (m - n))
        for x, y, w in zip(a, b, OMEGA, strict=True)
    )


def reached(says: Callable, alpha: float, beta: float, lag: int) -> tuple[float, float]:
    """(a^T R b for (a, b) = says(alpha, beta), Goat's prior of one wave), frequency .3."""
    (a1, a2), (b1, b2) = says(alpha, beta)
    c, s = cos(0.3 * lag), sin(0.3 * lag)
    prior = Fourier([0.3], torch.tensor([[alpha]]).double(), torch.tensor([[beta]]).double())
    found = prior.log_prior(torch.tensor([lag])).detach()
    return a1 * (c * b1 + s * b2) + a2 * (c * b2 - s * b1), float(found[0, 0])


# powers of the lag


def power_block(beta: int, size: int, first: int) -> list[list[Fraction]]:
    """|i - j|^beta in rationals for queries from `first` on and keys from 0 on."""
    return [[Fraction(abs(i - j)) ** beta for j in range(size)] for i in range(first, first + size)]


def ranks(beta: int) -> tuple[int, int] | None:
    """(rank, rank without row functions) of causal blocks, exact; None where it grows from size 9 to 12."""
    found = []
    for size in (9, 12):
        rows = power_block(beta, size, size)
        steps = [[x - y for x, y in zip(row[1:], row, strict=False)] for row in rows]  # row functions drop out
        found.append((classification.exact_rank(rows), classification.exact_rank(steps)))
    return found[0] if found[0] == found[1] else None


def vanishes(beta: float, first: int, sizes: tuple[int, ...]) -> bool:
    """Whether the block of some size has determinant 0, with 200 digits."""
    with mpmath.workdps(200):
        for size in sizes:
            lags = [[mpmath.mpf(abs(first * size + i - j)) for j in range(size)] for i in range(size)]
            value = mpmath.det(mpmath.matrix([[d**beta if d else d for d in row] for row in lags]))
            if abs(value) < mpmath.mpf(10) ** -150:
                return True
    return False


def finite(beta: float) -> bool:
    """Over both signs: the rank stays the same from 9 to 12 positions, or a determinant vanishes."""
    if beta == int(beta):
        small, large = (classification.exact_rank(power_block(int(beta), n, 0)) for n in (9, 12))
        return small == large
    return vanishes(beta, 0, (9, 12))


# bounded priors


def largest_share(bound: float, keys: int, count: int) -> float:
    """The most mass of the first keys over log-priors within the bound, by scipy's search."""
    box = [(-bound, bound)] * keys
    return -optimize.minimize(lambda k: -special.softmax(k)[:count].sum(), np.zeros(keys), bounds=box).fun


def share(bound: float, keys: int, count: int) -> float:
    return count * exp(2 * bound) / (count * exp(2 * bound) + keys - count)


def window_mass(prior: Callable) -> Callable[[int], float]:
    """P(lag <= 64) over the lags 1..keys."""

    def truth(keys: int) -> float:
        return float(special.softmax(prior(np.arange(1.0, keys)))[:64].sum())

    return truth


def two_waves(d: np.ndarray) -> np.ndarray:
    return 3 * np.cos(d) + 2 * np.sin(0.01 * d)


def retrieving(d: np.ndarray) -> np.ndarray:
    return -((d / 4) ** -0.5)


# how many waves


def fitted(modes: int, target: str, length: int) -> tuple[np.ndarray, np.ndarray]:
    """(the log-prior, its least-squares fit by the first waves of period L) on the lags 0..L-1."""
    lags = np.arange(float(length))
    wanted = spectra.targets(length)[target](lags)
    return wanted, spectra.least_squares(wanted, 2 * pi * np.arange(1, modes + 1) / length)(lags)


def largest_error(says: Callable, target: str, length: int) -> tuple[float, float]:
    wanted, found = fitted(says(length), target, length)
    return 0.0, float(np.abs(found - wanted).max())


def relative_entropy(says: Callable, target: str, length: int) -> tuple[float, float]:
    """KL of the softmax of the log-prior from that of the fit, written out."""
    both = fitted(says(length), target, length)
    p, q = ([exp(x - max(values)) for x in values] for values in map(np.ndarray.tolist, both))
    over, under = fsum(p), fsum(q)
    return 0.0, abs(fsum(x / over * log(x / over / (y / under)) for x, y in zip(p, q, strict=True) if x))


def of_long_wave(m: float, omega: float, length: int) -> float:
    """Largest error of -(m / omega) sin(omega d) for -m d."""
    d = np.arange(float(length))
    return float(np.abs(m * d - m / omega * np.sin(omega * d)).max())


@cache
def slope_by_waves(modes: int) -> tuple[spectra.Fit, int]:
    """The slope on 64 lags by waves, and a lag beyond them at which all waves are nearly where they began."""
    omega = np.asarray(spectra.geometric(modes, 2 * pi, 400.0))
    lags = np.arange(65, 10**6 + 1)
    back = np.cos(np.multiply.outer(lags, omega)).min(axis=1) >= cos(0.15)
    return spectra.minimax(spectra.targets(64)["slope"](np.arange(64.0)), omega), int(lags[np.argmax(back)])


def comes_back(says: Callable, modes: int, lag: int) -> tuple[float, float]:
    """(says(fit, lag), the fit at that lag beyond its return), over the size of its waves."""
    fit, back = slope_by_waves(modes)
    size = np.hypot(fit.coefficients[1 : 1 + modes], fit.coefficients[1 + modes :]).sum()
    return says(fit, lag) / size, float(fit([back + lag])[0]) / size


CHECKS = claims(
    claim(
        "X-5",
        Law("In a plane a^T R b = alpha cos + beta sin of omega d with alpha = a . b, beta = a x b, d = m - n.",
            (A1 * B1 + A2 * B2) * sympy.cos(T) + (A1 * B2 - A2 * B1) * sympy.sin(T),
            (sympy.Matrix([[A1, A2]]) * TURN * sympy.Matrix([B1, B2]))[0],
            wrong=(A1 * B1 + A2 * B2) * sympy.cos(T) - (A1 * B2 - A2 * B1) * sympy.sin(T), symbolic=True),
        Law("That is the content-free term of (q + a)^T R (k + b).",
            waves, content_free, TURNS, wrong=partial(waves, sign=-1), tolerance=1e-10),
        Law("Every Goat prior at these frequencies occurs: a = (alpha, -beta), b = (1, 0).",
            lambda alpha, beta: ((alpha, -beta), (1.0, 0.0)), reached, COEFFICIENTS,
            wrong=lambda alpha, beta: ((alpha, beta), (1.0, 0.0)), tolerance=1e-6),
        practice="Inside attention the term is divided by sqrt(d), and it comes with a content-dependent one. The "
                 "sink u(j) is not contained.",
    ),
    claim(
        "X-7",
        Law("Causal, integer beta: rank beta + 1, and beta without row functions; infinite below 0.",
            lambda beta: (beta + 1, beta) if beta >= 0 else None, ranks, [{"beta": b} for b in range(-2, 6)],
            wrong=lambda beta: (beta + 1, beta + 1) if beta >= 0 else None),
        Law("Causal, other beta: no finite rank.",
            False, partial(vanishes, first=1, sizes=(2, 6, 10)),
            [{"beta": b} for b in (-1.5, -0.5, 0.3, 0.5, 1.5, 2.5)], wrong=lambda beta: beta > 0),
        Law("Both signs: finite rank exactly for even integers beta >= 0.",
            lambda beta: beta % 2 == 0, finite, [{"beta": b} for b in (0, 1, 2, 3, 4, 5, 0.3, 0.5, 1.5, 2.5, 4.5)],
            wrong=lambda beta: beta == int(beta)),
        practice="Exactly is not approximately: 256 queries and keys under d^.5 have 7 singular values above 1e-6. "
                 "What fits give beyond the window is another matter (X-16).",
    ),
    claim(
        "X-8",
        Law("|K| <= B gives k of L keys at most k e^2B/(k e^2B + L - k), reached.",
            share, largest_share, BOXES, wrong=lambda bound, keys, count: share(bound / 2, keys, count),
            tolerance=1e-6),
        Law("Hence bounded waves lose every window: P(lag <= 64) <= 64 e^2B/L, here B = 5.",
            lambda keys: 64 * exp(10) / keys, window_mass(two_waves), LONG, relation=">=",
            wrong=lambda keys: 64 * exp(-10) / keys),
        Law("So does BAM's beta < 0 away from d = 0, here B = 2.",
            lambda keys: 64 * exp(4) / keys, window_mass(retrieving), LONG, relation=">=",
            wrong=lambda keys: 64 * exp(-4) / keys),
        practice="Goat's waves alone cannot hold a sink or a window as the context grows: its slope on keys can. "
                 "Count only the keys on which K is bounded.",
    ),
    claim(
        "X-16",
        Law("L/2 waves reproduce each of the four log-priors on L lags (largest error 1e-6 of 64 lags).",
            lambda length: length // 2, largest_error, FITS, wrong=lambda length: length // 4, tolerance=1e-6),
        Law("The same in KL between the priors.",
            lambda length: length // 2, relative_entropy, FITS, wrong=lambda length: length // 4, tolerance=1e-6),
        Law("The slope needs one mode, with a long wave: error m omega^2 (L - 1)^3/6.",
            lambda m, omega, length: m * omega**2 * (length - 1) ** 3 / 6, of_long_wave, SLOPES,
            wrong=lambda m, omega, length: m * omega * (length - 1) ** 2 / 6,
            tolerance=lambda m, omega, length: 0.005 * m * omega**2 * (length - 1) ** 3 / 6),
        Law("Past L sums of this sort are almost periodic: they come back to their values on the window.",
            lambda fit, lag: float(fit([lag])[0]), comes_back,
            [{"modes": n, "lag": d} for n, d in product((1, 2, 3), (0, 5, 40))],
            wrong=lambda fit, lag: float(fit([lag + 60])[0]), tolerance=0.15),
        practice="Smooth log-priors need few long waves and large coefficients; an edge resists them. Past a "
                 "quarter of the longest wave nothing of the fit is left.",
    ),
)  # fmt: skip
