"""The post on one-parameter groups: encodings as F(t), G(s), and the tables.

Independent evidence: torch's own attention, the library's rotations (written without any generator), scipy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations, product
from operator import matmul

import numpy as np
import torch
from scipy.linalg import expm

from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.rotary import DampedRotary, Rotary, rope, xpos
from attention_priors.theory import groups as theory

Factors = tuple[np.ndarray, np.ndarray]
PUCK = np.array([[0.0, 1.0], [0.0, 0.0]])
TIME = torch.arange(6, dtype=torch.float64)[:, None]
MAPS = {"x": lambda x: x, "(1 + t) x": lambda x: x * (1 + TIME), "tanh x + t/6": lambda x: torch.tanh(x) + TIME / 6}
ENCODINGS = ("RoPE", "xPos", "puck", "random")
TABLED = [{"encoding": name, "t": t, "s": s} for name in ENCODINGS for t, s in product(range(3), repeat=2)]
CLOCK = [{"q": list(q), "quarter_turns": t} for q in ((1, 0), (0, 1)) for t in (0, 1)]
WIDE, TALL = ([{"rows": m, "columns": n} for m, n in shapes] for shapes in (((1, 2), (2, 4)), ((2, 1), (5, 3))))
PRINTED_LAGS = [[0, -1, -2], [1, 0, -1], [2, 1, 0]]


def factors_of(module: torch.nn.Module, times: np.ndarray) -> Factors:
    """F(t) and G(s) of a rotation module, [times n n]: it is applied to the unit vectors."""
    width = 2 * len(module.spectrum.omega)
    units = torch.eye(width, dtype=torch.float64)[:, None, None].expand(width, 1, len(times), width)
    t = torch.as_tensor(times)
    return tuple(x[:, 0].permute(1, 2, 0).numpy() for x in module(units, units, t, t))


def generated(generator: np.ndarray, times: np.ndarray) -> Factors:
    """F(t) = e^{tX^T} and G(s) = e^{-sX}."""
    return np.stack([expm(t * generator.T) for t in times]), np.stack([expm(-t * generator) for t in times])


def encoded(encoding: str) -> Factors:
    """Of an invariant encoding, at the times 0, 1 and 2."""
    times = np.arange(3)
    match encoding:
        case "RoPE":
            return factors_of(Rotary(rope(4)), times)
        case "xPos":
            return factors_of(DampedRotary(xpos(4, scale=8.0)), times)
        case "puck":
            return generated(PUCK, times)
        case "random":
            return generated(np.random.default_rng(0).normal(size=(3, 3)) / 3, times)
    raise ValueError(f"no encoding {encoding!r}; choose among {', '.join(ENCODINGS)}")


def score_table(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """F(t)^T G(s): [t, s, n, n]."""
    return np.einsum("tba,sbc->tsac", f, g)


def logits(queries: torch.Tensor, keys: torch.Tensor) -> np.ndarray:
    """What torch's attention adds up: logarithms of its weights, relative to the first key of each row."""
    values = torch.eye(len(keys), dtype=torch.float64)[None]
    scores = torch.nn.functional.scaled_dot_product_attention(queries[None], keys[None], values, scale=1.0)[0].log()
    return (scores - scores[:, :1]).numpy()


# OPG-1: scores of transformed queries and keys


def scored(says: Callable, f: str, g: str) -> tuple[np.ndarray, np.ndarray]:
    q, k = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    fq, gk = MAPS[f](q), MAPS[g](k)
    claimed = np.array([[float(says(a, b)) for b in gk] for a in fq])
    return claimed - claimed[:, :1], logits(fq, gk)


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
    square = np.zeros((times, max(m, n), max(m, n)))
    square[:, :m, :n] = f
    return square, np.eye(max(m, n), n)


