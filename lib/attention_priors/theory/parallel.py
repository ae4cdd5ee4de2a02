"""Parallel attention (ParallelComp, section 3.1): chunks that share their positions, their exact merge, and eviction.

Float64 numpy. One head: queries [queries, width], keys and values [keys, width], weights of one row [keys].
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_priors.theory.inference import softmax

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]
REGIONS = ("sink", "middle", "recency")


def partial_attention(logits: ArrayLike, v: Matrix) -> tuple[Matrix, Vector]:
    """(softmax(s) V, ln sum_j exp(s_j)) of one chunk, from its logits [queries, keys] (Eq. 1, 2).

    -inf is an invisible key; a row that sees no key of the chunk returns zeros and -inf.
    """
    s = np.asarray(logits, dtype=np.float64)
    top = s.max(axis=1, initial=-np.inf, keepdims=True)
    weights = np.exp(s - np.where(np.isfinite(top), top, 0.0))
    total = weights.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_total = np.where(total > 0, np.log(total) + top, -np.inf)
    return weights @ v / np.where(total > 0, total, 1.0), log_total[:, 0]


def merge(outputs: Sequence[Matrix], log_totals: Sequence[Vector]) -> Matrix:
    """sum_c p(c) o_c with p = softmax_c(ln Z_c): the attention over the joined caches, exactly (Eq. 9 to 11).

    Outputs [queries, width] and log normalisers [queries] of the chunks, as `partial_attention` returns them.
    """
    shares = chunk_shares(log_totals)
    return np.einsum("cq,cqw->qw", shares, np.asarray(outputs, dtype=np.float64))


def chunk_shares(log_totals: Sequence[Vector]) -> Matrix:
    """p(c) = Z_c / sum_b Z_b of each query: the mass that global attention gives to each chunk. [chunks, queries]"""
    return np.apply_along_axis(softmax, 0, np.asarray(log_totals, dtype=np.float64))


def reused_lags(chunks: int, size: int, query: int = 0) -> Indices:
    """Lags from query token `query` to all keys [chunks * size + query + 1] when chunks share the positions 0..size-1.

    The query chunk stands at the positions size, size + 1, ... A key's lag says nothing about which chunk it is in.
    """
    local = size + query - np.arange(size)
    return np.concatenate([np.tile(local, chunks), np.arange(query, -1, -1)])


def lowest(values: Iterable[float], size: int) -> list[int]:
    """Indices of the `size` smallest values, smallest first, the earlier of equals first, seen one at a time (Eq. 4).

    An online priority queue of fixed size, which never holds more than `size` entries.
    """
    if size < 1:
        raise ValueError(f"size = {size}: a queue that holds nothing keeps no chunk; use at least 1")
    queue: list[tuple[float, int]] = []
    for index, value in enumerate(values):
        if len(queue) < size:
            heapq.heappush(queue, (-value, -index))
        else:
            heapq.heappushpop(queue, (-value, -index))
    return [-index for _, index in sorted(queue, reverse=True)]


def cumulative_scores(weights: ArrayLike, last: int = 8) -> Vector:
    """S_j = sum over the last queries of A_ij (Eq. 6; appendix C takes the last 8). weights [queries, keys]."""
    if last < 1:
        raise ValueError(f"last = {last}: at least one query is needed")
    return np.asarray(weights, dtype=np.float64)[-last:].sum(axis=0)


def heaviest(scores: ArrayLike, budget: int) -> Indices:
    """R_x without R_L: the indices of the `budget` largest scores, in the order of the cache (Eq. 7)."""
    s = np.asarray(scores, dtype=np.float64)
    if not 1 <= budget <= len(s):
        raise ValueError(f"budget = {budget}: choose between 1 and the {len(s)} tokens of the cache")
    return np.sort(np.argsort(-s, kind="stable")[:budget])


def regions(length: int, edge: int = 100) -> dict[str, Indices]:
    """Indices of the first `edge` tokens, of the last, and of what lies between (appendix C: edge = 100).

    ValueError for a chunk shorter than 2 edge, where the first and the last would overlap.
    """
    if length < 2 * edge:
        raise ValueError(f"length = {length}: a chunk shorter than 2 x {edge} has no first and last {edge} tokens")
    bounds = (0, edge, length - edge, length)
    return {name: np.arange(*bounds[i : i + 2]) for i, name in enumerate(REGIONS)}


def within_threshold(scores: ArrayLike, threshold: float, only: Indices | None = None) -> Indices:
    """R_x without R_H: what is left when scores above the threshold are evicted (Eq. 8).

    `only` limits eviction to one region: sink, middle or recency tokens.
    """
    s = np.asarray(scores, dtype=np.float64)
    evicted = s > threshold
    if only is not None:
        evicted &= np.isin(np.arange(len(s)), only)
    return np.flatnonzero(~evicted)


def after_eviction(weights: ArrayLike, kept: ArrayLike) -> Vector:
    """p'_j = p_j / (1 - m) over the kept keys, m being the evicted mass: survivors keep their odds.

    ValueError when the kept keys hold no weight.
    """
    left = np.asarray(weights, dtype=np.float64)[np.asarray(kept)]
    if left.sum() <= 0:
        raise ValueError("the kept keys hold no weight: keep at least one key of positive weight")
    return left / left.sum()


def eviction_shift(weights: ArrayLike, v: Matrix, kept: ArrayLike) -> tuple[Vector, float]:
    """(output after - output before, m) with after - before = m (mean of v over the kept - over the evicted keys).

    Both means are weighted by attention; so the shift is at most m times the diameter of the values.
    """
    p, v = np.asarray(weights, dtype=np.float64), np.asarray(v, dtype=np.float64)
    return after_eviction(p, kept) @ v[kept] - p @ v, float(1 - p[np.asarray(kept)].sum())


def most_effective(epsilon: float | Fraction) -> int:
    """ceil(1 / eps) - 1: the largest number of entries above eps in a row that sums to one, whatever its length.

    n entries above eps sum to more than n eps, so n < 1 / eps; uniform weights on n keys reach it. Exact for Fractions;
    a float is taken for the decimal it prints as. ValueError unless 0 < eps < 1.
    """
    exact = epsilon if isinstance(epsilon, Fraction) else Fraction(str(epsilon))
    if not 0 < exact < 1:
        raise ValueError(f"epsilon = {epsilon}: a threshold on weights lies strictly between 0 and 1")
    return math.ceil(1 / exact) - 1


def noise_level(keys: int, delta: float) -> float:
    """t = sqrt(2 ln(2 w / delta)): with probability >= 1 - delta, |g_j| <= t for w sub-Gaussian(1) terms together."""
    if keys < 1 or not 0 < delta < 1:
        raise ValueError(f"keys = {keys}, delta = {delta}: at least one key and 0 < delta < 1 are needed")
    return math.sqrt(2 * math.log(2 * keys / delta))


def count_bound(rate: float, epsilon: float, t: float, copies: int = 1) -> float:
    """min{1 / eps, copies (1 + (2 t + ln(1 / eps)) / R)} >= #{j : A_j > eps} where |g_j| <= t.

    copies: the number of keys at one lag, that is chunks which share their positions. ValueError unless R > 0.
    """
    if rate <= 0:
        raise ValueError(f"rate = {rate}: the bound needs a decay R > 0")
    return min(1 / epsilon, copies * (1 + (2 * t + math.log(1 / epsilon)) / rate))


def noisy_rows(rate: float, keys: int, rows: int, rng: np.random.Generator) -> Matrix:
    """Attention weights [rows, keys] for independent logits -R d + g_d, g_d ~ N(0, 1), at the lags d = 0..keys-1."""
    logits = rng.standard_normal((rows, keys)) - rate * np.arange(keys)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
