"""In how many digits attention computes: never in fewer than it is given, and more where log-priors are all large.

`table` and `scale` are those of `sdpa`: entry i + j' of the table belongs to query i and key j' counted from the last,
and query i sees the keys first_i <= j' <= last_i.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from ..positions.priors import FAR


def no_autocast(x: Tensor) -> AbstractContextManager[None]:
    """Off where `x` is: autocast rounds scores and lags to half precision: 256 and 257 are one bfloat16."""
    on = not x.is_meta and torch.is_autocast_enabled(x.device.type)
    return torch.autocast(x.device.type, enabled=False) if on else nullcontext()


def scaled(q: Tensor, logit_scale: Tensor | None) -> Tensor:
    """a_i q_i / sqrt(d) in at least float32: a bfloat16 ln n has 8 bits, and its error all scores of the row share."""
    dtype, factor = torch.promote_types(q.dtype, torch.float32), q.shape[-1] ** -0.5
    if logit_scale is None:
        return q.to(dtype) * factor
    exact = torch.promote_types(dtype, logit_scale.dtype)
    return q.to(dtype) * (factor * logit_scale[..., None].to(exact)).to(dtype)


def prepared(
    q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, scale: Tensor | None, first: Tensor, last: Tensor
) -> list[Tensor | None]:
    """All in one dtype.

    Half precision is computed in float32, float32 and float64 in themselves; but in float64 where even the best key of
    a row has a log-prior beyond ±FAR, which would take the digits of its content.
    """
    exact = q.dtype == torch.float64 or (table is not None and _is_far(table, scale, first, last))
    dtype = torch.float64 if exact else torch.float32
    return [None if x is None else x.to(dtype).contiguous() for x in (q, k, v, table, scale)]


def _reaches_far(table: Tensor, scale: Tensor | None) -> bool:
    return bool(table.abs().amax() * (1 if scale is None else scale.abs().amax()) > FAR)


def _ends(first: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
    """Entries of the table at which each row's visible lags begin and end, [batch or 1, 1, queries]."""
    index = torch.arange(first.shape[-1], device=first.device)
    low, high = ((index + x).view(-1, 1, len(index)) for x in (first, last))
    return low, high


def _at(table: Tensor, scale: Tensor | None, entries: Tensor) -> Tensor:
    """b_i T at an entry for each row, [batch or 1, heads, queries]."""
    entries = entries.expand(-1, table.shape[0], -1)
    found = table.expand(entries.shape[0], -1, -1).gather(2, entries)
    return found if scale is None else found * scale


def _is_far(table: Tensor, scale: Tensor | None, first: Tensor, last: Tensor) -> bool:
    """Whether a row that sees several keys has its best at a log-prior beyond ±FAR.

    The best of three: at both ends of what it sees, and at the visible lag next to the table's peak.
    """
    if not _reaches_far(table, scale):
        return False
    low, high = _ends(first, last)
    peak = table.argmax(-1)[:, None]
    best = torch.stack([_at(table, scale, e) for e in (low, high, torch.minimum(torch.maximum(peak, low), high))])
    return bool(((best.amax(0).abs() > FAR) & (low < high)).any())


def far_alone(table: Tensor, scale: Tensor | None, first: Tensor, last: Tensor) -> Tensor | None:
    """Rows that see one key, at a log-prior beyond ±FAR: the rounding of their dS = 0 must not be multiplied by it.

    Also where b_i is small, ln 1 = 0 say: ∂/∂b_i is a sum of dS T.
    """
    if not (_reaches_far(table, scale) or _reaches_far(table, None)):
        return None
    low, high = _ends(first, last)
    far = (_at(table, None, low).abs() > FAR) | (_at(table, scale, low).abs() > FAR)
    return far & (low == high)
