"""The post on one-parameter groups: what the blocks of a generator do, and the pictures of it.

Independent evidence: sympy's exponentials, mpmath in 40 digits, scipy's real block form and integrator, RetNet's
recurrence, the library's rotations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from attention_priors.checks.evidence import Check, Evidence, Part, compare
from attention_priors.checks.groups_axioms import factors_of
from attention_priors.positions.rotary import Rotary, Spectrum
from attention_priors.positions.xpos import DampedRotary
from attention_priors.theory import groups as theory
from attention_priors.theory.groups import Block


def rotation(angle: float) -> np.ndarray:
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


def exact_exponential(x: np.ndarray, t: float) -> np.ndarray:
    """e^{tX} in 40 digits (mpmath, Taylor and squaring)."""
    import mpmath

    with mpmath.workdps(40):
        return np.array(mpmath.expm(mpmath.matrix(x.tolist()) * mpmath.mpf(t)).tolist(), dtype=float)


def gap(mine: np.ndarray, exact: np.ndarray) -> float:
    """Largest difference of an entry, relative to the largest entry where that exceeds 1."""
    return float(np.abs(mine - exact).max() / max(1.0, np.abs(exact).max()))


# OPG-8: diagonalisable generators


def check_blocks(actions: tuple[Callable, Callable]) -> Evidence:
    """(e^{λt}, e^{λt} R(ωt)) as claimed, assembled in scipy's real basis (cdf2rdf), against scipy's exponential."""
    from scipy import linalg

    one, two = actions
    draw, worst = np.random.default_rng(0), 0.0
    for n in (1, 2, 3, 4, 6):
        x = draw.normal(size=(n, n))
        values, vectors = np.linalg.eig(x)
        real, basis = linalg.cdf2rdf(values, vectors)
        for t in (-1.2, 0.7, 2.0):
            parts, i = [], 0
            while i < n:
                paired = i + 1 < n and real[i, i + 1] != 0
                # scipy puts +ω above the diagonal, which is our -ω
                parts.append(two(real[i, i], -real[i, i + 1], t) if paired else np.array([[one(real[i, i], t)]]))
                i += len(parts[-1])
            mine = basis @ linalg.block_diag(*parts) @ np.linalg.inv(basis)
            worst = max(worst, gap(mine, linalg.expm(t * x)))
    return compare(worst, "<=", 1e-9, detail="largest relative entry, random generators of sizes 1 to 6")


def check_real_basis(basis_of: Callable) -> Evidence:
    """The basis has no imaginary part and S^-1 X S is made of blocks of one and two."""
    draw, worst = np.random.default_rng(0), 0.0
    for n in (2, 3, 5):
        x = draw.normal(size=(n, n)) - np.triu(2 * np.ones((n, n)), 1)  # most eigenvalues come in pairs
        s = basis_of(x)
        blocks = theory.canonical_form(x)[0]
        outside = np.abs(np.linalg.inv(s) @ x @ s - theory.direct_sum(blocks)).max()
        worst = max(worst, float(np.abs(np.imag(s)).max()), float(outside))
    return compare(worst, "<=", 1e-9, detail="largest imaginary part of the basis or entry outside the blocks")


# OPG-10: a pair of eigenvalues


def check_pair(action: Callable) -> Evidence:
    """action(λ, ω, t) in the basis of u, -v of an eigenvector u + iv, against mpmath's exponential of real matrices."""
    draw, worst = np.random.default_rng(1), 0.0
    for rate, omega in ((-0.2, 0.9), (0.0, 1.3), (0.15, 2.5)):
        s = draw.normal(size=(2, 2)) + 2 * np.eye(2)
        x = s @ np.array([[rate, -omega], [omega, rate]]) @ np.linalg.inv(s)
        for t in (-2.0, 0.6, 5.0):
            worst = max(worst, gap(s @ action(rate, omega, t) @ np.linalg.inv(s), exact_exponential(x, t)))
    return compare(worst, "<=", 1e-12, detail="largest relative entry, three random bases")


