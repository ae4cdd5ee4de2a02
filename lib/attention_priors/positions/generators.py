"""Rotations whose generator is learned, and rotations by randomised positions."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .layouts import half_split
from .maps import randomised
from .rotary import Spectrum


class LearnedRotary(nn.Module):
    """R(p) = exp(p A), A = ⊕_i [[0, -ω_i], [ω_i, 0]] with learned frequencies ω_i = exp(θ_i).

    The orthogonal one-parameter groups in their normal form (notebook 02): a dense skew-symmetric generator adds
    nothing, since the projections of queries and keys absorb the change of basis. It starts as `Rotary`.
    """

    def __init__(self, spectrum: Spectrum) -> None:
        super().__init__()
        if spectrum.decay is not None or not all(omega > 0 for omega in spectrum.omega):
            raise ValueError(f"{spectrum}: a pure rotation with frequencies above 0 is needed")
        self.log_omega = nn.Parameter(torch.tensor(spectrum.omega, dtype=torch.float64).log().float())

    @property
    def omega(self) -> Float[Tensor, " planes"]:
        """Radians per position, in float64."""
        return self.log_omega.double().exp()

    def forward(
        self,
        q: Float[Tensor, "batch heads queries width"],
        k: Float[Tensor, "batch kv_heads keys width"],
        q_positions: Int[Tensor, " queries"],
        k_positions: Int[Tensor, " keys"],
    ) -> tuple[Float[Tensor, "batch heads queries width"], Float[Tensor, "batch kv_heads keys width"]]:
        """Rotated q and k."""
        turned = (half_split(x, p.double()[:, None] * self.omega) for x, p in ((q, q_positions), (k, k_positions)))
        return tuple(turned)


class RandomisedRotary(nn.Module):
    """RoPE by a random ordered subset of 0 .. longest - 1 in the place of 0 .. n - 1 (Ruoss et al. 2023).

    In training every call draws a new subset; its number is part of the state, so that a resumed run goes on with the
    same draws. In evaluation the subset is fixed by n. All layers draw alike: their state starts from torch's seed.
    """

    def __init__(self, spectrum: Spectrum, longest: int) -> None:
        super().__init__()
        if longest < 1:
            raise ValueError(f"longest = {longest}, but at least 1 position is needed")
        self.longest = longest
        omega = torch.tensor(spectrum.omega, dtype=torch.float64)
        self.register_buffer("bits", omega.view(torch.int64), persistent=False)  # as integers: .half() leaves them
        self.register_buffer("drawn", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("seed", torch.tensor([torch.initial_seed() % 2**31]))

    def forward(
        self,
        q: Float[Tensor, "batch heads queries width"],
        k: Float[Tensor, "batch kv_heads keys width"],
        q_positions: Int[Tensor, " queries"],
        k_positions: Int[Tensor, " keys"],
    ) -> tuple[Float[Tensor, "batch heads queries width"], Float[Tensor, "batch kv_heads keys width"]]:
        """q and k rotated by the positions that stand for theirs. ValueError for more than `longest` positions."""
        length = int(torch.maximum(q_positions.max(), k_positions.max())) + 1
        if length > self.longest:
            raise ValueError(f"{length} positions, but {self.longest} can be drawn; train with a larger `longest`")
        if self.training:
            self.drawn += 1
        number = int(self.drawn) if self.training else 0
        generator = torch.Generator().manual_seed(int(self.seed) * 2**31 + number)
        places = randomised(length, self.longest, generator).to(q.device)
        omega = self.bits.view(torch.float64)
        turned = (half_split(x, places[p].double()[:, None] * omega) for x, p in ((q, q_positions), (k, k_positions)))
        return tuple(turned)
