"""Goat, section 3 and appendix F.3: encodings as priors, the sign of the multiplier, the key slope in bf16.

Truths: cvxpy, the library's rotation and priors, torch's own bf16 attention.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import exp

import numpy as np
import torch
from scipy import optimize, special
from torch.nn import functional

from attention_priors.attention import attention
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.absolute import Sinusoidal
from attention_priors.positions.priors import (
    GeneralizedGaussian,
    KerpleLog,
    KerplePower,
    Laplace,
    RelativePrior,
    Sandwich,
    T5Buckets,
)
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.theory import key_slope

WIDTH = KEYS = 12  # equal, so that values can be indicators of the keys
PRIORS = ("ALiBi", "BAM", "KERPLE, power", "KERPLE, logarithm", "T5", "Sandwich")
ODDS = [{"m": 1.0, "older": j - 1, "newer": j} for j in (1, 2, 255, 256, 257)]


# Encodings as priors


def prior_of(encoding: str) -> RelativePrior:
    """One head of an additive encoding, in float64."""
    buckets = T5Buckets(1, 8, 16)
    with torch.no_grad():
        buckets.values.copy_(torch.sin(torch.arange(8.0))[None])
    found = (Laplace([0.3]), GeneralizedGaussian([0.2], [0.6]), KerplePower([0.5], [1.5]), KerpleLog([1.0], [0.5]))
    return dict(zip(PRIORS, (*found, buckets, Sandwich(1, 8)), strict=True))[encoding].double()


def content() -> torch.Tensor:
    """Queries and keys [2, keys, width]."""
    return torch.randn(2, KEYS, WIDTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def attended(encoding: str) -> np.ndarray:
    """Weights of the last query in the library's attention."""
    q, k = content()[:, None, None]
    v = torch.eye(KEYS, dtype=torch.float64)[None, None]
    with torch.no_grad():
        return attention(q, k, v, prior=prior_of(encoding), backend="reference")[0, 0, -1].numpy()


def transported(says: Callable, encoding: str) -> tuple[np.ndarray, np.ndarray]:
    """(cvxpy's minimum of -<p, s> + KL(p || prior) for the prior that says(bias) names, the library's attention)."""
    import cvxpy as cp

    q, k = content()
    scores, p = (q[-1] @ k.T / WIDTH**0.5).numpy(), cp.Variable(KEYS)
    with torch.no_grad():
        bias = prior_of(encoding).log_prior(torch.arange(KEYS - 1, -1, -1))[0].double().numpy()
    cp.Problem(cp.Minimize(-scores @ p + cp.sum(cp.rel_entr(p, says(bias)))), [cp.sum(p) == 1]).solve(solver="CLARABEL")
    return p.value, attended(encoding)


def rotated(q: torch.Tensor, k: torch.Tensor, lag: int) -> float:
    """RoPE: <R(lag) q, k>."""
    here, there = torch.tensor([lag]), torch.tensor([0])
    return float((Rotary(rope(len(q)))(q[None, None, None], k[None, None, None], here, there)[0][0, 0, 0] * k).sum())


def embedded(q: torch.Tensor, k: torch.Tensor, lag: int) -> float:
    """Sinusoidal: <q + p_i, k + p_j> at i = 20, j = 20 - lag (identity projections)."""
    table = Sinusoidal(len(q))(torch.tensor([20, 20 - lag])).double()
    return float(((q + table[0]) * (k + table[1])).sum())


def biased(q: torch.Tensor, k: torch.Tensor, lag: int) -> float:
    """ALiBi: <q, k> - lag / 2."""
    return float((q * k).sum()) - 0.5 * lag


def explained(encoding: str) -> float:
    """What the best log-prior explains of the variance over lags: 1 where every content sees the same bias."""
    logit = {"RoPE": rotated, "sinusoidal": embedded, "ALiBi": biased}[encoding]
    table = np.array([[logit(q, k, lag) for lag in range(KEYS)] for q, k in zip(*content(), strict=True)])
    moves = table - table.mean(axis=1, keepdims=True)  # what lag does to each content
    return float(1 - ((moves - moves.mean(axis=0)) ** 2).sum() / (moves**2).sum())


