"""A long text as rows of one model: chunks that share their positions, each followed by a copy of the question.

Row c is [BOS] X^c X^q at the positions 0, 1, ... (ParallelComp, Eq. 1). What the paper leaves open is a field of
`Options`, whose defaults are those of the authors' public code unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

Span = tuple[int, int]  # first token and the one after the last
Choice = Callable[[list[Tensor], Tensor, int], Sequence[int]]  # chunks, question, how many -> their indices
LAYERS = 32  # of the models for which the paper names layers


@dataclass(frozen=True)
class Calibration:
    """Evict keys whose weight exceeds λ (Eq. 8), within regions of a chunk and ranges of layers.

    The weight is that of the last question token, a mean over the heads that share a key head (the code; the paper
    sums over the last 8). `sink`: among a chunk's first `edge` keys, `recency`: its last, `middle`: the rest. Each is a
    range of layers, counted from 1, in a model of 32; other models take the layers at the same share of their depth
    (ours). None: never. λ = 0.1 is the code's; the paper does not print it. Edge 100: appendix C. ValueError for a
    threshold outside (0, 1), an edge below 1, layers that are none.
    """

    threshold: float = 0.1
    edge: int = 100
    sink: Span | None = (25, 32)
    middle: Span | None = (1, 8)
    recency: Span | None = (9, 16)

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise ValueError(f"threshold = {self.threshold}, but λ is a weight: give a number between 0 and 1")
        _at_least_one("edge", self.edge)
        for name in ("sink", "middle", "recency"):
            span = getattr(self, name)
            if span is not None and not 1 <= span[0] <= span[1] <= LAYERS:
                raise ValueError(f"{name} = {span}; give the first and the last layer, from 1 to {LAYERS}, or None")

    def regions(self, layer: int, layers: int) -> tuple[str, ...]:
        """The regions that are calibrated in a layer, counted from 0, of so many."""
        place = (layer + 0.5) * LAYERS / layers
        spans = {name: getattr(self, name) for name in ("sink", "middle", "recency")}
        return tuple(name for name, span in spans.items() if span and span[0] - 1 < place <= span[1])


@dataclass(frozen=True)
class Options:
    """How a text is read in chunks. ValueError for a value that says nothing.

    `window`: w, positions that the model was trained on; None: the whole text is one chunk. `reserve`: g, positions
    kept free for the answer (unstated; the code leaves the new tokens free). `overlap`: tokens that a chunk repeats of
    the one before (unstated; 0 as in the code). `keep`: K, chunks that stay (3, appendix C); None: all. `choose`:
    which; None: those in which the question has the lowest self-information (Eq. 3, 4), else a function that picks
    before anything is read. `budget`: B, keys that stay of each chunk, by layer and key head (Eq. 7); None: all.
    `last`: question rows whose weights score a key (8, appendix C). `pool`: width of the max-pool over scores (7 in the
    code and in SnapKV, nowhere in the paper; 1: as printed). `calibration`: see there. `at_once`: chunks in one batch.
    `bos`: a token that begins every row, of which the join keeps one. `compact`: evicted keys leave memory; else they
    are masked, which is the same in a slower way.
    """

    window: int | None
    reserve: int = 0
    overlap: int = 0
    keep: int | None = 3
    choose: Choice | None = None
    budget: int | None = None
    last: int = 8
    pool: int = 7
    calibration: Calibration | None = None
    at_once: int = 8
    bos: int | None = None
    compact: bool = True

    def __post_init__(self) -> None:
        for name in ("window", "keep", "budget", "last", "pool", "at_once"):
            value = getattr(self, name)
            if value is not None or name in ("last", "pool", "at_once"):
                _at_least_one(name, value)
        if self.pool % 2 == 0:
            raise ValueError(f"pool = {self.pool}, but a key stands in the middle of its pool; give an odd width")
        for name in ("reserve", "overlap"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} = {getattr(self, name)}; give 0 or a number of tokens")

    @property
    def selects(self) -> bool:
        """Whether any key is evicted from a chunk."""
        return self.budget is not None or self.calibration is not None


def chunk_size(length: int, question: int, options: Options) -> int:
    """n = w - w_q - g - [BOS], or all `length` tokens where they fit: C = ceil(N / n) chunks without overlap.

    ValueError for an empty text or question, and where window, overlap or regions leave no room.
    """
    for name, count in (("text", length), ("question", question)):
        if count < 1:
            raise ValueError(f"the {name} has {count} tokens; give at least 1")
    if options.window is None:
        return length
    bos = options.bos is not None
    size = options.window - question - options.reserve - bos
    if size < 1:
        raise ValueError(
            f"a question of {question} tokens and a reserve of {options.reserve} leave no room in a window of "
            f"{options.window}; shorten them, or widen the window"
        )
    if options.overlap >= size:
        raise ValueError(f"overlap = {options.overlap}, but a chunk has {size} tokens; repeat fewer")
    if options.calibration is not None and 2 * options.calibration.edge > min(size, length):
        raise ValueError(
            f"edge = {options.calibration.edge}, but a chunk has {min(size, length)} tokens, so that its first and "
            "last ones overlap; use at most half of it"
        )
    return min(size, length)


def split(length: int, size: int, overlap: int = 0) -> list[Span]:
    """Chunks of `size` tokens, each but the first repeating `overlap` of the one before; the last may be shorter."""
    starts = range(0, max(length - overlap, 1), size - overlap)
    return [(start, min(start + size, length)) for start in starts]


@dataclass(frozen=True)
class Rows:
    """Some chunks as a batch. Column = position; a short chunk is right-aligned, so that X^q starts alike in all rows.

    `first` is the column at which each row begins, its BOS if there is one; what stands before is padding.
    """

    tokens: Int[Tensor, "rows length"]
    first: Int[Tensor, " rows"]
    question: int  # tokens of X^q
    bos: bool

    @property
    def end(self) -> int:
        """The column of X^q's first token: n, or n + 1 with a BOS."""
        return self.tokens.shape[1] - self.question

    @property
    def padded(self) -> bool:
        """Whether a row is shorter than the others."""
        return bool((self.first > 0).any())

    def inside(self) -> Bool[Tensor, "rows length"]:
        """Which columns are tokens of the chunk, neither padding nor BOS nor question."""
        column = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        return (column >= self.first[:, None] + self.bos) & (column < self.end)


def rows(
    chunks: Sequence[Int[Tensor, " tokens"]], question: Int[Tensor, " tokens"], size: int, bos: int | None
) -> Rows:
    """[BOS] X^c X^q of each chunk, at most `size` tokens long each."""
    begin = question.new_tensor([] if bos is None else [bos])
    tokens = question.new_zeros(len(chunks), len(begin) + size + len(question))
    first = []
    for row, chunk in zip(tokens, chunks, strict=True):
        first.append(size - len(chunk))
        row[first[-1] :] = torch.cat([begin, chunk, question])
    return Rows(tokens, torch.tensor(first, device=question.device), len(question), bos is not None)


def _at_least_one(name: str, value: int | None) -> None:
    if value is None or value < 1:
        raise ValueError(f"{name} = {value}; give at least 1")
