"""The post on one-parameter groups: normalisation, the group law, exponentials, real time.

Independent evidence: the library's rotations, scipy's logarithm and rotations in space, mpmath in 30 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from operator import matmul

import numpy as np
import torch

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.checks.groups_axioms import PUCK, TIMES, factors_of
from attention_priors.positions.rotary import Rotary, Spectrum
from attention_priors.positions.xpos import DampedRotary
from attention_priors.theory import groups as theory

# OPG-4: normalisation


def check_replacement(replaced: Callable) -> Evidence:
    """F(0)^T replaced(M, G(0)) = I for invertible M = F(0)^T G(0)."""
    draw, worst = np.random.default_rng(0), 0.0
    for n in (1, 2, 3):
        f, g = draw.normal(size=(2, n, n)) + 2 * np.eye(n)
        worst = max(worst, float(np.abs(f.T @ replaced(f.T @ g, g) - np.eye(n)).max()))
    return compare(worst, "<=", 1e-9, detail="largest entry of F(0)^T G'(0) - I")


def one_sided(lag_table: Callable) -> tuple[np.ndarray, Callable, np.ndarray]:
    """(I, B(d) M^+, M): the printed way, queries untouched, M = B(0) folded into the keys."""
    m = lag_table(0.0)
    return np.eye(len(m)), lambda d: lag_table(d) @ np.linalg.pinv(m), m


def two_sided(lag_table: Callable) -> tuple[np.ndarray, Callable, np.ndarray]:
    """(C, e^{dX}, E): fixed maps of queries and of keys around a group that may be smaller."""
    spacing = 0.5
    readout, generator, start = theory.realise([lag_table(spacing * k) for k in range(9)], spacing)
    return readout, lambda d: theory.exponential(generator, d), start


def lag_tables() -> dict[str, Callable]:
    """B(d) = F(t)^T G(t - d) of invariant encodings; `singular` ones have a B(0) without an inverse."""
    draw = np.random.default_rng(1)
    x, q, k = draw.normal(size=(3, 3, 3)) / 2
    q[:, 2], k[:, 0] = 0, 0
    invertible = np.eye(3) + draw.normal(size=(3, 3)) / 5
    return {
        "invertible": lambda d: theory.exponential(x, d) @ invertible,
        "singular": lambda d: q.T @ theory.exponential(x, d) @ k,
        "singular, cosine": partial(cosine, 4),
    }


def cosine(period: float, d: float) -> np.ndarray:
    """F(t) = G(t) = [[cos ωt, 0], [sin ωt, 0]], ω = 2π / period: B(d) = [[cos ωd, 0], [0, 0]]."""
    return np.diag([math.cos(2 * math.pi * d / period), 0.0])


def check_normal_form(normal: Callable, *, singular: bool) -> Evidence:
    """B(d) = C^T A(d) E with A(0) = I, A(s + t) = A(s) A(t), of no more than the encoding's dimension."""
    worst = 0.0
    for name, table in lag_tables().items():
        if name.startswith("singular") != singular:
            continue
        readout, group, start = normal(table)
        size = len(group(0.0))
        gaps = [group(0.0) - np.eye(size), group(1.3) @ group(-2.1) - group(-0.8)]
        gaps += [readout.T @ group(d) @ start - table(d) for d in (0.0, 0.7, -1.9)]
        worst = max(worst, size - len(table(0.0)), *(float(np.abs(gap).max()) for gap in gaps))
    found = None
    if singular:
        found = smallest_counterexample(evaluate_normal_form, normal, [{"period": 4, "d": 1}])
    return compare(worst, "<=", 1e-6, counterexample=found, detail="largest violation of an entry")


check_regular, check_singular = (partial(check_normal_form, singular=singular) for singular in (False, True))


def evaluate_normal_form(normal: Callable, period: float, d: float) -> tuple[float, float]:
    """First entries of C^T A(d)^2 E, as the group law has it, and of B(2d), for the cosine encoding."""
    readout, group, start = normal(partial(cosine, period))
    squared = readout.T @ group(d) @ group(d) @ start
    return round(float(squared[0, 0]), 12), float(cosine(period, 2 * d)[0, 0])


# OPG-5: the group law


def normalised_pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    """F and G at whole times 0 .. 5 with F(0)^T G(0) = I: F(t)^T = A(t) S^-1, G(s) = S A(-s), any S.

    A from generators, and once from powers of a matrix of negative determinant, which has no generator.
    """
    draw, pairs = np.random.default_rng(0), []
    flip = np.array([[0.0, 1.0], [1.0, 0.5]])
    powers = [np.linalg.matrix_power(flip, n) for n in range(6)], [np.linalg.matrix_power(flip, -n) for n in range(6)]
    groups = [(np.stack(powers[0]), np.stack(powers[1]))]
    for n in (1, 2, 4):
        x = draw.normal(size=(n, n)) / 2
        groups.append((theory.exponential(x, TIMES), theory.exponential(x, -TIMES)))
    for forward, backward in groups:
        s = draw.normal(size=forward.shape[1:]) + 2 * np.eye(forward.shape[1])
        pairs.append((np.swapaxes(forward @ np.linalg.inv(s), 1, 2), s @ backward))
    return pairs


