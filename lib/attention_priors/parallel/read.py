"""ParallelComp (Xiong et al. 2025, section 3.1): chunks are read apart, what counts is kept, the question joins it.

The algorithm is written once, over a `Reader`: `ours.Ours` for the models of this package, `hf.HuggingFace` for others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from .chunks import Options, Rows, Span, chunk_size, rows, split
from .select import KeySelection, Mask, Queue, Select, compact, with_bos


@dataclass(frozen=True)
class Entries:
    """Keys, rotated at their positions, and values of one layer, for some rows; invalid ones are padding."""

    k: Float[Tensor, "rows kv_heads entries width"]
    v: Float[Tensor, "rows kv_heads entries width"]
    positions: Int[Tensor, "rows kv_heads entries"]
    valid: Bool[Tensor, "rows kv_heads entries"]

    @classmethod
    def of(cls, k: Tensor, v: Tensor, kept: Mask, gathered: bool) -> Entries:
        """The kept keys of a whole row, whose positions are its columns: gathered into less memory, or masked."""
        if not gathered:
            return cls(k, v, torch.arange(k.shape[2], device=k.device).expand(kept.shape), kept)
        index, valid = compact(kept)
        wide = index[..., None].expand(-1, -1, -1, k.shape[3])
        return cls(k.gather(2, wide), v.gather(2, wide), index, valid)

    @classmethod
    def joined(cls, parts: Sequence[Entries]) -> Entries:
        """Some entries of the same rows, one after the other (Eq. 9)."""
        each = zip(*((part.k, part.v, part.positions, part.valid) for part in parts), strict=True)
        return cls(*(torch.cat(tensors, 2) for tensors in each))

    def row(self, index: int, without: int | None = None) -> Entries:
        """One row, less the entry at the position `without`, and less what is valid in no head; memory of its own."""
        valid = self.valid[index : index + 1]
        if without is not None:
            valid = valid & (self.positions[index : index + 1] != without)
        live = valid[0].any(0)
        part = (x[index : index + 1, :, live] for x in (self.k, self.v, self.positions))
        return Entries(*part, valid[:, :, live])


@dataclass
class Joined:
    """The cache that a question attends to: what was kept of all chunks, then what is fed.

    `sizes`: by layer, how many of the first entries are of each chunk.
    """

    layers: list[Entries]
    sizes: list[list[int]]

    @classmethod
    def of(cls, chunks: list[list[Entries]]) -> Joined:
        """The layers of several chunks."""
        by_layer = list(zip(*chunks, strict=True))
        return cls(list(map(Entries.joined, by_layer)), [[each.k.shape[2] for each in layer] for layer in by_layer])

    def append(self, layer: int, k: Tensor, v: Tensor, positions: Int[Tensor, " new"]) -> Entries:
        """Add entries that all heads have; returns all of the layer's."""
        where = positions.expand(1, k.shape[1], -1)
        new = Entries(k, v, where, torch.ones_like(where, dtype=torch.bool))
        self.layers[layer] = Entries.joined([self.layers[layer], new])
        return self.layers[layer]

    @property
    def entries(self) -> float:
        """Valid keys, a mean over layers and key heads."""
        return sum(float(each.valid.sum() / each.valid.shape[1]) for each in self.layers) / len(self.layers)

    @property
    def bytes(self) -> int:
        """Memory of keys and values."""
        return sum(x.numel() * x.element_size() for each in self.layers for x in (each.k, each.v))


@dataclass(frozen=True)
class Read:
    """What a reader finds in some chunks: I_c = -log P(X^q | X^c) of each (Eq. 3), and what it kept, by layer."""

    information: Float[Tensor, " rows"]
    layers: list[Entries]


class Reader(Protocol):
    """A causal model that reads rows from their first position on, and a joined cache from a given position on."""

    layers: int
    device: torch.device

    def read(self, rows: Rows, select: KeySelection | None, last: int, gathered: bool) -> Read:
        """All chunks in one batch. Keys are selected in each layer as soon as it has attended, by the weights of the
        `last` question rows (None: all of the chunk stays), so that beyond what is kept one layer is in memory."""

    def attend(self, tokens: Int[Tensor, " new"], cache: Joined, position: int) -> Float[Tensor, "new vocabulary"]:
        """Logits of new tokens that stand at `position`, `position` + 1, ... and see the cache; they are added to it.
        (Eq. 10, 11)"""


