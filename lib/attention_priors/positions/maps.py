"""Maps of positions and of lags: what a rotation is given instead of the positions themselves."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor


def interpolated(positions: Int[Tensor, " *shape"], factor: float) -> Float[Tensor, " *shape"]:
    """p / factor (Chen et al. 2023): as a map of positions what `extensions.interpolate` is as a map of spectra."""
    _check_slope(factor)
    return positions.double() / factor


def rectified(lags: Int[Tensor, " *shape"], window: int) -> Int[Tensor, " *shape"]:
    """min(lag, window) (ReRoPE, Su 2023), for lags of at least 0: beyond the window all keys seem equally far."""
    _check_window(window)
    return lags.clamp(max=window)


def leaky(lags: Int[Tensor, " *shape"], window: int, factor: float) -> Float[Tensor, " *shape"]:
    """lag up to the window, window + (lag - window) / factor beyond (Leaky ReRoPE, Su 2023).

    factor 1 is RoPE; factor -> infinity is ReRoPE; window 0 is position interpolation.
    """
    _check_window(window)
    _check_slope(factor)
    return lags.clamp(max=window) + (lags.double() - window).clamp(min=0) / factor


def randomised(length: int, longest: int, generator: torch.Generator) -> Int[Tensor, " length"]:
    """`length` of the positions 0 .. longest - 1, without replacement, in order (Ruoss et al. 2023, sec. 3).

    Every subset is equally likely. length = longest gives all positions: the ordinary ones.
    """
    if not 1 <= length <= longest:
        raise ValueError(f"length = {length}, but between 1 and longest = {longest} positions can be drawn")
    return torch.randperm(longest, generator=generator)[:length].sort().values


def _check_window(window: int) -> None:
    if window < 0:
        raise ValueError(f"window = {window}, but it must be at least 0")


def _check_slope(factor: float) -> None:
    if not factor >= 1 or math.isnan(factor):
        raise ValueError(f"factor = {factor}, but it must be at least 1")
