"""The post on one-parameter groups: normalisation, the group law, continuity, exponentials, real and whole time.

Independent evidence: the library's rotations, scipy's logarithm, quadrature and rotations in space, mpmath in 40
digits, a search for generators.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import product
from operator import matmul

import numpy as np
import torch
from scipy import integrate, linalg, optimize
from scipy.spatial.transform import Rotation

from attention_priors.checks.groups.axioms import PUCK, TIMES, exact, factors_of, generated, score_table
from attention_priors.claims.law import Law, Reading, claim, claims
from attention_priors.positions.rotary import DampedRotary, Rotary, Spectrum
from attention_priors.theory import groups as theory

Matrix = np.ndarray
Normal = tuple[Matrix, Callable[[float], Matrix], Matrix]
SPIRAL = np.array([[-0.1, -0.7], [0.7, -0.1]])
LAGS = [{"period": period, "lag": lag} for period, lag in ((4, 1), (6, 1), (4, 0.5))]
GROUPS = ("powers of [[0, 1], [1, 1/2]]", "size 1", "size 2", "size 4")
SUMS = [{"group": name, "s": s, "t": t} for name in GROUPS for s, t in product(range(3), range(4))]
MEASURED = [{"group": name, "t": t} for name in ("RoPE", "xPos", "puck", "turn in space", "boost")
            for t in (-2.25, 0.5, 3.75)]  # fmt: skip
RANDOM = [{"size": n, "s": s, "t": t} for n in (1, 2, 3, 4) for s, t in ((0.5, -1.3), (-1.9, 0.7))]
IRRATIONAL = [{"generator": x, "s": s, "t": t} for x in ("puck", "spiral", "random")
              for s, t in ((math.sqrt(2), 0.5), (-math.pi, 1.25), (0.3, -math.e))]  # fmt: skip
STEPS = [{"step": step} for step in ([[2]], [[-1]], [[0.5]], [[-1, 0], [0, -1]], [[-1, 1], [0, -1]], [[-1, 0], [0, -2]],
                                     [[1, 1], [0, 1]], [[0, -1], [1, 0]])]  # fmt: skip


# OPG-4: normalisation


def one_sided(lag_table: Callable) -> Normal:
    """(I, B(d) M^+, M): the printed way, queries untouched, M = B(0) folded into the keys."""
    m = lag_table(0.0)
    return np.eye(len(m)), lambda d: lag_table(d) @ np.linalg.pinv(m), m


def unfolded(lag_table: Callable) -> Normal:
    return one_sided(lag_table)[0], lag_table, one_sided(lag_table)[2]


def two_sided(lag_table: Callable) -> Normal:
    """(C, e^{dX}, E): fixed maps of queries and of keys around a group that may be smaller."""
    readout, generator, start = theory.realise([lag_table(k / 2) for k in range(9)], 0.5)
    return readout, lambda d: linalg.expm(d * generator), start


def reversed_(lag_table: Callable) -> Normal:
    readout, group, start = two_sided(lag_table)
    return readout, lambda d: group(-d), start


def cosine(period: float, d: float) -> Matrix:
    """F(t) = G(t) = [[cos ωt, 0], [sin ωt, 0]], ω = 2π / period: B(d) = [[cos ωd, 0], [0, 0]]."""
    return np.diag([math.cos(2 * math.pi * d / period), 0.0])


def lag_tables() -> dict[str, Callable]:
    """B(d) = F(t)^T G(t - d) of invariant encodings; the others' B(0) has no inverse."""
    draw = np.random.default_rng(1)
    x, q, k = draw.normal(size=(3, 3, 3)) / 2
    q[:, 2], k[:, 0] = 0, 0
    invertible = np.eye(3) + draw.normal(size=(3, 3)) / 5
    return {
        "invertible": lambda d: linalg.expm(d * x) @ invertible,
        "singular": lambda d: q.T @ linalg.expm(d * x) @ k,
        "cosine": functools.partial(cosine, 4),
    }


def normal_form(says: Callable, encoding: str) -> tuple[list, list]:
    """B(d) = C^T A(d) E, A(0) = I and A(s + t) = A(s) A(t), of no more than the encoding's dimension."""
    table = lag_tables()[encoding]
    readout, group, start = says(table)
    lags, size = (0.0, 0.7, -1.9), len(group(0.0))
    claimed = [*(readout.T @ group(d) @ start for d in lags), group(0.0), group(1.3) @ group(-2.1)]
    actual = [*map(table, lags), np.eye(size), group(-0.8)]
    return [*claimed, max(size, len(table(0.0)))], [*actual, len(table(0.0))]


