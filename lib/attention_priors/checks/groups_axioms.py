"""The post on one-parameter groups: encodings as F(t), G(s), invariance, the tables.

Independent evidence: torch's own attention, the library's rotations (written without any generator).
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
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.positions.xpos import DampedRotary, xpos
from attention_priors.theory import groups as theory
from attention_priors.theory.groups import Block

PUCK = np.array([[0.0, 1.0], [0.0, 0.0]])
TIMES = np.arange(6)


def factors_of(module: torch.nn.Module, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F(t) and G(s) of a rotation module, [times n n]: it is applied to the unit vectors."""
    width = 2 * len(module.spectrum.omega)
    units = torch.eye(width, dtype=torch.float64)[:, None, None].expand(width, 1, len(times), width)
    t = torch.as_tensor(times)
    return tuple(x[:, 0].permute(1, 2, 0).numpy() for x in module(units, units, t, t))


def generated(generator: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return theory.query_factor(generator, times), theory.key_factor(generator, times)


def encodings(times: np.ndarray = TIMES) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """F and G of invariant encodings: two modules of the library, a puck, a random generator."""
    draw = np.random.default_rng(0)
    return {
        "RoPE": factors_of(Rotary(rope(4)), times),
        "xPos": factors_of(DampedRotary(xpos(4, scale=8.0)), times),
        "puck": generated(PUCK, times),
        "random": generated(draw.normal(size=(3, 3)) / 3, times),
    }


def broken(times: np.ndarray = TIMES) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Encodings of which absolute time can be observed: keys damped like queries, and an accelerating clock."""
    damped = Block(-0.1, 0.7)
    accelerating = Block(0.0, 0.3).group(times**2)
    return {"keys decay too": (damped.group(times), damped.group(times)), "clock t^2": (accelerating, accelerating)}


# OPG-1: scores of transformed queries and keys


def check_score(score: Callable) -> Evidence:
    """score(f(q), g(k)) against what torch's attention does with f(q) and g(k): logarithms of its weights."""
    draw, worst = torch.Generator().manual_seed(0), 0.0
    q, k = torch.randn(2, 1, 6, 4, generator=draw, dtype=torch.float64)
    time = torch.arange(6, dtype=torch.float64)[:, None]
    maps = (lambda x: x * (1 + time), lambda x: torch.tanh(x) + time / 6, lambda x: x)
    for f, g in product(maps, maps):
        fq, gk = f(q), g(k)
        weights = torch.nn.functional.scaled_dot_product_attention(fq, gk, torch.eye(6, dtype=q.dtype)[None], scale=1.0)
        logits = weights[0].log()
        claimed = torch.stack([torch.stack([score(a, b) for b in gk[0]]) for a in fq[0]])
        gap = (claimed - claimed[:, :1]) - (logits - logits[:, :1])
        worst = max(worst, float(gap.abs().max()))
    return compare(worst, "<=", 1e-9, detail="largest difference of two logits of a row, nine pairs of maps")


def clock_rows(quarter_turns: np.ndarray) -> np.ndarray:
    """F(t) = (cos t, sin t): from two dimensions into one, [times 1 2]."""
    angle = np.asarray(quarter_turns) * math.pi / 2
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)[:, None]


