"""Goat, appendices F.1, F.2, F.5: what is asked of a relative log-prior, and the summary of what follows.

Truths: exact ranks in sympy, null spaces by scipy, cvxpy. Notebook 02 decides the theorems between; appendix A2 shows
these.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from math import exp, hypot, pi

import numpy as np
import sympy
from scipy import linalg, optimize, special

from attention_priors.claims.law import Law, claim, claims
from attention_priors.theory import classification as theory

# kernels on all lags: modes as (radius, frequency, even, odd), d^t rho^d (even_t cos wd + odd_t sin wd) summed
BOUNDED = [
    [(1, 0.0, [0.7], [])],
    [(1, pi, [1.0], [])],
    [(1, 0.0, [0.7], []), (1, pi, [1.0], [])],
    [(1, 0.3, [1.0], [-0.4])],
    [(1, 0.3, [1.0], []), (1, pi, [0.5], [])],
    [(1, 0.0, [0.7], []), (1, 0.3, [0.0], [1.0])],
    [(1, 0.3, [1.0], []), (1, 1.1, [0.2], [0.9])],
    [(1, 0.0, [-2.0], []), (1, pi, [0.5], []), (1, 0.8, [1.0], []), (1, 2.1, [0.6], [])],
]
UNBOUNDED = [
    [(0.9, 0.0, [1.0], [])],
    [(1.2, 0.7, [1.0], [])],
    [(0.995, 0.7, [1.0], []), (1, 0.2, [3.0], [])],
    [(1, 0.0, [0.0, -0.1], [])],
    [(1, 0.4, [0.0, 1.0], []), (1, pi, [2.0], [])],
    [(0.9, 0.0, [1.0], []), (1.2, 0.0, [-1.0], [])],
]
HALF = Fraction(1, 2)
PAIRS = {  # rational kernels K(i, j): of the lag, of the key, of both
    "-m (i - j)": lambda i, j: -HALF * (i - j),
    "cos(pi (i - j))": lambda i, j: Fraction((-1) ** (i - j)),
    "2 cos(2 pi (i - j) / 3)": lambda i, j: Fraction((2, -1, -1)[(i - j) % 3]),
    "-(i - j)^2": lambda i, j: -Fraction((i - j) ** 2),
    "constant": lambda i, j: Fraction(3),
    "2^-(i - j)": lambda i, j: HALF ** (i - j),
    "j^2": lambda i, j: Fraction(j * j),
    "i j + i": lambda i, j: Fraction(i * j + i),
}
KEY_ONLY = [{"u": u} for u in ([0, 0], [1, 1], [0, 1], [0, 0, 0, 0], [2, 2, 2], [1, 0, 0, 0], [3, -1, 4, 1, 5])]
LAGS = np.concatenate([np.arange(-20_000, -19_900), np.arange(19_900, 20_000)])

# F.1


def block(kernel: str, n: int) -> list[list[Fraction]]:
    return [[PAIRS[kernel](i, j) for j in range(n)] for i in range(n)]


def exact(rows: list[list[Fraction]]) -> int:
    return sympy.Matrix(rows).rank()


def continued(says: Callable, kernel: str) -> tuple[float, float]:
    """(0, relative error on 24 positions of K_ij = K_iJ (K_IJ)^-1 K_Ij for says(rank) rows I and columns J)."""
    whole = np.array(block(kernel, 24), dtype=float)
    count = says(exact(block(kernel, 6)))
    rows, columns = np.arange(count) + 1, np.arange(count) + 2
    rebuilt = whole[:, columns] @ np.linalg.lstsq(whole[np.ix_(rows, columns)], whole[rows], rcond=None)[0]
    return 0.0, float(np.abs(rebuilt - whole).max() / np.abs(whole).max())


# F.2 (definition) and assumption F.3


def invariant(says: Callable, n: int) -> tuple[float, float]:
    """(0, distance of the kernels with K_{i+1,j+1} = K_ij, a null space, from the functions of says(i, j))."""
    constraints = []
    for i, j in product(range(n - 1), repeat=2):
        row = np.zeros((n, n))
        row[i, j], row[i + 1, j + 1] = 1, -1
        constraints.append(row.ravel())
    space = linalg.null_space(np.array(constraints))
    label = np.array([[says(i, j) for j in range(n)] for i in range(n)]).ravel()
    functions = (label[:, None] == np.unique(label)).astype(float)
    gaps = (b @ np.linalg.lstsq(b, a, rcond=None)[0] - a for a, b in ((space, functions), (functions, space)))
    return 0.0, max(float(np.abs(gap).max()) for gap in gaps)


def on_lags(modes: list) -> Callable:
    """The library's values of a kernel."""
    return theory.kernel([theory.Mode(radius, w, tuple(even), tuple(odd)) for radius, w, even, odd in modes])


