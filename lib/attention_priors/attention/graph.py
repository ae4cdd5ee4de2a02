"""Backend "sdpa" inside compiled graphs: its blocks as one operator, since no graph sees the numbers that plan them."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .precision import no_autocast
from .sdpa import Blocks, Call, attend, gradients


@torch.library.custom_op("attention_priors::block_attention", mutates_args=())
def block_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor | None,
    scale: Tensor | None,
    first: Tensor,
    last: Tensor,
    learning: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """`sdpa.BlockAttention`: the output, weights (if one block has all) and log-sum-exps, all in float64 or float32.

    The weights' columns are filled up to the width of a block, so that their shape follows from the inputs' shapes.
    """
    out, p, lse = attend(Call.of(q, k, v, table, scale, first, last, learning), learning)
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
def _(q: Tensor, k: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
    return _outputs(q, k, learning=rest[-1])


@torch.library.custom_op("attention_priors::block_gradients", mutates_args=())
def block_gradients(
    d_out: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor | None,
    scale: Tensor | None,
    first: Tensor,
    last: Tensor,
    out: Tensor,
    p: Tensor,
    lse: Tensor,
    needs: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of q, k, v, table and scale, empty where `needs` does not ask for the last two."""
    call = Call.of(q, k, v, table, scale, first, last, True)
    weights = None
    with no_autocast(d_out):
        if call.q.dtype != out.dtype:  # what the forward pass computed in float64 was rounded on its way here
            out, weights, lse = attend(call, learning=True)
        elif call.blocks.whole():
            [[block]] = call.blocks.spans
            weights = p[..., : block.right - block.left].contiguous()
        grads = gradients(d_out.to(out.dtype), call, out, weights, lse, needs)
    inputs = (q, k, v, table, scale)
    return tuple(q.new_empty(0) if g is None else g.to(x.dtype) for g, x in zip(grads, inputs, strict=True))


@block_gradients.register_fake
def _(d_out: Tensor, *inputs: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    asked = (True, True, True, *inputs[-1][3:])
    return tuple(
        torch.empty_like(x, memory_format=torch.contiguous_format) if wanted else inputs[0].new_empty(0)
        for x, wanted in zip(inputs[:5], asked, strict=True)
    )


def _keep(ctx: Any, inputs: tuple, output: tuple[Tensor, Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs[:7], *output)
    ctx.mark_non_differentiable(*output[1:])


def _differentiate(ctx: Any, d_out: Tensor, *_: Tensor | None) -> tuple[Tensor | None, ...]:
    need = list(ctx.needs_input_grad[:5])
    found = block_gradients(d_out, *ctx.saved_tensors, need)
    return *(gradient if wanted else None for gradient, wanted in zip(found, need, strict=True)), None, None, None


block_attention.register_autograd(_differentiate, setup_context=_keep)
