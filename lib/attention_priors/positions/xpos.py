"""xPos: a rotation whose planes fade with the lag; and the one module that applies a spectrum's temperature."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from .rotary import KeyAt, Keys, Queries, QueryAt, Rotary, Rotation, Spectrum, rope


def xpos(width: int, base: float = 10_000.0, gamma: float = 0.4, scale: float = 512.0) -> Spectrum:
    """RoPE with the decay -ln ζ_i / scale per position, ζ_i = (2i/width + γ) / (1 + γ) (Sun et al. 2022, sec. 3).

    The score of plane i falls as ζ_i^(lag / scale): fast planes fade first.
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
