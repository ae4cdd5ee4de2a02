"""Biases of single pairs of query and key: what is added to a score where no table of lags holds it.

With the score s_ij = <q_i, k_j> / sqrt(d), attention is p_ij = exp(s_ij + b_ij) / (exp(σ_i) + Σ_l exp(s_il + b_il)).
The sink σ_i is the logit of one more key, of zero value; without it the weights of a query sum to 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from .priors import RelativePrior
from .rotary import Queries

Scores = Float[Tensor, "batch heads queries keys"]
Biases = Float[Tensor, "*batch heads queries keys"]
Sinks = Float[Tensor, "*batch heads queries"]


class Pairs(NamedTuple):
    """What a bias may look at: queries, scores, the keys that each query sees, and where all of them stand."""

    q: Queries
    scores: Scores
    seen: Bool[Tensor, "*batch queries keys"]
    q_positions: Int[Tensor, " queries"]
    k_positions: Int[Tensor, " keys"]


class PairBias(nn.Module, ABC):
    """b_ij and σ_i, from queries, keys and positions; made with the number of heads and their width."""

    sums = False  # over the keys between a key and its query: all must be there, and none after the query counts

    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.heads, self.width = heads, width

    @abstractmethod
    def forward(self, pairs: Pairs) -> tuple[Biases, Sinks | None]:
        """The biases and the sinks; None where there is no sink."""


class Fire(PairBias):
    """b_ij = f(ψ(|i - j|) / ψ(max(i, L))) with ψ(x) = ln(c x + 1), f a network 1 -> 32 -> heads; c and L are learned.

    FIRE (Li et al. 2024, arXiv:2310.04418, section 3). c = 0.1 at the start and L the `threshold`, for which the
    authors take 512. Up to the row L it is a table of lags; beyond, lag i has the bias that lag L has in row L.
    """

    def __init__(self, heads: int, width: int, threshold: float = 512.0) -> None:
        """ValueError for a threshold that is not above 0."""
        super().__init__(heads, width)
        if threshold <= 0:
            raise ValueError(f"threshold = {threshold} positions; give a number above 0")
        self.rate, self.threshold = nn.Parameter(torch.tensor(0.1)), threshold
        self.stretch = nn.Parameter(torch.tensor(1.0))  # L over the threshold
        self.network = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, heads))

    def forward(self, pairs: Pairs) -> tuple[Biases, None]:
        rate, stretch = (x.abs().to(pairs.scores) for x in (self.rate, self.stretch))
        i, j = pairs.q_positions[:, None].to(rate), pairs.k_positions.to(rate)
        near, far = ((rate * x).log1p() for x in ((i - j).abs(), torch.maximum(i, self.threshold * stretch)))
        return self.network((near / (far + 1e-6))[..., None].to(self.rate)).movedim(-1, 0), None


class Counts(PairBias):
    """b_ij = <q_i, e[c_ij]> / sqrt(d), c_ij = Σ_{l=j..i} σ(s_il): a lag that counts the keys that the query picks.

    CoPE (Golovneva et al. 2024, arXiv:2405.18719, section 4, and the authors' code). e has `longest` rows, shared by
    the heads and 0 at the start; between two of them it is linear, and a larger count has the last one.
    """

    sums = True

    def __init__(self, heads: int, width: int, longest: int = 64) -> None:
        """ValueError for less than two rows."""
        super().__init__(heads, width)
        if longest < 2:
            raise ValueError(f"longest = {longest} rows of counts; give at least 2")
        self.vectors = nn.Parameter(torch.zeros(longest, width))

    def forward(self, pairs: Pairs) -> tuple[Biases, None]:
        gates = pairs.scores.sigmoid() * pairs.seen
        counts = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=len(self.vectors) - 1)
        logits = pairs.q @ self.vectors.to(pairs.q).mT * self.width**-0.5
        low = counts.detach().floor().long().clamp(max=len(self.vectors) - 2)
        return torch.lerp(logits.gather(-1, low), logits.gather(-1, low + 1), counts - low), None


class StickBreaking(PairBias):
    """p_ij = σ(s_ij) Π_{j<l<i} (1 - σ(s_il)) for j < i: each key takes its share of what the keys after it left.

    Tan et al. 2024 (arXiv:2410.17980, section 2): b_ij = -Σ_{l=j..i-1} ln(1 + exp(s_il)), and σ_i is that sum over all
    keys. The query's own key has no weight. What is left goes to the sink; the authors' models add a learned vector
    there and normalise each head, which is left out here.
    """

    sums = True

    def forward(self, pairs: Pairs) -> tuple[Biases, Sinks]:
        before = pairs.seen & (pairs.k_positions < pairs.q_positions[:, None])
        left = -(F.softplus(pairs.scores) * before).flip(-1).cumsum(-1).flip(-1)
        return left.masked_fill(~before, -torch.inf), left[..., 0]


class LearnedSink(PairBias):
    """b_ij = 0 and a logit σ_h for each head, which no query and no position moves (gpt-oss, 2025: its public code)."""

    def __init__(self, heads: int, width: int) -> None:
        super().__init__(heads, width)
        self.logits = nn.Parameter(torch.zeros(heads))

    def forward(self, pairs: Pairs) -> tuple[Biases, Sinks]:
        return torch.zeros_like(pairs.scores), self.logits[:, None].expand(pairs.scores.shape[:-1])


class Adaptive(PairBias):
    """b_ij = B_ij + f(s_ij, B_ij) of all heads together, f a network 2 heads -> 32 -> heads, B a prior over lags.

    DAPE, first called CAPE (Zheng et al. 2024, arXiv:2405.14722, and the authors' code).
    """

    def __init__(self, heads: int, width: int, prior: Callable[[int], RelativePrior]) -> None:
        super().__init__(heads, width)
        self.prior = prior(heads)
        self.network = nn.Sequential(nn.Linear(2 * heads, 32), nn.LeakyReLU(), nn.Linear(32, heads))

    def forward(self, pairs: Pairs) -> tuple[Biases, None]:
        lags = pairs.q_positions[:, None] - pairs.k_positions
        bias = self.prior.log_prior(lags.flatten()).unflatten(1, lags.shape).to(pairs.scores)
        both = torch.cat([pairs.scores, bias.expand_as(pairs.scores)], 1).movedim(1, -1)
        return bias + self.network(both.to(self.network[0].weight)).movedim(-1, 1), None