def upside_down(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    square, fixed = by_padding(f)
    return square, fixed[::-1]


def kept(says: Callable, rows: int, columns: int) -> Factors:
    """Scores of a random encoding from `columns` into `rows` dimensions: square behind a fixed map, and as given."""
    f = np.random.default_rng(rows).normal(size=(7, rows, columns))
    square, fixed = says(f)
    return score_table(square @ fixed, square @ fixed), score_table(f, f)


def clock(says: Callable, q: list[float], quarter_turns: int) -> tuple[float, float]:
    """The score of q with itself at one time under F(t) = (cos t, sin t), with times of 0 and 1 quarter turns known."""
    f = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    square, fixed = says(f)
    claimed, actual = (round(float(np.sum((g[quarter_turns] @ q) ** 2)), 12) for g in (square @ fixed, f))
    return claimed, actual


def behind(says: Callable, rows: int, columns: int) -> tuple[list, list]:
    """Scores of an invariant encoding into fewer dimensions: through (C, X, E) made of scores at lags 0 .. 2, and so
    many dimensions at most; as given. Of 2 rows from 3 columns the row space turns, in a row that no key sees."""
    draw = np.random.default_rng(columns)
    x, (q, k) = draw.normal(size=(rows, rows)) / 2, draw.normal(size=(2, rows, columns))
    f, g = (lambda t: generated(x, [t])[0][0] @ q), (lambda s: generated(x, [s])[1][0] @ k)
    if (rows, columns) == (2, 3):
        f = lambda t: np.array([[math.exp(-0.3 * t), 0, 0], [0, math.cos(t), math.sin(t)]])  # noqa: E731
        g = lambda s: np.diag([math.exp(0.3 * s), 0])[:, [0, 1, 1]]  # noqa: E731
    c, own, e = says([f(d).T @ g(0.0) for d in np.arange(9) * 0.25])
    pairs = ((0.0, 0.0), (1.7, 0.4), (-0.6, 2.1))
    mine = [c.T @ expm((t - s) * own) @ e for t, s in pairs]
    return [*mine, max(len(own), rows)], [*(f(t).T @ g(s) for t, s in pairs), rows]


def by_range(scores: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(C, X, E) with F(t)^T G(s) = C^T e^{(t-s)X} E, from scores at lags 0, 1/4, .., 2."""
    return theory.realise(scores, 0.25)


def backwards(scores: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    c, x, e = by_range(scores)
    return c, -x, e


# TAB1: the tables


def first_table(says: Callable, encoding: str, t: int, s: int) -> Factors:
    """An entry against logits of torch's attention between unit vectors."""
    f, g = encoded(encoding)
    entry = says(f, g, t, s)
    return entry - entry[:, :1], logits(*(torch.as_tensor(x[i].T.copy()) for x, i in ((f, t), (g, s))))


def second_table(says: list[list[int]], encoding: str) -> Factors:
    """A at the lags said, from the first column and from inverses of it; and the table of F(t)^T G(s)."""
    table = score_table(*encoded(encoding))
    a = {lag: table[lag, 0] for lag in range(3)} | {-lag: np.linalg.inv(table[lag, 0]) for lag in (1, 2)}
    return np.array([[a[lag] for lag in row] for row in says]), table


# OPG-17: what plain attention knows of positions


def reordered(says: Callable, order: list[int]) -> Factors:
    """Scores of four tokens, stated with their places, and by torch's attention in this order."""
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mine = np.array([[says(x[a], x[b], i, j) for j, b in enumerate(order)] for i, a in enumerate(order)])
    return mine - mine[:, :1], logits(x[order], x[order])


CHECKS = claims(
    claim(
        "OPG-17",
        Law(
            "The dot product of a query and a key does not depend on where they stand.",
            lambda q, k, i, j: float(q @ k),
            reordered,
            [{"order": list(p)} for p in permutations(range(4))],
            wrong=lambda q, k, i, j: float(q @ k) - 0.1 * (i - j),
        ),
        practice="Under a causal mask the outputs of a layer depend on the position, and they are the next one's "
        "queries and keys: a decoder without any encoding (NoPE) is not blind, an encoder is.",
    ),
    claim(
        "OPG-1",
        Law(
            "Attention scores a query at t and a key at s by <f_t(q), g_s(k)>.",
            matmul,
            scored,
            [{"f": f, "g": g} for f, g in product(MAPS, repeat=2)],
            wrong=lambda fq, gk: -(fq @ gk),
        ),
        Law(
            "An encoding into m > n dimensions is one that keeps the dimension, after a fixed linear map.",
            by_projection,
            kept,
            TALL,
            wrong=upside_down,
        ),
        Law(
            "An encoding into m < n dimensions is one that keeps the dimension, after a fixed projection (here F(t) = "
            "(cos t, sin t)).",
            by_projection,
            clock,
            CLOCK,
            wrong=upside_down,
            repaired=by_padding,
            quote="If we wanted a different dimension, we could have applied a time-independent "
            "projection to our keys and queries",
            place="Formalizing a positional encoding",
        ),
        corrected=(
            Law(
                "Where the remark stands, before any axiom, F(t) may look in another direction at each time: fill up "
                "the *results* with zeros.",
                by_padding,
                kept,
                WIDE,
                wrong=upside_down,
            ),
            Law(
                "Under translation invariance a fixed projection always exists.",
                by_range,
                behind,
                [{"rows": m, "columns": n} for m, n in ((1, 2), (2, 4), (3, 5), (2, 3))],
                wrong=backwards,
                tolerance=1e-6,
            ),
        ),
        practice="Extra coordinates (Goat's lanes, ALiBi's constant ones) are covered: project up first. One low-rank "
        "projection before an invariant encoding loses nothing against a low-rank encoding; before one that "
        "sees absolute time it may.",
        severity="editorial",
    ),
    claim(
        "OPG-TAB1",
        Law(
            "First table: F(t)^T G(s) in row t and column s.",
            lambda f, g, t, s: f[t].T @ g[s],
            first_table,
            TABLED,
            wrong=lambda f, g, t, s: f[s].T @ g[t],
        ),
        Law(
            "Second table: A(0) on the diagonal, A(-1) and A(-2) above it, A(1) and A(2) below.",
            PRINTED_LAGS,
            second_table,
            [{"encoding": e} for e in ENCODINGS],
            wrong=[list(column) for column in zip(*PRINTED_LAGS, strict=True)],
        ),
        practice="Below the diagonal is the past, at positive lags: this is the half that a causal mask keeps.",
    ),
)
