"""What stays of a long text: chunks by the question's self-information, keys by the attention that it pays to them."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from .chunks import Calibration, Choice, Options, Rows, Span

Weights = Float[Tensor, "rows heads last keys"]  # of the last question rows, by query head
Mask = Bool[Tensor, "rows kv_heads keys"]
KeySelection = Callable[[int, Weights, int, Rows], Mask]  # layer, weights, key heads, rows
Item = TypeVar("Item")
K1, B = 1.5, 0.75  # BM25's usual constants (Robertson and Zaragoza 2009)


class Queue(Generic[Item]):
    """The `size` items of lowest value among those offered one at a time, earlier ones first among equals (Eq. 4).

    None: all. It never holds more than `size`.
    """

    def __init__(self, size: int | None) -> None:
        self.size = size
        self.held: list[tuple[float, int, Item]] = []

    def offer(self, value: float, index: int, item: Item) -> None:
        """Indices are distinct, so that items are never compared."""
        entry = (-value, -index, item)
        if self.size is None or len(self.held) < self.size:
            heapq.heappush(self.held, entry)
        else:
            heapq.heappushpop(self.held, entry)

    def in_order(self) -> list[tuple[int, Item]]:
        """(index, item) of what is held, by index."""
        return sorted(((-index, item) for _, index, item in self.held), key=lambda pair: pair[0])


@dataclass(frozen=True)
class Select:
    """Which keys of some chunks stay, by layer and key head: the B of highest score that λ does not evict."""

    options: Options
    layers: int

    def __call__(self, layer: int, weights: Weights, kv_heads: int, rows: Rows) -> Mask:
        """`weights` of the last question rows; BOS always stays, padding and question never do."""
        inside = rows.inside()[:, None]
        kept = inside.expand(-1, kv_heads, -1)
        if self.options.budget is not None:
            kept = heaviest(scores(weights, kv_heads, inside, self.options.pool), inside, self.options.budget)
        if self.options.calibration is not None:
            kept = kept & ~outliers(weights, kv_heads, rows, self.options.calibration, layer, self.layers)
        return with_bos(kept, rows)


def with_bos(kept: Mask, rows: Rows) -> Mask:
    """The mask with each row's BOS in it, where there is one."""
    if not rows.bos:
        return kept
    column = torch.arange(kept.shape[2], device=kept.device)
    return kept | (column == rows.first[:, None])[:, None]


def scores(
    weights: Weights, kv_heads: int, inside: Bool[Tensor, "rows 1 keys"], pool: int = 1
) -> Float[Tensor, "rows kv_heads keys"]:
    """S_j = Σ_i A_ij over the given rows and the heads of a key head (Eq. 6), then the largest within `pool` keys.

    The summed heads and the pool are the code's; the paper has neither. 0 outside the chunk.
    """
    summed = weights.sum(2).unflatten(1, (kv_heads, -1)).sum(2) * inside
    return summed if pool == 1 else F.max_pool1d(summed, pool, 1, pool // 2) * inside


def heaviest(scores: Float[Tensor, "rows kv_heads keys"], inside: Bool[Tensor, "rows 1 keys"], budget: int) -> Mask:
    """The `budget` keys of highest score in each row and key head, the earlier of equals; all where there are fewer."""
    ranked = scores.masked_fill(~inside, -1).argsort(dim=-1, descending=True, stable=True)[..., :budget]
    return torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, ranked, True) & inside


def outliers(weights: Weights, kv_heads: int, rows: Rows, calibration: Calibration, layer: int, layers: int) -> Mask:
    """R_H: keys whose weight for the last question token exceeds λ, in the regions that this layer calibrates (Eq. 8).

    A short last chunk has its regions at its own ends.
    """
    mean = weights[:, :, -1].unflatten(1, (kv_heads, -1)).mean(2)
    inside = rows.inside()
    column = torch.arange(mean.shape[2], device=mean.device)
    sink = inside & (column < rows.first[:, None] + rows.bos + calibration.edge)
    recency = inside & (column >= rows.end - calibration.edge)
    where = {"sink": sink, "recency": recency, "middle": inside & ~sink & ~recency}
    region = torch.zeros_like(inside)
    for name in calibration.regions(layer, layers):
        region = region | where[name]
    return (mean > calibration.threshold) & region[:, None]


def compact(kept: Mask) -> tuple[Int[Tensor, "rows kv_heads entries"], Mask]:
    """Indices of the kept keys in their order, and which of these are valid: heads may keep different numbers."""
    count = kept.sum(-1, keepdim=True)
    most = int(count.max())
    index = kept.int().argsort(dim=-1, descending=True, stable=True)[..., :most]
    return index, torch.arange(most, device=kept.device) < count


# Choices that read nothing: baselines to the self-information.


def at_random(generator: torch.Generator) -> Choice:
    """Any chunks."""
    return lambda chunks, question, keep: torch.randperm(len(chunks), generator=generator)[:keep].tolist()


def overlapping(spans: Sequence[Span], wanted: Span) -> Choice:
    """An oracle: the chunks that hold most of the tokens `wanted`; fewer than asked for where the rest hold none."""
    held = [min(stop, wanted[1]) - max(start, wanted[0]) for start, stop in spans]
    ranked = sorted((index for index, count in enumerate(held) if count > 0), key=lambda index: (-held[index], index))
    return lambda chunks, question, keep: ranked[:keep]


def lexical(chunks: list[Tensor], question: Tensor, keep: int) -> list[int]:
    """The chunks of highest BM25 for the question's distinct tokens (Robertson and Zaragoza 2009)."""
    counts = [Counter(chunk.tolist()) for chunk in chunks]
    mean = sum(map(len, chunks)) / len(chunks)
    found = [0.0] * len(chunks)
    for token in sorted(set(question.tolist())):
        holding = sum(token in each for each in counts)
        rarity = math.log(1 + (len(chunks) - holding + 0.5) / (holding + 0.5))
        for index, each in enumerate(counts):
            often = each[token]
            found[index] += rarity * often * (K1 + 1) / (often + K1 * (1 - B + B * len(chunks[index]) / mean))
    return sorted(range(len(chunks)), key=lambda index: (-found[index], index))[:keep]
