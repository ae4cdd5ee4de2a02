"""The kernels as two operators of torch.library: shapes, launches, and what autograd needs to know.

Importing this module imports Triton. Everything here takes tables, never priors; `fused` is the public surface.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import tiles
from .kernels import BACK, FRONT, INTERPRETED, start
from .kernels_backward import backward_keys, backward_queries
from .kernels_forward import forward
from .kernels_table import backward_table
from .tables import LOG2E
from .visible import key_spans, plain_spans

WALK, SPLITS = 64, 8  # tiles that a program of the table's gradient walks, where that takes no more than SPLITS parts


def options(tile: tiles.Tile) -> dict[str, Any]:
    """How every kernel is compiled: a * b + c is one instruction, whatever Triton's default becomes."""
    return {"num_warps": tile.warps, "num_stages": tile.stages, "enable_fp_fusion": True}


def inline() -> bool:
    """Whether the gather is inline assembly for NVIDIA."""
    return not INTERPRETED and torch.version.hip is None


def rows_of(x: Tensor) -> Tensor:
    """x, or a copy where its rows are not contiguous. Gaps and overlaps between rows (a cache, `expand`) are fine."""
    return x if x.stride(-1) == 1 else x.contiguous()


def dense(x: Tensor) -> Tensor:
    """x, or a copy where its memory has gaps or overlaps: results are laid out like it."""
    return x if x.stride(-1) == 1 and torch.empty_like(x).stride() == x.stride() else x.contiguous()


def laid_out_like(x: Tensor, like: Tensor) -> Tensor:
    """x, or a copy with the strides of `like`."""
    return x if x.stride() == like.stride() else torch.empty_like(like).copy_(x)


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def strides(x: Tensor | None, count: int = 3) -> tuple[int, ...]:
    """The first `count` strides; zeros for what is absent."""
    return (0,) * count if x is None else x.stride()[:count]


def pointers(unused: Tensor, *tensors: Tensor | None) -> list[Tensor]:
    """A kernel moves every pointer that it gets, also one that it never reads."""
    return [unused if x is None else x for x in tensors]


def rows(x: Tensor) -> int:
    """Batch stride of the intervals, [1 or batch, queries]."""
    return x.stride(0) if x.shape[0] > 1 else 0


def run_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor | None,
    of_keys: Tensor | None,
    logit: Tensor | None,
    prior: Tensor | None,
    first: Tensor,
    last: Tensor,
    needed: Tensor | None,
    plain: int,
    jacobian: Tensor | None,
    theta: Tensor | None,
    shift: int,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """Output [batch, heads, queries, width] and log2-sum-exp2 of the scores [batch, heads, queries].

    table [heads, lags] and of_keys [heads, keys]: log2 of the prior, the table padded by FRONT and BACK, `shift` the
    entry of lag(0, 0). logit, prior [batch, heads, queries]; first, last [1 or batch, queries] and needed [batch,
    heads, queries] int32; `plain`: the first query's position where each query sees the keys up to itself, else -1.
    jacobian [heads, parameters, lags], padded alike, and theta [parameters, heads] have a part in the backward pass.
    """
    batch, heads, queries, width = q.shape
    q, k, v = dense(q), rows_of(k), rows_of(v)
    out, lse = torch.empty_like(q), q.new_empty(batch, heads, queries, dtype=torch.float32)
    wide = tiles.padded(width)
    tile = tiles.tile(tiles.processor(q.device), "forward", wide, q.element_size())
    start(
        forward,
        (cdiv(queries, tile.m), batch * heads),
        q,
        k,
        v,
        out,
        lse,
        *pointers(lse, table, of_keys, logit, prior),
        first,
        last,
        *pointers(first, needed),
        *strides(q),
        *strides(k),
        *strides(v),
        *strides(logit),
        *strides(prior),
        *strides(table, 1),
        *strides(of_keys, 1),
        rows(first),
        heads,
        heads // k.shape[1],
        queries,
        k.shape[2],
        shift,
        scale * LOG2E,
        D=width,
        BLOCK_D=wide,
        BLOCK_M=tile.m,
        BLOCK_N=tile.n,
        HAS_T=table is not None,
        HAS_U=of_keys is not None,
        HAS_A=logit is not None,
        HAS_B=prior is not None,
        SKIP=needed is not None,
        ASM=inline(),
        **options(tile),
    )
    return out, lse


