"""What attention takes: shapes, dtypes and rows that fit each other, refused in one line that names the remedy."""

from __future__ import annotations

import torch
from torch import Tensor

from ..positions.pairs import PairBias
from ..positions.priors import Prior
from .visible import Visible, check_whole

FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32)


def check_tensors(q: Tensor, k: Tensor, v: Tensor, offset: int) -> None:
    """ValueError unless q, k, v are float tensors [batch, heads, length, width] that fit, TypeError for no tensor.

    The same for an `offset` that is negative, or no whole number.
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        _check_float(name, x)
        if x.ndim != 4 or 0 in x.shape:
            raise ValueError(
                f"{name} has shape {list(x.shape)}, but [batch, heads, length, width] is needed, and no dimension may "
                "be 0"
            )
        if x.dtype != q.dtype or x.device != q.device:
            raise ValueError(f"{name} is {x.dtype} on {x.device}, q is {q.dtype} on {q.device}; make them equal")
    if k.shape != v.shape or k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3] or q.shape[1] % k.shape[1]:
        raise ValueError(
            f"q {list(q.shape)}, k {list(k.shape)}, v {list(v.shape)} do not fit: equal batch and width, k and v "
            "alike, and heads a multiple of kv_heads are needed"
        )
    check_whole(offset=offset)
    if offset < 0:
        raise ValueError(f"offset = {offset}, but the position of the first query must be at least 0")


def check_prior(prior: Prior | None, q: Tensor) -> None:
    """TypeError for what is no prior, ValueError for one of other heads."""
    if prior is None:
        return
    if not isinstance(prior, Prior):
        given = f"the class {prior.__name__}" if isinstance(prior, type) else f"a {_kind(prior)}"
        raise TypeError(
            f"prior is {given}; give a prior such as Laplace(alibi_slopes({q.shape[1]})) of "
            "attention_priors.positions.priors, or None"
        )
    if prior.heads != q.shape[1]:
        swapped = q.shape[2] == prior.heads
        remedy = "give q.transpose(1, 2), and so k and v" if swapped else f"build the prior with {q.shape[1]}"
        raise ValueError(
            f"the prior has {prior.heads} heads, q {list(q.shape)} has {q.shape[1]} ([batch, heads, length, width]); "
            f"{remedy}"
        )


def check_prior_device(prior: Prior, device: torch.device) -> None:
    """ValueError for a prior that is elsewhere."""
    for x in (*prior.parameters(), *prior.buffers()):
        _check_device("the prior", x, device, f"move it: prior.to({str(device)!r})")


def check_pairs(pairs: PairBias | None, q: Tensor) -> None:
    """TypeError for what is no bias of pairs, ValueError for one of other heads or another width."""
    if pairs is None:
        return
    if not isinstance(pairs, PairBias):
        raise TypeError(f"pairs is a {_kind(pairs)}; give a PairBias of attention_priors.positions.pairs, or None")
    if pairs.heads != q.shape[1]:
        raise ValueError(f"pairs has {pairs.heads} heads, q has {q.shape[1]}; build it with {q.shape[1]}")
    if pairs.width != q.shape[3]:
        raise ValueError(f"pairs is for heads of width {pairs.width}, q has {q.shape[3]}; build it with {q.shape[3]}")


def check_positions(q: Tensor, k: Tensor, positions: tuple[Tensor, Tensor] | None) -> None:
    """TypeError for what is no pair of tensors, ValueError unless there is an integer for every query and every key."""
    if positions is None:
        return
    if not isinstance(positions, (tuple, list)) or [isinstance(x, Tensor) for x in positions] != [True, True]:
        raise TypeError(
            f"positions is a {_kind(positions)}; give a pair of tensors: those of the queries and of the keys"
        )
    shapes = [list(x.shape) for x in positions]
    if shapes != [[q.shape[2]], [k.shape[2]]] or any(x.dtype not in INTEGERS for x in positions):
        given = " and ".join(f"{shape} ({x.dtype})" for shape, x in zip(shapes, positions, strict=True))
        raise ValueError(
            f"positions have shapes {given}, but integers [queries] = [{q.shape[2]}] and [keys] = [{k.shape[2]}] are "
            "needed"
        )


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
    q: Tensor,
    k: Tensor,
    logit_scale: Tensor | None,
    prior_scale: Tensor | None,
    visible: Visible | None,
    offset: int | None,
) -> None:
    """ValueError unless there is a scale for every row, and an interval of at least one key, made for this offset."""
    for name, scale in (("logit_scale", logit_scale), ("prior_scale", prior_scale)):
        if scale is not None:
            _check_float(name, scale)
            if scale.shape not in (q.shape[1:3], q.shape[:3]):
                shapes = f"{list(q.shape[1:3])} or {list(q.shape[:3])}"
                raise ValueError(f"{name} has shape {list(scale.shape)}, but {shapes} is needed")
            _check_device(name, scale, q.device, "move one of them")
    if visible is None:  # every key up to the query
        return
    if not isinstance(visible, Visible):
        raise TypeError(
            f"visible is a {_kind(visible)}, but intervals are needed: causal(), window(), documents(), "
            "bidirectional() of attention_priors.attention, or their & (a mask of bools is none; one of padding is "
            "causal(length) & documents(mask.long()))"
        )
    _check_device("visible", visible.first, q.device, "make it with device=q.device")
    if visible.first.shape not in (q.shape[2:3], (q.shape[0], q.shape[2])):
        raise ValueError(f"visible has shape {list(visible.first.shape)}, but [queries] or [batch, queries] is needed")
    if offset is not None and visible.facts.offset not in (None, offset):
        raise ValueError(
            f"visible was made for offset {visible.facts.offset}, but offset = {offset}; give both the same"
        )
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
        raise TypeError(f"{name} is a {_kind(x)}; give a tensor")
    if x.dtype not in FLOATS:
        raise ValueError(f"{name} is {x.dtype}, but attention needs one of {', '.join(map(str, FLOATS))}; convert it")


def _check_device(name: str, x: Tensor, device: torch.device, remedy: str) -> None:
    if x.device != device:
        raise ValueError(f"{name} is on {x.device}, q on {device}; {remedy}")


def _kind(x: object) -> str:
    """The name of its class, without what it holds."""
    kind = type(x)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