def twice(says: Callable, period: float, lag: float) -> tuple[float, float]:
    """First entries of C^T A(d)^2 E, as the group law has it, and of B(2d), for the cosine encoding."""
    readout, group, start = says(functools.partial(cosine, period))
    squared = readout.T @ group(lag) @ group(lag) @ start
    return round(float(squared[0, 0]), 9), round(float(cosine(period, 2 * lag)[0, 0]), 9)


def folded(says: Callable, size: int) -> tuple[Matrix, Matrix]:
    """F(0)^T G'(0) and the identity, G' as said from M = F(0)^T G(0) and G(0)."""
    f, g = np.random.default_rng(size).normal(size=(2, size, size)) + 2 * np.eye(size)
    return f.T @ says(f.T @ g, g), np.eye(size)


# OPG-5: the group law


@functools.cache
def normalised(group: str) -> tuple[Matrix, Matrix]:
    """F and G at whole times 0 .. 5 with F(0)^T G(0) = I: F(t)^T = A(t) S^-1, G(s) = S A(-s), any S.

    A from a generator, and once from powers of a matrix of negative determinant, which has none.
    """
    if group == GROUPS[0]:
        flip = np.array([[0.0, 1.0], [1.0, 0.5]])
        forward, backward = (np.stack([np.linalg.matrix_power(flip, sign * n) for n in TIMES]) for sign in (1, -1))
    else:
        size = int(group[-1])
        x = np.random.default_rng(size).normal(size=(size, size)) / 2
        forward, backward = (np.stack([linalg.expm(sign * n * x) for n in TIMES]) for sign in (1, -1))
    s = np.random.default_rng(9).normal(size=forward.shape[1:]) + 2 * np.eye(forward.shape[1])
    return np.swapaxes(forward @ np.linalg.inv(s), 1, 2), s @ backward


def keys_from(says: Callable, group: str) -> tuple[Matrix, Matrix]:
    """What is said of F(t), and G(t)."""
    f, g = normalised(group)
    return np.stack([says(a) for a in f]), g


def combined(says: Callable, group: str, s: int, t: int) -> tuple[Matrix, Matrix]:
    """What is said of A(s) and A(t), and A(s + t), where A(d) = F(d)^T G(0) is read off the first column."""
    a = score_table(*normalised(group))[:, 0]
    return says(a[s], a[t]), a[s + t]


# OPG-6: discontinuous solutions


def additive(says: Callable, a: int, b: int, c: int, d: int) -> tuple[float, float]:
    """f at the sum of the times a + b sqrt(2) and c + d sqrt(2), and the sum of f."""
    return says(a + c, b + d), says(a, b) + says(c, d)


def near_zero(says: Callable, p: int, q: int) -> tuple[float, float]:
    """1, and |f| at the time p - q sqrt(2) = ±1 / (p + q sqrt(2))."""
    return 1.0, abs(says(p, -q))


def pell(count: int) -> list[dict[str, int]]:
    """(p, q) with p^2 - 2 q^2 = ±1, so that p - q sqrt(2) tends to 0."""
    p, q, found = 1, 1, []
    while len(found) < count:
        p, q = p + 2 * q, p + q
        found.append({"p": p, "q": q})
    return found


def smoothed(says: Callable, rate: float, frequency: float, t: float, h: float) -> tuple[Matrix, Matrix]:
    """Both sides said of A and its integrals (scipy), A a damped rotation."""
    x = np.array([[rate, -frequency], [frequency, rate]])
    return says(lambda u: linalg.expm(u * x), lambda low, high: integrate.quad_vec(
        lambda u: linalg.expm(u * x), low, high)[0], t, h)  # fmt: skip


# OPG-7: every continuous group is an exponential


def measured(group: str, t: float) -> Matrix:
    """A(t), never through a generator: two modules of the library, and closed forms from elsewhere."""
    match group:
        case "puck":
            return np.array([[1.0, t], [0.0, 1.0]])
        case "turn in space":
            return Rotation.from_rotvec(0.9 * t * np.array([2.0, -1.0, 2.0]) / 3).as_matrix()
        case "boost":
            return np.array([[math.cosh(t), math.sinh(t)], [math.sinh(t), math.cosh(t)]])
    omega, decay = (1 / 8, 0.2 / 8), (0.3 / 8, 0.1 / 8)
    module = Rotary(Spectrum(omega)) if group == "RoPE" else DampedRotary(Spectrum(omega, decay))
    f, g = factors_of(module, np.array([round(8 * t), 0]))  # positions are whole eighths of t
    return f[0].T @ g[1]


