"""Absolute positions, added to the token embeddings."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class Sinusoidal(nn.Module):
    """e(p)_{2i} = sin(p ω_i), e(p)_{2i+1} = cos(p ω_i), ω_i = base^(-2i/width) (Vaswani et al. 2017, §3.5)."""

    def __init__(self, width: int, base: float = 10_000.0) -> None:
        """ValueError unless `width` is even and at least 2, and `base` above 1."""
        super().__init__()
        if width < 2 or width % 2:
            raise ValueError(f"width = {width}, but sinusoidal positions need an even width of at least 2")
        if not base > 1:
            raise ValueError(f"base = {base}, but it must be above 1")
        exponents = torch.arange(0, width, 2, dtype=torch.float64) / width
        omega = (-math.log(base) * exponents).exp()
        self.register_buffer("bits", omega.view(torch.int64), persistent=False)  # as integers: .half() leaves them

    @property
    def omega(self) -> Float[Tensor, " planes"]:
        """Radians per position, in float64."""
        return self.bits.view(torch.float64)

    def forward(self, positions: Int[Tensor, "*batch length"]) -> Float[Tensor, "*batch length width"]:
        """[..., length] integer positions -> [..., length, width] float32."""
        angles = positions.double()[..., None] * self.omega
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


class Learned(nn.Module):
    """e(p) = E[p], a trained vector for each position (Devlin et al. 2019; Radford et al. 2019).

    Positions that never occur in training keep their random start, N(0, 1) as for tokens.
    """

    def __init__(self, width: int, longest: int) -> None:
        """ValueError for a width or a table below 1."""
        super().__init__()
        if width < 1 or longest < 1:
            raise ValueError(f"width = {width}, longest = {longest}, but a table needs at least 1 of each")
        self.longest = longest
        self.table = nn.Embedding(longest, width)

    def forward(self, positions: Int[Tensor, "*batch length"]) -> Float[Tensor, "*batch length width"]:
        """[..., length] integer positions -> [..., length, width]. ValueError below 0, and at `longest` or beyond."""
        if (end := last(positions)) >= self.longest:
            raise ValueError(
                f"position {end}, but the table ends at {self.longest - 1}; train one with a larger "
                "`longest`, or use an encoding without a table"
            )
        return self.table(positions)


def last(positions: Int[Tensor, "*shape"]) -> int:
    """The last of the positions. ValueError for one below 0, which would count from a table's end."""
    first, end = (int(each) for each in positions.aminmax())
    if first < 0:
        raise ValueError(f"position {first}, but positions begin at 0")
    return end
