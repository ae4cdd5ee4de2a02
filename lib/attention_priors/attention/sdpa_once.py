"""Backend "sdpa" for gradient checkpointing: its backward pass asks for what it saved once.

torch.utils.checkpoint computes a saved tensor again when it is asked for, and refuses to do so twice. The backend
enters `BACKENDS` from here and not in `op`, as `sdpa_skip` does: the key of a run stands for the code of "sdpa".
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..positions.priors import Prior
from .graph import block_attention
from .op import BACKENDS
from .precision import scaled
from .sdpa import table_of, with_key_prior
from .visible import Visible


def sdpa_once(
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
    """Backend of `attention`; see there. [batch, heads, queries, width], by the operator of compiled graphs."""
    groups, queries, keys = q.shape[1] // k.shape[1], q.shape[2], k.shape[2]
    if groups > 1:
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    dtype, width = q.dtype, q.shape[-1]
    q = scaled(q, logit_scale)
    table = None if prior is None else table_of(prior, queries, keys, offset, visible)
    scale = None if table is None else prior_scale
    with torch.autocast(q.device.type, enabled=False):
        if prior is not None:
            q, k, v = with_key_prior(q, k, v, prior, prior_scale)
        learning = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v, table, scale) if x is not None)
        out = block_attention(q, k, v, table, scale, visible.first, visible.last, learning)[0]
        return out[..., :width].to(dtype)


BACKENDS[sdpa_once.__name__] = sdpa_once
