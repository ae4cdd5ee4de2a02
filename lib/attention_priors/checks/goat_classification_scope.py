"""Goat, appendices F.2 (scope, proof), F.4 and F.5: causal lags, steps of the proof, key-only priors, the summary.

Independent evidence: exact ranks, minors and polynomial algebra in sympy, completions by scipy, entropy by cvxpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, product

import numpy as np
import sympy
from scipy import optimize

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.checks.goat_classification import check_circle
from attention_priors.theory import classification as theory
from attention_priors.theory.classification import Mode
from attention_priors.theory.maximum_entropy import exponential_family, maximum_entropy
from attention_priors.theory.transport import entropy

HALF = Fraction(1, 2)

# T2c: causal lags


def admits(admissible: Callable, radius: float, degree: int) -> tuple[str, str]:
    """d^degree radius^d on d >= 0: (what the statement says, what the values say)."""
    mode, lags = Mode(radius, 0.0, (0.0,) * degree + (1.0,)), np.arange(40_000.0)
    with np.errstate(over="ignore"):
        values = lags**degree * radius**lags
    bounded = values[-1] <= values[:10_000].max() < math.inf
    return ("admissible" if admissible([mode]) else "not admissible"), ("admissible" if bounded else "not admissible")


def check_causal_bounded(admissible: Callable) -> Evidence:
    """Finite rank holds for all of them; bounded on the lags that a causal model has is judged by their values."""
    cases = [{"radius": r, "degree": t} for t, r in product((0, 1, 2), (1.0, 0.5, 0.9, 0.99, 1.01, 2.0))]
    wrong = sum(len(set(admits(admissible, **case))) > 1 for case in cases)
    found = smallest_counterexample(admits, admissible, cases)
    return compare(wrong, "==", 0, 0.0, counterexample=found, detail=f"kernels judged wrongly, of {len(cases)}")


def causal_kernels() -> list[tuple[str, Callable, int | None]]:
    """Rational kernels on d >= 0: name, values, sum (deg + 1) over nonzero eigenvalues; None: no such form."""
    return [
        ("1", lambda d: Fraction(1), 1),
        ("(-1)^d", lambda d: Fraction((-1) ** d), 1),
        ("2^-d", lambda d: HALF**d, 1),
        ("d 2^-d", lambda d: d * HALF**d, 2),
        ("-d/4", lambda d: -Fraction(d, 4), 2),
        ("-d^2", lambda d: -Fraction(d * d), 3),
        ("2^-d + (-1/3)^d + 1", lambda d: HALF**d + Fraction(-1, 3) ** d + 1, 3),
        ("1[d = 0]", lambda d: Fraction(int(d == 0)), None),
        ("1[d = 1]", lambda d: Fraction(int(d == 1)), None),
        ("2^-d + 1[d = 0]", lambda d: HALF**d + (d == 0), None),
        ("1[d < 2]", lambda d: Fraction(int(d < 2)), None),
        ("1[d < 4]", lambda d: Fraction(int(d < 4)), None),
    ]


def causal_lanes(dimension: int | None, n: int) -> int | None:
    """Coordinates on the causal pairs of n positions: the dimension; None where they grow with n."""
    return dimension


def excluded(values: tuple[Fraction, ...], rank: int) -> bool:
    """No entries i < j bring K_ij = values[i - j] to this rank: exactly, its minors generate the unit ideal (sympy)."""
    n, chosen = len(values), list(combinations(range(len(values)), rank + 1))
    matrix = sympy.Matrix(n, n, lambda i, j: values[i - j] if i >= j else sympy.Symbol(f"x{i}{j}"))
    minors = [sympy.expand(matrix.extract(r, c).det(method="berkowitz")) for r, c in product(chosen, chosen)]
    return any(minors) and sympy.groebner(minors, *sorted(matrix.free_symbols, key=str), order="grevlex").exprs == [1]


def reached(values: tuple[Fraction, ...], rank: int) -> bool:
    """From one of 30 starts scipy finds real factors [n rank] whose products are values[i - j] for i >= j."""
    n, draw, ends = len(values), np.random.default_rng(0), dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15)
    i, j = np.tril_indices(n)

    def misses(x: np.ndarray) -> np.ndarray:
        phi, psi = x.reshape(2, n, rank)
        return (phi @ psi.T)[i, j] - np.array(values, dtype=float)[i - j]

    found = (optimize.least_squares(misses, start, **ends) for start in draw.normal(size=(30, 2 * n * rank)))
    # factors that run away stand for an infimum that is not attained
    with np.errstate(divide="ignore"):  # scipy's own, at a fit without error
        return any(np.abs(fit.fun).max() < 1e-9 and np.abs(fit.x).max() < 1e3 for fit in found)


@cache
def smallest_completion(values: tuple[Fraction, ...]) -> int:
    """The least rank of a real matrix with K_ij = values[i - j], not all 0, for i >= j; brute force, n <= 4."""
    return next(rank for rank in range(1, len(values) + 1) if not excluded(values, rank) and reached(values, rank))


def judged_wrong(lanes: Callable, values: Callable, dimension: int | None) -> bool:
    """By brute force up to four positions; beyond, a block that all see and the sum put on at i < j bound the rank.

    Where there is no sum, growth is that of the formula, which brute force has confirmed: a coordinate a position.
    """
    wrong, formula = False, {n: theory.causal_rank([values(d) for d in range(n)]) for n in (2, 3, 4, 10, 14)}
    for n in (2, 3, 4):
        smallest = smallest_completion(tuple(values(d) for d in range(n)))
        wrong |= formula[n] != smallest
        wrong |= dimension is not None and n >= 2 * dimension - 1 and lanes(dimension, n) != smallest
    if dimension is None:
        return wrong or lanes(None, 10) is not None or formula[14] - formula[10] != 4
    for n in (10, 14):
        least, most = (
            sympy.Matrix([[values(shift + i - j) for j in range(size)] for i in range(size)]).to_DM().rank()
            for size, shift in ((n // 2, n // 2), (n, 0))
        )
        wrong |= not least == most == formula[n] == lanes(dimension, n)
    return wrong


def check_causal_lanes(lanes: Callable) -> Evidence:
    wrong = [name for name, values, dimension in causal_kernels() if judged_wrong(lanes, values, dimension)]
    held = f"wrong for {'; '.join(wrong)}" if wrong else f"all {len(causal_kernels())} kernels, brute force to n = 4"
    return compare(len(wrong), "==", 0, 0.0, detail=held)


def check_causal(statement: tuple[Callable, Callable]) -> Evidence:
    found = (check_causal_bounded(statement[0]), check_causal_lanes(statement[1]))
    wrong = sum(int(evidence.measured) for evidence in found)
    return compare(wrong, "==", 0, 0.0, detail="; ".join(evidence.detail for evidence in found))


# T2g: from the sum to its components


def apply_shift(polynomial: list, values: list) -> list:
    """(p(T) g)(i) for (T g)(i) = g(i - 1), where all shifts are inside the list."""
    degree = len(polynomial) - 1
    return [sum(c * values[i - t] for t, c in enumerate(polynomial)) for i in range(degree, len(values))]


def check_projections(projections: Callable) -> Evidence:
    """p_m(T) κ = v_m, exactly, in sympy; and |v_m| <= |p_m|_1 sup |κ| for bounded κ."""
    one, half = sympy.Integer(1), sympy.Rational(1, 2)
    turn = (3 + 4 * sympy.I) / 5
    cases = [
        ([one, -one, half], [2, 1, 2], [lambda i: 3 - 2 * i, lambda i: 5 * (-1) ** i, lambda i: (i + 1) * 2**i]),
        ([one, turn, sympy.conjugate(turn)], [1, 1, 1], [lambda i: 2, lambda i: turn**-i, lambda i: turn**i]),
        ([one, -one], [1, 1], [lambda i: 3, lambda i: (-1) ** i]),
    ]
    wrong = 0
    for eigenvalues, counts, components in cases:
        polynomials = projections(eigenvalues, counts)
        lags = [sympy.Integer(i) for i in range(-8, 9)]
        kappa = [sympy.expand(sum(part(i) for part in components)) for i in lags]
        for polynomial, part in zip(polynomials, components, strict=True):
            found = apply_shift(polynomial, kappa)
            expected = [part(i) for i in lags[len(polynomial) - 1 :]]
            wrong += any(sympy.expand(a - b) != 0 for a, b in zip(found, expected, strict=True))
            norm = sum(abs(complex(c)) for c in polynomial) * max(abs(complex(value)) for value in kappa)
            wrong += max(abs(complex(value)) for value in found) > norm + 1e-9
    return compare(wrong, "==", 0, 0.0, detail="components missed or beyond their bound, of eight")


# Lemma F.4


def check_lemma(degree: Callable) -> Evidence:
    """Sequences with Δ^k w = 0, grown from k random values in both directions, against polynomials of degree(k)."""
    draw, wrong, x = np.random.default_rng(0), 0, sympy.Symbol("x")
    for k in range(1, 6):
        w = {i: Fraction(int(value)) for i, value in enumerate(draw.integers(-9, 10, k) + np.arange(k) ** k)}
        signs = [(-1) ** t * math.comb(k, t) for t in range(k + 1)]  # Δ^k w(i) = sum_t signs_t w(i - t)
        for i in range(k, k + 15):
            w[i] = -sum(signs[t] * w[i - t] for t in range(1, k + 1))
        for i in range(-1, -15, -1):
            w[i] = -sum(signs[t] * w[i + k - t] for t in range(k)) / signs[k]
        fitted = sympy.interpolate([(i, sympy.Rational(w[i])) for i in range(max(degree(k) + 1, 1))], x)
        wrong += any(fitted.subs(x, i) != sympy.Rational(w[i]) for i in w)
    return compare(wrong, "==", 0, 0.0, detail="sequences that leave their polynomial, of five (k = 1 .. 5, 30 values)")


def differences(t: int, k: int) -> tuple[int, ...]:
    """Φ(u) = (u(0), Δu(0), .., Δ^(k-1) u(0)) of u = binom(i, t), with Δu(i) = u(i) - u(i - 1), by sympy."""
    values = [sympy.binomial(-s, t) for s in range(k)]
    return tuple(int(sum((-1) ** s * math.comb(r, s) * values[s] for s in range(r + 1))) for r in range(k))


def images(image: Callable, t: int, k: int) -> tuple[str, str]:
    return str(tuple(image(t, k))), str(differences(t, k))


def check_images(image: Callable) -> Evidence:
    cases = [{"t": t, "k": k} for k in range(1, 6) for t in range(k)]
    wrong = sum(len(set(images(image, **case))) > 1 for case in cases)
    found = smallest_counterexample(images, image, cases)
    return compare(wrong, "==", 0, 0.0, counterexample=found, detail=f"vectors that differ, of {len(cases)}")


def unit_vector(t: int, k: int) -> tuple[int, ...]:
    return tuple(int(s == t) for s in range(k))


def triangular(t: int, k: int) -> tuple[int, ...]:
    """(-1)^(t-s) binom(t - 1, t - s) for s <= t, with binom(-1, 0) = 1; 0 beyond."""
    if t == 0:
        return unit_vector(0, k)
    return tuple((-1) ** (t - s) * math.comb(t - 1, t - s) if s <= t else 0 for s in range(k))


# Theorem 4


KEY_ONLY = ([0, 0], [1, 1], [0, 1], [0, 0, 0, 0], [2, 2, 2], [1, 0, 0, 0], [3, -1, 4, 1, 5])


def rows_of(u: list[int]) -> list[list[Fraction]]:
    return [[Fraction(value) for value in u]] * len(u)


def check_key_rank(rank: Callable) -> Evidence:
    wrong = sum(rank(u) != theory.exact_rank(rows_of(u)) for u in KEY_ONLY)
    return compare(wrong, "==", 0, 0.0, detail=f"exact ranks that differ, of {len(KEY_ONLY)}")


def check_key_features(features: Callable) -> Evidence:
    wrong = 0
    for u in KEY_ONLY:
        phi, psi = features(u)
        wrong += not np.array_equal(np.outer(np.ones(len(u)), u), np.array(phi) @ np.array(psi).T)
    return compare(wrong, "==", 0, 0.0, detail=f"products that differ from U, of {len(KEY_ONLY)}")


def check_identical_rows(form: Callable) -> Evidence:
    draw, wrong = np.random.default_rng(0), 0
    for n in (2, 3, 7):
        matrix = np.tile(draw.integers(-9, 10, n), (n, 1))
        wrong += not np.array_equal(form(matrix), matrix)
    return compare(wrong, "==", 0, 0.0, detail="matrices that the form misses, of three")


def check_one_lane(lanes: Callable) -> Evidence:
    """lanes(u) coordinates hold U = <φ, ψ>, and one fewer miss it (the best approximation of lower rank, by SVD)."""
    wrong = 0
    for u in KEY_ONLY:
        values = np.linalg.svd(np.tile(np.array(u, dtype=float), (len(u), 1)), compute_uv=False)
        count = lanes(u)
        wrong += values[count:].sum() > 1e-12 or (count > 0 and values[count - 1 :].sum() <= 1e-12)
    return compare(wrong, "==", 0, 0.0, detail=f"u that take another number, of {len(KEY_ONLY)}")


# F.5: the summary


def largest_entropy(law: Callable, keys: int, power: float, moment: float) -> tuple[float, float]:
    """E[d^power] = moment on lags 0 .. keys - 1: (entropy of the law that the statement names, largest entropy)."""
    statistic = np.arange(keys, dtype=float) ** power
    return round(entropy(law(statistic, moment)), 9), round(entropy(maximum_entropy(statistic, moment)[0]), 9)


def check_least_committal(cases: tuple[tuple[int, float, float], ...], law: Callable) -> Evidence:
    """Against cvxpy's maximum of the entropy where E[d^power] = moment; cases (keys, power, moment)."""
    import cvxpy

    worst = 0.0
    for keys, power, moment in cases:
        statistic, q = np.arange(keys, dtype=float) ** power, cvxpy.Variable(keys)
        constraints = [cvxpy.sum(q) == 1, statistic @ q == moment]
        cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.entr(q))), constraints).solve(solver="CLARABEL")
        worst = max(worst, float(np.abs(law(statistic, moment) - q.value).max()))
    candidates = [dict(zip(("keys", "power", "moment"), case, strict=True)) for case in cases]
    found = smallest_counterexample(largest_entropy, law, candidates, 1e-6)
    detail = f"largest distance to cvxpy's law, {len(cases)} moments"
    return compare(worst, "<=", 1e-4, counterexample=found, detail=detail)


