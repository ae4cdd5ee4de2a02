"""Rotary positions: queries and keys are turned by angles proportional to their positions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

Queries = Float[Tensor, "batch heads queries width"]
Keys = Float[Tensor, "batch kv_heads keys width"]
QueryAt = Int[Tensor, " queries"]  # positions
KeyAt = Int[Tensor, " keys"]


@dataclass(frozen=True)
class Spectrum:
    """Angular frequencies of the planes of a head (radians per position), their decay per position, a temperature."""

    omega: tuple[float, ...]
    decay: tuple[float, ...] | None = None
    temperature: float = 1.0


def rope(width: int, base: float = 10_000.0) -> Spectrum:
    """ω_i = base^(-2i/width), i = 0 .. width/2 - 1 (Su et al. 2024, eq. 15)."""
    if width < 2 or width % 2:
        raise ValueError(f"width = {width}, but a rotation needs an even head width of at least 2")
    if not base > 1 or not math.isfinite(base):
        raise ValueError(f"base = {base}, but it must be finite and above 1")
    return Spectrum(tuple(base ** (-2 * i / width) for i in range(width // 2)))


class Rotation(nn.Module, ABC):
    """Positions in queries and keys: a linear map of each, chosen by its position."""

    blockwise = False  # True where its factors stay in range only for queries that stand near each other

    @abstractmethod
    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """q and k with their positions in them; positions are integers, one for each query and key."""


class PureRotation(Rotation):
    """(q_i, k_j) -> (R(p_i) q_i, R(p_j) k_j), so that <q_i, k_j> depends on p_i - p_j (Su et al. 2024)."""

    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """Rotated q and k."""
        return self.turn(q, q_positions), self.turn(k, k_positions)

    @abstractmethod
    def turn(
        self, x: Float[Tensor, "batch heads length width"], positions: Int[Tensor, " length"]
    ) -> Float[Tensor, "batch heads length width"]:
        """R(p) x: the plane of the components (x_i, x_{i + width/2}) by p ω_i, the half-split layout of Llama."""


class Rotary(PureRotation):
    """RoPE: given frequencies, and no decay, with which it would not be orthogonal."""

    def __init__(self, spectrum: Spectrum) -> None:
        super().__init__()
        if spectrum.decay is not None:
            raise ValueError("spectrum.decay is set, but Rotary is a pure rotation; use a spectrum without decay")
        if spectrum.temperature != 1:
            raise ValueError(f"spectrum.temperature = {spectrum.temperature}: Rotary has none; use xpos.DampedRotary")
        self.spectrum = spectrum
        omega = torch.tensor(spectrum.omega, dtype=torch.float64)
        self.register_buffer("bits", omega.view(torch.int64), persistent=False)  # as integers: .half() leaves them

    @property
    def omega(self) -> Float[Tensor, " planes"]:
        """Radians per position, in float64."""
        return self.bits.view(torch.float64)

    def turn(
        self, x: Float[Tensor, "batch heads length width"], positions: Int[Tensor, " length"]
    ) -> Float[Tensor, "batch heads length width"]:
        """R(p) x."""
        if x.shape[-1] != 2 * len(self.omega):
            raise ValueError(f"head width {x.shape[-1]}, but the spectrum has {len(self.omega)} planes of two")
        # Angles in float64: at position 500,000 float32 would be wrong by 0.03 radians.
        angles = positions.double()[:, None] * self.omega
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)