class Session(Protocol):
    """A text that has been read and is now asked. `entries`: keys of it that the question attends to, a mean over
    layers and key heads."""

    entries: float

    def feed(self, tokens: Int[Tensor, " new"]) -> Float[Tensor, "new vocabulary"]:
        """Logits after each of some new tokens."""


@dataclass
class Condensed:
    """A text after reading: `feed` it the question, then the answer token by token.

    `position` is that of the next token. `information` is NaN for chunks that were not read.
    """

    reader: Reader
    cache: Joined
    position: int
    spans: list[Span]
    kept: tuple[int, ...]
    information: Float[Tensor, " chunks"]
    limit: int | None = None
    entries: float = field(init=False)

    def __post_init__(self) -> None:
        self.entries = self.cache.entries

    @torch.inference_mode()
    def feed(self, tokens: Int[Tensor, " new"]) -> Float[Tensor, "new vocabulary"]:
        """Logits after each of some new tokens. ValueError where they would leave the window."""
        if self.limit is not None and self.position + len(tokens) > self.limit:
            raise ValueError(
                f"{len(tokens)} tokens from position {self.position} on leave the window of {self.limit}; reserve more"
            )
        logits = self.reader.attend(tokens.to(self.reader.device), self.cache, self.position)
        self.position += len(tokens)
        return logits


@torch.inference_mode()
def condense(
    reader: Reader,
    text: Int[Tensor, " tokens"],
    question: Int[Tensor, " tokens"],
    options: Options,
    progress: Callable[[int, int], None] | None = None,
) -> Condensed:
    """Read `text` in chunks beside `question` and join what is kept, in the order of the text.

    The question's own keys and values are dropped: it is fed anew, once, at the position where it stood in each row.
    `progress` is told how many chunks of how many are read. ValueError for what `chunk_size` refuses.
    """
    size = chunk_size(len(text), len(question), options)
    spans = split(len(text), size, options.overlap)
    text, question = text.to(reader.device), question.to(reader.device)
    chunks = [text[start:stop] for start, stop in spans]
    picked = list(range(len(chunks)))
    if options.choose is not None:
        picked = sorted(options.choose(chunks, question, options.keep or len(chunks)))
        if not picked:
            raise ValueError("no chunk was chosen; give a `choose` that picks at least one")
    select = Select(options, reader.layers) if options.selects else None
    queue: Queue[list[Entries]] = Queue(options.keep)
    information = torch.full((len(chunks),), math.nan, dtype=torch.float64)
    for start in range(0, len(picked), options.at_once):
        part = picked[start : start + options.at_once]
        batch = rows([chunks[index] for index in part], question, size, options.bos)
        found = reader.read(batch, select, min(options.last, len(question)), options.compact)
        for row, index in enumerate(part):
            value = information[index] = float(found.information[row])
            # A BOS of a later chunk is dropped below, once it is known which chunk comes first.
            queue.offer(value, index, [layer.row(row) for layer in found.layers])
        if progress is not None:
            progress(start + len(part), len(picked))
    held = queue.in_order()
    bos = options.bos is not None
    layers = [
        [each.row(0, without=size - len(chunks[index])) for each in entries] if bos and place else entries
        for place, (index, entries) in enumerate(held)
    ]
    return Condensed(
        reader, Joined.of(layers), size + bos, spans, tuple(index for index, _ in held), information, options.window
    )


def everything(rows: Rows, kv_heads: int) -> Mask:
    """The whole chunk of each row, in all heads, with its BOS."""
    return with_bos(rows.inside()[:, None].expand(-1, kv_heads, -1), rows)


def surprisal(logits: Float[Tensor, "rows queries vocabulary"], rows: Rows) -> Float[Tensor, " rows"]:
    """-log P(X^q | X^c) in nats, from the logits of the last w_q + 1 columns (the last one predicts the answer)."""
    asked = rows.tokens[:, -rows.question :]
    losses = F.cross_entropy(
        logits[:, -rows.question - 1 : -1].float().flatten(0, 1), asked.flatten(), reduction="none"
    )
    return losses.view(asked.shape).double().sum(1)