# Maximum entropy under a mean lag


def tilted(keys: int, mean: float) -> np.ndarray:
    """exp(-lambda d) / Z with the lambda that gives the mean."""
    lags = np.arange(keys)
    rate = optimize.brentq(lambda x: special.softmax(-x * lags) @ lags - mean, -50, 50, xtol=1e-14)
    return special.softmax(-rate * lags)


def concave(keys: int, mean: float) -> np.ndarray:
    """cvxpy's largest entropy on the lags 0 .. keys - 1 with this mean."""
    import cvxpy as cp

    q = cp.Variable(keys)
    cp.Problem(cp.Maximize(cp.sum(cp.entr(q))), [cp.sum(q) == 1, np.arange(keys) @ q == mean]).solve(solver="CLARABEL")
    return q.value


# The key slope in bf16


def odds(m: float, older: int, newer: int, dtype: str = "bf16") -> float:
    """Weight of a newer key over that of an older one, m j stored in one coordinate."""
    bias = key_slope.key_slope(m, newer + 1, dtype).sum(axis=0)
    return float(np.exp(bias[newer] - bias[older]))


def split_logits(m: float, keys: int) -> np.ndarray:
    """m j from the two bf16 coordinates of the library."""
    return key_slope.split_key_slope(m, keys, "bf16").sum(axis=0)


def last_weights(coordinates: np.ndarray, width: int = 64) -> np.ndarray:
    """Weight of all other keys, then of the last `width` - 1, as torch's attention gives them in bf16, content zero."""
    lanes, keys = coordinates.shape
    k = torch.zeros(1, keys, width, dtype=torch.bfloat16)
    k[0, :, :lanes] = torch.as_tensor(coordinates.T).bfloat16()
    q = torch.zeros(1, 1, width, dtype=torch.bfloat16)
    q[..., :lanes] = width**0.5
    column = torch.arange(keys).sub(keys - width).clamp(min=0)
    v = functional.one_hot(column, width).bfloat16()[None]
    return functional.scaled_dot_product_attention(q, k, v)[0, 0].double().numpy()


def misplaced(says: Callable, m: float, keys: int) -> tuple[float, float]:
    """(0, weight of the last query that says(m, keys, "bf16") misplaces: emulated, and in torch's own attention)."""
    found, exact = says(m, keys, "bf16"), special.softmax(m * np.arange(keys))
    blocks = np.concatenate([[exact[:-63].sum()], exact[-63:]])
    gaps = special.softmax(found.sum(axis=0)) - exact, last_weights(found) - blocks
    return 0.0, max(float(np.abs(gap).sum() / 2) for gap in gaps)


def split_at(size: int) -> Callable:
    """Two coordinates with j = size a + b."""

    def coordinates(m: float, keys: int, dtype: str) -> np.ndarray:
        coarse, fine = np.divmod(np.arange(keys, dtype=float), size)
        return key_slope.rounded(np.stack([m * size * coarse, m * fine]), dtype)

    return coordinates