def check_recurrence(action: Callable) -> Evidence:
    """Scores q^T action(λ, ω, lag) k against a recurrent state and against the xPos module.

    The state is RetNet's, decayed and turned at every step; then the same with steps of random lengths, as a model
    takes that sets them from data.
    """
    draw, worst, rate, omega = np.random.default_rng(2), 0.0, math.log(1 - 2**-5), 0.7
    q, k, v = draw.normal(size=(3, 25, 2))
    for steps in (np.ones(25), draw.gamma(1.0, 1.0, size=25)):
        state, clock = np.zeros((2, 2)), np.cumsum(steps)
        for t in range(25):
            state = math.exp(rate * steps[t]) * rotation(omega * steps[t]) @ state + np.outer(k[t], v[t])
            parallel = sum(np.outer(action(rate, omega, clock[t] - clock[s]) @ k[s], v[s]) for s in range(t + 1))
            worst = max(worst, gap(q[t] @ parallel, q[t] @ state))
    f, g = factors_of(DampedRotary(Spectrum((omega,), (-rate,))), np.arange(9))
    table = theory.score_table(f, g)
    # the library's rotation turns queries forward, the post's F(t) = e^{tX^T} backward: ω has the other sign
    pairs = product(range(9), repeat=2)
    worst = max(worst, *(gap(table[t, s], action(rate, -omega, t - s)) for t, s in pairs))
    return compare(worst, "<=", 1e-12, detail="outputs of 25 steps of a decay 1 - 2^-5, and xPos's table")


def check_clock_hands(turn: Callable) -> Evidence:
    """F(t) and G(t) of the library's RoPE against turn(ω, t): both the same rotation."""
    worst = 0.0
    for omega in (1.0, 0.1, 2.5):
        times = np.arange(40)
        expected = np.stack([turn(omega, t) for t in times])
        worst = max(worst, *(gap(factor, expected) for factor in factors_of(Rotary(Spectrum((omega,))), times)))
    return compare(worst, "<=", 1e-12, detail="largest entry of F or G over 40 positions, three frequencies")


# OPG-11 to 13: defective blocks


def check_nilpotent(power: int) -> Evidence:
    shift = np.array([[0, 1], [0, 0]])
    least = next(n for n in range(1, 5) if not np.linalg.matrix_power(shift, n).any())
    return compare(least, "==", power, detail="least power of X that is zero")


def check_shear(matrix: Callable) -> Evidence:
    import sympy

    t = sympy.Symbol("t", real=True)
    difference = sympy.simplify((sympy.Matrix([[0, t], [0, 0]])).exp() - sympy.Matrix(matrix(t)))
    return compare(str(difference.tolist()), "==", str(sympy.zeros(2).tolist()), detail="e^{tX} - claimed (sympy)")


def check_puck(motion: Callable) -> Evidence:
    """motion(x, v, t) against free motion, x'' = 0 and v = x' (sympy's solution of the differential equation)."""
    import sympy

    (x0, v0, t), x = sympy.symbols("x0 v0 t", real=True), sympy.Function("x")
    solved = sympy.dsolve(x(t).diff(t, 2), x(t), ics={x(0): x0, x(t).diff(t).subs(t, 0): v0}).rhs
    mine = motion(x0, v0, t)
    off = [sympy.simplify(mine[0] - solved), sympy.simplify(mine[1] - solved.diff(t))]
    return compare(str(off), "==", "[0, 0]", detail="difference from the solution of x'' = 0 (sympy)")


def check_chain(entry: Callable) -> Evidence:
    """entry(exp, λ, t, k), k places above the diagonal, against exponentials of sympy (to size 4) and mpmath (to 6)."""
    import sympy

    (rate, time), worst = sympy.symbols("lambda t", real=True), 0.0
    for size in (2, 3, 4):
        block = sympy.eye(size) * rate + sympy.Matrix(size, size, lambda i, j: int(j == i + 1))
        claimed = sympy.Matrix(size, size, lambda i, j: entry(sympy.exp, rate, time, j - i) if j >= i else 0)
        difference = sympy.simplify((block * time).exp() - claimed)
        worst = max(worst, float(difference != sympy.zeros(size)))
    for size, value, t in product((2, 5, 6), (-0.4, 0.3), (-2.0, 3.5)):
        x = value * np.eye(size) + np.eye(size, k=1)
        mine = [[entry(math.exp, value, t, j - i) if j >= i else 0.0 for j in range(size)] for i in range(size)]
        worst = max(worst, gap(np.array(mine), exact_exponential(x, t)))
    return compare(worst, "<=", 1e-12, detail="1 if sympy finds a difference, else the largest relative entry")


