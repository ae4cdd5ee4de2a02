"""The CPU's fast path: exact attention over blocks, with the prior as one table over lags.

The bias of a block of queries and keys is a strided view of the table T[h, lag]; neither it nor the weights exist
beyond one block, so that memory grows linearly with the length. Keys are stored backwards, which makes both strides of
the view positive: with j' = keys - 1 - j, lag = offset + i - j = (offset + i - keys + 1) + j'.
A key-only prior has rank one and needs no bias: b_i is one more component of q_i, u(j) one more of k_j.
Where there is no prior and the mask is plainly causal, torch's own scaled_dot_product_attention does the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..positions.priors import Prior
from .precision import far_alone, prepared, scaled
from .visible import Visible

BLOCK_QUERIES, BLOCK_KEYS = 128, 512
READING_QUERIES, READING_KEYS = 512, 1024  # without a backward pass: fewer, larger blocks cost less
WHOLE = 256  # up to this many queries and keys the weights are kept for the backward pass
HIDDEN = -1e36  # below every visible score (tables end at DEEPEST = -1e30), and finite: two of them still compare


def sdpa(
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
    """Backend of `attention`; see there. [batch, heads, queries, width]."""
    groups, queries, keys = q.shape[1] // k.shape[1], q.shape[2], k.shape[2]
    if groups > 1:
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    dtype, width = q.dtype, q.shape[-1]
    q = scaled(q, logit_scale)
    if prior is None and queries == keys and visible.plainly_causal():
        if q.dtype == dtype:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)
        # In half precision 1/sqrt(d) comes later, where torch has more digits: q d^0.5 rounds as q does.
        q = (q * width**0.5).to(dtype)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    table = None if prior is None else table_of(prior, queries, keys, offset, visible)
    scale = None if table is None else prior_scale
    # Autocast would round the biases of a block to half precision, where lags of 256 and 257 are one number.
    with torch.autocast(q.device.type, enabled=False):
        if prior is not None:
            q, k, v = with_key_prior(q, k, v, prior, prior_scale)
        learning = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v, table, scale) if x is not None)
        arguments = (q, k, v, table, scale, visible.first, visible.last, learning)
        if torch.compiler.is_compiling():
            from .graph import block_attention

            out = block_attention(*arguments)[0]
        else:
            out = BlockAttention.apply(*arguments)
        return out[..., :width].to(dtype)


def with_key_prior(
    q: Tensor, k: Tensor, v: Tensor, prior: Prior, scale: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v with one more component: <(q_i, b_i), (k_j, u(j))> = <q_i, k_j> + b_i u(j); in at least float32.

    As they are where the prior says nothing of keys.
    """
    u = prior.of_keys(torch.arange(k.shape[2], device=k.device), k.shape[2])
    if u is None:
        return q, k, v
    dtype = torch.promote_types(q.dtype, torch.float32)
    rows = torch.ones_like(q[..., 0]) if scale is None else scale.expand(q.shape[:3])
    columns = [rows.to(dtype), u.to(dtype).expand(k.shape[:3]), torch.zeros_like(v[..., 0], dtype=dtype)]
    return tuple(torch.cat([x.to(dtype), c[..., None]], -1) for x, c in zip((q, k, v), columns, strict=True))


def table_of(prior: Prior, queries: int, keys: int, offset: int, visible: Visible) -> Tensor | None:
    """T[h, x] = log π at lag x + offset - keys + 1, for every lag between a query and a key; None for no such part."""
    low, high = offset - keys + 1, offset + queries
    start = 0 if low < 0 and visible.sees_no_future(offset) else low  # the future needs no table
    table = prior.table(torch.arange(start, high, device=visible.last.device))
    return F.pad(table, (start - low, 0)) if table is not None and start > low else table


