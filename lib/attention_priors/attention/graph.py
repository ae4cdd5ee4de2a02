"""Backend "sdpa" inside compiled graphs: its blocks as one operator, since no graph sees the numbers that plan them."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .precision import prepared
from .sdpa import Blocks, attend, gradients


@torch.library.custom_op("attention_priors::block_attention", mutates_args=())
def block_attention(
    q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, scale: Tensor | None, first: Tensor, last: Tensor,
    learning: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`sdpa.BlockAttention`: the output, weights (if one block has all) and log-sum-exps, all in float64 or float32.

    The weights' columns are filled up to the width of a block, so that their shape follows from the inputs' shapes.
    """
    blocks = Blocks.plan(q, k.shape[2], first, last, learning)
    out, p, lse = attend(*prepared(q, k.flip(2), v.flip(2), table, scale, blocks.first, blocks.last), blocks, learning)
    like = _outputs(q, k, learning)
    if p is None or not learning:
        p = like[1]
    elif p.shape[-1] < like[1].shape[-1]:
        p = F.pad(p, (0, like[1].shape[-1] - p.shape[-1]))
    return tuple(x.to(y.dtype) for x, y in zip((out, p, like[2] if lse is None else lse), like, strict=True))


def _outputs(q: Tensor, k: Tensor, learning: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Memory of the right shapes."""
    out = torch.empty_like(q, dtype=torch.promote_types(q.dtype, torch.float32), memory_format=torch.contiguous_format)
    step, width = Blocks.size(q, k.shape[2], learning)
    kept = learning and step >= q.shape[2]
    p = out.new_empty((*q.shape[:3], min(width, k.shape[2])) if kept else (0,))
    return out, p, out.new_empty(q.shape[:3])


@block_attention.register_fake
def _(
    q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, scale: Tensor | None, first: Tensor, last: Tensor,
    learning: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    return _outputs(q, k, learning)


@torch.library.custom_op("attention_priors::block_gradients", mutates_args=())
def block_gradients(
    d_out: Tensor, q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, scale: Tensor | None, first: Tensor,
    last: Tensor, out: Tensor, p: Tensor, lse: Tensor, needs: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q, k, v, table and scale, empty where `needs` does not ask for the last two."""
    blocks = Blocks.plan(q, k.shape[2], first, last, True)
    tensors = prepared(q, k.flip(2), v.flip(2), table, scale, blocks.first, blocks.last)
    weights = None
    if tensors[0].dtype != out.dtype:  # what the forward pass computed in float64 was rounded on its way here
        out, weights, lse = attend(*tensors, blocks, True)
    elif blocks.whole():
        _, _, [(left, right, _)] = blocks.spans[0]
        weights = p[..., : right - left].contiguous()
    d_out = d_out.to(out.dtype)
    d_q, d_k, d_v, *rest = gradients(d_out, *tensors, out, weights, lse, blocks, needs)
    grads = (d_q, d_k.flip(2), d_v.flip(2), *rest)
    inputs = (q, k, v, table, scale)
    return tuple(q.new_empty(0) if g is None else g.to(x.dtype) for g, x in zip(grads, inputs, strict=True))


@block_gradients.register_fake
def _(
    d_out: Tensor, q: Tensor, k: Tensor, v: Tensor, table: Tensor | None, scale: Tensor | None, first: Tensor,
    last: Tensor, out: Tensor, p: Tensor, lse: Tensor, needs: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    asked = (True, True, True, *needs[3:])
    return tuple(
        torch.empty_like(x, memory_format=torch.contiguous_format) if wanted else q.new_empty(0)
        for x, wanted in zip((q, k, v, table, scale), asked, strict=True)
    )


def _keep(ctx: Any, inputs: tuple, output: tuple[Tensor, Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs[:7], *output)
    ctx.mark_non_differentiable(*output[1:])


def _differentiate(ctx: Any, d_out: Tensor, *_: Tensor | None) -> tuple[Tensor | None, ...]:
    need = list(ctx.needs_input_grad[:5])
    found = block_gradients(d_out, *ctx.saved_tensors, need)
    return *(gradient if wanted else None for gradient, wanted in zip(found, need, strict=True)), None, None, None


block_attention.register_autograd(_differentiate, setup_context=_keep)
