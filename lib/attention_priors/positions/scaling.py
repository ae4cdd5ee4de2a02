"""Scales on the logits, one factor per query row."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class Constant(nn.Module):
    """a_i = 1: the softmax of Vaswani et al. (2017)."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, counts: Int[Tensor, "*batch queries"]) -> None:
        """None stands for a factor of 1, which no backend multiplies."""
        return None


class ScalableSoftmax(nn.Module):
    """The row factors of scalable softmax (SSMax): a_i = s_h ln n_i, with n_i the number of keys that query i sees.

    n^(s z) / Σ n^(s z) (Nakanishi 2025; BAM §2.5). Called with `Visible.count`, it gives what `attention` takes as
    `logit_scale`. s_h is learned per head and starts at 1. A query that sees one key has a_i = 0: all of its weight is
    on that key whatever its logit.
    """

    def __init__(self, heads: int) -> None:
        """ValueError for less than one head."""
        super().__init__()
        if heads < 1:
            raise ValueError(f"heads = {heads}, but at least 1 is needed")
        self.heads = heads
        self.scale = nn.Parameter(torch.ones(heads))

    def forward(self, counts: Int[Tensor, "*batch queries"]) -> Float[Tensor, "*batch heads queries"]:
        """[..., queries] counts of visible keys -> [..., heads, queries] factors."""
        # The logarithm in float64: float16 has no 70,000.
        return self.scale[:, None] * counts.double().log().to(self.scale.dtype)[..., None, :]
