"""The post on one-parameter groups: what the blocks of a generator do, and the pictures of it.

Independent evidence: sympy's exponentials, mpmath in 40 digits, scipy's real block form and integrator, RetNet's
recurrence, the library's rotations.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import product

import numpy as np
import sympy
from scipy import integrate, linalg

from attention_priors.checks.groups.axioms import exact, factors_of
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.rotary import DampedRotary, Rotary, Spectrum
from attention_priors.theory import groups as theory

Matrix = np.ndarray
RANDOM = [{"size": n, "t": t} for n in (1, 2, 3, 4, 6) for t in (-1.2, 0.7, 2.0)]
PAIRS = [{"rate": r, "omega": w, "t": t} for r, w in ((-0.2, 0.9), (0.0, 1.3), (0.15, 2.5)) for t in (-2.0, 0.6, 5.0)]
TURNS = [{"omega": w, "side": side, "t": t} for w in (1.0, 0.1, 2.5) for side in (0, 1) for t in (1, 2, 39)]
CHAINS = [{"size": n, "rate": r, "t": t} for n in (2, 3, 5, 6) for r in (-0.4, 0.3) for t in (-2.0, 3.5)]
DOUBLED = [{"rate": r, "omega": w, "t": t} for r, w, t in ((-0.3, 0.8, 2.0), (0.1, 2.0, -1.5), (0.0, 1.0, 6.0))]
HANDS = [{"rate": r, "omega": w, "side": side, "t": t} for r, w in ((0.0, 0.9), (0.0, -2.0), (-0.2, 0.9), (-0.5, 1.7))
         for side in ("queries", "keys") for t in (0.5, 1.0, 6.0)]  # fmt: skip
PORTRAITS = [{"rate": r, "x": x, "v": v, "t": t} for r in (0.0, -0.3, -1.0)
             for x, v in ((1, 0), (0, 1), (-1, 0.5), (0.5, -1)) for t in (0.5, 6.0)]  # fmt: skip
COMPANION = [[0, 0, 0, -25], [1, 0, 0, -20], [0, 1, 0, -14], [0, 0, 1, -4]]  # of ((x + 1)^2 + 4)^2
RATE, T, X, V, A, B = sympy.symbols("lambda t x v a b", real=True)


def rotation(angle: float) -> Matrix:
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


def damped(rate: float, omega: float, t: float) -> Matrix:
    """e^{λt} R(ωt)."""
    return math.exp(rate * t) * rotation(omega * t)


def clockwise(rate: float, omega: float, t: float) -> Matrix:
    return damped(rate, -omega, t)


def decay(rate: float, t: float) -> float:
    return math.exp(rate * t)


def plane(rate: float, omega: float) -> Matrix:
    return np.array([[rate, -omega], [omega, rate]])


# OPG-8: diagonalisable generators


def assembled(says: tuple[Callable, Callable], size: int, t: float) -> tuple[Matrix, Matrix]:
    """The two actions said, put together in scipy's real basis, and scipy's exponential of a random generator."""
    one, two = says
    x = np.random.default_rng(size).normal(size=(size, size))
    real, basis = linalg.cdf2rdf(*np.linalg.eig(x))
    parts, i = [], 0
    while i < size:
        paired = i + 1 < size and real[i, i + 1] != 0
        # scipy puts +ω above the diagonal, which is our -ω
        parts.append(two(real[i, i], -real[i, i + 1], t) if paired else np.array([[one(real[i, i], t)]]))
        i += len(parts[-1])
    scale = max(1.0, np.abs(linalg.expm(t * x)).max())
    return basis @ linalg.block_diag(*parts) @ np.linalg.inv(basis) / scale, linalg.expm(t * x) / scale


def in_blocks(says: Callable, size: int) -> tuple[Matrix, Matrix]:
    """S^-1 X S, and what of it is real and stands in the blocks of the eigenvalues of X, one or two in a block."""
    x = np.random.default_rng(size).normal(size=(size, size)) - np.triu(2 * np.ones((size, size)), 1)  # most are paired
    s, pairs = says(x), np.linalg.eigvals(x).imag
    inside = np.eye(size, dtype=bool)
    for i in np.flatnonzero(pairs > 0):
        inside[i : i + 2, i : i + 2] = True
    found = np.linalg.inv(s) @ x @ s
    return found, np.where(inside, found.real, 0.0)


# OPG-10: a pair of eigenvalues


def in_a_basis(rate: float, omega: float, t: float) -> Matrix:
    """The exponential of S X S^-1 for a random S, seen in the basis S again."""
    s = np.random.default_rng(1).normal(size=(2, 2)) + 2 * np.eye(2)
    return np.linalg.inv(s) @ exact(s @ plane(rate, omega) @ np.linalg.inv(s), t) @ s


def recurrence(says: Callable, steps: str) -> tuple[Matrix, Matrix]:
    """Outputs q^T Σ A(lag) k v, and of RetNet's state, decayed and turned at every step; steps of 1, or of random
    lengths, as a model takes that sets them from data."""
    draw, rate, omega = np.random.default_rng(2), math.log(1 - 2**-5), 0.7
    (q, k, v), state, outputs = draw.normal(size=(3, 25, 2)), np.zeros((2, 2)), []
    lengths = np.ones(25) if steps == "equal" else draw.gamma(1.0, 1.0, size=25)
    clock = np.cumsum(lengths)
    for t in range(25):
        state = math.exp(rate * lengths[t]) * rotation(omega * lengths[t]) @ state + np.outer(k[t], v[t])
        parallel = sum(np.outer(says(rate, omega, clock[t] - clock[s]) @ k[s], v[s]) for s in range(t + 1))
        outputs.append((q[t] @ parallel, q[t] @ state))
    return tuple(np.array(outputs).swapaxes(0, 1))


def library_score(rate: float, omega: float, t: int, s: int) -> Matrix:
    """F(t)^T G(s) of the library's damped rotation, which turns queries forward where the post's F turns backward."""
    f, g = factors_of(DampedRotary(Spectrum((omega,), (-rate,))), np.arange(9))
    return f[t].T @ g[s]


def hand(omega: float, side: int, t: int) -> Matrix:
    """F(t) or G(t) of the library's RoPE."""
    return factors_of(Rotary(Spectrum((omega,))), np.arange(40))[side][t]