def check_doubled(action: Callable) -> Evidence:
    """action(λ, ω, t) against mpmath, and in the basis of sympy's Jordan form of a full matrix of whole numbers."""
    worst = 0.0
    for rate, omega, t in ((-0.3, 0.8, 2.0), (0.1, 2.0, -1.5), (0.0, 1.0, 6.0)):
        worst = max(worst, gap(action(rate, omega, t), exact_exponential(Block(rate, omega, 2).generator(), t)))
    # the companion matrix of ((x + 1)^2 + 4)^2: every eigenvalue -1 ± 2i twice, one block each
    x = [[0, 0, 0, -25], [1, 0, 0, -20], [0, 1, 0, -14], [0, 0, 1, -4]]
    (block,), basis = theory.jordan_form(x)
    worst = max(worst, gap(basis @ action(block.rate, block.frequency, 0.7) @ np.linalg.inv(basis),
                           exact_exponential(np.array(x, dtype=float), 0.7)))  # fmt: skip
    return compare(worst, "<=", 1e-11, detail="largest relative entry, three blocks and a companion matrix")


def doubled(rate: float, omega: float, t: float) -> np.ndarray:
    turn = rotation(omega * t)
    return math.exp(rate * t) * np.block([[turn, t * turn], [np.zeros((2, 2)), turn]])


# OPG-F1 and F2: pictures