@dataclass(frozen=True)
class Blocks:
    """The plan of blocks: query ranges, and for each the key ranges (in reversed order) that some query sees."""

    batch: int
    heads: int
    queries: int
    keys: int
    first: Tensor  # reversed: smallest visible j'
    last: Tensor
    spans: list[tuple[int, int, list[tuple[int, int, bool]]]]
    scratch: list[Tensor] = field(default_factory=list)

    @staticmethod
    def size(q: Tensor, keys: int, learning: bool) -> tuple[int, int]:
        """Queries and keys of a block."""
        batch, heads, queries, _ = q.shape
        if queries <= WHOLE and keys <= WHOLE:
            return queries, keys
        rows, width = (BLOCK_QUERIES, BLOCK_KEYS) if learning else (READING_QUERIES, READING_KEYS)
        return min(queries, max(32, rows * 4 // (batch * heads))), width

    @classmethod
    def plan(cls, q: Tensor, keys: int, first: Tensor, last: Tensor, learning: bool) -> Blocks:
        first, last = keys - 1 - last, keys - 1 - first
        batch, heads, queries, _ = q.shape
        step, width = cls.size(q, keys, learning)
        rows = first if first.ndim == 2 else first[None]
        ends = last if last.ndim == 2 else last[None]
        pad = -queries % step
        bounds = []
        for x, reduce in ((rows, torch.amin), (rows, torch.amax), (ends, torch.amin), (ends, torch.amax)):
            padded = torch.cat([x, x[:, -1:].expand(-1, pad)], 1)
            bounds.append(reduce(padded.unflatten(1, (-1, step)), dim=(0, 2)).tolist())
        spans = []
        for index, (low, inner_low, inner_high, high) in enumerate(zip(*bounds, strict=True)):
            start = index * step
            chunks = []
            for left in range(low, high + 1, width):
                right = min(left + width, high + 1)
                chunks.append((left, right, left < inner_low or right - 1 > inner_high))
            spans.append((start, min(start + step, queries), chunks))
        return cls(batch, heads, queries, keys, first, last, spans)

    def whole(self) -> bool:
        return len(self.spans) == 1 and len(self.spans[0][2]) == 1

    def hidden(self, start: int, stop: int, left: int, right: int) -> Tensor:
        """True where a query of the block does not see a key: [batch or 1, 1, rows, columns]."""
        j = torch.arange(left, right, device=self.first.device)
        first, last = self.first[..., start:stop, None], self.last[..., start:stop, None]
        mask = (j < first) | (j > last)
        return mask[:, None] if mask.ndim == 3 else mask[None, None]


def _bias(table: Tensor, start: int, stop: int, left: int, right: int) -> Tensor:
    """The block's bias [heads, rows, columns] as a view: entry (r, j') is T[h, start + r + j']."""
    shape, strides = (table.shape[0], stop - start, right - left), (table.stride(0), 1, 1)
    return table.as_strided(shape, strides, table.storage_offset() + start + left)


def _scores(
    q: Tensor, k: Tensor, table: Tensor | None, scale: Tensor | None, blocks: Blocks,
    block: tuple[int, int, int, int, bool],
) -> Tensor:  # fmt: skip
    """Logits of a block, [batch, heads, rows, columns], -inf where hidden."""
    start, stop, left, right, masked = block
    scores = q[:, :, start:stop] @ k[:, :, left:right].transpose(-1, -2)
    if table is not None:
        bias = _bias(table, start, stop, left, right)
        if scale is None:
            scores += bias
        else:
            scores.addcmul_(bias, scale[..., start:stop, None])
    if masked:
        scores.masked_fill_(blocks.hidden(start, stop, left, right), -torch.inf)
    return scores


class BlockAttention(torch.autograd.Function):
    """Online softmax over key blocks; the backward pass computes the weights again from the log-sum-exp."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, scale: Tensor | None,
        first: Tensor, last: Tensor, learning: bool,
    ) -> Tensor:  # fmt: skip
        dtype, inputs = q.dtype, (q, k, v, table, scale)
        ctx.blocks = Blocks.plan(q, k.shape[2], first, last, learning)
        tensors = prepared(q, k.flip(2), v.flip(2), table, scale, ctx.blocks.first, ctx.blocks.last)
        ctx.dtypes = [None if x is None else x.dtype for x in inputs]
        out, p, lse = attend(*tensors, ctx.blocks, learning)
        ctx.save_for_backward(*tensors, out, p, lse)
        return out.to(dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        d_out = d_out.to(ctx.saved_tensors[0].dtype)
        d_q, d_k, *rest = gradients(d_out, *ctx.saved_tensors, ctx.blocks, ctx.needs_input_grad)
        grads = (d_q, d_k.flip(2), rest[0].flip(2), *rest[1:])
        return *(None if g is None else g.to(t) for g, t in zip(grads, ctx.dtypes, strict=True)), None, None, None


def attend(
    q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, scale: Tensor | None, blocks: Blocks, learning: bool
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The output, and what the backward pass needs: the weights of one block, or the log-sum-exps of several."""
    if blocks.whole():
        start, stop, [(left, right, masked)] = blocks.spans[0]
        p = _scores(q, k, table, scale, blocks, (start, stop, left, right, masked)).softmax(-1)
        return p @ v[:, :, left:right], p, None
    out, lse = torch.empty_like(q), q.new_empty(q.shape[:3])
    # The fused kernel's exponentials have 20 bits: enough to read, too few for the gradient of a prior, in which
    # millions of terms nearly cancel.
    part = fused_part if q.device.type == "cpu" and not learning else unfused_part
    for span in blocks.spans:
        _online(part, q, k, v, table, scale, blocks, span, out, lse)
    blocks.scratch.clear()
    return out, None, lse


def gradients(
    d_out: Tensor, q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, scale: Tensor | None, out: Tensor,
    p_whole: Tensor | None, lse: Tensor | None, blocks: Blocks, needs: Sequence[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:  # fmt: skip
    """Those of q, k, v, table and scale; of the last two where `needs` asks for them."""
    delta = (d_out * out).sum(-1) if p_whole is None else None
    d_q, d_k, d_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    d_table = None if table is None or not needs[3] else torch.zeros_like(table)
    d_scale = None if scale is None or not needs[4] else torch.zeros_like(scale)
    still = None if table is None or p_whole is not None else far_alone(table, scale, blocks.first, blocks.last)
    for start, stop, chunks in blocks.spans:
        rows = slice(start, stop)
        for left, right, masked in chunks:
            columns = slice(left, right)
            d_s = d_out[:, :, rows] @ v[:, :, columns].transpose(-1, -2)
            if p_whole is not None:
                p = p_whole
                d_s = torch.ops.aten._softmax_backward_data(d_s, p, -1, p.dtype)
            else:
                p = _scores(q, k, table, scale, blocks, (start, stop, left, right, masked))
                _exp(p.sub_(lse[:, :, rows, None]))
                d_s.sub_(delta[:, :, rows, None]).mul_(p)
                if still is not None:
                    d_s.masked_fill_(still[:, :, rows, None], 0)
            d_v[:, :, columns] += p.transpose(-1, -2) @ d_out[:, :, rows]
            d_q[:, :, rows] += d_s @ k[:, :, columns]
            d_k[:, :, columns] += d_s.transpose(-1, -2) @ q[:, :, rows]
            if d_scale is not None:
                _add_scale(d_scale[..., rows], d_s, _bias(table, start, stop, left, right))
            if d_table is not None:
                _add_diagonals(d_table, d_s, None if scale is None else scale[..., rows, None], start + left)
    return d_q, d_k, d_v, d_table, d_scale


def _exp(x: Tensor) -> Tensor:
    """exp in place, 0 where it is no normal number: there torch's exp on a CPU takes 10 to 40 times as long."""
    least = torch.finfo(x.dtype).tiny
    low = math.log(least) + 1
    return F.threshold_(x.clamp_(min=low).exp_(), 4 * least, 0.0)


def _online(
    part: Callable[..., tuple[Tensor, Tensor]], q: Tensor, k: Tensor, v: Tensor, table: Tensor | None,
    scale: Tensor | None, blocks: Blocks, span: tuple[int, int, list[tuple[int, int, bool]]], out: Tensor, lse: Tensor,
) -> None:  # fmt: skip
    """One block of queries over several blocks of keys: the parts' means, weighted by their shares of the sum."""
    start, stop, chunks = span
    rows = slice(start, stop)
    mean, total = part(q, k, v, table, scale, blocks, (start, stop, *chunks[0]))
    for chunk in chunks[1:]:
        more, more_total = part(q, k, v, table, scale, blocks, (start, stop, *chunk))
        joint = torch.logaddexp(total, more_total)
        mean = mean.mul_((total - joint).exp_()[..., None]).addcmul_(more, (more_total - joint).exp_()[..., None])
        total = joint
    out[:, :, rows], lse[:, :, rows] = mean, total


def unfused_part(
    q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, scale: Tensor | None, blocks: Blocks,
    block: tuple[int, int, int, int, bool],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Mean of v [batch, heads, rows, width] and log-sum-exp [batch, heads, rows] of a block."""
    scores = _scores(q, k, table, scale, blocks, block)
    # Finite, so that a row that sees nothing of this block has a mean of 0 and a share of 0.
    largest = scores.amax(-1).clamp_(min=HIDDEN)
    p = _exp(scores.sub_(largest[..., None]))
    total = p.sum(-1).clamp_(min=torch.finfo(p.dtype).tiny)
    mean = (p @ v[:, :, block[2] : block[3]]).div_(total[..., None])
    return mean, total.log_().add_(largest)


def fused_part(
    q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, scale: Tensor | None, blocks: Blocks,
    block: tuple[int, int, int, int, bool],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The same by torch's fused CPU kernel, which returns the log-sum-exp that its public form hides."""
    start, stop, left, right, masked = block
    bias = None
    if table is not None:
        bias = _bias(table, start, stop, left, right)
        if scale is not None:
            factor = scale[..., start:stop, None]
            shape = torch.broadcast_shapes(bias.shape, factor.shape)
            # A fresh tensor for every block would cost more in page faults than the product itself.
            bias = torch.mul(bias, factor, out=_scratch(blocks, math.prod(shape), q).view(shape))
        bias = bias if bias.ndim == 4 else bias[None]
    if masked:
        hidden = blocks.hidden(start, stop, left, right)
        bias = q.new_zeros(hidden.shape) if bias is None else bias
        bias = bias.masked_fill(hidden, HIDDEN)
    mean, total = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q[:, :, start:stop], k[:, :, left:right], v[:, :, left:right], attn_mask=bias, scale=1.0
    )
    return mean, total


def _scratch(blocks: Blocks, size: int, like: Tensor) -> Tensor:
    """`size` elements of memory that all blocks of one call write to in turn."""
    if not blocks.scratch or blocks.scratch[0].numel() < size:
        blocks.scratch[:] = [like.new_empty(size)]
    return blocks.scratch[0][:size]


def _add_scale(d_scale: Tensor, d_scores: Tensor, bias: Tensor) -> None:
    """db_i += Σ_j dS[i, j] T[i - j], summed over the batch where the scale has no batch."""
    if d_scale.ndim == 2:
        d_scale += (d_scores.sum(0) * bias).sum(-1)
        return
    for sample, d_sample in zip(d_scale, d_scores, strict=True):
        sample += (d_sample * bias).sum(-1)


def _add_diagonals(d_table: Tensor, d_scores: Tensor, scale: Tensor | None, start: int) -> None:
    """dT[h, start + r + j'] += Σ over batch and over r + j' constant of b_i dS[r, j'].

    Rows padded by their number and read at one column less line the diagonals up as columns.
    """
    rows, columns = d_scores.shape[-2:]
    padded = d_scores.new_zeros(d_scores.shape[1], rows, columns + rows)
    inner = padded[:, :, :columns]
    if scale is None:
        inner += d_scores.sum(0)
    elif scale.ndim == 3:
        inner += d_scores.sum(0) * scale
    else:
        for d_sample, factor in zip(d_scores, scale, strict=True):
            inner.addcmul_(d_sample, factor)
    width = columns + rows - 1
    skewed = padded.flatten(1)[:, : rows * width].unflatten(1, (rows, width))
    d_table[:, start : start + width] += skewed.sum(1)