# OPG-11 to 13: defective blocks


def least_power(block: list[list[int]]) -> int:
    return next(n for n in range(1, 5) if not np.linalg.matrix_power(block, n).any())


def free_motion() -> sympy.Expr:
    """a x(t) + b x'(t) of the solution of x'' = 0."""
    position = sympy.Function("x")
    start = {position(0): X, position(T).diff(T).subs(T, 0): V}
    solved = sympy.dsolve(position(T).diff(T, 2), position(T), ics=start).rhs
    return A * solved + B * solved.diff(T)


def corner() -> sympy.Expr:
    """Of the exponential of a block of size 4."""
    return ((sympy.eye(4) * RATE + sympy.Matrix(4, 4, lambda i, j: int(j == i + 1))) * T).exp()[0, 3]


def chain(size: int, rate: float, t: float, divisor: Callable[[int], int] = math.factorial) -> Matrix:
    return math.exp(rate * t) * sum(t**k / divisor(k) * np.eye(size, k=k) for k in range(size))


def doubled(rate: float, omega: float, t: float, power: int = 1) -> Matrix:
    """e^{λt} [[R, tR], [0, R]]."""
    return np.kron(np.array([[1.0, t**power], [0.0, 1.0]]), damped(rate, omega, t))


def companion(rate: float, omega: float, t: float) -> Matrix:
    """The exponential of the companion matrix of ((x - λ)² + ω²)², seen in the basis of its exact Jordan form."""
    _, basis = theory.jordan_form(COMPANION)
    return np.linalg.inv(basis) @ exact(np.array(COMPANION, dtype=float), t) @ basis


# OPG-F1 and F2: the motions behind the pictures


@functools.cache
def path(rate: float, omega: float, side: str) -> Matrix:
    """F(t) q or G(t) k of the unit vector at t = 0, 1/2, .. 6, integrated: [times 2]."""
    x = plane(rate, omega)
    return integrated(x.T if side == "queries" else -x, [1.0, 0.0])


def integrated(x: Matrix, start: list[float]) -> Matrix:
    """The solution of y' = X y at t = 0, 1/2, .. 6 (scipy's integrator): [times n]."""
    times = np.linspace(0, 6, 13)
    return integrate.solve_ivp(lambda _, y: x @ y, (0.0, 6.0), start, t_eval=times, rtol=1e-11, atol=1e-12).y.T


def length_and_angle(rate: float, omega: float, side: str, t: float) -> list[float]:
    points = path(rate, omega, side)[: round(2 * t) + 1]
    return [float(np.linalg.norm(points[-1])), float(np.unwrap(np.arctan2(points[:, 1], points[:, 0]))[-1])]


def stated(sign: int) -> Callable:
    """Length e^{±λt} and angle -ωt."""
    return lambda rate, omega, side, t: [
        math.exp(sign * (rate if side == "queries" else -rate) * t), -omega * t
    ]  # fmt: skip


def shear(rate: float, x: float, v: float, t: float) -> list[float]:
    return list(integrated(np.array([[rate, 1.0], [0.0, rate]]), [x, v])[round(2 * t)])


