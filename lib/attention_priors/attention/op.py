"""The one attention op of this package."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..positions.priors import Prior
from .reference import reference
from .sdpa import sdpa
from .tiles import serves
from .visible import Visible, causal


def triton(q: Tensor, k: Tensor, v: Tensor, **arguments: object) -> Tensor:
    """The fused kernels, imported at first use: this package works without Triton."""
    if find_spec("triton") is None:
        raise ValueError("backend 'triton' needs the package triton, which is not installed; use backend='sdpa'")
    from .fused import fused

    return fused(q, k, v, **arguments)


BACKENDS: dict[str, Callable[..., Tensor]] = {"reference": reference, "sdpa": sdpa, "triton": triton}


def attention(
    q: Float[Tensor, "batch heads queries width"],
    k: Float[Tensor, "batch kv_heads keys width"],
    v: Float[Tensor, "batch kv_heads keys width"],
    *,
    prior: Prior | None = None,
    logit_scale: Float[Tensor, "*a_rows heads queries"] | None = None,
    prior_scale: Float[Tensor, "*b_rows heads queries"] | None = None,
    visible: Visible | None = None,
    offset: int = 0,
    positions: tuple[Int[Tensor, " queries"], Int[Tensor, " keys"]] | None = None,
    backend: str = "auto",
) -> Float[Tensor, "batch heads queries width"]:
    """p_ij ∝ exp(a_i <q_i, k_j> / sqrt(d) + b_i log π(i, j)) over the visible keys j; returns Σ_j p_ij v_j.

    Each key head serves heads / kv_heads consecutive query heads. a = `logit_scale` and b = `prior_scale` have shape
    [heads, queries] or [batch, heads, queries] and default to 1. Query i stands at position offset + i and sees the
    keys up to itself unless `visible` says otherwise. `positions` gives arbitrary integer positions of queries and keys
    to the prior (backend "reference" only). `backend="auto"` is "reference" where positions are given, else "triton"
    for a prior on a GPU at a width and dtype that its kernels have, else "sdpa".

    Raises ValueError for shapes that do not fit, an unknown backend, a query that sees no key, and what a backend
    cannot do; an explicit backend never falls back to another.
    """
    _check_shapes(q, k, v, prior, logit_scale, prior_scale, offset)
    if visible is None:
        visible = causal(q.shape[2], offset, q.device)
    _check_visible(visible, q, k)
    if backend == "auto":
        backend = _automatic(q, prior, positions)
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend {backend!r}; choose 'auto' or one of {', '.join(map(repr, BACKENDS))}")
    arguments = {"prior": prior, "logit_scale": logit_scale, "prior_scale": prior_scale, "visible": visible}
    if backend == "reference":
        if positions is None:
            keys = torch.arange(k.shape[2], device=q.device)
            positions = (torch.arange(offset, offset + q.shape[2], device=q.device), keys)
        return BACKENDS[backend](q, k, v, q_positions=positions[0], k_positions=positions[1], **arguments)
    if positions is not None:
        raise ValueError(f"backend {backend!r} takes an integer offset only; use backend='reference' for positions")
    return BACKENDS[backend](q, k, v, offset=offset, **arguments)


def _automatic(q: Tensor, prior: Prior | None, positions: tuple[Tensor, Tensor] | None) -> str:
    if positions is not None:
        return "reference"
    fused = q.is_cuda and prior is not None and serves(q.shape[3], q.dtype) and find_spec("triton")
    return "triton" if fused else "sdpa"


def _check_shapes(
    q: Tensor, k: Tensor, v: Tensor, prior: Prior | None, logit: Tensor | None, prior_scale: Tensor | None, offset: int
) -> None:
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
    if prior is not None and prior.heads != q.shape[1]:
        raise ValueError(f"the prior has {prior.heads} heads, q has {q.shape[1]}; build the prior with {q.shape[1]}")
    for name, scale in (("logit_scale", logit), ("prior_scale", prior_scale)):
        if scale is not None and scale.shape not in (q.shape[1:3], q.shape[:3]):
            raise ValueError(f"{name} has shape {list(scale.shape)}, but {list(q.shape[1:3])} or {list(q.shape[:3])}")


def _check_visible(visible: Visible, q: Tensor, k: Tensor) -> None:
    if visible.first.shape not in (q.shape[2:3], (q.shape[0], q.shape[2])):
        raise ValueError(f"visible has shape {list(visible.first.shape)}, but [queries] or [batch, queries] is needed")
    if bool((visible.first < 0).any() | (visible.last >= k.shape[2]).any()):
        raise ValueError(f"visible points outside the {k.shape[2]} keys; check the offset and the number of keys")
    if bool((visible.last < visible.first).any()):
        raise ValueError("visible leaves a query without any key; widen the window or the document")
