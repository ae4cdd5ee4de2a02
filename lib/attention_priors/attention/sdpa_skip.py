"""Reading long contexts on the CPU: backend "sdpa" without the blocks of keys whose weight is below rounding.

A head whose prior falls needs no key beyond some lag w. The bound of `skipping` finds w for each block of queries, and
blocks of keys at lags of w and more are left out, head by head; what is left out of a row weighs at most an eighth of
the dtype's epsilon. Heads that look far keep all their blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ..positions.priors import Prior
from .inputs import for_all_heads
from .precision import no_autocast, prepared, scaled
from .sdpa import Block, Blocks, Call, fused_part, joined, sdpa, table_of, with_key_prior
from .skipping import suffixes
from .visible import Visible


def sdpa_skip(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    prior: Prior | None,
    logit_scale: Tensor | None,
    prior_scale: Tensor | None,
    visible: Visible,
    offset: int,
) -> Tensor:
    """Backend of `attention`; see there. [batch, heads, queries, width].

    It is `sdpa` where nothing can be left out: without a prior over lags, with few keys, and where a row does not see
    itself or sees what comes later. Raises ValueError where a gradient is asked for, and on other devices.
    """
    given = {"prior": prior, "logit_scale": logit_scale, "prior_scale": prior_scale, "visible": visible}
    if q.device.type != "cpu":
        raise ValueError(f"backend 'sdpa_skip' is for the CPU, but q is on {q.device}; use backend='auto' there")
    inputs = [q, k, v, logit_scale, prior_scale, *([] if prior is None else prior.parameters())]
    if torch.is_grad_enabled() and any(x.requires_grad for x in inputs if x is not None):
        raise ValueError("backend 'sdpa_skip' only reads: call it under torch.no_grad(), or learn with backend='sdpa'")
    queries, keys = q.shape[2], k.shape[2]
    if prior is None or not prior.split()[0] or not visible.ends_at_itself(offset):
        return sdpa(q, k, v, offset=offset, **given)
    blocks = Blocks.plan(q, keys, visible.first, visible.last, learning=False)
    if blocks.whole():
        return sdpa(q, k, v, offset=offset, **given)
    k, v = for_all_heads(q, k, v)
    dtype, width = q.dtype, q.shape[3]
    with no_autocast(q):
        table = table_of(prior, queries, keys, offset, visible)
        q, k, v, table, scale = prepared(scaled(q, logit_scale), k, v, table, prior_scale, blocks.first, blocks.last)
        windows = _windows(q, k, table[:, keys - 1 - offset :], scale, prior, blocks)
        q, k, v = with_key_prior(q, k, v, prior, scale)
        order = windows[:, -1].argsort(descending=True)  # a block's far keys are for the first heads of this order
        windows = windows[order]
        scale = None if scale is None else scale[..., order, :]
        call = Call(q[:, order], k[:, order].flip(2), v[:, order].flip(2), table[order], scale, blocks)
        out = torch.empty_like(q)
        for index, span in enumerate(blocks.spans):
            nearest = [offset + block.start - (keys - 1 - block.left) for block in span[1:]]
            active = [_active(windows[:, index], lag) for lag in nearest]
            out[:, :, span[0].rows] = _online(call, span, active)
        return out[:, order.argsort(), :, :width].to(dtype)


def _active(windows: Tensor, lag: int) -> int:
    """How many heads, from the first on, hold every head that needs keys at `lag` or beyond."""
    needed = (windows > lag).nonzero()
    return 0 if not len(needed) else int(needed[-1]) + 1


def _online(call: Call, span: list[Block], active: list[int]) -> Tensor:
    """One block of queries over its blocks of keys, the nearest first: [batch, heads, rows, width].

    `active` is how many heads take part, for each block of keys but the first.
    """
    mean, total = fused_part(call, span[0])
    for heads, block in zip(active, span[1:], strict=True):
        if heads == 0:
            break
        q, k, v = (x[:, :heads] for x in call[:3])
        scale = None if call.scale is None else call.scale[..., :heads, :]
        more = fused_part(Call(q, k, v, call.table[:heads], scale, call.blocks), block)
        _, total[:, :heads] = joined(mean[:, :heads], total[:, :heads], *more)
    return mean


def _windows(q: Tensor, k: Tensor, table: Tensor, scale: Tensor | None, prior: Prior, blocks: Blocks) -> Tensor:
    """Per head and block of queries the smallest lag from which on all keys can be left out, int64 [heads, blocks].

    q is scaled, `table` [heads, lags] begins at lag 0. In the notation of `skipping`: a row that sees a key at lag w
    sees itself and all between. If d*, the best lag of all, is not among these, neither G(w) nor X(w) lets w pass.
    Each side of b = 1 the bound is linear in b, and so it is largest at 1 or at an end of the block's range of b.
    """
    heads, lags = table.shape
    tolerance = math.log(torch.finfo(q.dtype).eps / 8)
    total, beyond, _ = suffixes(table - table.amax(-1, keepdim=True))  # with T(d*) = 0
    content = _by_block(q.norm(dim=-1) * k.norm(dim=-1).amax(-1, keepdim=True), blocks, torch.amax)
    low = high = torch.ones_like(content)
    if scale is not None:
        low, high = _by_block(scale, blocks, torch.amin), _by_block(scale, blocks, torch.amax)
    u = prior.of_keys(torch.arange(k.shape[2]), k.shape[2])
    u = table.new_zeros(heads, 1) if u is None else u
    reach = u.amax(-1, keepdim=True) - u.amin(-1, keepdim=True)
    left = torch.zeros_like(content, dtype=torch.int64)
    right = torch.full_like(left, lags)
    while bool((left < right).any()):
        middle = (left + right) // 2
        g, x = (each.gather(1, middle.clamp(max=lags - 1)) for each in (total, beyond))
        bounds = []
        for b in (low, high, torch.ones_like(low).clamp(low, high)):
            tail = torch.where(b < 1, b * g + (1 - b) * math.log(lags), g + (b - 1) * x)
            bounds.append(2 * content + b * reach + tail)
        enough = (low > 0) & (torch.stack(bounds).amax(0) <= tolerance)
        undecided = left < right
        right = torch.where(undecided & enough, middle, right)
        left = torch.where(undecided & ~enough, middle + 1, left)
    return right


def _by_block(rows: Tensor, blocks: Blocks, reduce: Callable[..., Tensor]) -> Tensor:
    """[heads, queries] or [batch, heads, queries] to [heads, blocks]."""
    each = rows if rows.ndim == 3 else rows[None]
    return torch.stack([reduce(each[:, :, span[0].rows], dim=(0, 2)) for span in blocks.spans], -1)
