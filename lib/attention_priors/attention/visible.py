"""Which keys a query sees: one interval of keys per query.

Causal, document and window masks, and bidirectional attention, are all intervals, and intervals are closed under
intersection. Two integers per query replace an L x L mask.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor


@dataclass(frozen=True)
class Visible:
    """Query i sees the keys first_i <= j <= last_i. Shapes [queries] or [batch, queries], int64."""

    first: Int[Tensor, "*batch queries"]
    last: Int[Tensor, "*batch queries"]

    def __and__(self, other: Visible) -> Visible:
        """The keys that both see."""
        return Visible(torch.maximum(self.first, other.first), torch.minimum(self.last, other.last))

    @property
    def count(self) -> Int[Tensor, "*batch queries"]:
        """n_i, the number of visible keys (0 where the interval is empty)."""
        return (self.last - self.first + 1).clamp(min=0)

    def dense(self, keys: int) -> Bool[Tensor, "*batch queries keys"]:
        """The mask itself, for references and figures."""
        j = torch.arange(keys, device=self.first.device)
        return (j >= self.first[..., None]) & (j <= self.last[..., None])

    def rows(self, start: int, stop: int | None = None) -> Visible:
        """The same for a range of queries."""
        return Visible(self.first[..., start:stop], self.last[..., start:stop])


def causal(queries: int, offset: int = 0, device: torch.device | None = None) -> Visible:
    """Query i, at position offset + i, sees the keys 0 .. offset + i."""
    if queries < 1 or offset < 0:
        raise ValueError(f"queries = {queries}, offset = {offset}, but at least 1 and 0 are needed")
    last = torch.arange(offset, offset + queries, device=device)
    return Visible(torch.zeros_like(last), last)


def bidirectional(queries: int, keys: int, device: torch.device | None = None) -> Visible:
    """Every query sees every key."""
    first = torch.zeros(queries, dtype=torch.int64, device=device)
    return Visible(first, first + keys - 1)


def window(queries: int, size: int, offset: int = 0, device: torch.device | None = None) -> Visible:
    """Query i sees the `size` latest keys up to its own position (Local RoPE: BAM §3)."""
    if size < 1:
        raise ValueError(f"window size = {size}, but a query must see at least itself; use a size of at least 1")
    seen = causal(queries, offset, device)
    return Visible((seen.last - size + 1).clamp(min=0), seen.last)


def documents(ids: Int[Tensor, "batch length"]) -> Visible:
    """Query i sees the keys of its own document, before and after. A document is a run of equal ids."""
    if ids.ndim != 2 or not ids.shape[1]:
        raise ValueError(f"document ids have shape {list(ids.shape)}, but [batch, length] with length >= 1 is needed")
    index = torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
    starts = torch.ones_like(ids, dtype=torch.bool)
    starts[:, 1:] = ids[:, 1:] != ids[:, :-1]
    first = torch.where(starts, index, 0).cummax(1).values
    ends = torch.ones_like(starts)
    ends[:, :-1] = starts[:, 1:]
    last = torch.where(ends, index, ids.shape[1]).flip(1).cummin(1).values.flip(1)
    return Visible(first, last)