fused_forward = torch.library.custom_op("attention_priors::fused_forward", mutates_args=())(run_forward)


@fused_forward.register_fake
def _(q: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    return torch.empty_like(dense(q)), q.new_empty(q.shape[:3], dtype=torch.float32)


@torch.library.custom_op("attention_priors::fused_backward", mutates_args=())
def fused_backward(
    d_out: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    table: Tensor | None,
    of_keys: Tensor | None,
    logit: Tensor | None,
    prior: Tensor | None,
    first: Tensor,
    last: Tensor,
    needed: Tensor | None,
    plain: int,
    jacobian: Tensor | None,
    grads: list[bool],
    shift: int,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of q, k, v, table, of_keys, logit, prior, theta; empty where `grads` (the last five) asks for none."""
    q, k, v = dense(q), rows_of(k), rows_of(v)
    d_out, out = laid_out_like(d_out, q), laid_out_like(out, q)
    made = _gradients(q, k, v, table, of_keys, jacobian, grads)
    d_q, d_k, d_v, d_table, d_of_keys, d_logit, d_prior, d_theta = made
    batch, heads, queries, width = q.shape
    kv_heads, keys, wide = k.shape[1], k.shape[2], tiles.padded(width)
    name, size, delta = tiles.processor(q.device), q.element_size(), torch.empty_like(lse)
    shape = {
        "D": width,
        "BLOCK_D": wide,
        "HAS_T": table is not None,
        "HAS_U": of_keys is not None,
        "HAS_A": logit is not None,
        "HAS_B": prior is not None,
        "ASM": inline(),
    }
    counts = (heads, heads // kv_heads, queries, keys, shift)
    scales = (scale, scale * LOG2E)

    tile = tiles.tile(name, "backward_queries", wide, size)
    blocks, parameters = cdiv(queries, tile.m), jacobian.shape[1] if grads[4] else 0
    parts = q.new_empty(batch, heads, blocks, parameters, dtype=torch.float32)
    start(
        backward_queries,
        (blocks, batch * heads),
        q,
        k,
        v,
        out,
        d_out,
        lse,
        delta,
        d_q,
        *pointers(lse, table, of_keys, logit, prior, d_logit, d_prior, jacobian),
        parts,
        first,
        last,
        *pointers(first, needed),
        *strides(q),
        *strides(k),
        *strides(v),
        *strides(logit),
        *strides(prior),
        *strides(table, 1),
        *strides(of_keys, 1),
        *strides(jacobian, 2),
        rows(first),
        *counts,
        *scales,
        BLOCK_M=tile.m,
        BLOCK_N=tile.n,
        GRAD_A=grads[2],
        GRAD_B=grads[3],
        JACOBIANS=parameters,
        SKIP=needed is not None,
        REFINE=any(grads[i] for i in (0, 1, 3, 4)),
        **shape,
        **options(tile),
    )
    if grads[4]:
        d_theta.copy_(parts.sum((0, 2), dtype=torch.float64).T)

    tile = tiles.tile(name, "backward_keys", wide, size)
    if plain >= 0 and needed is None:
        spans = plain_spans(queries, plain, keys, tile.n, q.device)
    else:
        spans = key_spans(first, last, needed, keys, tile.n)
    each = q.new_empty((batch, heads, keys) if grads[1] else 0, dtype=torch.float32)
    start(
        backward_keys,
        (cdiv(keys, tile.n), batch * kv_heads),
        q,
        k,
        v,
        d_out,
        lse,
        delta,
        d_k,
        d_v,
        *pointers(lse, table, of_keys, logit, prior),
        each,
        first,
        last,
        spans,
        *strides(q),
        *strides(k),
        *strides(v),
        *strides(d_k),
        *strides(logit),
        *strides(prior),
        *strides(table, 1),
        *strides(of_keys, 1),
        rows(first),
        spans.stride(0) if spans.shape[0] > 1 else 0,
        spans.stride(1) if spans.shape[1] > 1 else 0,
        *counts,
        *scales,
        BLOCK_M=tile.m,
        BLOCK_N=tile.n,
        GRAD_U=grads[1],
        **shape,
        **options(tile),
    )
    if grads[1]:
        torch.sum(each / LOG2E, 0, out=d_of_keys)

    if grads[0]:
        tile = tiles.tile(name, "backward_table", wide, size)
        lags = table.shape[1] - FRONT - BACK
        across, down = cdiv(queries, tile.m), cdiv(keys, tile.m)
        # the lowest diagonal that holds a lag of the table; shift - FRONT is the entry of lag(0, 0)
        lowest = max(1 - down, -cdiv(shift - FRONT + tile.m - 1, tile.m))
        splits = min(SPLITS, cdiv(min(across, down) * batch, WALK))
        planes = table.new_zeros(2, splits, heads, lags)
        start(
            backward_table,
            (max(across - lowest, 1), heads * splits),
            q,
            k,
            v,
            d_out,
            lse,
            delta,
            *pointers(lse, table, of_keys, logit, prior),
            planes,
            first,
            last,
            *pointers(first, needed),
            *strides(q),
            *strides(k),
            *strides(v),
            *strides(logit),
            *strides(prior),
            *strides(table, 1),
            *strides(of_keys, 1),
            rows(first),
            batch,
            *counts,
            FRONT,
            lowest,
            lags,
            splits,
            scale * LOG2E,
            W=tile.m,
            SKIP=needed is not None,
            **shape,
            **options(tile),
        )
        torch.sum(planes / LOG2E, (0, 1), out=d_table[:, FRONT : FRONT + lags])
    return made


def _gradients(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor | None,
    of_keys: Tensor | None,
    jacobian: Tensor | None,
    grads: list[bool],
) -> tuple[Tensor, ...]:
    """The results' memory: the table's gradient is 0 in its padding, what is not asked for has no element."""
    none = q.new_empty(0, dtype=torch.float32)
    scale = lambda wanted: none.new_empty(q.shape[:3]) if wanted else none.clone()  # noqa: E731
    return (
        torch.empty_like(q),
        torch.empty_like(k),
        torch.empty_like(k),
        torch.zeros_like(table) if grads[0] else none.clone(),
        torch.empty_like(of_keys) if grads[1] else none.clone(),
        scale(grads[2]),
        scale(grads[3]),
        none.new_empty(jacobian.shape[1], jacobian.shape[0]) if grads[4] else none.clone(),
    )


@fused_backward.register_fake
def _(
    d_out: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    table: Tensor | None,
    of_keys: Tensor | None,
    logit: Tensor | None,
    prior: Tensor | None,
    first: Tensor,
    last: Tensor,
    needed: Tensor | None,
    plain: int,
    jacobian: Tensor | None,
    grads: list[bool],
    shift: int,
    scale: float,
) -> tuple[Tensor, ...]:
    return _gradients(dense(q), k, v, table, of_keys, jacobian, grads)


def _keep(ctx: Any, inputs: tuple, output: tuple[Tensor, Tensor]) -> None:
    *tensors, ctx.plain, jacobian, theta, ctx.shift, ctx.scale = inputs
    ctx.theta = theta is not None
    ctx.save_for_backward(*tensors, jacobian, *output)
    ctx.mark_non_differentiable(output[1])


def _differentiate(ctx: Any, d_out: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
    q, k, v, table, of_keys, logit, prior, first, last, needed, jacobian, out, lse = ctx.saved_tensors
    need = ctx.needs_input_grad
    grads = [need[3], need[4], need[5], need[6], ctx.theta and need[12]]
    found = fused_backward(
        d_out,
        q,
        k,
        v,
        out,
        lse,
        table,
        of_keys,
        logit,
        prior,
        first,
        last,
        needed,
        ctx.plain,
        jacobian,
        grads,
        ctx.shift,
        ctx.scale,
    )
    rest = [gradient if wanted else None for gradient, wanted in zip(found[3:], grads, strict=True)]
    return *found[:3], *rest[:4], None, None, None, None, None, rest[4], None, None


def _refuse(ctx: Any, *gradients: Tensor) -> None:
    raise NotImplementedError(
        "backend 'triton' has no second derivative; use backend='reference' for gradients of gradients"
    )


fused_forward.register_autograd(_differentiate, setup_context=_keep)
fused_backward.register_autograd(_refuse)
