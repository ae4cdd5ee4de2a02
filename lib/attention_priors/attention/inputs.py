"""What attention takes: shapes, dtypes and rows that fit each other, refused in one line that names the remedy."""

from __future__ import annotations

from torch import Tensor

from .visible import Visible


def check_tensors(q: Tensor, k: Tensor, v: Tensor, offset: int) -> None:
    """ValueError unless q, k, v are [batch, heads, length, width] tensors that fit and the offset is a position."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.ndim != 4 or 0 in x.shape:
            raise ValueError(f"{name} has shape {list(x.shape)}, but [batch, heads, length, width], none 0, is needed")
        if x.dtype != q.dtype or x.device != q.device:
            raise ValueError(f"{name} is {x.dtype} on {x.device}, q is {q.dtype} on {q.device}; make them equal")
    if k.shape != v.shape or k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3] or q.shape[1] % k.shape[1]:
        raise ValueError(
            f"q {list(q.shape)}, k {list(k.shape)}, v {list(v.shape)} do not fit: equal batch and width, k and v "
            "alike, and heads a multiple of kv_heads are needed"
        )
    if offset < 0:
        raise ValueError(f"offset = {offset}, but the position of the first query must be at least 0")


def check_rows(q: Tensor, k: Tensor, logit_scale: Tensor | None, prior_scale: Tensor | None, visible: Visible) -> None:
    """ValueError unless there is a scale for every row, and an interval of at least one of the keys."""
    for name, scale in (("logit_scale", logit_scale), ("prior_scale", prior_scale)):
        if scale is not None and scale.shape not in (q.shape[1:3], q.shape[:3]):
            raise ValueError(f"{name} has shape {list(scale.shape)}, but {list(q.shape[1:3])} or {list(q.shape[:3])}")
    if visible.first.shape not in (q.shape[2:3], (q.shape[0], q.shape[2])):
        raise ValueError(f"visible has shape {list(visible.first.shape)}, but [queries] or [batch, queries] is needed")
    if visible.facts.last >= k.shape[2]:
        raise ValueError(f"visible points outside the {k.shape[2]} keys; check the offset and the number of keys")
    if visible.facts.empty:
        raise ValueError("visible leaves a query without any key; widen the window or the document")