CHECKS = claims(
    claim(
        "GOAT-P3.1b",
        Law(
            "RoPE and sinusoidal embeddings are no log-priors: content and lag interact, so that no prior explains all "
            "that a lag does to logits.",
            1.0,
            explained,
            [{"encoding": e} for e in ("RoPE", "sinusoidal")],
            relation=">",
            wrong=0.0,
        ),
        Law(
            "ALiBi, BAM, KERPLE, T5 and Sandwich only stand in for one: their weights are not those of transport.",
            special.softmax,
            transported,
            [{"encoding": e} for e in PRIORS],
            relation="!=",
            wrong=lambda bias: np.exp(bias) / np.exp(bias).sum(),
            repaired=lambda bias: special.softmax(2 * bias),
            tolerance=1e-4,
            ours=True,
        ),
        corrected=(
            Law(
                "ALiBi, BAM, KERPLE, T5 and Sandwich are log-priors exactly.",
                special.softmax,
                transported,
                [{"encoding": e} for e in PRIORS],
                wrong=lambda bias: special.softmax(2 * bias),
                tolerance=1e-4,
            ),
        ),
        missing="that they approximate it, of which the paper gives no measure (section 4 names RoPE and ALiBi). "
        "Additive biases are log-priors exactly; what is shown is that RoPE and sinusoidal embeddings are none, since "
        "content and lag interact. How much of what a lag does a prior explains depends on the contents: nothing of "
        "RoPE's where queries and keys are independent and centred, more where they share a mean",
        practice="Tail mass, mean lag and maximum entropy speak of additive encodings only. For RoPE they depend "
        "on the content of the pair at hand.",
    ),
    claim(
        "GOAT-E6",
        Law(
            "Stored exactly (float32), m j gives ALiBi's weights: a newer key has e^(m lag) times that of an older.",
            lambda m, older, newer: exp(m * (newer - older)),
            partial(odds, dtype="fp32"),
            ODDS,
            wrong=lambda m, older, newer: exp(m * (older - newer)),
        ),
        Law(
            "In one bf16 coordinate it does so, too (the precision of appendix G; the paper says nothing of the "
            "slope in it).",
            lambda m, older, newer: exp(m * (newer - older)),
            odds,
            ODDS,
            wrong=lambda m, older, newer: exp(m * (older - newer)),
            ours=True,
        ),
        corrected=(
            Law(
                "With m a power of two, two coordinates of j = 256 a + b give them (to the rounding of bf16 weights),",
                split_at(256),
                misplaced,
                [{"m": m, "keys": n} for m in (0.5, 0.25, 0.0625) for n in (256, 2048, 16_384)],
                wrong=split_at(512),
                tolerance=0.01,
            ),
            Law(
                "exactly so as logits up to 65,536 keys.",
                lambda m, keys: m * np.arange(keys),
                split_logits,
                [{"m": m, "keys": 65_536} for m in (0.5, 0.0625)],
                wrong=lambda m, keys: m * np.arange(1, keys + 1),
                tolerance=0,
            ),
        ),
        practice="Give the slope two coordinates, or keep the bias in float32, which has no such limit. ALiBi "
        "has it too where its bias is built in the model's dtype, as transformers' BLOOM does in bf16.",
    ),
    claim(
        "GOAT-E11",
        Law(
            "For every mean lag in (0, L - 1) the maximiser is a distribution over lags q_d ~ e^(-lambda d), lambda of "
            "either sign: a recency prior as the paper defines it.",
            tilted,
            concave,
            [{"keys": 10, "mean": m} for m in (1.0, 3.0, 4.5, 7.0)],
            wrong=lambda keys, mean: tilted(keys, mean)[::-1],
            tolerance=1e-4,
        ),
        Law(
            "It prefers recent keys: the newest outweighs the oldest.",
            lambda keys, mean: concave(keys, mean)[-1],
            lambda keys, mean: tilted(keys, mean)[0],
            [{"keys": 10, "mean": m} for m in (1.0, 3.0, 4.5, 7.0)],
            relation="<",
            wrong=1.0,
            repaired=0.0,
            ours=True,
        ),
        corrected=Law(
            "It does so for mean lags below the middle, (L - 1)/2; there it is uniform, and beyond it rises with the "
            "lag.",
            lambda keys, mean: float(np.sign((keys - 1) / 2 - mean)),
            lambda keys, mean: float(np.sign(round(tilted(keys, mean)[0] - tilted(keys, mean)[-1], 9))),
            [{"keys": 10, "mean": m} for m in (1.0, 3.0, 4.5, 7.0)],
            wrong=lambda keys, mean: float(np.sign((keys + 1) / 2 - mean)),
        ),
        practice="A learned slope may come out negative: then the head prefers old keys, and is still of this family.",
    ),
)