def waves(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng([count, seed])
    return draw.standard_normal(count), draw.standard_normal(count), draw.uniform(0.2, 2.9, count)


def largest(count: int, seed: int) -> float:
    """sup |kappa| over |d| <= 1e5 of waves without a common period."""
    even, odd, omega = waves(count, seed)
    modes = [(1, w, [a], [b]) for w, a, b in zip(omega, even, odd, strict=True)]
    return float(np.abs(on_lags(modes)(np.arange(-100_000, 100_001))).max())


def sum_of_sizes(count: int, seed: int, times: float = 1.0) -> float:
    even, odd, _ = waves(count, seed)
    return times * float(np.hypot(even, odd).sum())


def stays(radius: float) -> bool:
    """Whether max(radius^n, radius^-n) does not grow."""
    sups = [max(radius**n, radius**-n) for n in (10, 100, 1000)]
    return all(later <= sooner for sooner, later in pairwise(sups))


def share(says: Callable, modes: list) -> tuple[float, float]:
    """(says(sup kappa - inf kappa), largest weight over the uniform share), 1e5 keys."""
    values = on_lags(modes)(np.arange(100_000))
    return says(float(np.ptp(values))), float(len(values) * special.softmax(values).max())


# F.5


def stays_bounded(modes: list) -> bool:
    """Whether |kappa| near d = 20,000 and -20,000 is no larger than plain waves of its coefficients can be."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.abs(on_lags(modes)(LAGS)).max() <= sum(hypot(*m[2][:1], *m[3][:1]) for m in modes) + 1)


def on_the_circle(modes: list) -> bool:
    """|lambda| = 1 for all eigenvalues and no polynomial factors."""
    return all(radius == 1 and len(even) == 1 for radius, _, even, _ in modes)


def lanes(u: list[int]) -> int:
    """Singular values of U above rounding: as many coordinates hold it, one fewer miss it."""
    return int((np.linalg.svd(np.tile(np.array(u, dtype=float), (len(u), 1)), compute_uv=False) > 1e-12).sum())


def geometric(keys: int, mean: float) -> np.ndarray:
    """The geometric law on the lags with this mean."""
    lags = np.arange(keys)
    return special.softmax(-lags * optimize.brentq(lambda r: special.softmax(-r * lags) @ lags - mean, -50, 50))


def least_committal(keys: int, mean: float) -> np.ndarray:
    """cvxpy's largest entropy with this mean lag."""
    import cvxpy as cp

    q = cp.Variable(keys)
    cp.Problem(cp.Maximize(cp.sum(cp.entr(q))), [cp.sum(q) == 1, np.arange(keys) @ q == mean]).solve(solver="CLARABEL")
    return q.value


def rank_of_wave(omega: float) -> int:
    """Rank of a mode with row means removed, 60 positions."""
    found = on_lags([(1, omega, [1.0], [0.3])])(np.subtract.outer(np.arange(60.0), np.arange(60.0)))
    return int(np.linalg.matrix_rank(found - found.mean(axis=1, keepdims=True), rtol=1e-10))


CIRCLE = [{"modes": modes} for modes in BOUNDED]

CHECKS = claims(
    claim(
        "GOAT-DF.1",
        Law(
            "A factorisation with d_p coordinates is the same as blocks of rank at most d_p: the rank of a block",
            lambda kernel: int(np.linalg.matrix_rank(np.array(block(kernel, 6), dtype=float))),
            lambda kernel: exact(block(kernel, 6)),
            [{"kernel": name} for name in PAIRS],
            wrong=lambda kernel: int(np.linalg.matrix_rank(np.diff(np.array(block(kernel, 6), dtype=float)))),
            tolerance=0,
        ),
        Law(
            "is the number of rows and columns from which the whole kernel is continued.",
            lambda rank: rank,
            continued,
            [{"kernel": name} for name in PAIRS],
            wrong=lambda rank: rank - 1,
            tolerance=1e-6,
        ),
        practice="One attention call may need less, since softmax ignores a row function c(i): min_c rank(K + "
        "c(i)) is the rank with row means removed. -m (i - j) takes 1 coordinate, not 2; a constant none.",
    ),
    claim(
        "GOAT-DF.2",
        Law(
            "K_{i+a,j+a} = K_ij for all a exactly when K_ij = kappa(i - j).",
            lambda i, j: i - j,
            invariant,
            [{"n": 4}, {"n": 7}],
            wrong=lambda i, j: i + j,
            tolerance=1e-12,
        ),
        practice="A Toeplitz kernel is sufficient, not necessary, for weights that move along with the window: m j "
        "is not Toeplitz and gives the weights of -m (i - j).",
    ),
    claim(
        "GOAT-AF.3",
        Law(
            "Goat's trigonometric kernel meets it: sup |kappa| <= sum_r sqrt(alpha_r^2 + beta_r^2).",
            sum_of_sizes,
            largest,
            [{"count": n, "seed": s} for n in (1, 2, 3) for s in range(2)],
            relation=">=",
            wrong=partial(sum_of_sizes, times=0.99),
        ),
        Law(
            "Negative lags count: rho^d is bounded over all integers only for rho = 1.",
            lambda radius: radius == 1,
            stays,
            [{"radius": r} for r in (0.5, 0.9, 0.999, 1.0, 1.001, 2.0)],
            wrong=lambda radius: radius <= 1,
        ),
        Law(
            "It keeps the kernel from dominating content however long the context: no key's weight exceeds "
            "e^(sup kappa - inf kappa) times the uniform share.",
            exp,
            share,
            [*CIRCLE, {"modes": [(1, 2 * pi * r / 101, [0.1], []) for r in range(1, 40)]}],
            relation=">=",
            wrong=lambda spread: exp(spread / 2),
        ),
        practice="What keeps a bounded kernel from dominating also keeps it from being local: its weights stay "
        "within a constant factor of uniform. Locality has to come from the slope in u(j), which Goat "
        "trains although this assumption leaves unbounded trends to a fixed term.",
    ),
    claim(
        "GOAT-F.5s",
        Law(
            "Bounded on Z, translation equivariant and SDPA-compatible are exactly the finite trigonometric kernels.",
            on_the_circle,
            stays_bounded,
            [*CIRCLE, *({"modes": modes} for modes in UNBOUNDED)],
            wrong=lambda modes: all(radius <= 1 for radius, *_ in modes),
        ),
        Law(
            "With a mean lag fixed, as its premise says, the unique least-committal recency prior is exponential in "
            "lag.",
            geometric,
            least_committal,
            [{"keys": n, "mean": m} for n, m in ((3, 0.7), (12, 2.5), (20, 6.0))],
            wrong=lambda keys, mean: geometric(keys, 0.9 * mean),
            tolerance=1e-4,
        ),
        Law(
            "A key-only sink u != 0 requires exactly one more lane.",
            lambda u: int(any(u)),
            lanes,
            KEY_ONLY,
            wrong=lambda u: 2 * int(any(u)),
            tolerance=0,
        ),
        Law(
            "A Fourier mode inside (0, pi) takes two coordinates at least, which the construction attains.",
            2,
            rank_of_wave,
            [{"omega": w} for w in (1e-2, 0.1, 0.7, 1.5, 2.9)],
            wrong=1,
            tolerance=0,
        ),
        practice="Nothing singles out ALiBi's shape but the choice of the mean lag as the one thing to be known: "
        "another fixed mean E[T(d)] gives exp(-lambda T), T = d^beta the generalised Gaussian (X-6).",
    ),
)