def from_one_step(says: Callable, group: str, t: float) -> tuple[Matrix, Matrix]:
    """What is said of X = log A(1/8) · 8 (scipy) and t, and the measured A(t)."""
    return says(8 * np.real(linalg.logm(measured(group, 1 / 8))), t), measured(group, t)


def is_group(says: Callable, size: int, s: float, t: float) -> tuple[list, list]:
    """A(0) = I, continuous there, A(s) A(t) = A(s + t) in 40 digits."""
    x = np.random.default_rng(size).normal(size=(size, size))
    whole = exact(x, s + t)
    return (
        [says(x, 0.0), says(x, 1e-12), says(x, s) @ says(x, t) / np.abs(whole).max()],
        [np.eye(size), np.eye(size), whole / np.abs(whole).max()],
    )


def has_generator(step: list[list[float]]) -> bool:
    """Is there a real X with e^X = A(1)? Least squares from eight starts."""
    target, draw = np.array(step, dtype=float), np.random.default_rng(0)
    for start in 2 * draw.normal(size=(8, target.size)):
        found = optimize.least_squares(
            lambda x: (linalg.expm(x.reshape(target.shape)) - target).ravel(), start, method="lm", max_nfev=300
        )
        if np.abs(found.fun).max() < 1e-7:
            return True
    return False


def culver(step: list[list[float]]) -> bool:
    from fractions import Fraction

    return theory.has_real_logarithm([[Fraction(entry) for entry in row] for row in step])


# OPG-20: times between the whole ones


def generators() -> dict[str, Matrix]:
    return {"puck": PUCK, "spiral": SPIRAL, "random": np.random.default_rng(1).normal(size=(3, 3)) / 2}


def at_real_times(says: Callable, generator: str, s: float, t: float) -> tuple[Matrix, Matrix]:
    """What is said at s + t, and the product of exponentials at s and t in 40 digits."""
    x = generators()[generator]
    return says(x, s + t), exact(x, s) @ exact(x, t)


def irregular(says: Callable, generator: str) -> tuple[Matrix, Matrix]:
    """Attention on 9 samples at irregular times with the factors said, and on a grid of 48 ticks on which the other
    keys are hidden. The grid knows only the matrix of one step and its powers."""
    x, draw, spacing = generators()[generator], np.random.default_rng(2), 0.125
    ticks = np.sort(draw.choice(48, size=9, replace=False))
    q, k, v = draw.normal(size=(3, 9, len(x)))
    f, g = says(x, ticks * spacing)
    score = np.einsum("tab,tb->ta", f, q) @ np.einsum("sab,sb->sa", g, k).T
    step, grid = exact(x, spacing), np.full((9, 48), -np.inf)
    for (i, t), (j, s) in product(enumerate(ticks), repeat=2):
        if s <= t:
            grid[i, s] = q[i] @ np.linalg.matrix_power(step, t - s) @ k[j]
    values = np.zeros((48, len(x)))
    values[ticks] = v
    masked = np.where(np.tri(9, dtype=bool), score, -np.inf)
    return tuple(torch.softmax(torch.as_tensor(a), -1).numpy() @ b for a, b in ((masked, v), (grid, values)))


