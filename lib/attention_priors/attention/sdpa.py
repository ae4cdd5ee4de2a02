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
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..positions.priors import Prior
from .inputs import for_all_heads
from .precision import far_alone, no_autocast, prepared, scaled
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
    queries, keys, dtype, width = q.shape[2], k.shape[2], q.dtype, q.shape[3]
    k, v = for_all_heads(q, k, v)
    q = scaled(q, logit_scale)
    with no_autocast(q):
        if prior is None and queries == keys and visible.plainly_causal():
            if q.dtype == dtype:
                return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)
            # In half precision 1/sqrt(d) comes later, where torch has more digits: q d^0.5 rounds as q does.
            q = (q * width**0.5).to(dtype)
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        table = None if prior is None else table_of(prior, queries, keys, offset, visible)
        scale = None if table is None else prior_scale
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


class Block(NamedTuple):
    """Queries start .. stop - 1 and reversed keys left .. right - 1; where `masked`, some of them are hidden."""

    start: int
    stop: int
    left: int
    right: int
    masked: bool

    @property
    def rows(self) -> slice:
        """The queries."""
        return slice(self.start, self.stop)

    @property
    def columns(self) -> slice:
        """The keys."""
        return slice(self.left, self.right)


@dataclass(frozen=True)
class Blocks:
    """The plan of blocks: for each range of queries the blocks of keys (in reversed order) that some query sees."""

    first: Tensor  # reversed: smallest visible j'
    last: Tensor
    spans: list[list[Block]]
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
        """Of queries that see the keys first_i .. last_i, counted from the first key."""
        first, last = keys - 1 - last, keys - 1 - first
        queries = q.shape[2]
        step, width = cls.size(q, keys, learning)

        def by_block(x: Tensor, reduce: Callable[..., Tensor]) -> list[int]:
            x = torch.atleast_2d(x)
            padded = torch.cat([x, x[:, -1:].expand(-1, -queries % step)], 1)
            return reduce(padded.unflatten(1, (-1, step)), dim=(0, 2)).tolist()

        bounds = (by_block(x, reduce) for x in (first, last) for reduce in (torch.amin, torch.amax))
        spans = []
        for index, (low, inner_low, inner_high, high) in enumerate(zip(*bounds, strict=True)):
            start, stop = index * step, min((index + 1) * step, queries)
            span = []
            for left in range(low, high + 1, width):
                right = min(left + width, high + 1)
                span.append(Block(start, stop, left, right, left < inner_low or right - 1 > inner_high))
            spans.append(span)
        return cls(first, last, spans)

    def whole(self) -> bool:
        """Whether one block has all."""
        return len(self.spans) == 1 and len(self.spans[0]) == 1

    def hidden(self, block: Block) -> Tensor:
        """True where a query of the block does not see a key: [batch or 1, 1, rows, columns]."""
        j = torch.arange(block.left, block.right, device=self.first.device)
        first, last = self.first[..., block.rows, None], self.last[..., block.rows, None]
        mask = (j < first) | (j > last)
        return mask[:, None] if mask.ndim == 3 else mask[None, None]

    def memory(self, size: int, like: Tensor) -> Tensor:
        """`size` elements that all blocks of one call write to in turn."""
        if not self.scratch or self.scratch[0].numel() < size:
            self.scratch[:] = [like.new_empty(size)]
        return self.scratch[0][:size]


class Call(NamedTuple):
    """What the blocks of one call share: scaled queries, keys and values backwards, the table and its row factors."""

    q: Tensor
    k: Tensor
    v: Tensor
    table: Tensor | None
    scale: Tensor | None
    blocks: Blocks

    @classmethod
    def of(
        cls,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        table: Tensor | None,
        scale: Tensor | None,
        first: Tensor,
        last: Tensor,
        learning: bool,
    ) -> Call:
        """All in one dtype, with the plan of queries that see the keys first_i .. last_i."""
        blocks = Blocks.plan(q, k.shape[2], first, last, learning)
        return cls(*prepared(q, k.flip(2), v.flip(2), table, scale, blocks.first, blocks.last), blocks)

    def bias(self, block: Block) -> Tensor:
        """The block's bias [heads, rows, columns] as a view: entry (r, j') is T[h, start + r + j']."""
        table = self.table
        shape = (table.shape[0], block.stop - block.start, block.right - block.left)
        return table.as_strided(shape, (table.stride(0), 1, 1), table.storage_offset() + block.start + block.left)

    def scores(self, block: Block) -> Tensor:
        """Logits of a block, [batch, heads, rows, columns], -inf where hidden."""
        scores = self.q[:, :, block.rows] @ self.k[:, :, block.columns].transpose(-1, -2)
        if self.table is not None:
            if self.scale is None:
                scores += self.bias(block)
            else:
                scores.addcmul_(self.bias(block), self.scale[..., block.rows, None])
        if block.masked:
            scores.masked_fill_(self.blocks.hidden(block), -torch.inf)
        return scores