def integrated(x: np.ndarray, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The solution of y' = X y at the given times (scipy's integrator): [times n]."""
    from scipy import integrate

    span = (0.0, float(times[-1]))
    return integrate.solve_ivp(lambda _, y: x @ y, span, start, t_eval=times, rtol=1e-11, atol=1e-12).y.T


def check_hands(length: Callable) -> Evidence:
    """length(λ, t) of F(t) q and of G(t) k, and equal angles in equal times, on integrated trajectories."""
    worst, times = 0.0, np.linspace(0, 6, 13)
    for rate, omega in ((0.0, 0.9), (0.0, -2.0), (-0.2, 0.9), (-0.5, 1.7)):
        x = Block(rate, omega).generator()
        for factor, sign in ((x.T, 1), (-x, -1)):
            path = integrated(factor, np.array([1.0, 0.0]), times)
            angles = np.diff(np.unwrap(np.arctan2(path[:, 1], path[:, 0])))
            claimed = np.array([length(sign * rate, t) for t in times])
            worst = max(worst, gap(np.linalg.norm(path, axis=1), claimed), float(np.ptp(angles)))
    return compare(worst, "<=", 1e-8, detail="largest difference of a length or an angle, two undamped, two damped")


def check_portrait(motion: Callable) -> Evidence:
    """motion(λ, x, v, t) against integrated trajectories of the Jordan block, from four starts."""
    worst, times = 0.0, np.linspace(0, 6, 13)
    for rate, start in product((0.0, -0.3, -1.0), ((1, 0), (0, 1), (-1, 0.5), (0.5, -1))):
        path = integrated(Block(rate, size=2).generator(), np.array(start, dtype=float), times)
        worst = max(worst, gap(path, np.stack([motion(rate, *start, t) for t in times])))
    return compare(worst, "<=", 1e-8, detail="largest difference of a coordinate, twelve trajectories")


def damped(rate: float, omega: float, t: float) -> np.ndarray:
    return math.exp(rate * t) * rotation(omega * t)


def clockwise(rate: float, omega: float, t: float) -> np.ndarray:
    return damped(rate, -omega, t)


CHECKS = {
    check.id: check
    for check in (
        Check(
            "OPG-8",
            (
                Part("A diagonalisable X splits into one-dimensional blocks e^{lambda t} and, for conjugate pairs, "
                     "two-dimensional ones e^{lambda t} R(omega t).", (lambda rate, t: math.exp(rate * t), damped),
                     check_blocks, (lambda rate, t: math.exp(rate * t), clockwise)),
                Part("The change to this form is real.", lambda x: theory.canonical_form(x)[1], check_real_basis,
                     lambda x: np.linalg.eig(x)[1]),
            ),
            practice="A learned X costs nothing at run time: fold S into the projections of queries and keys and apply "
                     "rotations and decays.",
        ),
        Check(
            "OPG-10",
            (
                Part("A complex pair acts as A(t) = e^{lambda t} R(omega t) in a real basis.", damped, check_pair,
                     clockwise),
                Part("This is damped RoPE as RetNet has it, and with steps set by data Mamba-3.", damped,
                     check_recurrence, lambda rate, omega, t: damped(rate / 2, omega, t)),
                Part("For lambda = 0 both F and G rotate at a constant frequency.",
                     lambda omega, t: rotation(omega * t), check_clock_hands, lambda omega, t: rotation(-omega * t)),
            ),
            practice="With lambda < 0 the two factors are spirals, one shrinking and one growing (OPG-14). A model "
                     "that sets the steps from data runs the same group on a learned clock (OPG-9d).",
        ),
        Check(
            "OPG-11",
            (
                Part("X = [[0, 1], [0, 0]] has X^2 = 0.", 2, check_nilpotent, 3),
                Part("e^{tX} = [[1, t], [0, 1]].", lambda t: [[1, t], [0, 1]], check_shear,
                     lambda t: [[1, 2 * t], [0, 1]]),
                Part("It moves a free puck: x -> x + vt, v -> v.", lambda x, v, t: (x + v * t, v), check_puck,
                     lambda x, v, t: (x - v * t, v)),
            ),
            practice="Put the constant -m in the query's first place and 1 in the key's second: the score is ALiBi's "
                     "-mt (X-2).",
        ),
        Check(
            "OPG-12",
            (
                Part("A block of size m at a real eigenvalue has the entries e^{lambda t} t^k / k!, k < m; size 2 is "
                     "e^{lambda t} [[1, t], [0, 1]].",
                     lambda exp, rate, t, k: exp(rate * t) * t**k / math.factorial(k), check_chain,
                     lambda exp, rate, t, k: exp(rate * t) * t**k / max(k, 1)),
            ),
            practice="With lambda < 0 the corner t e^{lambda t} peaks at lag 1/|lambda|: the least block whose prior "
                     "looks at a distance without oscillating.",
        ),
        Check(
            "OPG-13",
            (
                Part("A doubled conjugate pair acts as e^{lambda t} [[R, tR], [0, R]] with R = R(omega t).", doubled,
                     check_doubled, lambda rate, omega, t: doubled(rate, omega, t) - np.eye(4, k=2) * 0.01 * t),
            ),
            practice="Its corner is a rotation whose amplitude grows with the lag, t cos(omega t): content compared at "
                     "a phase, weighted by the distance.",
        ),
        Check(
            "OPG-F1",
            (
                Part("F(t) q and G(t) k turn at constant speed; their lengths are constant (hands of a clock) when "
                     "lambda = 0, else e^{lambda t} and e^{-lambda t} (spirals).",
                     lambda rate, t: math.exp(rate * t), check_hands, lambda rate, t: math.exp(-rate * t)),
            ),
            practice="The spiral of the keys runs outwards: it is the picture of OPG-14's overflow.",
        ),
        Check(
            "OPG-F2",
            (
                Part("The block moves (x, v) to e^{lambda t} (x + vt, v): the puck's shear, with decay if lambda < 0.",
                     lambda rate, x, v, t: math.exp(rate * t) * np.array([x + v * t, v]), check_portrait,
                     lambda rate, x, v, t: np.array([x + math.exp(rate * t) * v * t, math.exp(rate * t) * v])),
            ),
            practice="With lambda < 0 the first coordinate may grow before it decays: its largest value is at lag "
                     "1/|lambda| - x/v.",
        ),
    )
}  # fmt: skip
