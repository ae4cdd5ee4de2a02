"""What attention takes: shapes, dtypes and rows that fit each other, refused in one line that names the remedy."""

from __future__ import annotations

import torch
from torch import Tensor

from ..positions.priors import Prior
from .visible import Visible

FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def check_tensors(q: Tensor, k: Tensor, v: Tensor, offset: int) -> None:
    """Unless q, k, v are float tensors [batch, heads, length, width] that fit: ValueError, or TypeError for no tensor.

    So for an offset that is no position.
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        _check_float(name, x)
        if x.ndim != 4 or 0 in x.shape:
            raise ValueError(f"{name} has shape {list(x.shape)}, but [batch, heads, length, width], none 0, is needed")
        if x.dtype != q.dtype or x.device != q.device:
            raise ValueError(f"{name} is {x.dtype} on {x.device}, q is {q.dtype} on {q.device}; make them equal")
    if k.shape != v.shape or k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3] or q.shape[1] % k.shape[1]:
        raise ValueError(
            f"q {list(q.shape)}, k {list(k.shape)}, v {list(v.shape)} do not fit: equal batch and width, k and v "
            "alike, and heads a multiple of kv_heads are needed"
        )
    if isinstance(offset, (bool, float, Tensor)):
        raise TypeError(f"offset = {offset!r}, but the position of the first query is a whole number; give an int")
    if offset < 0:
        raise ValueError(f"offset = {offset}, but the position of the first query must be at least 0")


def check_prior(prior: Prior | None, q: Tensor) -> None:
    """TypeError for what is no prior, ValueError for one of other heads."""
    if prior is not None and not isinstance(prior, Prior):
        raise TypeError(f"prior is a {type(prior).__name__}; give a Prior of attention_priors.positions, or None")
    if prior is not None and prior.heads != q.shape[1]:
        raise ValueError(f"the prior has {prior.heads} heads, q has {q.shape[1]}; build the prior with {q.shape[1]}")


def check_last(q: Tensor, k: Tensor, offset: int) -> None:
    """ValueError unless the queries are the last of the keys."""
    queries, keys = q.shape[2], k.shape[2]
    if offset + queries > keys:
        raise ValueError(f"{queries} queries from offset {offset} on stand outside the {keys} keys; check the offset")
    if offset + queries < keys:
        raise ValueError(
            f"{queries} queries from offset {offset} on would leave {keys - queries - offset} of the {keys} keys "
            f"unseen; give offset={keys - queries}, or say visible=causal({queries}, {offset})"
        )


def check_rows(
    q: Tensor, k: Tensor, logit_scale: Tensor | None, prior_scale: Tensor | None, visible: Visible | None
) -> None:
    """ValueError unless there is a scale for every row, and an interval of at least one of the keys."""
    for name, scale in (("logit_scale", logit_scale), ("prior_scale", prior_scale)):
        if scale is not None:
            _check_float(name, scale)
            if scale.shape not in (q.shape[1:3], q.shape[:3]):
                shapes = f"{list(q.shape[1:3])} or {list(q.shape[:3])}"
                raise ValueError(f"{name} has shape {list(scale.shape)}, but {shapes} is needed")
    if visible is None:  # every key up to the query
        return
    if not isinstance(visible, Visible):
        raise TypeError(
            f"visible is a {type(visible).__name__}, but intervals are needed: causal(), window(), documents(), "
            "bidirectional() of attention_priors.attention, or their & (a mask of bools is none)"
        )
    if visible.first.shape not in (q.shape[2:3], (q.shape[0], q.shape[2])):
        raise ValueError(f"visible has shape {list(visible.first.shape)}, but [queries] or [batch, queries] is needed")
    if visible.facts.last >= k.shape[2]:
        raise ValueError(f"visible points outside the {k.shape[2]} keys; check the offset and the number of keys")
    if visible.facts.empty:
        raise ValueError("visible leaves a query without any key; widen the window or the document")


def for_all_heads(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """k and v with as many heads as q: each key head as often as there are query heads that it serves."""
    groups = q.shape[1] // k.shape[1]
    return (k, v) if groups == 1 else (k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1))


def _check_float(name: str, x: Tensor) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} = {x!r} is a {type(x).__name__}, but a tensor is needed")
    if x.dtype not in FLOATS:
        raise ValueError(f"{name} is {x.dtype}, but attention needs one of {', '.join(map(str, FLOATS))}; convert it")
