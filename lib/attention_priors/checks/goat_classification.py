"""Goat, appendices E.1, F.1 and F.2: log-priors as inner products of position features, and which relative ones exist.

Independent evidence: torch's scaled dot-product attention, exact ranks over the rationals (sympy), scipy's null spaces,
kernels c^T A^d b of random orthogonal A, which no formula of the library has built.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import torch

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions.finite_rank import extend
from attention_priors.theory import classification as theory
from attention_priors.theory.classification import Mode

TURN = math.pi
BOUNDED = (
    (Mode(1, 0.0, (0.7,)),),
    (Mode(1, TURN, (1.0,)),),
    (Mode(1, 0.0, (0.7,)), Mode(1, TURN, (1.0,))),
    (Mode(1, 0.3, (1.0,), (-0.4,)),),
    (Mode(1, 0.3, (1.0,)), Mode(1, TURN, (0.5,))),
    (Mode(1, 0.0, (0.7,)), Mode(1, 0.3, (0.0,), (1.0,))),
    (Mode(1, 0.3, (1.0,)), Mode(1, 1.1, (0.2,), (0.9,))),
    (Mode(1, 0.0, (-2.0,)), Mode(1, TURN, (0.5,)), Mode(1, 0.8, (1.0,)), Mode(1, 2.1, (0.6,))),
)
UNBOUNDED = (
    (Mode(0.9, 0.0, (1.0,)),),
    (Mode(1.2, 0.7, (1.0,)),),
    (Mode(0.995, 0.7, (1.0,)), Mode(1, 0.2, (3.0,))),
    (Mode(1, 0.0, (0.0, -0.1)),),
    (Mode(1, 0.4, (0.0, 1.0)), Mode(1, TURN, (2.0,))),
    (Mode(0.9, 0.0, (1.0,)), Mode(1.2, 0.0, (-1.0,))),
)


# E.1: extended queries and keys


def check_extension(extension: Callable) -> Evidence:
    """torch's own attention over extended vectors against softmax(q k / sqrt(d) + <φ, ψ>) written out, causal."""
    draw, worst = torch.Generator().manual_seed(0), 0.0
    for width, rank in ((8, 2), (16, 5), (6, 1)):
        q, k = torch.randn(2, 1, 20, width, generator=draw, dtype=torch.float64)
        phi, psi = torch.randn(2, 1, 20, rank, generator=draw, dtype=torch.float64)
        found = torch.nn.functional.scaled_dot_product_attention(
            *extension(q, k, phi, psi), torch.eye(20, dtype=torch.float64)[None], is_causal=True
        )
        logits = q @ k.transpose(-1, -2) / width**0.5 + phi @ psi.transpose(-1, -2)
        future = torch.ones(20, 20, dtype=torch.bool).triu(1)
        expected = logits.masked_fill(future, -math.inf).softmax(-1)
        worst = max(worst, float((found - expected).abs().max()))
    return compare(worst, "<=", 1e-12, detail="largest difference of a weight, float64, widths 6 to 16")


def finite_biases(length: int = 24) -> list[np.ndarray]:
    lag = np.subtract.outer(np.arange(length), np.arange(length)).astype(float)
    table = np.random.default_rng(1).standard_normal((length, length))
    return [table, -np.abs(lag) / 4, -np.sqrt(np.abs(lag)), np.cos(0.4 * lag), np.outer(np.ones(length), table[0])]