def check_inverse(keys_from: Callable) -> Evidence:
    """keys_from(F(t)) against G(t), and F(t)^T keys_from(F(t)) = I."""
    worst = 0.0
    for f, g in normalised_pairs():
        gaps = [np.stack([keys_from(a) for a in f]) - g, np.stack([a.T @ keys_from(a) for a in f]) - np.eye(len(f[0]))]
        worst = max(worst, *(float(np.abs(gap).max()) for gap in gaps))
    return compare(worst, "<=", 1e-8, detail="largest entry, whole times 0 to 5, four groups")


def check_law(combined: Callable) -> Evidence:
    """combined(A(s), A(t)) against A(s + t), where A(d) = F(d)^T G(0) is read off the first column; A(0) = I."""
    worst = 0.0
    for f, g in normalised_pairs():
        a = theory.score_table(f, g)[:, 0]
        gaps = [combined(a[s], a[t]) - a[s + t] for s, t in product(range(3), range(4)) if s + t < 6]
        worst = max(worst, float(np.abs(a[0] - np.eye(len(a[0]))).max()), *(float(np.abs(gap).max()) for gap in gaps))
    return compare(worst, "<=", 1e-8, detail="largest entry, whole times 0 to 5, four groups")


# OPG-7: every continuous group is an exponential


def measured_groups() -> dict[str, Callable]:
    """t -> A(t), none of them through a generator: two modules of the library, and closed forms from elsewhere."""
    from scipy.spatial.transform import Rotation

    axis = np.array([2.0, -1.0, 2.0]) / 3

    def module(build: torch.nn.Module) -> Callable:
        def group(t: float) -> np.ndarray:
            f, g = factors_of(build, np.array([round(8 * t), 0]))  # positions are whole eighths of t
            return f[0].T @ g[1]

        return group

    omega, decay = (1 / 8, 0.2 / 8), (0.3 / 8, 0.1 / 8)
    return {
        "RoPE": module(Rotary(Spectrum(omega))),
        "xPos": module(DampedRotary(Spectrum(omega, decay))),
        "puck": lambda t: np.array([[1.0, t], [0.0, 1.0]]),
        "turn in space": lambda t: Rotation.from_rotvec(0.9 * t * axis).as_matrix(),
        "boost": lambda t: np.array([[math.cosh(t), math.sinh(t)], [math.sinh(t), math.cosh(t)]]),
    }


def check_exponential(group_of: Callable) -> Evidence:
    """group_of(X, t) with X = log A(h) / h from one short step (scipy), against the measured A at other times."""
    from scipy import linalg

    worst, step = 0.0, 0.125
    for measured in measured_groups().values():
        generator = np.real(linalg.logm(measured(step))) / step
        worst = max(worst, *(float(np.abs(group_of(generator, t) - measured(t)).max()) for t in (-2.25, 0.5, 3.75)))
    return compare(worst, "<=", 1e-9, detail="largest entry at t = -2.25, 0.5, 3.75 from the step 1/8, five groups")


def check_group(group_of: Callable) -> Evidence:
    """A(0) = I, A(s + t) = A(s) A(t), |A(h) - I| <= e^{h |X|} - 1 for small h, and mpmath's exponential."""
    import mpmath

    draw, worst = np.random.default_rng(0), 0.0
    for n in (1, 2, 3, 4):
        x = draw.normal(size=(n, n))
        s, t = draw.uniform(-2, 2, size=2)
        with mpmath.workdps(30):
            exact = np.array(mpmath.expm(mpmath.matrix(x.tolist()) * mpmath.mpf(t)).tolist(), dtype=float)
        scale = np.abs(exact).max()
        gaps = [group_of(x, 0.0) - np.eye(n), group_of(x, s) @ group_of(x, t) - group_of(x, s + t)]
        gaps += [(group_of(x, t) - exact) / scale]
        jump = np.linalg.norm(group_of(x, 1e-4) - np.eye(n), 2) - math.expm1(1e-4 * np.linalg.norm(x, 2))
        worst = max(worst, float(jump), *(float(np.abs(gap).max()) for gap in gaps))
    return compare(worst, "<=", 1e-9, detail="largest violation, random generators of sizes 1 to 4")


# OPG-20: times between the whole ones


def check_real_times(group_of: Callable) -> Evidence:
    """group_of(X, t) at random times against mpmath, and the group law at times without a common unit."""
    import mpmath

    draw, worst = np.random.default_rng(1), 0.0
    for x in (PUCK, np.array([[-0.1, -0.7], [0.7, -0.1]]), draw.normal(size=(3, 3)) / 2):
        for s, t in draw.uniform(-3, 3, size=(4, 2)):
            with mpmath.workdps(30):
                exact = np.array(mpmath.expm(mpmath.matrix(x.tolist()) * mpmath.mpf(s)).tolist(), dtype=float)
            gaps = [group_of(x, s) - exact, group_of(x, s) @ group_of(x, t) - group_of(x, s + t)]
            worst = max(worst, *(float(np.abs(gap).max()) for gap in gaps))
    return compare(worst, "<=", 1e-9, detail="largest entry, twelve pairs of random times")


