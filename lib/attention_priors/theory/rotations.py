"""Scores of rotations that can be written down: equal queries and keys whose planes are equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_priors.positions.rotary import Spectrum


def mean_score(spectrum: Spectrum, lags: ArrayLike) -> NDArray[np.float64]:
    """(1/planes) Σ_i e^{-ξ_i lag} cos(ω_i lag): the score of equal q and k of equal planes, 1 at lag 0.

    RoPE has no decay ξ; xPos has one per plane.
    """
    decay = np.array(spectrum.decay or (0.0,) * len(spectrum.omega))
    lags = np.asarray(lags, dtype=np.float64)[:, None]
    return (np.exp(-lags * decay) * np.cos(lags * np.array(spectrum.omega))).mean(1)
