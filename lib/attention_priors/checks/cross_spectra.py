"""Across the documents: RoPE with bias contains Goat, powers that a plain call carries, bounded priors, fits by waves.

Independent evidence: sympy, scipy's matrix exponential, exact rational ranks, mpmath determinants, scipy's HiGHS.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import torch
from scipy import linalg, optimize

from attention_priors.checks.evidence import Check, Evidence, Part, compare
from attention_priors.positions import rotary
from attention_priors.positions.spectral import Fourier
from attention_priors.theory import bands, classification, spectra
from attention_priors.theory.inference import softmax

# RoPE with bias


def check_bias_term(coefficients: Callable) -> Evidence:
    """(q + a)ᵀ R (k + b) minus its content terms is the sum with coefficients(a, b); R = expm((n - m) Ω) by scipy."""
    import sympy

    draw, omega, worst = np.random.default_rng(0), np.array([1.0, 0.1, 0.37]), 0.0
    generator = linalg.block_diag(*(w * np.array([[0.0, -1.0], [1.0, 0.0]]) for w in omega))
    for m, n in ((0, 0), (7, 2), (3, 90), (1000, 1)):
        q, k, a, b = draw.standard_normal((4, 6))
        turn = linalg.expm((n - m) * generator)
        left = (q + a) @ turn @ (k + b) - q @ turn @ k - a @ turn @ k - q @ turn @ b
        alpha, beta = np.transpose([coefficients(x, y) for x, y in zip(a.reshape(3, 2), b.reshape(3, 2), strict=True)])
        worst = max(worst, abs(float(left - spectra.wave(m - n, omega, alpha, beta))))
        turned = rotary.Rotary(rotary.Spectrum(tuple(omega)))(
            *(torch.as_tensor(x.reshape(3, 2).T.ravel())[None, None, None] for x in (a, b)),
            torch.tensor([m]), torch.tensor([n]),
        )  # fmt: skip
        worst = max(worst, abs(float((turned[0] * turned[1]).sum()) - float(a @ turn @ b)))
    a1, a2, b1, b2, t = sympy.symbols("a1 a2 b1 b2 t", real=True)
    matrix = sympy.Matrix([[sympy.cos(t), sympy.sin(t)], [-sympy.sin(t), sympy.cos(t)]])  # R of the angle -t = -omega d
    even, odd = coefficients((a1, a2), (b1, b2))
    exact = (sympy.Matrix([[a1, a2]]) * matrix * sympy.Matrix([b1, b2]))[0] - even * sympy.cos(t) - odd * sympy.sin(t)
    zero = sympy.simplify(exact) == 0
    detail = f"sympy: {'identity' if zero else 'differs'}; floats and the library's rotation to lag 999"
    return compare(worst if zero else math.inf, "<=", 1e-10, detail=detail)


def check_reached(biases: Callable) -> Evidence:
    """Every Goat prior at the rotation's frequencies: biases(alpha, beta) -> (a, b) gives these coefficients."""
    draw, worst, lags = np.random.default_rng(1), 0.0, np.arange(-20, 21)
    turns = np.stack([linalg.expm(-d * 0.3 * np.array([[0.0, -1.0], [1.0, 0.0]])) for d in lags])
    for alpha, beta in draw.standard_normal((50, 2)):
        a, b = biases(alpha, beta)
        prior = Fourier([0.3], torch.tensor([[alpha]]), torch.tensor([[beta]]))
        found = prior.log_prior(torch.as_tensor(lags))[0].detach().numpy()
        worst = max(worst, float(np.abs(found - a @ turns @ b).max()))
    return compare(worst, "<=", 1e-12, detail="50 pairs of coefficients, lags -20..20")


# powers of the lag


def power_block(exponent: int, size: int, two_sided: bool) -> list[list[Fraction]]:
    """|i - j|^exponent in rationals: queries after all keys, or queries among the keys."""
    first = 0 if two_sided else size
    return [[Fraction(abs(i - j)) ** exponent for j in range(size)] for i in range(first, first + size)]


