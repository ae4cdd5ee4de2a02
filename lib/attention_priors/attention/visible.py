"""Which keys a query sees: one interval of keys per query.

Causal, document and window masks, and bidirectional attention, are all intervals, and intervals are closed under
intersection. Two integers per query replace an L x L mask. What the layers of a model ask of a mask is found once, when
it is made, so that none of them waits for its numbers.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor


@dataclass(frozen=True)
class Facts:
    """Plain numbers about intervals, exact; inside compiled code, which cannot look, as narrow as their making tells.

    `first` is the largest first_i (or more), `last` the largest last_i (or more), last_i - i lies in behind .. ahead,
    and `empty` says that some query sees no key. `offset`: the first query's position where the maker was told.
    """

    first: int
    last: int
    behind: int
    ahead: int
    empty: bool = False
    offset: int | None = None


@dataclass(frozen=True)
class Visible:
    """Query i sees the keys first_i <= j <= last_i. Shapes [queries] or [batch, queries], int64 or int32.

    Raises ValueError for other shapes and dtypes, and where a first_i is below 0. `facts` is for makers that know them.
    """

    first: Int[Tensor, "*batch queries"]
    last: Int[Tensor, "*batch queries"]
    facts: Facts | None = None

    def __post_init__(self) -> None:
        if self.facts is None:
            object.__setattr__(self, "facts", _look(self.first, self.last))

    def __and__(self, other: Visible) -> Visible:
        """The keys that both see. Raises ValueError for masks of other queries, offsets or texts."""
        mine, its = self.first.shape, other.first.shape
        if mine[-1] != its[-1] or (len(mine) == len(its) and 1 < mine[0] != its[0] > 1):
            raise ValueError(
                f"masks have shapes {list(mine)} and {list(its)}; make both for the same texts and queries"
            )
        first, last = torch.maximum(self.first, other.first), torch.minimum(self.last, other.last)
        one, two = self.facts, other.facts
        if one.offset is not None and two.offset not in (None, one.offset):
            raise ValueError(f"masks are for the offsets {one.offset} and {two.offset}; make both for the same")
        if torch.compiler.is_compiling():
            facts = Facts(
                max(one.first, two.first),
                min(one.last, two.last),
                min(one.behind, two.behind),
                min(one.ahead, two.ahead),
                one.empty or two.empty,
            )
        else:
            facts = _look(first, last)
        return Visible(first, last, replace(facts, offset=two.offset if one.offset is None else one.offset))

    @property
    def count(self) -> Int[Tensor, "*batch queries"]:
        """n_i, the number of visible keys (0 where the interval is empty)."""
        return (self.last - self.first + 1).clamp(min=0)

    def dense(self, keys: int) -> Bool[Tensor, "*batch queries keys"]:
        """The mask itself, for references and figures."""
        j = torch.arange(keys, device=self.first.device)
        return (j >= self.first[..., None]) & (j <= self.last[..., None])

    def rows(self, start: int, stop: int | None = None) -> Visible:
        """The same for the queries start .. stop - 1; None: to the end. ValueError where that is no query."""
        queries = self.first.shape[-1]
        stop = queries if stop is None else stop
        if not 0 <= start < stop <= queries:
            raise ValueError(f"rows {start} to {stop} are not within the {queries} queries; select at least one")
        known, first, last = self.facts, self.first[..., start:stop], self.last[..., start:stop]
        if torch.compiler.is_compiling():
            facts = Facts(
                known.first, min(known.last, known.ahead + stop - 1), known.behind + start, known.ahead + start
            )
        else:
            facts = _look(first, last)
        return Visible(first, last, replace(facts, offset=None if known.offset is None else known.offset + start))

    @property
    def narrow(self) -> tuple[Tensor, Tensor]:
        """Both ends as kernels read them, int32 [1 or batch, queries], made once."""
        if _passing():
            return self._ends()
        if "_narrow" not in self.__dict__:
            with torch.inference_mode(False):  # a backward pass may read them
                object.__setattr__(self, "_narrow", self._ends())
        return self._narrow

    def _ends(self) -> tuple[Tensor, Tensor]:
        queries = self.first.shape[-1]
        first, last = (x.to(torch.int32).reshape(-1, queries).contiguous() for x in (self.first, self.last))
        return first, last

    def is_plain(self, offset: int) -> bool:
        """Whether query i, at position `offset` + i, sees the keys 0 .. offset + i."""
        return self.facts.first == 0 and self.ends_at_itself(offset) and self.first.ndim == 1

    def sees_no_future(self, offset: int) -> bool:
        """Whether no query, the first at position `offset`, sees a later key."""
        return self.facts.ahead <= offset

    def ends_at_itself(self, offset: int) -> bool:
        """Whether the last key that each query sees is its own."""
        return self.facts.behind == self.facts.ahead == offset

    def plainly_causal(self) -> bool:
        """Whether query i sees the keys 0 .. i."""
        return self.facts.first == 0 and self.ends_at_itself(0)


def check_whole(**values: object) -> None:
    """TypeError for what is no whole number."""
    for name, value in values.items():
        # int first: a compiler's sizes are some, and it does not know their attributes
        whole = isinstance(value, int) or (hasattr(value, "__index__") and not isinstance(value, Tensor))
        if isinstance(value, bool) or not whole:
            raise TypeError(f"{name} = {value!r} is a {type(value).__name__}; give a whole number (int)")


def causal(queries: int, offset: int = 0, device: torch.device | None = None) -> Visible:
    """Query i, at position offset + i, sees the keys 0 .. offset + i.

    Raises ValueError for no queries or a negative offset, and TypeError for numbers that are not whole.
    """
    check_whole(queries=queries, offset=offset)
    if queries < 1 or offset < 0:
        raise ValueError(f"queries = {queries}, offset = {offset}, but at least 1 and 0 are needed")
    last = torch.arange(offset, offset + queries, device=device)
    return Visible(torch.zeros_like(last), last, Facts(0, offset + queries - 1, offset, offset, offset=offset))


def plain(queries: int, offset: int, device: torch.device) -> Visible:
    """`causal`, made once for the latest sizes."""
    return causal(queries, offset, device) if _passing() else _plain(queries, offset, device)


@functools.lru_cache(maxsize=8)
def _plain(queries: int, offset: int, device: torch.device) -> Visible:
    with torch.inference_mode(False):
        return causal(queries, offset, device)


def plain_spans(queries: int, offset: int, keys: int, block: int, device: torch.device) -> Tensor:
    """`key_spans` of `causal`, made once for the latest sizes."""
    if _passing():
        return key_spans(*causal(queries, offset, device).narrow, None, keys, block)
    return _plain_spans(queries, offset, keys, block, device)


@functools.lru_cache(maxsize=64)
def _plain_spans(queries: int, offset: int, keys: int, block: int, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return key_spans(*causal(queries, offset, device).narrow, None, keys, block)


def _passing() -> bool:
    """Whether tensors made now live in compiled code or in a CUDA graph alone."""
    return torch.compiler.is_compiling() or (torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())


def bidirectional(queries: int, keys: int, device: torch.device | None = None) -> Visible:
    """Every query sees every key.

    Raises ValueError for no queries or no keys, and TypeError for numbers that are not whole.
    """
    check_whole(queries=queries, keys=keys)
    if queries < 1 or keys < 1:
        raise ValueError(f"queries = {queries}, keys = {keys}, but at least 1 of each is needed")
    first = torch.zeros(queries, dtype=torch.int64, device=device)
    return Visible(first, first + keys - 1, Facts(0, keys - 1, keys - queries, keys - 1))


def window(queries: int, size: int, offset: int = 0, device: torch.device | None = None) -> Visible:
    """Query i sees the `size` latest keys up to its own position (Local RoPE: BAM §3).

    Raises ValueError for a size or queries below 1 or a negative offset, and TypeError for numbers that are not whole.
    """
    check_whole(**{"window size": size})
    if size < 1:
        raise ValueError(f"window size = {size}, but a query must see at least itself; use a size of at least 1")
    seen = causal(queries, offset, device)
    first = max(offset + queries - size, 0)
    return Visible((seen.last - size + 1).clamp(min=0), seen.last, replace(seen.facts, first=first))


def documents(ids: Int[Tensor, "batch length"]) -> Visible:
    """Query i sees the keys of its own document, before and after: `causal(length) & documents(ids)` for a decoder.

    A document is a run of equal ids, and so is the padding of a mask of zeros and ones.
    Raises ValueError for ids that are not [batch, length], or of no length.
    """
    if ids.ndim != 2 or not ids.shape[1]:
        raise ValueError(f"document ids have shape {list(ids.shape)}, but [batch, length] with length >= 1 is needed")
    length = ids.shape[1]
    index = torch.arange(length, device=ids.device).expand(ids.shape)
    starts = torch.ones_like(ids, dtype=torch.bool)
    starts[:, 1:] = ids[:, 1:] != ids[:, :-1]
    first = torch.where(starts, index, 0).cummax(1).values
    ends = torch.ones_like(starts)
    ends[:, :-1] = starts[:, 1:]
    last = torch.where(ends, index, length).flip(1).cummin(1).values.flip(1)
    facts = Facts(length - 1, length - 1, 0, length - 1) if torch.compiler.is_compiling() else None
    return Visible(first, last, facts)


def key_spans(first: Tensor, last: Tensor, needed: Tensor | None, keys: int, block: int) -> Tensor:
    """Queries of each block of keys: [start, stop) need one of its keys, all of [inner, outer) see all of them.

    [1 or batch, 1 or heads, blocks, 4] int32. Exact for intervals whose ends do not move back, a superset (a subset for
    the inner ones) for all others.
    """
    left = torch.arange(0, keys, block, device=first.device, dtype=torch.int32)
    right = (left + block).clamp(max=keys) - 1
    first, last = first[:, None], last[:, None]
    needed = first if needed is None else needed
    behind = last.cummax(-1).values  # the smallest i with last_i >= x is the smallest with cummax(last)_i >= x
    settled = last.flip(-1).cummin(-1).values.flip(-1)
    ahead = first.cummax(-1).values
    wanted = needed.flip(-1).cummin(-1).values.flip(-1)

    def count(sorted_rows: Tensor, values: Tensor, right_side: bool) -> Tensor:
        wide = values.expand(*sorted_rows.shape[:2], -1).contiguous()
        return torch.searchsorted(sorted_rows.contiguous(), wide, right=right_side, out_int32=True)

    parts = (
        count(behind, left, False),
        count(wanted, right, True),
        count(settled, right, False),
        count(ahead, left, True),
    )
    shape = torch.broadcast_shapes(*(part.shape for part in parts))
    return torch.stack([part.expand(shape) for part in parts], -1).contiguous()


def _look(first: Tensor, last: Tensor) -> Facts:
    """The facts of given intervals, in one transfer."""
    for name, x in (("first", first), ("last", last)):
        if x.ndim not in (1, 2) or 0 in x.shape or x.shape != first.shape or x.dtype not in (torch.int64, torch.int32):
            raise ValueError(
                f"{name} is {x.dtype} of shape {list(x.shape)}, but first and last need int64 or int32 of one shape, "
                "[queries] or [batch, queries]"
            )
    if torch.compiler.is_compiling():
        raise ValueError("a Visible of given intervals cannot be made inside compiled code; make it before")
    lead = last - torch.arange(last.shape[-1], device=last.device)
    numbers = (first.amax(), last.amax(), lead.amin(), lead.amax(), first.amin(), (last - first).amin())
    *found, lowest, narrowest = torch.stack(numbers).tolist()
    if lowest < 0:
        raise ValueError(f"first holds {lowest}, but keys are numbered from 0; check the offset")
    return Facts(*found, narrowest < 0)