class BlockAttention(torch.autograd.Function):
    """Online softmax over key blocks; the backward pass computes the weights again from the log-sum-exp."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        """The arguments of `Call.of`."""
        call = Call.of(*inputs)
        ctx.blocks, ctx.dtypes = call.blocks, [None if x is None else x.dtype for x in inputs[:5]]
        out, p, lse = attend(call, learning=inputs[-1])
        ctx.save_for_backward(*call[:5], out, p, lse)
        return out.to(inputs[0].dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        *tensors, out, p, lse = ctx.saved_tensors  # once: a checkpoint computes them again whenever they are asked for
        with no_autocast(d_out):  # also off in the forward pass
            grads = gradients(d_out.to(out.dtype), Call(*tensors, ctx.blocks), out, p, lse, ctx.needs_input_grad)
        return *(None if g is None else g.to(t) for g, t in zip(grads, ctx.dtypes, strict=True)), None, None, None


def attend(call: Call, learning: bool) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The output, and what the backward pass needs: the weights of one block, or the log-sum-exps of several."""
    if call.blocks.whole():
        [[block]] = call.blocks.spans
        p = call.scores(block).softmax(-1)
        return p @ call.v[:, :, block.columns], p, None
    out, lse = torch.empty_like(call.q), call.q.new_empty(call.q.shape[:3])
    # The fused kernel's exponentials have 20 bits: enough to read, too few for the gradient of a prior, in which
    # millions of terms nearly cancel.
    part = fused_part if call.q.device.type == "cpu" and not learning else unfused_part
    for span in call.blocks.spans:
        rows = span[0].rows
        out[:, :, rows], lse[:, :, rows] = _online(part, call, span)
    call.blocks.scratch.clear()
    return out, None, lse


def gradients(
    d_out: Tensor, call: Call, out: Tensor, p_whole: Tensor | None, lse: Tensor | None, needs: Sequence[bool]
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    """Those of q, k, v (not backwards), table and scale; of the last two where `needs` asks for them."""
    q, k, v, table, scale, blocks = call
    delta = (d_out * out).sum(-1) if p_whole is None else None
    d_q, d_k, d_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    d_table = None if table is None or not needs[3] else torch.zeros_like(table)
    d_scale = None if scale is None or not needs[4] else torch.zeros_like(scale)
    still = None if table is None or p_whole is not None else far_alone(table, scale, blocks.first, blocks.last)
    for block in (block for span in blocks.spans for block in span):
        rows, columns = block.rows, block.columns
        d_s = d_out[:, :, rows] @ v[:, :, columns].transpose(-1, -2)
        if p_whole is not None:
            p = p_whole
            d_s = torch.ops.aten._softmax_backward_data(d_s, p, -1, p.dtype)
        else:
            p = _exp(call.scores(block).sub_(lse[:, :, rows, None]))
            d_s.sub_(delta[:, :, rows, None]).mul_(p)
            if still is not None:
                d_s.masked_fill_(still[:, :, rows, None], 0)
        d_v[:, :, columns] += p.transpose(-1, -2) @ d_out[:, :, rows]
        d_q[:, :, rows] += d_s @ k[:, :, columns]
        d_k[:, :, columns] += d_s.transpose(-1, -2) @ q[:, :, rows]
        if d_scale is not None:
            _add_scale(d_scale[..., rows], d_s, call.bias(block))
        if d_table is not None:
            _add_diagonals(d_table, d_s, None if scale is None else scale[..., rows, None], block.start + block.left)
    return d_q, d_k.flip(2), d_v.flip(2), d_table, d_scale


def _exp(x: Tensor) -> Tensor:
    """exp in place, 0 where it is no normal number: there torch's exp on a CPU takes 10 to 40 times as long."""
    least = torch.finfo(x.dtype).tiny
    low = math.log(least) + 1
    return F.threshold_(x.clamp_(min=low).exp_(), 4 * least, 0.0)


def _online(
    part: Callable[[Call, Block], tuple[Tensor, Tensor]], call: Call, span: list[Block]
) -> tuple[Tensor, Tensor]:
    """Mean and log-sum-exp of a block of queries over several blocks of keys: means weighted by shares of the sum."""
    mean, total = part(call, span[0])
    for block in span[1:]:
        mean, total = joined(mean, total, *part(call, block))
    return mean, total


def joined(mean: Tensor, total: Tensor, more: Tensor, more_total: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and log-sum-exp over two sets of keys, from those of each; the first mean is written over."""
    joint = torch.logaddexp(total, more_total)
    mean.mul_((total - joint).exp_()[..., None]).addcmul_(more, (more_total - joint).exp_()[..., None])
    return mean, joint


def unfused_part(call: Call, block: Block) -> tuple[Tensor, Tensor]:
    """Mean of v [batch, heads, rows, width] and log-sum-exp [batch, heads, rows] of a block."""
    scores = call.scores(block)
    # Finite, so that a row that sees nothing of this block has a mean of 0 and a share of 0.
    largest = scores.amax(-1).clamp_(min=HIDDEN)
    p = _exp(scores.sub_(largest[..., None]))
    total = p.sum(-1).clamp_(min=torch.finfo(p.dtype).tiny)
    mean = (p @ call.v[:, :, block.columns]).div_(total[..., None])
    return mean, total.log_().add_(largest)


def fused_part(call: Call, block: Block) -> tuple[Tensor, Tensor]:
    """The same by torch's fused CPU kernel, which returns the log-sum-exp that its public form hides."""
    q, k, v, table, scale, blocks = call
    bias = None
    if table is not None:
        bias = call.bias(block)
        if scale is not None:
            factor = scale[..., block.rows, None]
            shape = torch.broadcast_shapes(bias.shape, factor.shape)
            # A fresh tensor for every block would cost more in page faults than the product itself.
            bias = torch.mul(bias, factor, out=blocks.memory(math.prod(shape), q).view(shape))
        bias = bias if bias.ndim == 4 else bias[None]
    if block.masked:
        hidden = blocks.hidden(block)
        bias = q.new_zeros(hidden.shape) if bias is None else bias
        bias = bias.masked_fill(hidden, HIDDEN)
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q[:, :, block.rows], k[:, :, block.columns], v[:, :, block.columns], attn_mask=bias, scale=1.0
    )


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
