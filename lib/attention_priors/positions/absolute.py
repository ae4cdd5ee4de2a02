"""Absolute positions, added to the token embeddings."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class Sinusoidal(nn.Module):
    """e(p)_{2i} = sin(p ω_i), e(p)_{2i+1} = cos(p ω_i), ω_i = base^(-2i/width) (Vaswani et al. 2017, §3.5)."""

    def __init__(self, width: int, base: float = 10_000.0) -> None:
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