CHECKS = claims(
    claim(
        "OPG-8",
        Law("A diagonalisable X splits into one-dimensional blocks e^{lambda t} and, for conjugate pairs, "
            "two-dimensional ones e^{lambda t} R(omega t).",
            (decay, damped), assembled, RANDOM, wrong=(decay, clockwise)),
        Law("The change to this form is real.",
            lambda x: theory.canonical_form(x)[1], in_blocks, [{"size": n} for n in (2, 3, 5)],
            wrong=lambda x: np.linalg.eig(x)[1]),
        practice="A learned X costs nothing at run time: fold S into the projections of queries and keys and apply "
                 "rotations and decays.",
    ),
    claim(
        "OPG-10",
        Law("A complex pair acts as A(t) = e^{lambda t} R(omega t) in a real basis.",
            damped, in_a_basis, PAIRS, wrong=clockwise),
        Law("This is damped RoPE as RetNet has it, and with steps set by data Mamba-3.",
            damped, recurrence, [{"steps": "equal"}, {"steps": "from data"}],
            wrong=lambda rate, omega, t: damped(rate / 2, omega, t)),
        Law("And as the library has xPos (whose angles count the other way).",
            lambda rate, omega, t, s: damped(rate, -omega, t - s), library_score,
            [{"rate": -0.03, "omega": 0.7, "t": t, "s": s} for t, s in product((0, 3, 8), (0, 5))],
            wrong=lambda rate, omega, t, s: damped(-rate, -omega, t - s)),
        Law("For lambda = 0 both F and G rotate at a constant frequency.",
            lambda omega, t: rotation(omega * t), hand, TURNS, wrong=lambda omega, t: rotation(-omega * t)),
        practice="With lambda < 0 the two factors are spirals, one shrinking and one growing (OPG-14). A model that "
                 "sets the steps from data runs the same group on a learned clock (OPG-9d).",
    ),
    claim(
        "OPG-11",
        Law("X = [[0, 1], [0, 0]] has X^2 = 0.",
            2, least_power, [{"block": [[0, 1], [0, 0]]}], wrong=1, tolerance=0),
        Law("e^{tX} = [[1, t], [0, 1]].",
            lambda t: np.array([[1, t], [0, 1]]), lambda t: exact(np.array([[0.0, 1.0], [0.0, 0.0]]), t),
            [{"t": t} for t in (0, 1, -2.5, 40)], wrong=lambda t: np.array([[1, 2 * t], [0, 1]])),
        Law("It moves a free puck: x -> x + vt, v -> v.",
            A * (X + V * T) + B * V, free_motion(), wrong=A * (X - V * T) + B * V, symbolic=True),
        practice="Put the constant -m in the query's first place and 1 in the key's second: the score is ALiBi's -mt "
                 "(X-2).",
    ),
    claim(
        "OPG-12",
        Law("A block of size m at a real eigenvalue has the entries e^{lambda t} t^k / k!, k < m; size 2 is e^{lambda "
            "t} [[1, t], [0, 1]].",
            chain, lambda size, rate, t: exact(rate * np.eye(size) + np.eye(size, k=1), t), CHAINS,
            wrong=lambda size, rate, t: chain(size, rate, t, lambda k: max(k, 1))),
        Law("The corner of size 4 is e^{lambda t} t^3 / 6.",
            sympy.exp(RATE * T) * T**3 / 6, corner(), wrong=sympy.exp(RATE * T) * T**3 / 3, symbolic=True),
        practice="With lambda < 0 the corner t e^{lambda t} peaks at lag 1/|lambda|: the least block whose prior looks "
                 "at a distance without oscillating.",
    ),
    claim(
        "OPG-13",
        Law("A doubled conjugate pair acts as e^{lambda t} [[R, tR], [0, R]] with R = R(omega t).",
            doubled, lambda rate, omega, t: exact(np.kron(np.eye(2), plane(rate, omega)) + np.eye(4, k=2), t), DOUBLED,
            wrong=lambda rate, omega, t: doubled(rate, omega, t, 2)),
        Law("So does a full matrix of whole numbers with -1 ± 2i twice, in the basis of its Jordan form.",
            doubled, companion, [{"rate": -1.0, "omega": 2.0, "t": t} for t in (0.7, -0.4)],
            wrong=lambda rate, omega, t: doubled(rate, omega, t, 2)),
        practice="Its corner is a rotation whose amplitude grows with the lag, t cos(omega t): content compared at a "
                 "phase, weighted by the distance.",
    ),
    claim(
        "OPG-F1",
        Law("The motion behind the pictures (which are not in the text): F(t) q and G(t) k turn at constant speed; "
            "their lengths are constant (hands of a clock) when lambda = 0, else e^{lambda t} and e^{-lambda t} "
            "(spirals).",
            stated(1), length_and_angle, HANDS, wrong=stated(-1), tolerance=1e-7),
        practice="The spiral of the keys runs outwards: it is the picture of OPG-14's overflow.",
    ),
    claim(
        "OPG-F2",
        Law("The motion behind the pictures (which are not in the text): the block moves (x, v) to e^{lambda t} "
            "(x + vt, v), the puck's shear, with decay if lambda < 0.",
            lambda rate, x, v, t: [math.exp(rate * t) * (x + v * t), math.exp(rate * t) * v], shear, PORTRAITS,
            wrong=lambda rate, x, v, t: [x + math.exp(rate * t) * v * t, math.exp(rate * t) * v], tolerance=1e-8),
        practice="With lambda < 0 the first coordinate may grow before it decays: its largest value is at lag "
                 "1/|lambda| - x/v.",
    ),
)  # fmt: skip
