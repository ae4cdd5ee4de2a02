"""Rotary positions: queries and keys are turned by angles proportional to their positions.

RoPE, xPos, whose planes fade with the lag, and what is made of them: with learned biases, over the two axes of a grid,
and with logits that are not divided.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

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
    """ω_i = base^(-2i/width), i = 0 .. width/2 - 1 (Su et al. 2024, eq. 15).

    ValueError unless `width` is even and 1 < base < infinity.
    """
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
        """ValueError for a spectrum with decay or a temperature."""
        super().__init__()
        if spectrum.decay is not None:
            raise ValueError("spectrum.decay is set, but Rotary is a pure rotation; use a spectrum without decay")
        if spectrum.temperature != 1:
            raise ValueError(f"spectrum.temperature = {spectrum.temperature}: Rotary has none; use DampedRotary")
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
        """R(p) x. ValueError unless the head has the width of the planes."""
        if x.shape[-1] != 2 * len(self.omega):
            raise ValueError(f"head width {x.shape[-1]}, but the spectrum has {len(self.omega)} planes of two")
        # Angles in float64: at position 500,000 float32 would be wrong by 0.03 radians.
        angles = positions.double()[:, None] * self.omega
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def xpos(width: int, base: float = 10_000.0, gamma: float = 0.4, scale: float = 512.0) -> Spectrum:
    """RoPE with the decay -ln ζ_i / scale per position, ζ_i = (2i/width + γ) / (1 + γ) (Sun et al. 2022, sec. 3).

    The score of plane i falls as ζ_i^(lag / scale): fast planes fade first. ValueError as for `rope`, and unless γ and
    `scale` are above 0.
    """
    spectrum = rope(width, base)
    if not gamma > 0 or not math.isfinite(gamma):
        raise ValueError(f"gamma = {gamma}, but it must be finite and positive, or the fastest plane vanishes")
    if not scale > 0 or not math.isfinite(scale):
        raise ValueError(f"scale = {scale}, but it must be finite and positive (positions)")
    zeta = ((2 * i / width + gamma) / (1 + gamma) for i in range(width // 2))
    return replace(spectrum, decay=tuple(-math.log(z) / scale for z in zeta))


class DampedRotary(Rotation):
    """(q_i, k_j) -> (t^-½ e^{-ξ(p_i - c)} R(p_i) q_i, t^-½ e^{+ξ(p_j - c)} R(p_j) k_j) (Sun et al. 2022, eq. 12).

    Plane by plane the score is e^{-ξ(p_i - p_j)} times RoPE's, divided by the temperature t. The reference c cancels;
    it is the middle of the queries, so that the factors stay in range. Without decay and with t = 1 it is `Rotary`,
    which is the only case in which it is orthogonal; without decay it is YaRN's rotation.
    """

    blockwise = True

    def __init__(self, spectrum: Spectrum) -> None:
        """ValueError for decays below 0 or of another number, and for a temperature that is not above 0."""
        super().__init__()
        decay = spectrum.decay or (0.0,) * len(spectrum.omega)
        if len(decay) != len(spectrum.omega) or not all(0 <= rate < math.inf for rate in decay):
            raise ValueError(
                f"spectrum.decay = {decay}, but {len(spectrum.omega)} finite rates of at least 0 are needed"
            )
        if not spectrum.temperature > 0 or not math.isfinite(spectrum.temperature):
            raise ValueError(f"spectrum.temperature = {spectrum.temperature}, but it must be finite and positive")
        self.spectrum = spectrum
        self.rotary = Rotary(replace(spectrum, decay=None, temperature=1.0))
        rates = torch.tensor(decay, dtype=torch.float64)
        self.register_buffer("bits", rates.view(torch.int64), persistent=False)  # as integers: .half() leaves them

    @property
    def decay(self) -> Float[Tensor, " planes"]:
        """ξ per position, in float64."""
        return self.bits.view(torch.float64)

    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """Rotated and damped q and k. ValueError where a factor leaves the range of the dtype."""
        q, k = self.rotary(q, k, q_positions, k_positions)
        centre = (q_positions.min() + q_positions.max()).double() / 2
        return self._damp(q, centre - q_positions), self._damp(k, k_positions - centre)

    def _damp(self, x: Tensor, ahead: Tensor) -> Tensor:
        factor = ((ahead[:, None] * self.decay).exp() * self.spectrum.temperature**-0.5).to(x.dtype)
        if not torch.isfinite(factor).all():
            raise ValueError(
                f"positions reach {float(ahead.abs().max()):g} from the middle of the queries, where the damping "
                f"overflows {x.dtype}; attend in blocks of queries, or in float64"
            )
        return x * factor.repeat(1, 2)


class Undivided(Rotation):
    """q -> sqrt(d) q, so that attention, which divides by sqrt(d), has the logits <q_i, k_j>: sqrt(d) times too large.

    Goat's public code gives the baselines of its passkeys and needles such queries, and its own encoding not (issue of
    temperature; Vaswani et al. 2017, section 3.2.1, say why one divides). `inner` turns q and k first; None leaves them
    as they are.
    """

    def __init__(self, width: int, inner: Rotation | None = None) -> None:
        """Of a head of `width` components. ValueError below 1."""
        super().__init__()
        if width < 1:
            raise ValueError(f"width = {width}, but a head has at least 1 component")
        self.factor, self.inner = math.sqrt(width), inner

    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """sqrt(d) q and k."""
        if self.inner is not None:
            q, k = self.inner(q, k, q_positions, k_positions)
        return q * self.factor, k


class BiasedRotary(Rotation):
    """(q_i, k_j) -> (R(p_i) (q_i + a), R(p_j) (k_j + b)) with learned a, b per head (Su 2023, "RoPE + bias").

    The score is RoPE's of q and k, plus terms in (q, b), in (a, k), and aᵀ R(p_j - p_i) b, which does not see the
    content: an additive relative prior with RoPE's frequencies. a = b = 0 at the start is RoPE.
    """

    def __init__(self, heads: int, kv_heads: int, rotary: Rotary) -> None:
        """ValueError unless `heads` is a multiple of `kv_heads`."""
        super().__init__()
        if kv_heads < 1 or heads < 1 or heads % kv_heads:
            raise ValueError(f"heads = {heads}, kv_heads = {kv_heads}, but heads must be a multiple of kv_heads")
        width = 2 * len(rotary.omega)
        self.rotary = rotary
        self.a = nn.Parameter(torch.zeros(heads, width))
        self.b = nn.Parameter(torch.zeros(kv_heads, width))

    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """Shifted, then rotated."""
        a, b = self.a[:, None].to(q.dtype), self.b[:, None].to(k.dtype)
        return self.rotary(q + a, k + b, q_positions, k_positions)

    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        """aᵀ R(-lag) b / √d: the part of the logits that no query and no key enters."""
        turned = (torch.zeros_like(lags) - lags).double()[:, None] * self.rotary.omega
        b = self.b.repeat_interleave(len(self.a) // len(self.b), dim=0).double()
        (a1, a2), (b1, b2) = self.a.double().chunk(2, dim=-1), b.chunk(2, dim=-1)
        along, across = a1 * b1 + a2 * b2, a2 * b1 - a1 * b2
        return (along @ turned.cos().T + across @ turned.sin().T) * self.a.shape[-1] ** -0.5


class GridRotary(Rotation):
    """RoPE over a grid: the first half of the head turns with the row, the second with the column (Su 2021).

    <R(m, i) q, R(n, j) k> = g₁(m - n) + g₂(i - j): shifts of the grid change nothing, and the axes never interact, so
    that the score is not a function of the distance on the grid.
    """

    def __init__(self, spectrum: Spectrum) -> None:
        super().__init__()
        self.rotary = Rotary(spectrum)  # one half of the head

    def forward(
        self,
        q: Queries,
        k: Keys,
        q_positions: Int[Tensor, "queries 2"],
        k_positions: Int[Tensor, "keys 2"],
    ) -> tuple[Queries, Keys]:
        """Rotated q and k; positions are (row, column). ValueError unless the head width is a multiple of 4."""
        if q.shape[-1] % 4:
            raise ValueError(f"head width {q.shape[-1]}, but two axes need a multiple of 4")
        halves = zip(q.chunk(2, -1), k.chunk(2, -1), q_positions.T, k_positions.T, strict=True)
        turned = [self.rotary(*half) for half in halves]
        return torch.cat([q for q, _ in turned], dim=-1), torch.cat([k for _, k in turned], dim=-1)