def differences(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """Neighbouring keys subtracted: row functions drop out."""
    return [[x - y for x, y in zip(row[1:], row, strict=False)] for row in rows]


def check_integer(rank: Callable) -> Evidence:
    """rank(beta) -> (rank, rank without row functions) of causal blocks, exact, at two sizes; None where it grows."""
    wrong, seen = 0, []
    for exponent in range(-2, 6):
        found = []
        for size in (9, 12):
            rows = power_block(exponent, size, two_sided=False)
            found.append((classification.exact_rank(rows), classification.exact_rank(differences(rows))))
        seen.append(found[0][0])
        wrong += int((found[0] if found[0] == found[1] else None) != rank(exponent))
    return compare(wrong, "==", 0, 0.0, detail=f"ranks of 9 x 9 blocks at beta = -2..5: {seen}")


def check_fractional(finite: Callable) -> Evidence:
    """Determinants of causal blocks at non-integer exponents, 200 digits: nonzero at every size unless finite(beta)."""
    import mpmath

    wrong, smallest = 0, mpmath.inf
    with mpmath.workdps(200):
        for exponent in (-1.5, -0.5, 0.3, 0.5, 1.5, 2.5):
            for size in (2, 6, 10):
                block = mpmath.matrix(size, size)
                for i in range(size):
                    for j in range(size):
                        block[i, j] = mpmath.mpf(size + i - j) ** exponent
                value = abs(mpmath.det(block))
                smallest = min(smallest, value)
                wrong += int((value < mpmath.mpf(10) ** -150) != finite(exponent))
        digits = mpmath.nstr(smallest, 2)
    approximate = [classification.numerical_rank(_root_block(n), 1e-6) for n in (16, 64, 256)]
    detail = f"least determinant {digits}; singular values above 1e-6 at beta = 1/2, n = 16, 64, 256: {approximate}"
    return compare(wrong, "==", 0, 0.0, detail=detail)


def _root_block(size: int) -> np.ndarray:
    return np.sqrt(np.subtract.outer(np.arange(size, 2 * size), np.arange(size)))


def check_two_sided(finite: Callable) -> Evidence:
    """Over both signs: finite(beta) exactly where the rank stays the same from 9 to 12 positions.

    Exact ranks for integers; for other exponents determinants with 200 digits, nonzero at every size tried.
    """
    import mpmath

    wrong, seen = 0, []
    for exponent in range(6):
        ranks = [classification.exact_rank(power_block(exponent, n, two_sided=True)) for n in (9, 12)]
        seen.append(ranks)
        wrong += int((ranks[0] == ranks[1]) != finite(exponent))
    smallest = mpmath.inf
    with mpmath.workdps(200):
        for exponent, size in itertools.product((0.3, 0.5, 1.5, 2.5, 4.5), (9, 12)):
            lags = [[mpmath.mpf(abs(i - j)) for j in range(size)] for i in range(size)]
            value = abs(mpmath.det(mpmath.matrix([[d**exponent if d else d for d in row] for row in lags])))
            smallest = min(smallest, value)
            wrong += int((value < mpmath.mpf(10) ** -150) != finite(exponent))
    detail = f"ranks at 9 and 12 positions, beta = 0..5: {seen}; least determinant between: {mpmath.nstr(smallest, 2)}"
    return compare(wrong, "==", 0, 0.0, detail=detail)


# bounded priors


def check_share(most: Callable) -> Evidence:
    """most(B, L, m) is the largest mass of m keys under |K| <= B: scipy's bounded search, and random rows below it."""
    draw, worst = np.random.default_rng(2), -np.inf
    for bound, keys, count in ((0.5, 4, 1), (1.0, 10, 3), (2.0, 6, 1)):
        box = [(-bound, bound)] * keys
        found = optimize.minimize(lambda k, c=count: -softmax(k)[:c].sum(), np.zeros(keys), bounds=box)
        worst = max(worst, abs(-found.fun - float(most(bound, keys, count))))
        for _ in range(200):
            worst = max(worst, softmax(draw.uniform(-bound, bound, keys))[:count].sum() - most(bound, keys, count))
    table = ", ".join(f"{float(most(5.0, n, 1)):.2g} ({n:.0e})" for n in (1e3, 1e5, 1e7))
    return compare(float(worst), "<=", 1e-6, detail=f"one key at B = 5, by keys: {table}")


def check_vanishes(prior: Callable) -> Evidence:
    """prior(lags): P(lag <= 64) at 1e6 keys is below a tenth of that at 1e3, and so on towards 0."""
    mass = []
    for keys in (10**3, 10**5, 10**7):
        p = np.exp(prior(np.arange(1.0, keys)))
        mass.append(float(p[:64].sum() / p.sum()))
    holds = mass[1] < mass[0] / 10 and mass[2] < mass[1] / 10
    return compare("vanishes" if holds else "stays", "==", "vanishes",
                   detail="P(lag <= 64) at 1e3, 1e5, 1e7 keys: " + ", ".join(f"{m:.2e}" for m in mass))  # fmt: skip


def _waves(lags: np.ndarray) -> np.ndarray:
    return 3 * np.cos(lags) + 2 * np.sin(0.01 * lags)


# how many waves


def check_count(enough: Callable) -> Evidence:
    """enough(L) waves fit each of the four log-priors on L lags to 1e-6, and the table of what fewer reach."""
    worst, length = 0.0, 64
    reached = {}
    for name, log_prior in spectra.targets(length).items():
        target = log_prior(np.arange(float(length)))
        omega = 2 * math.pi * np.arange(1, enough(length) + 1) / length
        worst = max(worst, float(np.abs(spectra.least_squares(target, omega)(np.arange(length)) - target).max()))
        errors = {r: spectra.minimax(target, spectra.harmonics(r, length)) for r in (1, 2, 4, 8)}
        reached[name] = [float(np.abs(fit(np.arange(length)) - target).max()) for fit in errors.values()]
    detail = "sup error of 1, 2, 4, 8 half waves on 64 lags: "
    detail += "; ".join(f"{name} " + ", ".join(f"{e:.2g}" for e in errors) for name, errors in reached.items())
    return compare(worst, "<=", 1e-6, detail=detail)


def check_slope(error: Callable) -> Evidence:
    """One long wave, -(m/omega) sin omega d, is within error(m, omega, L) of the slope -m d, and no nearer."""
    worst = 0.0
    for m, omega, length in ((0.5, 1e-3, 64), (0.0625, 1e-4, 512), (1.0, 0.002, 100)):
        lags = np.arange(float(length))
        found = np.abs(spectra.wave(lags, [omega], [0.0], [-m / omega]) + m * lags).max()
        worst = max(worst, abs(found / error(m, omega, length) - 1))
    return compare(worst, "<=", 0.005, detail="m omega^2 (L - 1)^3/6 to leading order: any tolerance with one mode")


def check_divergence(enough: Callable) -> Evidence:
    """enough(L) waves bring each log-prior within 1e-6 in KL(target ‖ fit), both normalised here."""
    worst, length, reached = 0.0, 64, {}
    for name, log_prior in spectra.targets(length).items():
        target = log_prior(np.arange(float(length)))
        omega = 2 * math.pi * np.arange(1, enough(length) + 1) / length
        worst = max(worst, relative_entropy(target, spectra.least_squares(target, omega)(np.arange(length))))
        fits = [spectra.minimax(target, spectra.harmonics(r, length))(np.arange(length)) for r in (1, 2, 4, 8)]
        reached[name] = [relative_entropy(target, fit) for fit in fits]
    detail = "KL of 1, 2, 4, 8 half waves on 64 lags: "
    detail += "; ".join(f"{name} " + ", ".join(f"{e:.2g}" for e in found) for name, found in reached.items())
    return compare(worst, "<=", 1e-6, detail=detail)


def relative_entropy(target: np.ndarray, fit: np.ndarray) -> float:
    """KL of the softmax of one log-prior from that of the other, written out."""
    p, q = ([math.exp(x - max(values)) for x in values] for values in (target.tolist(), fit.tolist()))
    over, under = math.fsum(p), math.fsum(q)
    return math.fsum(x / over * math.log(x / over / (y / under)) for x, y in zip(p, q, strict=True) if x)


def check_returns(reached: Callable) -> Evidence:
    """The slope on 64 lags by 1, 2, 3 waves: a lag beyond the window, found by search, at which kappa is as reached."""
    worst, found, length = 0.0, [], 64
    target = spectra.targets(length)["slope"](np.arange(float(length)))
    lags = np.arange(length + 1, 10**6 + 1)
    for modes in (1, 2, 3):
        omega = np.asarray(spectra.geometric(modes, 2 * math.pi, 400.0))
        turns = np.cos(np.multiply.outer(lags, omega)).min(axis=1)  # 1 where all waves are where they began
        lag = int(lags[np.argmax(turns >= math.cos(0.15))]) if turns.max() >= math.cos(0.15) else None
        if lag is None:
            return compare("no return", "==", "a return", detail=f"{modes} waves, lags up to 1e6")
        fit = spectra.minimax(target, omega)
        found.append(lag)
        size = np.hypot(fit.coefficients[1 : 1 + modes], fit.coefficients[1 + modes :]).sum()
        worst = max(worst, max(abs(float(fit([lag + d])[0] - reached(fit, d))) / size for d in (0, 5, 40)))
    return compare(worst, "<=", 0.15, detail=f"returns of 1, 2, 3 waves at lags {found}, all beyond the window of 64")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "X-5",
            (
                Part("The content-free term has alpha = a . b and beta = a x b at d = m - n.",
                     lambda a, b: (a[0] * b[0] + a[1] * b[1], a[0] * b[1] - a[1] * b[0]), check_bias_term,
                     lambda a, b: (a[0] * b[0] + a[1] * b[1], a[1] * b[0] - a[0] * b[1])),
                Part("Every Goat prior at these frequencies occurs.",
                     lambda alpha, beta: (np.array([alpha, -beta]), np.array([1.0, 0.0])), check_reached,
                     lambda alpha, beta: (np.array([alpha, beta]), np.array([1.0, 0.0]))),
            ),
            practice="Inside attention the term is divided by sqrt(d), and it comes with a content-dependent one. The "
                     "sink u(j) is not contained.",
        ),
        Check(
            "X-7",
            (
                Part("Causal, integer beta: rank beta + 1, and beta without row functions; infinite below 0.",
                     lambda b: (b + 1, b) if b >= 0 else None, check_integer,
                     lambda b: (b + 1, b + 1) if b >= 0 else None),
                Part("Causal, other beta: no finite rank.", lambda b: False, check_fractional, lambda b: b > 0),
                Part("Both signs: finite rank exactly for even integers beta >= 0.", lambda b: b % 2 == 0,
                     check_two_sided, lambda b: b == int(b)),
            ),
            practice="Exactly is not approximately: 256 queries and keys under d^.5 have 7 singular values above 1e-6. "
                     "What fits give beyond the window is another matter (X-16).",
        ),
        Check(
            "X-8",
            (
                Part("|K| <= B gives k of L keys at most k e^2B/(k e^2B + L - k), reached.",
                     lambda bound, keys, count: bands.most_share(bound, keys, count), check_share,
                     lambda bound, keys, count: bands.most_share(bound / 2, keys, count)),
                Part("Hence bounded waves lose every window: P(lag > D) tends to 1.", _waves, check_vanishes,
                     lambda d: -0.1 * d),
                Part("So does BAM's beta < 0 away from d = 0.", lambda d: -((d / 4) ** -0.5), check_vanishes,
                     lambda d: -((d / 4) ** 0.5)),
            ),
            practice="Goat's waves alone cannot hold a sink or a window as the context grows: its slope on keys can. "
                     "Count only the keys on which K is bounded.",
        ),
        Check(
            "X-16",
            (
                Part("Finitely many modes suffice on L lags: L/2 for any target and any tolerance.",
                     lambda n: n // 2, check_count, lambda n: n // 4),
                Part("In KL between the priors L/2 modes suffice too.", lambda n: n // 2, check_divergence,
                     lambda n: n // 4),
                Part("The slope needs one mode, with a long wave: error m omega^2 (L - 1)^3/6.",
                     lambda m, omega, n: m * omega**2 * (n - 1) ** 3 / 6, check_slope,
                     lambda m, omega, n: m * omega * (n - 1) ** 2 / 6),
                Part("Past L sums of this sort are almost periodic: they come back to their values on the window.",
                     lambda fit, d: float(fit([d])[0]), check_returns, lambda fit, d: float(fit([d + 60])[0])),
            ),
            practice="Smooth log-priors need few long waves and large coefficients; an edge resists them. Past a "
                     "quarter of the longest wave nothing of the fit is left.",
        ),
    )
}  # fmt: skip