def factors(matrix: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    left, values, right = np.linalg.svd(matrix)
    return left[:, :rank] * values[:rank], right[:rank].T


def check_factorisation(features: Callable) -> Evidence:
    worst = 0.0
    for matrix in finite_biases():
        phi, psi = features(matrix)
        worst = max(worst, float(np.abs(phi @ psi.T - matrix).max()))
    return compare(worst, "<=", 1e-12, detail="largest |<phi, psi> - K|; 24 positions, five biases of rank 1 to 24")


# F.1: what the definition counts


def exact_kernels() -> list[tuple[str, Callable]]:
    """Rational kernels K(i, j): of the lag, of the key, of both."""
    half = Fraction(1, 2)
    return [
        ("-m (i - j)", lambda i, j: -half * (i - j)),
        ("cos(pi (i - j))", lambda i, j: Fraction((-1) ** (i - j))),
        ("2 cos(2 pi (i - j) / 3)", lambda i, j: Fraction((2, -1, -1)[(i - j) % 3])),
        ("-(i - j)^2", lambda i, j: -Fraction((i - j) ** 2)),
        ("constant", lambda i, j: Fraction(3)),
        ("2^-(i - j)", lambda i, j: half ** (i - j)),
        ("j^2", lambda i, j: Fraction(j * j)),
        ("i j + i", lambda i, j: Fraction(i * j + i)),
    ]


def exact_block(entry: Callable, n: int = 6) -> list[list]:
    return [[entry(i, j) for j in range(n)] for i in range(n)]


def to_floats(rows: list[list]) -> np.ndarray:
    return np.array([[float(value) for value in row] for row in rows])


def check_blocks(dimension: Callable) -> Evidence:
    """The coordinates of K = <φ, ψ>: exact ranks, and K continued from as many rows and columns."""
    wrong = 0
    for _, entry in exact_kernels():
        rows = exact_block(entry)
        found = dimension(to_floats(rows))
        wrong += found != theory.exact_rank(rows)
        wrong += found > 0 and not _continues(entry, found)
    return compare(wrong, "==", 0, 0.0, detail="kernels whose exact rank or continuation differs, of eight")


def _continues(entry: Callable, rank: int) -> bool:
    """K_ij = K_iJ (K_IJ)^-1 K_Ij for `rank` rows I and columns J, on 24 positions."""
    whole = to_floats(exact_block(entry, 24))
    rows, columns = np.arange(rank) + 1, np.arange(rank) + 2
    rebuilt = whole[:, columns] @ np.linalg.lstsq(whole[np.ix_(rows, columns)], whole[rows], rcond=None)[0]
    return bool(np.abs(rebuilt - whole).max() <= 1e-6 * np.abs(whole).max())


# F.2 (definition) and assumption F.3


def check_equivariance(lag: Callable) -> Evidence:
    """The kernels with K_{i+1,j+1} = K_ij on n x n positions (a null space) against the functions of `lag(i, j)`."""
    from scipy import linalg

    n, worst = 7, 0.0
    constraints = []
    for i in range(n - 1):
        for j in range(n - 1):
            row = np.zeros((n, n))
            row[i, j], row[i + 1, j + 1] = 1, -1
            constraints.append(row.ravel())
    invariant = linalg.null_space(np.array(constraints))
    lags = sorted({lag(i, j) for i in range(n) for j in range(n)})
    basis = np.array([[[lag(i, j) == d for j in range(n)] for i in range(n)] for d in lags], float).reshape(-1, n * n)
    for basis_one, basis_two in ((basis.T, invariant), (invariant, basis.T)):
        fitted = basis_two @ np.linalg.lstsq(basis_two, basis_one, rcond=None)[0]
        worst = max(worst, float(np.abs(fitted - basis_one).max()))
    detail = f"distance between both spaces of kernels; the equivariant ones have dimension {invariant.shape[1]}"
    return compare(worst, "<=", 1e-12, detail=detail)


def check_sup(bound: Callable) -> Evidence:
    """sup |κ| of Goat's trigonometric sums over |d| <= 10^5, for frequencies without a common period."""
    draw, excess, reached = np.random.default_rng(2), -math.inf, 0.0
    lags = np.arange(-100_000, 100_001)
    for count in (1, 2, 3):
        even, odd, omega = draw.standard_normal(count), draw.standard_normal(count), draw.uniform(0.2, 2.9, count)
        modes = [Mode(1, w, (a,), (b,)) for w, a, b in zip(omega, even, odd, strict=True)]
        top = float(np.abs(theory.kernel(modes)(lags)).max())
        excess, reached = max(excess, top - bound(even, odd)), max(reached, top / bound(even, odd))
    return compare(excess, "<=", 1e-12, detail=f"largest excess over the bound, of which {reached:.4f} is reached")


def check_both_sides(bounded: Callable) -> Evidence:
    """bounded(radius) against the growth of radius^d on lags of both signs."""
    wrong = 0
    for radius in (0.5, 0.9, 0.999, 1.0, 1.001, 2.0):
        sups = [max(radius**n, radius**-n) for n in (10, 100, 1000)]
        wrong += bounded(radius) != all(later <= sooner for sooner, later in pairwise(sups))
    return compare(wrong, "==", 0, 0.0, detail="radii judged wrongly, of six")


def check_share(bound: Callable) -> Evidence:
    """Weight of a key relative to the uniform share 1/n for bounded kernels, n = 10^5; bound(sup - inf)."""
    lags, excess = np.arange(100_000), -math.inf
    peaks = [Mode(1, 2 * TURN * r / 101, (0.1,)) for r in range(1, 40)]  # one narrow peak in every 101 lags
    for modes in (*BOUNDED, peaks):
        values = theory.kernel(modes)(lags)
        weights = np.exp(values - values.max())
        share = len(lags) * weights.max() / weights.sum()
        excess = max(excess, float(np.log(share) - np.log(bound(float(np.ptp(values))))))
    return compare(excess, "<=", 1e-12, detail="largest log excess of n p_j over the bound")


# Theorem 2


def check_circle(bounded: Callable) -> Evidence:
    """bounded(modes) against growth on |d| <= 20,000; and on the circle, κ continued from 2 rank values by Prony."""
    wrong, worst = 0, 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for modes in (*BOUNDED, *UNBOUNDED):
            lags = np.concatenate([np.arange(-20_000, -19_900), np.arange(19_900, 20_000)])
            size = sum(math.hypot(*mode.even[:1], *mode.odd[:1]) for mode in modes)  # bounds a sum of plain waves
            grows = not np.abs(theory.kernel(modes)(lags)).max() <= size + 1
            wrong += bounded(modes) == grows
            if not grows:
                worst = max(worst, _continued(modes))
    detail = f"kernels judged wrongly, of {len(BOUNDED + UNBOUNDED)}; Prony's continuation to lag 400 errs {worst:.0e}"
    return compare(wrong if worst < 1e-6 else math.inf, "==", 0, 0.0, detail=detail)


def _continued(modes: tuple[Mode, ...]) -> float:
    """Error up to lag 400 of the sum of rank exponentials that goes through the first 2 rank values."""
    kappa, order = theory.kernel(modes), theory.dimension(modes)
    roots = theory.prony(kappa(np.arange(2 * order)), order)
    fitted = np.linalg.solve(np.vander(roots, order, increasing=True).T, kappa(np.arange(order)))
    lags = np.arange(400)
    return float(np.abs((roots[None] ** lags[:, None]) @ fitted - kappa(lags)).max())


def real_form(lags: np.ndarray, omegas: np.ndarray) -> np.ndarray:
    """Columns of γ + sum_r (α_r cos ω_r d + β_r sin ω_r d)."""
    waves = [wave(omega * lags) for omega in omegas for wave in (np.cos, np.sin)]
    return np.stack([np.ones(len(lags)), *waves], axis=1)


def check_real_form(columns: Callable) -> Evidence:
    """Every c^T A^d b with A similar to an orthogonal matrix, of dimension 1 to 7, is a sum of the columns."""
    from scipy import stats

    draw, worst, lags = np.random.default_rng(3), 0.0, np.arange(-60, 61)
    for size in range(1, 8):
        turn = stats.ortho_group.rvs(size, random_state=draw) if size > 1 else np.array([[-1.0]])
        change, start, readout = np.eye(size) + draw.uniform(0, 0.3, (size, size)), *draw.standard_normal((2, size))
        matrix = change @ turn @ np.linalg.inv(change)
        kappa = np.array([readout @ np.linalg.matrix_power(matrix, d) @ start for d in lags])
        angles = np.abs(np.angle(np.linalg.eigvals(matrix)))
        table = columns(lags.astype(float), np.unique(angles[angles > 1e-9].round(12)))
        residual = table @ np.linalg.lstsq(table, kappa, rcond=None)[0] - kappa
        worst = max(worst, float(np.abs(residual).max()))
    return compare(worst, "<=", 1e-8, detail="largest residual on lags -60..60, random kernels of dimension 1 to 7")


def frequencies(modes: tuple[Mode, ...]) -> tuple[float, list[float]]:
    """(γ, the frequencies in (0, π])."""
    return sum(m.even[0] for m in modes if m.frequency == 0), [m.frequency for m in modes if m.frequency > 0]


def rank_of(gamma: float, omegas: list[float]) -> int:
    """Numerical rank of a 14 x 14 block of γ + sum cos ω_r d."""
    modes = [Mode(1, w, (1.0,)) for w in omegas] + ([Mode(1, 0.0, (gamma,))] if gamma else [])
    return theory.numerical_rank(theory.block(theory.kernel(modes), np.arange(14), np.arange(14)))


def most_frequencies(allowed: Callable, gamma: float, omegas: list[float]) -> tuple[int, int]:
    """(most frequencies that the statement allows, frequencies there)."""
    return min(len(omegas), allowed(rank_of(gamma, omegas))), len(omegas)


def check_most(allowed: Callable) -> Evidence:
    """Number of frequencies against allowed(d_p); the allowance is also reached for every d_p."""
    cases = [{"gamma": 0.0, "omegas": [TURN]}]
    cases += [dict(zip(("gamma", "omegas"), frequencies(modes), strict=True)) for modes in BOUNDED]
    excess = max(len(case["omegas"]) - allowed(rank_of(**case)) for case in cases)
    found = smallest_counterexample(most_frequencies, allowed, cases)
    detail = f"largest number of frequencies beyond the bound, {len(cases)} kernels"
    return compare(excess, "==", 0, 0.0, counterexample=found, detail=detail)


def coordinates(count: Callable, gamma: float, omegas: list[float]) -> tuple[int, int]:
    return int(count(gamma, omegas)), rank_of(gamma, omegas)


def check_count(count: Callable) -> Evidence:
    """count(γ, frequencies) against the numerical rank."""
    cases = [{"gamma": 0.0, "omegas": [1.0]}, {"gamma": 1.0, "omegas": [1.0]}, {"gamma": 0.0, "omegas": [TURN]}]
    cases += [dict(zip(("gamma", "omegas"), frequencies(modes), strict=True)) for modes in BOUNDED]
    wrong = sum(coordinates(count, **case)[0] != rank_of(**case) for case in cases)
    found = smallest_counterexample(coordinates, count, cases)
    return compare(wrong, "==", 0, 0.0, counterexample=found, detail=f"kernels with another rank, of {len(cases)}")


def corrected_count(gamma: float, omegas: list[float]) -> int:
    return int(gamma != 0) + sum(1 if omega == TURN else 2 for omega in omegas)


CHECKS = {
    check.id: check
    for check in (
        Check(
            "GOAT-E.1",
            (
                Part("With q' = [q sqrt(D/d), phi sqrt(D)] and k' = [k, psi], plain attention over q', k' is attention "
                     "with the log-prior <phi(i), psi(j)>.", extend, check_extension,
                     lambda q, k, phi, psi: (torch.cat([q, phi], -1), torch.cat([k, psi], -1))),
                Part("Every finite log-prior on L positions is such a product, of rank(K) <= L coordinates.",
                     lambda bias: factors(bias, theory.numerical_rank(bias)), check_factorisation,
                     lambda bias: factors(bias, theory.numerical_rank(bias) - 1)),
            ),
            practice="Any finite bias fits into q and k, at rank(K) coordinates a head. -|i - j| takes as many as "
                     "there are positions: then a bias table is cheaper. Zeros of a prior (masks) never fit.",
        ),
        Check(
            "GOAT-DF.1",
            (
                Part("A factorisation with d_p coordinates is the same as blocks of rank at most d_p.",
                     theory.numerical_rank, check_blocks, lambda block: theory.numerical_rank(theory.centred(block))),
            ),
            practice="One attention call may need less, since softmax ignores a row function c(i): min_c rank(K + "
                     "c(i)) is the rank with row means removed. -m (i - j) takes 1 coordinate, not 2; a constant none.",
        ),
        Check(
            "GOAT-DF.2",
            (
                Part("K_{i+a,j+a} = K_ij for all a exactly when K_ij = kappa(i - j).", lambda i, j: i - j,
                     check_equivariance, lambda i, j: i + j),
            ),
            practice="A Toeplitz kernel is sufficient, not necessary, for weights that move along with the window: m j "
                     "is not Toeplitz and gives the weights of -m (i - j).",
        ),
        Check(
            "GOAT-AF.3",
            (
                Part("Goat's trigonometric kernel meets it: sup |kappa| <= sum_r sqrt(alpha_r^2 + beta_r^2).",
                     lambda even, odd: float(np.hypot(even, odd).sum()), check_sup,
                     lambda even, odd: float(np.hypot(even, odd).max()) * 0.99),
                Part("Negative lags count: rho^d is bounded over all integers only for rho = 1.",
                     lambda radius: radius == 1, check_both_sides, lambda radius: radius <= 1),
                Part("It keeps the kernel from dominating content however long the context: no key's weight exceeds "
                     "e^(sup kappa - inf kappa) times the uniform share.", lambda spread: math.exp(spread), check_share,
                     lambda spread: math.exp(spread / 2)),
            ),
            practice="What keeps a bounded kernel from dominating also keeps it from being local: its weights stay "
                     "within a constant factor of uniform. Locality has to come from the slope in u(j), which Goat "
                     "trains although this assumption leaves unbounded trends to a fixed term.",
        ),
        Check(
            "GOAT-F.T2",
            (
                Part("Finite rank and bounded on Z means sum_m c_m exp(i theta_m d): all eigenvalues on the unit "
                     "circle, no polynomial factors, as many terms as the rank.", theory.is_bounded, check_circle,
                     lambda modes: all(mode.radius <= 1 for mode in modes)),
                Part("The real form gamma + sum_r (alpha_r cos + beta_r sin) covers every such kernel.", real_form,
                     check_real_form, lambda lags, omegas: real_form(lags, omegas)[:, 1:]),
                Part("R <= floor(d_p / 2).", lambda rank: rank // 2, check_most, lambda rank: rank // 2 - 1,
                     most_frequencies, repaired=lambda rank: (rank + 1) // 2),
                Part("R frequencies, in the form with gamma, correspond to d_p = 2R.",
                     lambda gamma, omegas: 2 * len(omegas), check_count, lambda gamma, omegas: len(omegas),
                     coordinates),
            ),
            Part("d_p >= rank = 1[gamma != 0] + 1[pi is a frequency] + 2 #{frequencies in (0, pi)}, so R <= floor((d_p "
                 "+ 1) / 2), at odd d_p with equality only when pi is a frequency. gamma, which softmax ignores, costs "
                 "one.", corrected_count, check_count,
                 lambda gamma, omegas: corrected_count(gamma, omegas) + (TURN in omegas)),
            practice="Leave gamma out (softmax ignores it) and give the alternating mode one coordinate: 2R "
                     "coordinates then carry R frequencies exactly.",
        ),
    )
}  # fmt: skip
