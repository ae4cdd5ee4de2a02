"""Maps of positions and of lags: what an encoding is given instead of the positions themselves."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .absolute import Sinusoidal, last
from .rotary import KeyAt, Keys, Queries, QueryAt, Rotary, Rotation, Spectrum


def interpolated(positions: Int[Tensor, " *shape"], factor: float) -> Float[Tensor, " *shape"]:
    """p / factor (Chen et al. 2023): as a map of positions what `extensions.interpolate` is as a map of spectra.

    ValueError for a factor below 1.
    """
    _check_slope(factor)
    return positions.double() / factor


def rectified(lags: Int[Tensor, " *shape"], window: int) -> Int[Tensor, " *shape"]:
    """min(lag, window) (ReRoPE, Su 2023), for lags of at least 0: beyond the window all keys seem equally far.

    ValueError for a window below 0.
    """
    _check_window(window)
    return lags.clamp(max=window)


def leaky(lags: Int[Tensor, " *shape"], window: int, factor: float) -> Float[Tensor, " *shape"]:
    """lag up to the window, window + (lag - window) / factor beyond (Leaky ReRoPE, Su 2023).

    factor 1 is RoPE; factor -> infinity is ReRoPE; window 0 is position interpolation. ValueError for a window below 0
    or a factor below 1.
    """
    _check_window(window)
    _check_slope(factor)
    return lags.clamp(max=window) + (lags.double() - window).clamp(min=0) / factor


def randomised(length: int, longest: int, generator: torch.Generator) -> Int[Tensor, " length"]:
    """`length` of the positions 0 .. longest - 1, without replacement, in order (Ruoss et al. 2023, sec. 3).

    Every subset is equally likely. length = longest gives all positions: the ordinary ones. ValueError for more, and
    for less than 1.
    """
    if not 1 <= length <= longest:
        raise ValueError(f"length = {length}, but between 1 and longest = {longest} positions can be drawn")
    return torch.randperm(longest, generator=generator)[:length].sort().values


class Randomised(nn.Module):
    """A random ordered subset of 0 .. longest - 1 in the place of 0 .. n - 1 (Ruoss et al. 2023, sec. 3).

    In training every call draws a new subset; its number is part of the state, so that a resumed run goes on with the
    same draws. In evaluation the subset is fixed by n. All layers draw alike: their state starts from torch's seed.
    """

    def __init__(self, longest: int) -> None:
        """ValueError for less than one position."""
        super().__init__()
        if longest < 1:
            raise ValueError(f"longest = {longest}, but at least 1 position is needed")
        self.longest = longest
        self.register_buffer("drawn", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("seed", torch.tensor([torch.initial_seed() % 2**31]))

    def places(self, length: int, device: torch.device) -> Int[Tensor, " length"]:
        """What stands for the positions 0 .. length - 1. ValueError for more than `longest`."""
        if length > self.longest:
            raise ValueError(f"{length} positions, but {self.longest} can be drawn; train with a larger `longest`")
        if self.training:
            self.drawn += 1
        number = int(self.drawn) if self.training else 0
        generator = torch.Generator().manual_seed(int(self.seed) * 2**31 + number)
        return randomised(length, self.longest, generator).to(device)


class RandomisedSinusoidal(Randomised):
    """e(s_p) for the subset s_0 < s_1 < ...; e is `Sinusoidal`. At length = longest the subset is everything: e."""

    def __init__(self, width: int, longest: int) -> None:
        super().__init__(longest)
        self.embedding = Sinusoidal(width)

    def forward(self, positions: Int[Tensor, "*batch length"]) -> Float[Tensor, "*batch length width"]:
        """[..., length] integer positions -> [..., length, width]. ValueError below 0, and for `longest` or beyond."""
        return self.embedding(self.places(last(positions) + 1, positions.device)[positions])


class RandomisedRotary(Randomised, Rotation):
    """RoPE by the subset."""

    def __init__(self, spectrum: Spectrum, longest: int) -> None:
        super().__init__(longest)
        self.rotary = Rotary(spectrum)

    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """q and k rotated by the positions that stand for theirs. ValueError below 0, and for `longest` or beyond."""
        places = self.places(max(last(q_positions), last(k_positions)) + 1, q.device)
        return self.rotary(q, k, places[q_positions], places[k_positions])


def _check_window(window: int) -> None:
    if window < 0:
        raise ValueError(f"window = {window}, but it must be at least 0")


def _check_slope(factor: float) -> None:
    if not factor >= 1 or math.isnan(factor):
        raise ValueError(f"factor = {factor}, but it must be at least 1")
