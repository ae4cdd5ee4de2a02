"""Goat, section 5: what is off a sink, the uniform prior of a causal row, the norm of a sink's key.

Truths: torch's Jacobian of its attention, its causal attention, scipy's softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from math import exp, log, pi

import numpy as np
import torch
from scipy import special
from torch.nn import functional

from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.spectral import geometric

SEEDS = [{"seed": s} for s in range(8)]
WAVES = [{"keys": n, "seed": s} for n, s in product((2, 8, 17, 300), range(4))]
NORMS = [{"norm": n} for n in (0.5, 1.0, 3.0)]


def attended(seed: int) -> tuple[torch.Tensor, ...]:
    return torch.as_tensor(np.random.default_rng(seed).standard_normal((19, 4))).split([1, 9, 9])


def off_sink(seed: int, power: int = 1) -> float:
    """1 - p_sink, the weights by scipy."""
    q, k, _ = attended(seed)
    return float((1 - special.softmax((q @ k.T)[0].numpy() / 2)[0]) ** power)


def largest_move(seed: int) -> float:
    """sup |delta o| over |delta v_k| <= 1, k != sink: the spectral norms of torch's Jacobian in the values, summed."""
    q, k, v = attended(seed)
    jacobian = torch.autograd.functional.jacobian(partial(functional.scaled_dot_product_attention, q, k), v)[0]
    return float(sum(np.linalg.norm(jacobian[:, key].numpy(), 2) for key in range(1, 9)))


def above_waves(keys: int, seed: int) -> float:
    """Mass off key 0, whose bias leads by 2 a sum of waves on the geometric ladder, from 2 to 300 keys."""
    alpha = np.random.default_rng(seed).standard_normal(4)
    bias = np.cos(np.outer(np.arange(keys)[::-1], geometric(4))) @ alpha
    bias[0] = bias[1:].max() + 2.0
    return float(1 - special.softmax(bias)[0])


def nearest_return(modes: int, lags: int) -> float:
    """How near, in radians, all waves of the geometric ladder come to where they began at some lag 1..lags."""
    turns = np.outer(np.arange(1, lags + 1), geometric(modes)) / (2 * pi)
    return float(2 * pi * np.abs(turns - np.round(turns)).max(axis=1).min())


def causal(row: int) -> float:
    """Weight of a key in row i = 0, 1, .. of torch's causal attention without content."""
    q = torch.zeros(1, 1, row + 1, 4, dtype=torch.float64)
    values = torch.eye(row + 1, dtype=torch.float64)[None, None]
    return float(functional.scaled_dot_product_attention(q, q, values, is_causal=True)[0, 0, row, 0])


def biased(says: Callable, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights of a row with says(row, key) added to its logits, and without."""
    s = np.random.default_rng(row).standard_normal(row + 1)
    return special.softmax(s + [says(row, j) for j in range(row + 1)]), special.softmax(s)


def sink_keys(norm: float) -> tuple[np.ndarray, np.ndarray]:
    """Queries (4, y) and keys: first the sink (norm, 0), then two others of norm sqrt(5)."""
    queries = np.array([[4.0, y] for y in (-1.0, -0.3, 0.0, 0.7, 1.0)])
    return queries, np.array([[norm, 0.0], [-1.0, 2.0], [-1.0, -2.0]])


def least_lead(norm: float) -> float:
    """The smallest margin of the first key over the others, over all queries."""
    queries, keys = sink_keys(norm)
    scores = queries @ keys.T
    return float((scores[:, :1] - scores[:, 1:]).min())


def longest_sink(norm: float) -> bool:
    """Whether the key that leads for every query is the longest."""
    _, keys = sink_keys(norm)
    sizes = np.linalg.norm(keys, axis=1)
    return bool(least_lead(norm) <= 0 or sizes[0] > sizes[1:].max())


CHECKS = claims(
    claim(
        "GOAT-D5.3",
        Law(
            "Psi = 1 - p_sink bounds the output's change per unit change of the other values, and is reached.",
            off_sink,
            largest_move,
            SEEDS,
            wrong=partial(off_sink, power=2),
            tolerance=1e-12,
        ),
        practice="A worst case: all values move alike, the sink's value not at all.",
    ),
    claim(
        "GOAT-T5.4p",
        Law(
            "Below the period the bound of Theorem 5.4 holds (margin 2).",
            lambda keys: (keys - 1) / (exp(2) + keys - 1),
            above_waves,
            WAVES,
            relation=">=",
            wrong=lambda keys: (keys - 1) / (exp(4) + keys - 1),
        ),
        Law(
            "The geometric frequencies (the code's, 1 among them) have a period to be below: at some lag all waves are "
            "where they began.",
            0.0,
            nearest_return,
            [{"modes": r, "lags": n} for r, n in ((1, 20_000), (4, 20_000))],
            wrong=1.0,
            tolerance=1e-9,
            ours=True,
        ),
        corrected=(
            Law(
                "No wave of frequency 1 has a period in whole lags: 44 of them miss seven turns by 0.0177, 710 miss "
                "113 turns by 6e-5.",
                lambda lags: {44: 0.0177, 710: 6.03e-5}[lags],
                partial(nearest_return, 1),
                [{"lags": 44}, {"lags": 710}],
                wrong=0.0,
                tolerance=1e-5,
            ),
            Law(
                "The bound rests on the margin alone and holds at every length.",
                lambda keys: (keys - 1) / (exp(2) + keys - 1),
                above_waves,
                WAVES,
                relation=">=",
                wrong=lambda keys: (keys - 1) / (exp(4) + keys - 1),
            ),
        ),
        practice="Geometric does not imply periodic: only a ladder such as 2 pi 2^-r has a period, 2^R.",
    ),
    claim(
        "GOAT-E8",
        Law(
            "As an unnormalised log-prior K = -log L changes nothing: attention stays plain.",
            lambda row, key: -log(30),
            biased,
            [{"row": i} for i in range(1, 30)],
            wrong=lambda row, key: -log(30 + key),
            tolerance=1e-12,
        ),
        Law(
            "The implicit prior of the fixed query, which sees all L keys, is K = -log L.",
            lambda row: exp(-log(row + 1)),
            causal,
            [{"row": n - 1} for n in (1, 2, 3, 50)],
            wrong=lambda row: exp(-log(row + 2)),
            tolerance=1e-12,
        ),
        practice="Row i = 0..L-1 of a causal model sees i + 1 keys: its uniform prior is -log(i + 1), Psi = 1 - "
        "1/(i + 1). Averages over rows mix priors of different sizes.",
    ),
    claim(
        "GOAT-E9",
        Law(
            "A content sink takes a key of large norm: larger than that of any other key.",
            True,
            longest_sink,
            NORMS,
            wrong=lambda norm: norm < 1,
            quote="The model must learn a generic key vector … with large norm to force a high dot product across all "
            "queries",
            place="§5",
        ),
        corrected=Law(
            "It takes a direction that all queries share: with queries (4, y), |y| <= 1, the key (s, 0) "
            "beside keys (-1, ±2) leads by more than 0 at every s > 0, also where it is the shortest.",
            0.0,
            least_lead,
            NORMS,
            relation="<",
            wrong=lambda norm: 4 * norm + 2,
        ),
        practice="Sinks of trained models have short keys (Gu et al. 2024): the margin comes from the angle.",
        severity="needs a repair",
    ),
)