CHECKS = claims(
    claim(
        "OPG-4",
        Law("If M = F(0)^T G(0) is invertible, a fixed change of the keys makes it the identity.",
            one_sided, normal_form, [{"encoding": "invertible"}], wrong=unfolded, tolerance=1e-6),
        Law("M is folded into the keys: k <- M k, that is G <- G M^-1. (The register's G <- M^-1 G is a transcription: "
            "the post's formula is lost, and its prose gives no order.)",
            lambda m, g: g @ np.linalg.inv(m), folded, [{"size": n} for n in (1, 2, 3)],
            wrong=lambda m, g: np.linalg.inv(m) @ g),
        Law("It is no loss: every invariant encoding can be treated so (here cos(2π d / period) alone).",
            one_sided, twice, LAGS, wrong=unfolded, repaired=two_sided,
            quote="We can do this without loss of generality, because if we’d started with",
            place="Properties of good positional encodings", boundary="a singular F(0)ᵀG(0)"),
        corrected=Law("To assume the identity is no loss if M is invertible. In general B(d) = C^T e^{dX} E with fixed "
                      "maps C of queries and E of keys, in no more dimensions than before.",
                      two_sided, normal_form, [{"encoding": "singular"}, {"encoding": "cosine"}], wrong=reversed_,
                      tolerance=1e-6),
        practice="cos(omega d) alone is an admissible score and no group: it is one entry of a rotation. Reading a "
                 "trained head as a group, look for a generator behind its query and key maps, not at equal times.",
        severity="editorial"),
    claim(
        "OPG-5",
        Law("With F(0)^T G(0) = I, invariance gives F(t)^T G(t) = I, that is G(t) = F(t)^-T.",
            lambda f: np.linalg.inv(f).T, keys_from, [{"group": name} for name in GROUPS], wrong=np.linalg.inv,
            tolerance=1e-8),
        Law("A(t - s) = F(t)^T G(s) has A(0) = I and A(s + t) = A(s) A(t).",
            matmul, combined, SUMS, wrong=lambda a, b: a + b - np.eye(len(a)), tolerance=1e-8),
        practice="Two steps fix everything: A at one step determines it at all whole times. The proof uses no "
                 "continuity and holds in integer time.",
    ),
    claim(
        "OPG-6",
        Law("Over the reals, solutions that are not continuous exist: e^{f(t)}, f additive with f(a + b sqrt 2) = a. "
            "(Computed on these times; that f extends to all reals is read: a basis of R over Q.)",
            lambda a, b: a, additive,
            [dict(zip("abcd", numbers, strict=True)) for numbers in product((-3, 0, 2), repeat=4)],
            wrong=lambda a, b: a + 1, tolerance=0),
        Law("It is not continuous at 0: at p - q sqrt 2, p^2 - 2 q^2 = ±1, f is p, though these times tend to 0.",
            lambda a, b: a, near_zero, pell(20), wrong=lambda a, b: a + b * math.sqrt(2), relation="<"),
        Law("Such an A is not measurable: A(t) times the integral of a measurable A over [0, h] is its integral over "
            "[t, t + h], continuous in t.",
            lambda a, over, t, h: (a(t) @ over(0, h), over(t, t + h)), smoothed,
            [{"rate": r, "frequency": w, "t": t, "h": h} for r, w in ((-0.3, 0.0), (-0.1, 0.7))
             for t, h in ((0.7, 0.5), (-2.0, 1.5))],
            wrong=lambda a, over, t, h: (a(t) @ over(0, h), over(t, t + 2 * h))),
        Reading("Over the reals they take the axiom of choice.", "they require the axiom of choice", "Continuity"),
        practice="With token indices continuity says nothing: a learned A(1) may have negative eigenvalues. One "
                 "coordinate that alternates in sign is an encoding, which RoPE needs two coordinates for.",
    ),
    claim(
        "OPG-7",
        Law("Every continuous one-parameter group of matrices is e^{tX}.",
            lambda x, t: linalg.expm(t * x), from_one_step, MEASURED, wrong=lambda x, t: np.eye(len(x)) + t * x),
        Law("Every e^{tX} is one.",
            lambda x, t: linalg.expm(t * x), is_group, RANDOM, wrong=lambda x, t: linalg.expm(t * t * x)),
        Law("So the list is complete also where time is whole, which the post admits (\"restrict ourselves to only "
            "integer times\"): every A(1) with an inverse is e^X.",
            True, has_generator, STEPS, wrong=lambda step: step[0][0] > 0, tolerance=0,
            quote="we could just as well restrict ourselves to only integer times if we prefer",
            place="Formalizing a positional encoding"),
        corrected=(
            Law("In real time the continuous groups are the e^{tX}.",
                lambda x, t: linalg.expm(t * x), from_one_step, MEASURED, wrong=lambda x, t: linalg.expm(-t * x)),
            Law("In whole time every A(1) with an inverse gives a group, A(1)^n, and (-1)^n is no e^{nx}: A(1) = e^X "
                "has a real X exactly when the Jordan blocks of each negative eigenvalue come in pairs.",
                culver, has_generator, STEPS, wrong=lambda step: np.linalg.det(step) > 0, tolerance=0),
        ),
        practice="One short step determines an encoding at all times. A whole step does not: frequencies omega and "
                 "omega + 2 pi agree at every whole time, and in whole time (-1)^n is an encoding and no e^{nx}.",
        severity="needs a repair"),
    claim(
        "OPG-20",
        Law("F and G are defined at every real t, with the same group law.",
            lambda x, t: linalg.expm(t * x), at_real_times, IRRATIONAL,
            wrong=lambda x, t: linalg.expm(round(t) * x)),
        Law("So the encoding applies to irregular samples as it does to a fine regular grid.",
            generated, irregular, [{"generator": name} for name in ("puck", "spiral", "random")],
            wrong=lambda x, times: generated(x, np.arange(len(times), dtype=float))),
        practice="Give RoPE time stamps instead of indices. What it does between whole times is chosen by omega "
                 "(modulo 2 pi nothing else changes), not by data at whole times.",
    ),
)  # fmt: skip
