"""Goat's log-prior: a trigonometric sum over lags, a bias on keys, and both as coordinates of queries and keys."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .absolute import Sinusoidal
from .finite_rank import FiniteRank
from .priors import KeyPrior


class Fourier(FiniteRank):
    """log π(d) = Σ_r α_r cos(ω_r d) + β_r sin(ω_r d): fixed frequencies, learned coefficients of either sign.

    Goat (Litman and Guo), equation 12. α carries the part that is even in d, β the odd one. Zero coefficients are the
    uniform prior; one mode with β = -m/ω and ω -> 0 tends to ALiBi's -m d on any window. Frequencies ω and ω + 2π are
    the same on integer lags.
    """

    def __init__(
        self,
        omega: Iterable[float],
        alpha: Iterable[Iterable[float]] | Tensor,
        beta: Iterable[Iterable[float]] | Tensor,
        trainable: bool = True,
    ) -> None:
        """ω in radians per position, one for each mode; α and β [heads, modes], finite. ValueError otherwise."""
        super().__init__()
        alpha, beta = (x if isinstance(x, Tensor) else torch.tensor(x, dtype=torch.float32) for x in (alpha, beta))
        omega = torch.as_tensor(list(omega), dtype=torch.float64)
        if not len(omega) or not (omega.is_meta or omega.isfinite().all()):
            raise ValueError(f"omega = {omega.tolist()}, but at least one mode with a finite frequency is needed")
        for name, values in (("alpha", alpha), ("beta", beta)):
            if values.ndim != 2 or values.shape[1] != len(omega) or not len(values):
                raise ValueError(f"{name} has shape {list(values.shape)}, but [heads, {len(omega)} modes] is needed")
            if not values.is_meta and not values.isfinite().all():
                raise ValueError(f"{name} = {values.tolist()}, but every coefficient must be finite")
        if len(alpha) != len(beta):
            raise ValueError(f"alpha has {len(alpha)} heads, beta {len(beta)}; give both the same number")
        self.heads, self.rank = len(alpha), 2 * len(omega)
        self.alpha = nn.Parameter(alpha.clone(), requires_grad=trainable)
        self.beta = nn.Parameter(beta.clone(), requires_grad=trainable)
        self.register_buffer("bits", omega.view(torch.int64), persistent=False)  # as integers: .half() leaves them

    @classmethod
    def uniform(cls, heads: int, omega: Iterable[float]) -> Fourier:
        """Every coefficient zero: training starts from plain attention (Goat, section 1).

        ValueError for less than one head.
        """
        omega = tuple(omega)
        if heads < 1:
            raise ValueError(f"heads = {heads}, but at least 1 is needed")
        return cls(omega, torch.zeros(heads, len(omega)), torch.zeros(heads, len(omega)))

    @property
    def omega(self) -> Float[Tensor, " modes"]:
        """Radians per position, in float64."""
        return self.bits.view(torch.float64)

    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        cos, sin = self._waves(lags)
        return self.alpha.to(cos.dtype) @ cos.T + self.beta.to(sin.dtype) @ sin.T

    def features(
        self, positions: Int[Tensor, " positions"]
    ) -> tuple[Float[Tensor, "heads positions rank"], Float[Tensor, "heads positions rank"]]:
        """q_r = (α cos ωi + β sin ωi, α sin ωi - β cos ωi), k_r = (cos ωj, sin ωj) (Goat, equations 17 and 18)."""
        cos, sin = self._waves(positions)
        alpha, beta = self.alpha[:, None], self.beta[:, None]
        queries = torch.stack([alpha * cos + beta * sin, alpha * sin - beta * cos], dim=-1)
        keys = torch.stack([cos, sin], dim=-1).expand_as(queries)
        return queries.flatten(-2), keys.flatten(-2)

    def _waves(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        # Phases in float64: at position 500,000 float32 would be wrong by 0.03 radians.
        phases = positions.double()[:, None] * self.omega
        dtype = torch.promote_types(self.alpha.dtype, torch.float32)
        return phases.cos().to(dtype), phases.sin().to(dtype)


class Sink(KeyPrior):
    """log π(j) = u(j) = s j + φ(sin ωj, cos ωj, j/L): a slope and a small network, both learned (Goat, section 4).

    Algorithm 1 prints u(j) = φ(SinusoidalEnc(j)), the case s = 0 without j/L. The network's last layer starts at zero,
    so that the prior starts uniform; a start s = m > 0 is ALiBi's recency, since -m (i - j) and m j differ by a
    constant of the row (Goat, Proposition F.6).
    """

    def __init__(self, slopes: Iterable[float] | Tensor, width: int = 16, hidden: int = 16) -> None:
        """One finite slope s per head; a network of `hidden` units takes `width` sinusoids. ValueError otherwise."""
        super().__init__()
        slopes = slopes if isinstance(slopes, Tensor) else torch.tensor(slopes, dtype=torch.float32)
        if slopes.ndim != 1 or not len(slopes) or not (slopes.is_meta or slopes.isfinite().all()):
            raise ValueError(f"slopes = {slopes.tolist()}, but every head needs one finite slope")
        if hidden < 1:
            raise ValueError(f"hidden = {hidden}, but at least 1 unit is needed")
        self.heads = len(slopes)
        self.slopes = nn.Parameter(slopes.clone())
        self.sinusoids = Sinusoidal(width)
        self.network = nn.Sequential(nn.Linear(width + 1, hidden), nn.GELU(), nn.Linear(hidden, self.heads))
        for parameter in self.network[-1].parameters():
            nn.init.zeros_(parameter)

    def log_prior(self, keys: Int[Tensor, " keys"], length: int) -> Float[Tensor, "heads keys"]:
        """u at the keys of a context of `length`. ValueError for a length below 1."""
        if length < 1:
            raise ValueError(f"length = {length}, but positions are divided by it: give at least 1")
        place = (keys.double() / length)[:, None]
        inputs = torch.cat([self.sinusoids(keys).double(), place], dim=-1).to(self.network[0].weight.dtype)
        exact = self.slopes[:, None].double() * keys + self.network(inputs).T
        return exact.to(torch.promote_types(self.slopes.dtype, torch.float32))


def lanes(
    relative: FiniteRank,
    bias: Tensor,
    q_positions: Int[Tensor, " queries"],
    k_positions: Int[Tensor, " keys"],
) -> tuple[Float[Tensor, "heads queries total"], Float[Tensor, "heads keys total"]]:
    """φ(i) = [q_rel, 1, 0], ψ(j) = [k_rel, u(j), 0]: <φ(i), ψ(j)> = κ(i - j) + u(j), an even number of coordinates.

    `bias` is u at the keys' positions, [heads, keys]. `finite_rank.extend` puts them beside the content (Goat,
    equations 19 to 24 and Algorithm 1; rank + 2 coordinates). ValueError for another shape.
    """
    if bias.shape != (relative.heads, len(k_positions)):
        raise ValueError(f"bias has shape {list(bias.shape)}, but [{relative.heads} heads, {len(k_positions)} keys]")
    phi, _ = relative.features(q_positions)
    _, psi = relative.features(k_positions)
    one, zero = torch.ones_like(phi[..., :1]), torch.zeros_like(phi[..., :1])
    return torch.cat([phi, one, zero], -1), torch.cat([psi, bias[..., None], torch.zeros_like(psi[..., :1])], -1)


def geometric(modes: int, shortest: float = 2 * math.pi, longest: float = 2 * math.pi * 1e4) -> tuple[float, ...]:
    """ω_r with wavelengths 2π/ω_r in geometric progression from `shortest` to `longest` positions.

    The defaults span RoPE's ladder. ValueError outside modes >= 1, 2 <= shortest <= longest: shorter waves are aliases.
    """
    if modes < 1 or not (2 <= shortest <= longest and math.isfinite(longest)):
        raise ValueError(
            f"modes = {modes}, wavelengths {shortest} to {longest}: at least 1 mode and 2 <= shortest <= longest needed"
        )
    step = (longest / shortest) ** (1 / max(modes - 1, 1))
    return tuple(2 * math.pi / (shortest * step**r) for r in range(modes))
