"""One-parameter groups whose generator is learned."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .layouts import half_split
from .rotary import KeyAt, Keys, PureRotation, Queries, QueryAt, Rotation, Spectrum, rope


class LearnedRotary(PureRotation):
    """R(p) = exp(p A), A = ⊕_i [[0, -ω_i], [ω_i, 0]] with learned frequencies ω_i = exp(θ_i).

    The orthogonal one-parameter groups in their normal form (notebook 02): a dense skew-symmetric generator adds
    nothing, since the projections of queries and keys absorb the change of basis. It starts as `Rotary`.
    """

    def __init__(self, spectrum: Spectrum) -> None:
        """ValueError for a spectrum with decay, or with a frequency that is not above 0."""
        super().__init__()
        if spectrum.decay is not None or not all(omega > 0 for omega in spectrum.omega):
            raise ValueError(f"{spectrum}: a pure rotation with frequencies above 0 is needed")
        self.log_omega = nn.Parameter(torch.tensor(spectrum.omega, dtype=torch.float64).log().float())

    @property
    def omega(self) -> Float[Tensor, " planes"]:
        """Radians per position, in float64."""
        return self.log_omega.double().exp()

    def turn(
        self, x: Float[Tensor, "batch heads length width"], positions: Int[Tensor, " length"]
    ) -> Float[Tensor, "batch heads length width"]:
        """R(p) x."""
        return half_split(x, positions.double()[:, None] * self.omega)


class LearnedGroup(Rotation):
    """(q_i, k_j) -> (A(p_i - r)ᵀ q_i, A(r - p_j) k_j), A(t) = exp(tX), so that the score is q_iᵀ A(p_i - p_j) k_j.

    X is a direct sum of real Jordan blocks [[W, cI], [0, W]] with W = [[-ξ, ω], [-ω, -ξ]] and learned ξ, ω and c (the
    post on one-parameter groups), so that A(t) = e^{-ξt} [[R(-ωt), ct R(-ωt)], [0, R(-ωt)]]. Without `defective` the
    blocks are single: ξ = 0 is RoPE, ξ > 0 a damped rotation as in RetNet and xPos. Frequencies start as RoPE's,
    decays at 1/1000 and couplings c at 1/100 per position. The reference position cancels; it is the middle of the
    queries, so that the factors stay in range, and decays are below 1/4 per position for the same reason.
    """

    blockwise = True
    FASTEST = 0.25

    def __init__(self, width: int, base: float = 10_000.0, *, defective: bool = False) -> None:
        """ValueError where a head of `width` has no whole number of blocks."""
        super().__init__()
        if defective and width % 4:
            raise ValueError(f"width = {width}, but a defective block takes four components; use a multiple of 4")
        spectrum = rope(width // 2 if defective else width, base)
        planes = len(spectrum.omega)
        self.log_omega = nn.Parameter(torch.tensor(spectrum.omega, dtype=torch.float64).log().float())
        self.damping = nn.Parameter(torch.full((planes,), 1e-3 / self.FASTEST).logit())
        self.coupling = nn.Parameter(torch.full((planes,), 0.01)) if defective else None

    @property
    def omega(self) -> Float[Tensor, " blocks"]:
        """Radians per position, in float64."""
        return self.log_omega.double().exp()

    @property
    def decay(self) -> Float[Tensor, " blocks"]:
        """ξ per position, between 0 and 1/4, in float64."""
        return self.FASTEST * self.damping.double().sigmoid()

    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """Transformed q and k. ValueError where a factor leaves the range of the dtype."""
        centre = (q_positions.min() + q_positions.max()).double() / 2
        return self._act(q, q_positions - centre, transposed=True), self._act(k, centre - k_positions)

    def _act(self, x: Tensor, t: Tensor, transposed: bool = False) -> Tensor:
        """A(t) x, or A(t)ᵀ x. R(-ωt) turns x the way that positions turn queries and keys in `Rotary`."""
        t = t.to(torch.float64)[:, None]
        angles = t * self.omega
        size = (-t * self.decay).exp().to(x.dtype)
        if not torch.isfinite(size).all():
            raise ValueError(
                f"positions reach {float(t.abs().max()):g} from the middle of the queries, where the decay overflows "
                f"{x.dtype}; attend in blocks of queries"
            )
        angles = angles if transposed else -angles
        if self.coupling is None:
            return half_split(x, angles) * size.repeat(1, 2)
        first, second = (half_split(half, angles) * size.repeat(1, 2) for half in x.chunk(2, -1))
        slope = (t * self.coupling).to(x.dtype).repeat(1, 2)
        return torch.cat([first, second + slope * first] if transposed else [first + slope * second, second], -1)