def by_projection(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(F', P) with F(t) = F'(t) P, P fixed and F' square: the best P is the row space of all F(t) together."""
    times, m, n = f.shape
    if m >= n:
        return by_padding(f)
    row_space = np.linalg.svd(f.reshape(times * m, n))[2][:m]
    return f @ row_space.T, row_space


def by_padding(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Zero rows below F where it is wide, zero columns beside it where it is tall."""
    times, m, n = f.shape
    size = max(m, n)
    square = np.zeros((times, size, size))
    square[:, :m, :n] = f
    return square, np.eye(size, n)


def upside_down(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    square, fixed = by_padding(f)
    return square, fixed[::-1]


def through(f: np.ndarray, keep: Callable) -> np.ndarray:
    square, fixed = keep(f)
    return square @ fixed


def check_dimension(keep: Callable, *, wide: bool) -> Evidence:
    """Scores q^T F(t)^T F(s) k of the square encoding behind a fixed map against those of the encoding as given."""
    draw, worst = np.random.default_rng(0), 0.0
    shapes = ((1, 2), (2, 4)) if wide else ((2, 1), (5, 3))
    given = [draw.normal(size=(7, m, n)) for m, n in shapes] + ([clock_rows(np.arange(4))] if wide else [])
    for f in given:
        square = through(f, keep)
        gap = theory.score_table(square, square) - theory.score_table(f, f)
        worst = max(worst, float(np.abs(gap).max()))
    found = None
    if wide:
        candidates = [{"q": q, "quarter_turns": t} for q, t in (([1, 0], 0), ([0, 1], 1))]
        found = smallest_counterexample(evaluate_dimension, keep, candidates)
    return compare(worst, "<=", 1e-12, counterexample=found, detail="largest difference of a score")


check_tall, check_wide = (partial(check_dimension, wide=wide) for wide in (False, True))


def evaluate_dimension(keep: Callable, q: list[float], quarter_turns: int) -> tuple[float, float]:
    """The score of q with itself at one time under F(t) = (cos t, sin t), with times of 0 and 1 quarter turns known."""
    f, vector = clock_rows(np.arange(2)), np.array(q, dtype=float)
    claimed, actual = (float(np.sum((g[quarter_turns] @ vector) ** 2)) for g in (through(f, keep), f))
    return claimed, actual


def invariant_wide() -> list[tuple[Callable, Callable]]:
    """t -> F(t), s -> G(s) of invariant encodings from n into m < n dimensions."""
    draw, pairs = np.random.default_rng(0), []
    for m, n in ((1, 2), (2, 4), (3, 5)):
        x, q, k = draw.normal(size=(m, m)) / 2, *draw.normal(size=(2, m, n))
        pairs.append((partial(moving, x.T, q), partial(moving, -x, k)))
    return [*pairs, (hidden_turn, lambda s: np.diag([math.exp(0.3 * s), 0])[:, [0, 1, 1]])]


def moving(generator: np.ndarray, fixed: np.ndarray, t: float) -> np.ndarray:
    return theory.exponential(generator, t) @ fixed


def hidden_turn(t: float) -> np.ndarray:
    """The row space changes with t, in a row that no key sees."""
    return np.array([[math.exp(-0.3 * t), 0, 0], [0, math.cos(t), math.sin(t)]])


def check_kept(claims: tuple[Callable, Callable]) -> Evidence:
    """(square encoding of any F, (C, X, E) behind the scores of an invariant one); C, E are fixed projections."""
    keep, project = claims
    worst = check_wide(keep).measured
    for f, g in invariant_wide():
        c, x, e = project([f(d).T @ g(0.0) for d in np.arange(9) * 0.25])
        worst = max(worst, float(len(x) - len(f(0.0))))
        for t, s in ((0.0, 0.0), (1.7, 0.4), (-0.6, 2.1)):
            mine = (theory.exponential(x.T, t) @ c).T @ (theory.exponential(-x, s) @ e)
            worst = max(worst, float(np.abs(mine - f(t).T @ g(s)).max()))
    return compare(worst, "<=", 1e-6, detail="largest difference of a score, and dimensions above m")


def by_range(scores: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(C, X, E) with F(t)^T G(s) = C^T e^{(t-s)X} E, from scores at lags 0, 1/4, .., 2."""
    return theory.realise(scores, 0.25)


def backwards(scores: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    c, x, e = by_range(scores)
    return c, -x, e


# OPG-2: linear maps, and what of them can be seen


def check_linear(apply: Callable) -> Evidence:
    """apply(F(t), x) against the library's rotations of random vectors, and superposition."""
    draw, worst = torch.Generator().manual_seed(0), 0.0
    t = torch.as_tensor(TIMES)
    for module in (Rotary(rope(4)), DampedRotary(xpos(4, scale=8.0))):
        f, g = factors_of(module, TIMES)
        x, y = torch.randn(2, 1, 1, len(t), 4, generator=draw, dtype=torch.float64)
        for factor, side in ((f, 0), (g, 1)):
            rotated = [module(z, z, t, t)[side][0, 0].numpy() for z in (x, y, 2 * x - 3 * y)]
            vectors = [z[0, 0].numpy() for z in (x, y, 2 * x - 3 * y)]
            mine = [np.stack([apply(a, b) for a, b in zip(factor, z, strict=True)]) for z in vectors]
            gaps = [a - b for a, b in zip(rotated, mine, strict=True)] + [mine[2] - 2 * mine[0] + 3 * mine[1]]
            worst = max(worst, *(float(np.abs(gap).max()) for gap in gaps))
    return compare(worst, "<=", 1e-12, detail="RoPE and xPos, random vectors, and 2x - 3y")


def check_characterised(product_of: Callable) -> Evidence:
    """What scores of unit vectors reveal is product_of(F, G); and a change (UF, U^-T G) that leaves it is invisible."""
    draw, worst = np.random.default_rng(0), 0.0
    for _ in range(20):
        f, g, u = draw.normal(size=(3, 3, 3))
        other = u @ f, np.linalg.inv(u).T @ g
        seen = np.array([[(f @ a) @ (g @ b) for b in np.eye(3)] for a in np.eye(3)])
        worst = max(worst, np.abs(product_of(f, g) - seen).max(), np.abs(product_of(*other) - seen).max())
    return compare(float(worst), "<=", 1e-9, detail="largest difference, 20 random pairs")


# OPG-3 and TAB1: invariance and tables


def check_invariance(moved: Callable) -> Evidence:
    """Do the encodings whose product at (t, s) is that at moved(t, s, tau) have constant diagonals, and no others?"""
    wrong, size = 0, len(TIMES)
    cases = [(pair, True) for pair in encodings().values()] + [(pair, False) for pair in broken().values()]
    for (f, g), expected in cases:
        table = theory.score_table(f, g)
        pairs = [((t, s), moved(t, s, tau)) for t, s, tau in product(range(size), range(size), range(1, 3))]
        inside = [(a, b) for a, b in pairs if all(0 <= x < size for x in b)]
        invariant = max(float(np.abs(table[a] - table[b]).max()) for a, b in inside) < 1e-9
        toeplitz = theory.drift(table) < 1e-9
        wrong += (invariant != expected) + (toeplitz != expected)
    return compare(wrong, "==", 0, detail="disagreements over four invariant and two other encodings")


def check_first_table(entry: Callable) -> Evidence:
    """entry(F, G, t, s) in row t and column s against logits of torch's attention between unit vectors."""
    worst = 0.0
    for f, g in encodings(np.arange(3)).values():
        for t, s in product(range(3), range(3)):
            queries, keys = (torch.as_tensor(x[i].T.copy())[None] for x, i in ((f, t), (g, s)))
            values = torch.eye(queries.shape[1], dtype=torch.float64)[None]
            weights = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, scale=1.0)
            logits = weights[0].log().numpy()
            gap = entry(f, g, t, s) - logits
            worst = max(worst, float(np.abs(gap - gap[:, :1]).max()))
    return compare(worst, "<=", 1e-9, detail="largest difference of two logits of a row, four encodings")


def check_second_table(lags: list[list[int]]) -> Evidence:
    """The table of F(t)^T G(s) against A at the stated lags, A from the first column and from inverses of it."""
    worst = 0.0
    for f, g in encodings(np.arange(3)).values():
        table = theory.score_table(f, g)
        a = {lag: table[lag, 0] for lag in range(3)} | {-lag: np.linalg.inv(table[lag, 0]) for lag in (1, 2)}
        worst = max(worst, *(float(np.abs(table[t, s] - a[lags[t][s]]).max()) for t, s in product(range(3), range(3))))
    return compare(worst, "<=", 1e-9, detail="largest difference of an entry, four encodings")


PRINTED_LAGS = [[0, -1, -2], [1, 0, -1], [2, 1, 0]]
CHECKS = {
    check.id: check
    for check in (
        Check(
            "OPG-1",
            (
                Part("Attention scores a query at t and a key at s by <f_t(q), g_s(k)>.", matmul, check_score,
                     lambda fq, gk: -(fq @ gk)),
                Part("An encoding into m > n dimensions is one that keeps the dimension, after a fixed linear map.",
                     by_projection, check_tall, upside_down),
                Part("An encoding into m < n dimensions is one that keeps the dimension, after a fixed projection.",
                     by_projection, check_wide, upside_down, evaluate_dimension, repaired=by_padding),
            ),
            Part("Where the remark stands, before any axiom, F(t) may look in another direction at each time: fill up "
                 "the *results* with zeros. Under translation invariance a fixed projection always exists.",
                 (by_padding, by_range), check_kept, (by_padding, backwards)),
            practice="Extra coordinates (Goat's lanes, ALiBi's constant ones) are covered: project up first. One "
                     "low-rank projection before an invariant encoding loses nothing against a low-rank encoding; "
                     "before one that sees absolute time it may.",
        ),
        Check(
            "OPG-2",
            (
                Part("A linear encoding acts by matrices: f_t(q) = F(t) q and g_s(k) = G(s) k.", matmul, check_linear,
                     lambda a, x: a @ x + 1),
                Part("F(t)^T G(s) is all that can be seen of it.", lambda f, g: f.T @ g, check_characterised,
                     lambda f, g: f @ g.T),
            ),
            practice="Two implementations that differ by (U F, U^-T G) are the same encoding. Additive biases are "
                     "not linear in q and k unless both carry a constant coordinate, which a projection with a bias "
                     "can provide.",
        ),
        Check(
            "OPG-3",
            (
                Part("F(t+tau)^T G(s+tau) = F(t)^T G(s) for all tau exactly when every diagonal of the table is "
                     "constant.", lambda t, s, tau: (t + tau, s + tau), check_invariance,
                     lambda t, s, tau: (t + tau, s - tau)),
            ),
            practice="The test of an implementation is a table with constant diagonals. xPos with keys damped like "
                     "queries fails it; so does a clock that runs unevenly.",
        ),
        Check(
            "OPG-TAB1",
            (
                Part("First table: F(t)^T G(s) in row t and column s.", lambda f, g, t, s: f[t].T @ g[s],
                     check_first_table, lambda f, g, t, s: f[s].T @ g[t]),
                Part("Second table: A(0) on the diagonal, A(-1) and A(-2) above it, A(1) and A(2) below.", PRINTED_LAGS,
                     check_second_table, [list(column) for column in zip(*PRINTED_LAGS, strict=True)]),
            ),
            practice="Below the diagonal is the past, at positive lags: this is the half that a causal mask keeps.",
        ),
    )
}  # fmt: skip