def check_irregular(factors: Callable) -> Evidence:
    """Attention on samples at irregular times against a regular grid on which the other keys are hidden.

    The grid knows only the matrix of one step and its powers; `factors(X, times)` gives F and G of the samples.
    """
    draw, worst, spacing = np.random.default_rng(2), 0.0, 0.125
    for x in (PUCK, np.array([[-0.1, -0.7], [0.7, -0.1]])):
        ticks = np.sort(draw.choice(48, size=9, replace=False))
        q, k, v = draw.normal(size=(3, 9, 2))
        f, g = factors(x, ticks * spacing)
        score = np.einsum("tab,tb->ta", f, q) @ np.einsum("sab,sb->sa", g, k).T
        step = theory.exponential(x, spacing)
        grid = np.full((9, 48), -np.inf)
        for (i, t), (j, s) in product(enumerate(ticks), repeat=2):
            if s <= t:
                grid[i, s] = q[i] @ np.linalg.matrix_power(step, t - s) @ k[j]
        values = np.zeros((48, 2))
        values[ticks] = v
        masked = np.where(np.tri(9, dtype=bool), score, -np.inf)
        sparse = torch.softmax(torch.as_tensor(masked), -1).numpy() @ v
        worst = max(worst, float(np.abs(sparse - torch.softmax(torch.as_tensor(grid), -1).numpy() @ values).max()))
    return compare(worst, "<=", 1e-9, detail="largest difference of an output, 9 samples on 48 ticks")


def pair(x: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return theory.query_factor(x, times), theory.key_factor(x, times)


CHECKS = {
    check.id: check
    for check in (
        Check(
            "OPG-4",
            (
                Part("If M = F(0)^T G(0) is invertible, a fixed change of the keys makes it the identity.", one_sided,
                     check_regular, lambda b: (one_sided(b)[0], b, one_sided(b)[2])),
                Part("M is folded into the keys: k <- M k, that is G <- G M^-1. (The register's "
                     "G <- M^-1 G is a transcription: the post's formula is lost, and its prose gives no order.)",
                     lambda m, g: g @ np.linalg.inv(m), check_replacement, lambda m, g: np.linalg.inv(m) @ g),
                Part("It is no loss: every invariant encoding can be treated so.", one_sided,
                     check_singular, lambda b: (one_sided(b)[0], b, one_sided(b)[2]),
                     evaluate_normal_form),
            ),
            Part("To assume the identity is no loss if M is invertible. In general B(d) = C^T e^{dX} E with fixed maps "
                 "C of queries and E of keys, in no more dimensions than before.",
                 two_sided, check_singular,
                 lambda b: (two_sided(b)[0], lambda d: two_sided(b)[1](-d), two_sided(b)[2])),
            practice="cos(omega d) alone is an admissible score and no group: it is one entry of a rotation. Reading a "
                     "trained head as a group, look for a generator behind its query and key maps, not at equal times.",
        ),
        Check(
            "OPG-5",
            (
                Part("With F(0)^T G(0) = I, invariance gives F(t)^T G(t) = I, that is G(t) = F(t)^-T.",
                     lambda f: np.linalg.inv(f).T, check_inverse, np.linalg.inv),
                Part("A(t - s) = F(t)^T G(s) has A(0) = I and A(s + t) = A(s) A(t).", matmul, check_law,
                     lambda a, b: a + b - np.eye(len(a))),
            ),
            practice="Two steps fix everything: A at one step determines it at all whole times. The proof uses no "
                     "continuity and holds in integer time.",
        ),
        Check(
            "OPG-7",
            (
                Part("Every continuous one-parameter group of matrices is e^{tX}.", theory.exponential,
                     check_exponential, lambda x, t: np.eye(len(x)) + t * x),
                Part("Every e^{tX} is one.", theory.exponential, check_group,
                     lambda x, t: theory.exponential(x, t * t)),
            ),
            practice="One short step determines an encoding at all times. A whole step does not: frequencies omega and "
                     "omega + 2 pi agree at every whole time, and in whole time (-1)^n is an encoding and no e^{nx}.",
        ),
        Check(
            "OPG-20",
            (
                Part("F and G are defined at every real t, with the same group law.", theory.exponential,
                     check_real_times, lambda x, t: theory.exponential(x, np.round(t))),
                Part("So the encoding applies to irregular samples as it does to a fine regular grid.", pair,
                     check_irregular, lambda x, times: pair(x, np.arange(len(times), dtype=float))),
            ),
            practice="Give RoPE time stamps instead of indices. What it does between whole times is chosen by omega "
                     "(modulo 2 pi nothing else changes), not by data at whole times.",
        ),
    )
}  # fmt: skip
