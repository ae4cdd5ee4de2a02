"""Does one number go with another over encodings? Rank correlation, tested by permutation, and Kendall's tau."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.stats import rankdata

from .. import runtime

DRAWS = 10_000
FEWEST = 4  # encodings below which nothing can be said: of three, one order in six is the observed one


class Correlation(NamedTuple):
    """Spearman's ρ, its two-sided p, the 95 % interval of ρ, and how many encodings it rests on."""

    rho: float
    p: float
    low: float
    high: float
    n: int


def spearman_permutation(frame: pd.DataFrame, by: str | Sequence[str], x: str, y: str) -> Correlation:
    """Spearman's correlation of two columns over the groups of `by` (encodings), whose seeds are averaged first.

    p is the share of permutations of the groups with |ρ| at least as large: of all of them where they are at most
    `DRAWS`, else of as many random ones, the observed order counted among them (Phipson and Smyth 2010). The interval
    is the percentile bootstrap over groups. A group that lacks one of the columns is left out. ρ and p are NaN without
    spread or with fewer than `FEWEST` groups, and then the interval is [-1, 1].
    """
    means = frame.groupby(by)[[x, y]].mean().dropna()
    n = len(means)
    if n < FEWEST or means.nunique().min() < 2:
        return Correlation(math.nan, math.nan, -1.0, 1.0, n)
    first, second = (means[column].to_numpy(float).round(12) for column in (x, y))  # a tie stays one when averaged
    rho = float(_rho(first[None], second[None])[0])
    rng = np.random.default_rng(runtime.seed_for(0, f"correlation/{n}"))
    exact = math.factorial(n) <= DRAWS
    orders = np.array(list(itertools.permutations(range(n)))) if exact else rng.random((DRAWS, n)).argsort(1)
    beyond = int((np.abs(_rho(first[None], second[orders])) >= abs(rho) - 1e-9).sum())
    p = beyond / len(orders) if exact else (beyond + 1) / (DRAWS + 1)
    drawn = rng.integers(n, size=(DRAWS, n))
    resampled = _rho(first[drawn], second[drawn])
    low, high = np.nanquantile(resampled, (0.025, 0.975))
    return Correlation(rho, p, float(low), float(high), n)


def kendall(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """Kendall's tau-b of paired numbers and its interval, the percentile bootstrap over the pairs.

    NaN without spread or with fewer than `FEWEST` pairs, and then the interval is [-1, 1].
    """
    each = [np.asarray(values, dtype=float).round(12) for values in (first, second)]
    a, b = (np.sign(values[:, None] - values) for values in each)
    if len(a) < FEWEST or not (a.any() and b.any()):
        return math.nan, -1.0, 1.0
    drawn = np.random.default_rng(runtime.seed_for(0, f"kendall/{len(a)}")).integers(len(a), size=(DRAWS, len(a)))
    drawn = np.concatenate([np.arange(len(a))[None], drawn])
    a, b = (signs[drawn[:, :, None], drawn[:, None, :]] for signs in (a, b))
    size = np.sqrt((a**2).sum((1, 2)) * (b**2).sum((1, 2)))
    tau = np.divide((a * b).sum((1, 2)), size, out=np.full(size.shape, math.nan), where=size > 0)
    low, high = np.nanquantile(tau[1:], ((1 - confidence) / 2, (1 + confidence) / 2))
    return float(tau[0]), float(low), float(high)


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's correction of several p for their number, in their order (Holm 1979); NaN where p is."""
    corrected, floor = [math.nan] * len(ps), 0.0
    known = sorted((k for k, p in enumerate(ps) if not math.isnan(p)), key=lambda k: ps[k])
    for rank, k in enumerate(known):
        corrected[k] = floor = max(floor, min(1.0, (len(known) - rank) * ps[k]))
    return corrected


def _rho(first: Float[np.ndarray, "#draws n"], second: Float[np.ndarray, "#draws n"]) -> Float[np.ndarray, " draws"]:
    """Correlation of the ranks in each row; NaN where a row is constant."""
    a, b = (rankdata(values, axis=1) for values in (first, second))
    a, b = a - a.mean(1, keepdims=True), b - b.mean(1, keepdims=True)
    size = np.sqrt((a**2).sum(1) * (b**2).sum(1))
    return np.divide((a * b).sum(1), size, out=np.full(size.shape, math.nan), where=size > 0)
