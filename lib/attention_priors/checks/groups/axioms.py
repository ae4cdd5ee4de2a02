"""The post on one-parameter groups: an encoding may keep the dimension (OPG-1).

Independent evidence: torch's own attention, scipy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from operator import matmul

import numpy as np
import torch
from scipy.linalg import expm

from attention_priors.claims.law import Law, claim, claims
from attention_priors.theory import groups as theory

Factors = tuple[np.ndarray, np.ndarray]
TIME = torch.arange(6, dtype=torch.float64)[:, None]
MAPS = {"x": lambda x: x, "(1 + t) x": lambda x: x * (1 + TIME), "tanh x + t/6": lambda x: torch.tanh(x) + TIME / 6}
CLOCK = [{"q": list(q), "quarter_turns": t} for q in ((1, 0), (0, 1)) for t in (0, 1)]
WIDE, TALL = ([{"rows": m, "columns": n} for m, n in shapes] for shapes in (((1, 2), (2, 4)), ((2, 1), (5, 3))))


def generated(generator: np.ndarray, times: np.ndarray) -> Factors:
    """F(t) = e^{tX^T} and G(s) = e^{-sX}."""
    return np.stack([expm(t * generator.T) for t in times]), np.stack([expm(-t * generator) for t in times])


def logits(queries: torch.Tensor, keys: torch.Tensor) -> np.ndarray:
    """What torch's attention adds up: logarithms of its weights, relative to the first key of each row."""
    values = torch.eye(len(keys), dtype=torch.float64)[None]
    scores = torch.nn.functional.scaled_dot_product_attention(queries[None], keys[None], values, scale=1.0)[0].log()
    return (scores - scores[:, :1]).numpy()


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
    return theory.score_table(square @ fixed, square @ fixed), theory.score_table(f, f)


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


CHECKS = claims(
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
)
