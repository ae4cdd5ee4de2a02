"""A vision transformer whose positional encoding is a row of GRIDS."""

from __future__ import annotations

from typing import Annotated, Self

import torch
import torch.nn.functional as F
from jaxtyping import Float
from pydantic import AfterValidator, Field, model_validator
from torch import Tensor, nn

from ...config import ModelConfig
from ...model import Block
from ...positions.encodings import encoding
from ...positions.finite_rank import extend
from ...positions.grids import Grid, GridEncoding, Places, grid_encoding

Queries = Float[Tensor, "batch heads tokens width"]


def _grid_encoding(name: str) -> str:
    return grid_encoding(name).name


GridName = Annotated[str, AfterValidator(_grid_encoding)]


class VisionConfig(ModelConfig):
    """A transformer over the patches of square pictures; `vocabulary` is its number of classes."""

    encoding: GridName
    causal: bool = False
    side: int = Field(ge=1, description="pixels on a side in training")
    patch: int = Field(ge=1, description="pixels on a side of a patch")
    channels: int = Field(default=1, ge=1)
    class_token: bool = Field(default=False, description="a token, not the mean of the patches, gives the class")

    @model_validator(mode="after")
    def _whole_patches(self) -> Self:
        grid_of(self.side, self.side, self.patch)
        if self.causal or self.kv_heads not in (None, self.heads):
            raise ValueError(
                f"causal = {self.causal}, kv_heads = {self.kv_heads}; a picture is seen whole, by heads "
                "with keys of their own: leave both out"
            )
        return self

    @property
    def grid(self) -> Grid:
        """The patches of a picture of training."""
        return grid_of(self.side, self.side, self.patch)


def grid_of(height: int, width: int, patch: int) -> Grid:
    """The patches of a picture of so many pixels. ValueError where patches do not divide it."""
    if height % patch or width % patch or not height or not width:
        near = max(patch, round(height / patch) * patch), max(patch, round(width / patch) * patch)
        raise ValueError(
            f"a picture of {height} x {width} pixels is no grid of patches of {patch}; use {near[0]} x "
            f"{near[1]} or another patch"
        )
    return Grid(height // patch, width // patch)


class GridAttention(nn.Module):
    """p_ij ∝ exp(<q_i, k_j> / sqrt(d_c) + log π(i, j)) over all tokens: one plain SDPA call, and no bias in memory.

    A prior takes `rank` of a head's d coordinates, and content the d_c = d - rank others (Goat, equations 19 to 24);
    without a prior d_c = d. Values always have d.
    """

    def __init__(self, config: VisionConfig, row: GridEncoding) -> None:
        super().__init__()
        self.heads, self.head_width, extra = config.heads, config.width // config.heads, int(config.class_token)
        self.rotary = row.rotary(self.head_width, config.rope_base, extra) if row.rotary else None
        self.prior = row.prior(config.heads, self.head_width, extra) if row.prior else None
        self.scale = None
        self.content = self.head_width - (self.prior.rank if self.prior else 0)
        self.query = nn.Linear(config.width, config.heads * self.content, bias=False)
        self.key = nn.Linear(config.width, config.heads * self.content, bias=False)
        self.value = nn.Linear(config.width, config.width, bias=False)
        self.output = nn.Linear(config.width, config.width, bias=False)

    def project(self, x: Float[Tensor, "batch tokens channels"], places: Places) -> tuple[Queries, Queries, Queries]:
        """q and k with places and prior in them, and v: [batch, heads, tokens, head width]."""
        q, k, v = (
            linear(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for linear in (self.query, self.key, self.value)
        )
        if self.rotary is not None:
            q, k = self.rotary(q, places), self.rotary(k, places)
        if self.prior is not None:
            q, k = extend(q, k, *self.prior.features(places))
        return q, k, v

    def forward(
        self, x: Float[Tensor, "batch tokens channels"], places: Places
    ) -> Float[Tensor, "batch tokens channels"]:
        """Every token attends to every token; `places` are those of the patches, the last tokens."""
        mixed = F.scaled_dot_product_attention(*self.project(x, places))
        return self.output(mixed.transpose(1, 2).flatten(2))


class GridBlock(Block):
    """A block of the language model with attention over a grid."""

    def __init__(self, config: VisionConfig, row: GridEncoding, layer: int) -> None:
        super().__init__(config, encoding("nope"), None, layer)
        self.attention = GridAttention(config, row)

    def forward(
        self, x: Float[Tensor, "batch tokens channels"], places: Places
    ) -> Float[Tensor, "batch tokens channels"]:
        """Every token is a query."""
        x = x + self.attention(self.attention_norm(x), places)
        gate, up = self.gate_up(self.feedforward_norm(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class VisionModel(nn.Module):
    """Pictures to logits of classes: patches, blocks, the mean of the patches (or a token of its own), a head.

    Initialised with PyTorch's defaults, like `Transformer`.
    """

    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        row = grid_encoding(config.encoding)
        self.config = config
        self.embedding = nn.Linear(config.channels * config.patch**2, config.width)
        self.class_token = nn.Parameter(torch.zeros(config.width)) if config.class_token else None
        self.absolute = row.absolute(config.width, config.grid) if row.absolute else None
        self.blocks = nn.ModuleList(GridBlock(config, row, layer) for layer in range(config.layers))
        self.norm = nn.RMSNorm(config.width, eps=1e-5)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        *,
        stretched: bool = False,
        document_ids: None = None,
    ) -> Float[Tensor, "batch 1 classes"]:
        """Logits. `stretched`: places are those of the grid of training, laid over the picture.

        A table of embeddings is stretched in any case. `document_ids` is what `training.fit` hands to every model.
        ValueError for pictures that are no grid of patches, or have other channels.
        """
        config = self.config
        if images.ndim != 4 or images.shape[1] != config.channels:
            raise ValueError(f"images of shape {list(images.shape)}; give [batch, {config.channels}, height, width]")
        grid = grid_of(*images.shape[2:], config.patch)
        places = grid.over(config.grid, images.device) if stretched else grid.places(images.device)
        x = self.embedding(patches(images, config.patch))
        if self.absolute is not None:
            x = x + self.absolute(grid, places).to(x.dtype)
        if self.class_token is not None:
            x = torch.cat([self.class_token.to(x.dtype).expand(len(x), 1, -1), x], 1)
        for block in self.blocks:
            x = block(x, places)
        x = self.norm(x)
        return self.head(x[:, :1] if config.class_token else x.mean(1, keepdim=True))


def patches(images: Float[Tensor, "batch channels height width"], patch: int) -> Float[Tensor, "batch patches pixels"]:
    """The pixels of every patch, row by row, channels first."""
    grid = grid_of(*images.shape[2:], patch)
    cut = images.unflatten(3, (grid.width, patch)).unflatten(2, (grid.height, patch))  # b c H p W p
    return cut.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
