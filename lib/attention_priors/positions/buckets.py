"""T5's log-prior: one learned number per bucket of lags (Raffel et al. 2020)."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .priors import RelativePrior


def bucket_starts(buckets: int = 32, farthest: int = 128) -> list[int]:
    """The first lag of every bucket: 0, 1, .., n/2, then the least d with n/2 + (n/2) ln(2d/n) / ln(2D/n) >= b.

    n = `buckets`, D = `farthest`. In whole numbers, so that no rounding of a logarithm moves an edge. With n = 32 and
    D = 128 the last bucket starts at lag 113; a bucket that no lag falls into starts with the next. ValueError unless
    n >= 2 and D > n/2.
    """
    exact = buckets // 2
    if buckets < 2 or farthest <= exact:
        raise ValueError(f"buckets = {buckets}, farthest = {farthest}: give at least 2 buckets and farthest > {exact}")
    coarse = buckets - exact
    starts = list(range(exact))
    for step in range(coarse):
        # (d / exact)^coarse >= (farthest / exact)^step
        bound, lag = exact**coarse * farthest**step, starts[-1] if step else exact
        while lag**coarse * exact**step < bound:
            lag += 1
        starts.append(lag)
    return starts


def t5_bucket(
    lags: Int[Tensor, " lags"], buckets: int = 32, farthest: int = 128, bidirectional: bool = False
) -> Int[Tensor, " lags"]:
    """Bucket of each lag. Causal: keys after the query go to bucket 0. Bidirectional: they have the upper half.

    Each half of a bidirectional table is a causal one with n/2 buckets.
    """
    side = buckets // 2 if bidirectional else buckets
    starts = torch.tensor(bucket_starts(side, farthest), device=lags.device)
    distance = lags.abs() if bidirectional else lags.clamp(min=0)
    bucket = torch.bucketize(distance, starts, right=True) - 1
    return bucket + side * (lags < 0) if bidirectional else bucket


class T5Buckets(RelativePrior):
    """log π(lag) = b[bucket(lag)], one learned number per head and bucket; b = 0 at the start: uniform.

    A histogram over lags, constant from the last bucket on (Raffel et al. 2020: 32 buckets, 128 lags, one table shared
    by all layers).
    """

    def __init__(
        self, heads: int, buckets: int = 32, farthest: int = 128, bidirectional: bool = False, trainable: bool = True
    ) -> None:
        super().__init__()
        if heads < 1:
            raise ValueError(f"heads = {heads}, but at least 1 is needed")
        if bidirectional and buckets % 2:
            raise ValueError(f"buckets = {buckets}, but two directions need an even number")
        bucket_starts(buckets // 2 if bidirectional else buckets, farthest)
        self.heads, self.buckets, self.farthest, self.bidirectional = heads, buckets, farthest, bidirectional
        self.values = nn.Parameter(torch.zeros(heads, buckets), requires_grad=trainable)

    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        chosen = self.values[:, t5_bucket(lags, self.buckets, self.farthest, self.bidirectional)]
        return chosen.to(torch.promote_types(self.values.dtype, torch.float32))