check_mean_lag = partial(check_least_committal, ((3, 1.0, 0.7), (12, 1.0, 2.5), (20, 1.0, 6.0)))
check_moments = partial(check_least_committal, ((3, 2.0, 1.0), (12, 1.0, 2.5), (12, 2.0, 9.0), (20, 0.5, 1.2)))


def geometric(statistic: np.ndarray, moment: float) -> np.ndarray:
    """The geometric law on these lags whose mean of the statistic is the moment."""
    lags = np.arange(len(statistic), dtype=float)
    rate = optimize.brentq(lambda r: float(exponential_family(lags, r) @ statistic) - moment, -50, 50, xtol=1e-14)
    return exponential_family(lags, rate)


def own_family(statistic: np.ndarray, moment: float) -> np.ndarray:
    return maximum_entropy(statistic, moment)[0]


def check_per_frequency(count: Callable) -> Evidence:
    wrong = 0
    for omega in (1e-2, 0.1, 0.7, 1.5, 2.9):
        modes = [Mode(1, omega, (1.0,), (0.3,))]
        block = theory.block(theory.kernel(modes), np.arange(60), np.arange(60))
        wrong += theory.numerical_rank(theory.centred(block)) != count(omega)
    return compare(wrong, "==", 0, 0.0, detail="frequencies inside (0, pi) of another rank, row means removed")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "GOAT-F.T2c",
            (
                Part("Bounded over all of Z, a kernel of finite rank is a finite trigonometric sum.", theory.is_bounded,
                     check_circle, lambda modes: all(mode.radius <= 1 for mode in modes)),
                Part("So is one that is bounded on the lags d >= 0 of a causal language model.", theory.is_bounded,
                     check_causal_bounded, lambda modes: all(mode.radius < 1 for mode in modes), admits,
                     repaired=lambda modes: theory.is_bounded(modes, causal=True)),
            ),
            Part("On causal pairs i >= j of all lengths finitely many coordinates carry exactly sum_m P_m(d) "
                 "lambda_m^d, lambda_m != 0, and the least number is sum (deg P_m + 1). Bounded on d >= 0 are "
                 "|lambda_m| < 1 with any P_m, and |lambda_m| = 1 with constant P_m. Values at single lags (lambda = "
                 "0) take a coordinate a position.",
                 (lambda modes: theory.is_bounded(modes, causal=True), causal_lanes), check_causal,
                 (lambda modes: theory.is_bounded(modes, causal=True), lambda dimension, n: dimension or 2)),
            practice="A causal head may use damped modes rho^d cos(w d + c) at two coordinates each. Features grow "
                     "like rho^-j: float32 ends at j = 88 / ln(1/rho), so long contexts need a moving origin.",
        ),
        Check(
            "GOAT-F.T2g",
            (
                Part("Every nonzero component of a bounded kernel has |lambda| = 1.", theory.is_bounded, check_circle,
                     lambda modes: all(mode.radius >= 1 for mode in modes)),
                Part("Each component lies in V_C, V the span of the shifts of the bounded kappa, and so is bounded: "
                     "v_m = p_m(T) kappa, sup |v_m| <= |p_m|_1 sup |kappa|.", theory.spectral_projections,
                     check_projections,
                     lambda eigenvalues, counts: theory.spectral_projections(eigenvalues, [1] * len(counts))),
            ),
            practice="The reason for passing from the sum to its parts is v_m in V_C, stated before the step and not "
                     "named in it. A bounded sum alone would not do (1 = d + (1 - d)), but V is the constants there.",
        ),
        Check(
            "GOAT-F.4",
            (
                Part("Delta^k w = 0 on Z makes w a polynomial of degree at most k - 1.", lambda k: k - 1, check_lemma,
                     lambda k: k - 2),
                Part("Phi(binom(i, t)) is the standard basis vector number t + 1.", unit_vector, check_images,
                     lambda t, k: unit_vector(k - 1 - t, k), images),
            ),
            Part("Phi(binom(i, t)) has entries (-1)^(t-s) binom(t - 1, t - s), s <= t: a triangle with ones on the "
                 "diagonal, which is an isomorphism too. (Delta is the backward difference; for the forward one the "
                 "vectors would be the standard basis.)", triangular, check_images,
                 lambda t, k: tuple(abs(entry) for entry in triangular(t, k))),
            practice="None for models; the lemma and all that rests on it stand.",
        ),
        Check(
            "GOAT-F.T4",
            (
                Part("rank U <= 1, and = 1 exactly when u != 0.", lambda u: int(any(u)), check_key_rank, lambda u: 1),
                Part("U = <[1, 0], [u_j, 0]>, with d_p = 2.", lambda u: ([[1, 0]] * len(u), [[x, 0] for x in u]),
                     check_key_features, lambda u: ([[1, 0]] * len(u), [[0, x] for x in u])),
                Part("Identical rows are of this form.", lambda matrix: np.outer(np.ones(len(matrix)), matrix[0]),
                     check_identical_rows, lambda matrix: np.outer(matrix[:, 0], np.ones(len(matrix)))),
                Part("Such a prior, u != 0, requires one lane (Definition F.1).", lambda u: int(any(u)), check_one_lane,
                     lambda u: 2 * int(any(u))),
            ),
            practice="One lane: the second coordinate of the printed d_p = 2 is zero, and the proof itself has d_p = "
                     "1. Softmax ignores a constant u, which then needs none. A slope m j joins a sink in one u(j).",
        ),
        Check(
            "GOAT-F.5s",
            (
                Part("Bounded on Z, translation equivariant and SDPA-compatible are exactly the finite trigonometric "
                     "kernels.", theory.is_bounded, check_circle,
                     lambda modes: all(m.radius == 1 for m in modes)),
                Part("Among recency priors with a fixed mean lag the entropy is largest for the exponential one.",
                     geometric, check_mean_lag,
                     lambda statistic, moment: geometric(statistic, 0.5 * moment), largest_entropy),
                Part("\"The unique least-committal recency prior is exponential in lag\" (closing paragraph, which "
                     "names no condition): also if another moment of the lag is known.", geometric,
                     check_moments,
                     lambda statistic, moment: geometric(statistic, 0.5 * moment), largest_entropy),
                Part("A key-only sink u != 0 requires exactly one more lane.", lambda u: int(any(u)), check_one_lane,
                     lambda u: 2 * int(any(u))),
                Part("A Fourier mode inside (0, pi) takes two coordinates at least, which the construction attains.",
                     lambda omega: 2, check_per_frequency, lambda omega: 1),
            ),
            Part("The least committal law is exp(-lambda T(d)) for whatever mean E[T] is fixed: exponential in d when "
                 "T = d, generalised Gaussian when T = d^beta.", own_family, check_moments,
                 lambda statistic, moment: own_family(statistic, 0.9 * moment)),
            practice="Nothing singles out ALiBi's shape but the choice of the mean lag as the one thing to be known.",
        ),
    )
}  # fmt: skip
