"""The slope m j on keys in place of ALiBi's -m (i - j) inside one attention call, and what rounding does to it."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from attention_priors.theory.inference import softmax, truncated_geometric

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
INTEGERS = {"bf16": 256, "fp16": 2048, "fp32": 2**24}  # 0 .. this are exact: 8, 11 and 24 significant bits


def rounded(values: ArrayLike, dtype: str) -> Vector:
    """`values` as they are stored in bf16, fp16 or fp32. ValueError for another name."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype = {dtype!r}; choose among {', '.join(DTYPES)}")
    return torch.as_tensor(np.asarray(values, dtype=np.float64)).to(DTYPES[dtype]).double().numpy()


def key_slope(m: float, keys: int, dtype: str) -> Matrix:
    """u(j) = m j in one coordinate, rounded to `dtype` (Goat, Proposition F.6 and section 4): [1 keys]."""
    return rounded(m * np.arange(keys, dtype=np.float64), dtype)[None]


def split_key_slope(m: float, keys: int, dtype: str) -> Matrix:
    """m (N a) and m b with j = N a + b in two coordinates, N the last of `dtype`'s exact integers: [2 keys].

    Their sum is taken in the inner product, whose accumulator is wider. Exact up to N^2 keys when m is a power of two;
    another m belongs into the query's coordinates, where rounding changes the slope a little for all keys alike.
    """
    coarse, fine = np.divmod(np.arange(keys, dtype=np.float64), INTEGERS[dtype])
    return rounded(np.stack([m * INTEGERS[dtype] * coarse, m * fine]), dtype)


def total_variation(p: ArrayLike, q: ArrayLike) -> float:
    """(1/2) sum_j |p_j - q_j|: the weight that sits on the wrong keys."""
    return float(0.5 * np.abs(np.asarray(p, dtype=np.float64) - np.asarray(q, dtype=np.float64)).sum())


def misplaced(coordinates: Matrix, m: float) -> float:
    """Total variation between softmax(sum of coordinates) of the last query and ALiBi's weights, equal content.

    NaN where the storage overflows (fp16 beyond 65,504): such a row has no weights.
    """
    if not np.isfinite(coordinates).all():
        return float("nan")
    bias = coordinates.sum(axis=0)
    return total_variation(softmax(bias), truncated_geometric(m, len(bias))[::-1])
