"""A log-prior without a form: one learned number for each lag."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .priors import RelativePrior


class LagTable(RelativePrior):
    """log π(lag) = b[lag], one learned number per head and lag; b = 0 at the start: uniform.

    T5's histogram (`T5Buckets`) with a bin for each lag: a lag that never occurs in training keeps its start. Lags from
    `longest` - 1 on share the last number, keys after the query the first.
    """

    def __init__(self, heads: int, longest: int) -> None:
        super().__init__()
        if heads < 1 or longest < 1:
            raise ValueError(f"heads = {heads}, longest = {longest}, but a table needs at least 1 of each")
        self.heads, self.longest = heads, longest
        self.values = nn.Parameter(torch.zeros(heads, longest))

    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        chosen = self.values[:, lags.clamp(0, self.longest - 1)]
        return chosen.to(torch.promote_types(self.values.dtype, torch.float32))
