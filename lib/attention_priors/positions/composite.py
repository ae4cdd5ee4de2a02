"""Goat's composite: a head's width shared between content and position, and what its prior adds to the keys.

Of a head's d components the first d_c = d - d_p hold content. The last d_p = rank + 2 are left to the prior, which
enters them as φ(i) and ψ(j): then one plain attention call over d components is attention over d_c components with a
log-prior (Goat, equations 19 to 24 and Algorithm 1). `Content` leaves the room, `coordinates` fills it.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from .absolute import Sinusoidal
from .finite_rank import FiniteRank
from .priors import KeyPrior, Prior, Product, alibi_slopes
from .rotary import KeyAt, Keys, PureRotation, Queries, QueryAt, Rotary, Rotation, rope
from .spectral import Fourier, Sink, geometric

MODES = 4  # R, of every row below unless its name says otherwise: 2R + 2 = 10 components of a head
TRAINED = 128  # L of `SharedSink`: the training length of profiles cpu and full
SPREAD = 0.01  # standard deviation of α at the authors' start


class Content(Rotation):
    """q -> sqrt(d / d_c) [q_c, 0] and k -> [k_c, 0]: <q, k> / sqrt(d) becomes <q_c, k_c> / sqrt(d_c).

    The last `coordinates` components of a head are set to zero and belong to the prior; the columns of the projections
    that make them are not used, so that a model with this part has the tensors of any other of its size. With `rotary`
    the content is rotated first (Goat, appendix E.3). Values keep all of the head.
    """

    def __init__(self, width: int, coordinates: int, rotary: PureRotation | None = None) -> None:
        """Of a head of `width`. ValueError where `coordinates` is odd, below 2, or leaves no content."""
        super().__init__()
        if coordinates < 2 or coordinates % 2:
            raise ValueError(f"coordinates = {coordinates}, but a prior takes an even number of at least 2: 2R + 2")
        if width <= coordinates:
            raise ValueError(
                f"heads of width {width} leave no content beside {coordinates} coordinates of position; give wider "
                "heads or fewer modes"
            )
        self.content, self.coordinates = width - coordinates, coordinates
        self.factor = math.sqrt(width / self.content)
        self.rotary = rotary

    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """q and k with content alone."""
        q, k = q[..., : self.content], k[..., : self.content]
        if self.rotary is not None:
            q, k = self.rotary(q, k, q_positions, k_positions)
        return F.pad(q * self.factor, (0, self.coordinates)), F.pad(k, (0, self.coordinates))


class SharedSink(KeyPrior):
    """log π(j) = softplus(s_h) j + g_h φ(sin ωj, cos ωj, j/L, ln(1+j)/ln(1+L)): one network φ for all heads.

    The form of Goat's public code for causal models. L is a constant, so that a text and its beginning have one prior.
    The network's last layer starts at zero and every gain g at 1.
    """

    def __init__(
        self, slopes: Float[Tensor, " heads"], length: int = TRAINED, width: int = 16, hidden: int = 16
    ) -> None:
        """softplus(s) = `slopes` at the start, finite and above 0 for each head; L = `length`. ValueError otherwise."""
        super().__init__()
        if slopes.ndim != 1 or not len(slopes) or not (slopes.is_meta or (slopes.isfinite() & (slopes > 0)).all()):
            raise ValueError(f"slopes = {slopes.tolist()}, but every head needs one finite slope above 0")
        if length < 1 or hidden < 1:
            raise ValueError(f"length = {length}, hidden = {hidden}, but at least 1 of each is needed")
        self.heads, self.length = len(slopes), length
        self.slopes = nn.Parameter(slopes.expm1().log())
        self.gains = nn.Parameter(torch.ones_like(slopes))
        self.sinusoids = Sinusoidal(width)
        self.network = nn.Sequential(nn.Linear(width + 2, hidden), nn.GELU(), nn.Linear(hidden, 1))
        for parameter in self.network[-1].parameters():
            nn.init.zeros_(parameter)

    def log_prior(self, keys: Int[Tensor, " keys"], length: int) -> Float[Tensor, "heads keys"]:
        """u at the keys; the current length does not enter."""
        places = keys.double()
        lengths = torch.stack([places / self.length, places.log1p() / math.log1p(self.length)], -1)
        inputs = torch.cat([self.sinusoids(keys).double(), lengths], -1).to(self.network[0].weight.dtype)
        exact = F.softplus(self.slopes.double())[:, None] * places + self.gains[:, None] * self.network(inputs).T
        return exact.to(torch.promote_types(self.slopes.dtype, torch.float32))


class Bump(KeyPrior):
    """log π(j) = b_h at the first key and 0 elsewhere: a sink as a parameter, 0 at the start (Goat's public code)."""

    headwise = True

    def __init__(self, heads: int) -> None:
        """ValueError for less than one head."""
        super().__init__()
        if heads < 1:
            raise ValueError(f"heads = {heads}, but at least 1 is needed")
        self.heads, self.height = heads, nn.Parameter(torch.zeros(heads))

    def log_prior(self, keys: Int[Tensor, " keys"], length: int) -> Float[Tensor, "heads keys"]:
        return self.height[:, None] * (keys == 0)


def rank(prior: Prior) -> int:
    """The coordinates that the prior's factors over lags take. ValueError where one of them has no finite rank."""
    relative, _ = prior.split()
    if other := [type(factor).__name__ for factor in relative if not isinstance(factor, FiniteRank)]:
        raise ValueError(f"the prior {other[0]} has no finite rank; give a sum of waves, or use backend='sdpa'")
    return sum(factor.rank for factor in relative)


def coordinates(
    prior: Prior, q_positions: Int[Tensor, "queries ..."], k_positions: Int[Tensor, "keys ..."]
) -> tuple[Float[Tensor, "heads queries total"], Float[Tensor, "heads keys total"]]:
    """φ(i) = [q_rel, 1, 0] and ψ(j) = [k_rel, u(j), 0], rank + 2 coordinates: <φ(i), ψ(j)> = log π(i, j).

    For any product of finite-rank priors and priors over keys (Goat, equations 19 to 24). ValueError for other factors.
    """
    rank(prior)  # refuses what has none
    factors, bias = prior.split()[0], prior.of_keys(k_positions, len(k_positions))
    phi = [factor.features(q_positions)[0] for factor in factors]
    psi = [factor.features(k_positions)[1] for factor in factors]
    like = bias if bias is not None else psi[0]
    ends = like.new_tensor([1.0, 0.0]).expand(prior.heads, len(q_positions), 2)
    bias = like.new_zeros(prior.heads, len(k_positions)) if bias is None else bias
    return torch.cat([*phi, ends], -1), torch.cat([*psi, F.pad(bias[..., None], (0, 1))], -1)


def content(width: int, base: float, modes: int = MODES) -> Content:
    """The room of a row's prior with `modes` waves and a bias on keys. ValueError as for `Content`."""
    return Content(width, 2 * modes + 2)


def rotated_content(width: int, base: float, modes: int = MODES) -> Content:
    """The same with RoPE inside the content. ValueError as for `Content`."""
    left = width - 2 * modes - 2
    return Content(width, 2 * modes + 2, Rotary(rope(left, base)) if left > 0 else None)


def uniform(heads: int, modes: int = MODES, shortest: float = 2 * math.pi, bump: bool = False) -> Product:
    """Waves and a sink that say nothing at the start: the paper's form, L the current length.

    ValueError for less than one head or wave.
    """
    factors = [Fourier.uniform(heads, geometric(modes, shortest)), Sink(torch.zeros(heads))]
    return Product(*factors, *([Bump(heads)] if bump else []))


def without_sink(heads: int) -> Fourier:
    """Waves alone, 0 at the start. ValueError for less than one head."""
    return Fourier.uniform(heads, geometric(MODES))


def seeded(heads: int) -> Product:
    """The paper's form from the start of the authors' code: ALiBi's slopes on the keys, α of N(0, SPREAD²), β = 0.

    ValueError for less than one head.
    """
    return Product(_small_waves(heads), Sink(torch.tensor(alibi_slopes(heads))))


def coded(heads: int, length: int = TRAINED) -> Product:
    """The form of the authors' code from its start, with L = `length`. ValueError for less than one head or key."""
    return Product(_small_waves(heads), SharedSink(torch.tensor(alibi_slopes(heads)), length), Bump(heads))


def _small_waves(heads: int) -> Fourier:
    return Fourier(geometric(MODES), SPREAD * torch.randn(heads, MODES), torch.zeros(heads, MODES))
