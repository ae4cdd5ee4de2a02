"""How far a key must lead in content to be retrieved: the margin that a prior asks for, with and without chunks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]


def chunk_prior(local: ArrayLike, chunks: int) -> Vector:
    """pi(c, j) = pi_loc(j) / C, shape [C w] from [w]: chunks that reuse positions, none of them preferred.

    C = 1 is the local prior. ValueError unless C >= 1.
    """
    if chunks < 1:
        raise ValueError(f"chunks = {chunks}: there must be at least 1")
    return np.tile(np.asarray(local, dtype=np.float64) / chunks, chunks)


def margin(prior: ArrayLike, weight: float = 0.5) -> Vector:
    """ln(p / (1 - p)) + ln((1 - pi) / pi): lead over equal others that gives a key of prior pi the weight p.

    Two equal keys need 0 for p = 1/2; one of n needs ln(n - 1). ValueError unless 0 < pi < 1 and 0 < p < 1.
    """
    pi = np.asarray(prior, dtype=np.float64)
    if not ((pi > 0) & (pi < 1)).all() or not 0 < weight < 1:
        raise ValueError(f"prior = {prior}, weight = {weight}: both are probabilities strictly between 0 and 1")
    return np.log(weight / (1 - weight)) + np.log1p(-pi) - np.log(pi)
