"""Positions on a grid of patches: what stands for them in embeddings, in queries and keys, and in the prior.

A place is (row, column), in patches. What reads one may get fractions: a finer grid can be laid over the one of
training. GRIDS lists the ways as rows of one table, as ENCODINGS does for texts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from .absolute import Sinusoidal
from .layouts import half_split
from .priors import KeyPrior, Prior, RelativePrior
from .rotary import rope
from .spectral import geometric

Places = Float[Tensor, "patches 2"]
SPREAD = 0.02  # standard deviation of a new table of embeddings, as in ViT


@dataclass(frozen=True)
class Grid:
    """Patches in `height` rows and `width` columns. ValueError for less than one of either."""

    height: int
    width: int

    def __post_init__(self) -> None:
        if self.height < 1 or self.width < 1:
            raise ValueError(f"a grid of {self.height} x {self.width} patches; give at least 1 row and 1 column")

    @property
    def patches(self) -> int:
        """How many there are."""
        return self.height * self.width

    def places(self, device: torch.device | None = None) -> Places:
        """(row, column) of every patch, row by row, in float64."""
        rows, columns = (torch.arange(n, dtype=torch.float64, device=device) for n in (self.height, self.width))
        return torch.cartesian_prod(rows, columns).view(-1, 2)

    def over(self, other: Grid, device: torch.device | None = None) -> Places:
        """The places of this grid's patches on `other`, when both cover the same picture: their middles, in its units.

        A patch of twice the resolution stands at -1/4, 1/4, 3/4 ...: what bicubic interpolation does to a table.
        """
        factors = torch.tensor([other.height / self.height, other.width / self.width], dtype=torch.float64)
        return (self.places(device) + 0.5) * factors.to(device) - 0.5


class GridFourier(Prior):
    """log π(Δ) = Σ_r α_r cos <w_r, Δ> + β_r sin <w_r, Δ> for the lag Δ = place of the query - place of the key.

    Goat's prior (Litman and Guo, equation 12 and section 6) in two dimensions: fixed wave vectors w_r in radians per
    patch, learned coefficients, which start at zero (the uniform prior). It depends on Δ alone, so that a shift of the
    whole grid changes nothing. Wave vectors on the axes make it a sum over the axes (`along_axes`), and then it can
    hold no prior that is not; others (`all_round`) are free of that. A token that stands nowhere on the grid has the
    log-prior `sink` as a key, and sees all keys alike as a query.

    It is of finite rank: <φ(p), ψ(p')> with 2 R + 2 coordinates, the last two being the sink's and a zero.
    """

    def __init__(self, heads: int, waves: Iterable[tuple[float, float]], extra: int = 0) -> None:
        """R finite wave vectors; `extra` tokens stand before the patches. ValueError otherwise."""
        super().__init__()
        waves = torch.tensor(list(waves), dtype=torch.float64).view(-1, 2)
        if heads < 1 or extra < 0:
            raise ValueError(f"heads = {heads}, extra = {extra}; give at least 1 head, and 0 tokens or more")
        if not len(waves) or not (waves.is_meta or waves.isfinite().all()):
            raise ValueError(f"waves = {waves.tolist()}, but at least one finite wave vector is needed")
        self.heads, self.extra, self.rank = heads, extra, 2 * len(waves) + 2
        self.alpha = nn.Parameter(torch.zeros(heads, len(waves)))
        self.beta = nn.Parameter(torch.zeros(heads, len(waves)))
        self.sink = nn.Parameter(torch.zeros(heads)) if extra else None
        self.register_buffer("bits", waves.view(torch.int64), persistent=False)  # as integers: .half() leaves them

    @property
    def waves(self) -> Float[Tensor, "modes 2"]:
        """Radians per patch along rows and columns, in float64."""
        return self.bits.view(torch.float64)

    def log_prior(self, lags: Float[Tensor, "lags 2"]) -> Float[Tensor, "heads lags"]:
        """κ(Δ) by the formula."""
        cos, sin = self._turns(lags)
        return self.alpha.to(cos.dtype) @ cos.T + self.beta.to(sin.dtype) @ sin.T

    def features(self, places: Places) -> tuple[Float[Tensor, "heads tokens rank"], Float[Tensor, "heads tokens rank"]]:
        """(φ, ψ) of the extra tokens and the patches: <φ(p), ψ(p')> = κ(p - p') + sink(p') (equations 17, 18, 24)."""
        cos, sin = self._turns(places)
        alpha, beta = self.alpha[:, None], self.beta[:, None]
        queries = torch.cat([alpha * cos + beta * sin, alpha * sin - beta * cos], -1)
        keys = torch.cat([cos, sin], -1).expand_as(queries)
        queries, keys = (F.pad(x, (0, 2, self.extra, 0)) for x in (queries, keys))
        if self.sink is None:
            return queries, keys
        one = F.pad(queries.new_ones(self.heads, queries.shape[1], 1), (self.rank - 2, 1))
        stands = self.sink[:, None, None].expand(-1, self.extra, 1).to(keys.dtype)
        return queries + one, keys + F.pad(stands, (self.rank - 2, 1, 0, len(places)))

    def split(self) -> tuple[list[RelativePrior], list[KeyPrior]]:
        """ValueError: lags on a grid are pairs, of which there is no table over one lag."""
        raise ValueError(f"{type(self).__name__} is a prior over a grid and has no table over one lag; take `features`")

    def _turns(self, places: Tensor) -> tuple[Tensor, Tensor]:
        phases = places.double() @ self.waves.T
        dtype = torch.promote_types(self.alpha.dtype, torch.float32)
        return phases.cos().to(dtype), phases.sin().to(dtype)


def along_axes(rows: Iterable[float], columns: Iterable[float]) -> list[tuple[float, float]]:
    """(ω, 0) for each frequency of the rows, (0, ω) for each of the columns: a prior that is a sum over the axes."""
    return [(omega, 0.0) for omega in rows] + [(0.0, omega) for omega in columns]


def all_round(omegas: Iterable[float], directions: int = 4) -> list[tuple[float, float]]:
    """ω (cos θ, sin θ) for each frequency and `directions` angles in half a turn (the other half is the same waves).

    ValueError for less than two directions, which would leave a direction in which nothing changes.
    """
    if directions < 2:
        raise ValueError(f"directions = {directions}; two dimensions need at least 2")
    angles = [math.pi * k / directions for k in range(directions)]
    return [(omega * math.cos(angle), omega * math.sin(angle)) for omega in omegas for angle in angles]


class AxialRotary(nn.Module):
    """q and k turned by angles row · ω_i in the first half of the planes and column · ω_i in the others.

    RoPE along both axes (Su, 2021; Heo et al. 2024, "axial"): scores depend on the lag of places. Tokens that stand
    nowhere on the grid are not turned.
    """

    def __init__(self, width: int, base: float, extra: int = 0) -> None:
        """`width` of a head, a multiple of 4: two axes with planes of two. ValueError otherwise."""
        super().__init__()
        if width < 4 or width % 4:
            raise ValueError(f"width = {width}, but planes of two along two axes need a head width divisible by 4")
        self.extra = extra
        omega = torch.tensor(rope(width // 2, base).omega, dtype=torch.float64)
        self.register_buffer("bits", omega.view(torch.int64), persistent=False)  # as integers: .half() leaves them

    def forward(
        self, x: Float[Tensor, "batch heads tokens width"], places: Places
    ) -> Float[Tensor, "batch heads tokens width"]:
        """R(place) x."""
        angles = (places.double()[:, :, None] * self.bits.view(torch.float64)).flatten(1)
        return half_split(x, F.pad(angles, (0, 0, self.extra, 0)))


class GridEmbedding(nn.Module, ABC):
    """A vector for each patch, added to what the patch shows."""

    @abstractmethod
    def forward(self, grid: Grid, places: Places) -> Float[Tensor, "patches width"]:
        """The vectors of a grid whose patches stand at `places`."""


class LearnedGrid(GridEmbedding):
    """e(p) = E[p], a trained vector for each patch of one grid; another grid gets them by bicubic interpolation.

    As ViT does at other resolutions (Dosovitskiy et al. 2021, §3.2). `places` are not read: the table is stretched over
    every picture.
    """

    def __init__(self, width: int, grid: Grid) -> None:
        super().__init__()
        self.grid = grid
        self.table = nn.Parameter(SPREAD * torch.randn(1, width, grid.height, grid.width))

    def forward(self, grid: Grid, places: Places) -> Float[Tensor, "patches width"]:
        table = self.table
        if grid != self.grid:
            table = F.interpolate(table, (grid.height, grid.width), mode="bicubic", align_corners=False)
        return table.flatten(2)[0].T


class SinusoidalGrid(GridEmbedding):
    """e(p) = (sinusoids of the row, sinusoids of the column), half of the channels each (MAE, He et al. 2022)."""

    def __init__(self, width: int, grid: Grid) -> None:
        """ValueError unless `width` is a multiple of 4."""
        super().__init__()
        if width % 4:
            raise ValueError(f"width = {width}, but sinusoids of two axes need a multiple of 4")
        self.axis = Sinusoidal(width // 2)

    def forward(self, grid: Grid, places: Places) -> Float[Tensor, "patches width"]:
        angles = places.double()[..., None] * self.axis.omega  # places may be fractions
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(1).float()


@dataclass(frozen=True)
class GridEncoding:
    """One way to tell places: factories for its parts."""

    name: str
    label: str
    absolute: Callable[[int, Grid], GridEmbedding] | None = None  # model width, grid of training -> embeddings
    rotary: Callable[[int, float, int], nn.Module] | None = None  # head width, base, extra tokens -> rotation
    prior: Callable[[int, int, int], GridFourier] | None = None  # heads, head width, extra tokens -> log-prior
    version: int = 1  # raise it when the same row would train or answer otherwise

    @property
    def settings(self) -> dict[str, Any]:
        """The row as plain data, for keys."""
        return {"name": self.name, "version": self.version}


def modes(head_width: int) -> int:
    """Waves along each axis: half of a head tells the place, as in Goat's App. H (16 pairs of 64).

    ValueError where the rank, 4 per wave and 2, leaves no content.
    """
    found = head_width // 8
    if found < 1 or 4 * found + 2 >= head_width:
        raise ValueError(
            f"head width {head_width}, but a wave along both axes takes 6 coordinates and content some; "
            "use heads of 8 or more"
        )
    return found


def _short(heads: int, head_width: int, extra: int) -> GridFourier:
    ladder = geometric(modes(head_width), SHORTEST, LONGEST)
    return GridFourier(heads, along_axes(ladder, ladder), extra)


def _round(heads: int, head_width: int, extra: int) -> GridFourier:
    count = modes(head_width)
    return GridFourier(heads, all_round(geometric(max(1, count // 2), SHORTEST, LONGEST)), extra)


def _same(heads: int, head_width: int, extra: int) -> GridFourier:
    ladder = geometric(modes(head_width))
    return GridFourier(heads, along_axes(ladder, ladder), extra)


def _split(heads: int, head_width: int, extra: int) -> GridFourier:
    ladder, half = geometric(2 * modes(head_width)), modes(head_width)
    return GridFourier(heads, along_axes(ladder[:half], ladder[half:]), extra)


SHORTEST, LONGEST = 4.0, 64.0  # wavelengths, in patches: from the finest that is no alias of noise to eight grids of 8
GRIDS: dict[str, GridEncoding] = {
    row.name: row
    for row in (
        GridEncoding("nope-2d", "NoPE"),
        GridEncoding("learned-2d", "Learned, bicubic", absolute=LearnedGrid),
        GridEncoding("sinusoidal-2d", "Sinusoidal 2-D", absolute=SinusoidalGrid),
        GridEncoding("rope-2d", "RoPE 2-D", rotary=AxialRotary),
        GridEncoding("goat-2d", "Goat 2-D", prior=_short),
        GridEncoding("goat-2d-wide", "Goat 2-D, ladder to 62,832", prior=_same),
        GridEncoding("goat-2d-split", "Goat 2-D, split ladder", prior=_split),
        GridEncoding("goat-2d-round", "Goat 2-D, all directions", prior=_round),
    )
}


def grid_encoding(name: str) -> GridEncoding:
    """A row of GRIDS. ValueError for a name that it lacks."""
    if name not in GRIDS:
        raise ValueError(f"unknown encoding of a grid {name!r}; choose one of {', '.join(GRIDS)}")
    return GRIDS[name]
