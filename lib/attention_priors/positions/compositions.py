"""Rotations put together: with learned biases on queries and keys, and over the two axes of a grid."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .rotary import KeyAt, Keys, Queries, QueryAt, Rotary, Rotation, Spectrum


class BiasedRotary(Rotation):
    """(q_i, k_j) -> (R(p_i) (q_i + a), R(p_j) (k_j + b)) with learned a, b per head (Su 2023, "RoPE + bias").

    The score is RoPE's of q and k, plus terms in (q, b), in (a, k), and aᵀ R(p_j - p_i) b, which does not see the
    content: an additive relative prior with RoPE's frequencies. a = b = 0 at the start is RoPE.
    """

    def __init__(self, heads: int, kv_heads: int, rotary: Rotary) -> None:
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
        """Rotated q and k; positions are (row, column)."""
        if q.shape[-1] % 4:
            raise ValueError(f"head width {q.shape[-1]}, but two axes need a multiple of 4")
        halves = zip(q.chunk(2, -1), k.chunk(2, -1), q_positions.T, k_positions.T, strict=True)
        turned = [self.rotary(*half) for half in halves]
        return torch.cat([q for q, _ in turned], dim=-1), torch.cat([k for _, k in turned], dim=-1)
