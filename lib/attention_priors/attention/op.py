"""The one attention op of this package."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..positions.pairs import PairBias
from ..positions.priors import Prior
from .composite import composite
from .inputs import (
    check_last,
    check_pairs,
    check_positions,
    check_prior,
    check_prior_device,
    check_rows,
    check_tensors,
)
from .reference import reference
from .sdpa import sdpa
from .sdpa_skip import sdpa_skip
from .tiles import serves
from .visible import Visible, causal

TRITON = find_spec("triton") is not None  # found out once: a compiler cannot trace the question


def triton(q: Tensor, k: Tensor, v: Tensor, **arguments: object) -> Tensor:
    """The fused kernels, imported at first use: this package works without Triton."""
    if not TRITON:
        raise ValueError("backend 'triton' needs the package triton, which is not installed; use backend='sdpa'")
    from .fused import fused

    return fused(q, k, v, **arguments)


BACKENDS: dict[str, Callable[..., Tensor]] = {
    "reference": reference,
    "sdpa": sdpa,
    "triton": triton,
    "sdpa_skip": sdpa_skip,
    "composite": composite,
}


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
    pairs: PairBias | None = None,
    backend: str = "auto",
) -> Float[Tensor, "batch heads queries width"]:
    """p_ij ∝ exp(a_i <q_i, k_j> / sqrt(d) + b_i log π(i, j)) over the visible keys j; returns Σ_j p_ij v_j.

    Each key head serves heads / kv_heads consecutive query heads. a = `logit_scale` and b = `prior_scale` have shape
    [heads, queries] or [batch, heads, queries] and default to 1. Query i stands at position offset + i and sees the
    keys up to itself unless `visible` says otherwise. `positions` gives arbitrary integer positions of queries and keys
    to the prior, `pairs` a bias of each pair and perhaps a sink.

    Backends: "reference" writes out the whole matrix, and alone takes `positions` and `pairs`; "sdpa" works by blocks,
    so that memory is linear in the length; "triton" is one kernel of the same on a GPU; "sdpa_skip", on a CPU and
    without gradients, leaves out blocks whose keys weigh nothing; "composite" puts a prior of finite rank into a plain
    `scaled_dot_product_attention`. "auto" is "reference" where it is needed, else "triton" for a prior on a GPU at a
    width and dtype that its kernels have, else "sdpa".

    On a GPU, what a prior's parameters give is kept while nothing is learned. Optimizers' steps and `load_state_dict`
    are noticed; after other changes through `.data`, call `attention_priors.attention.tables.forget()`.

    Raises TypeError for arguments of another kind, and ValueError for shapes that do not fit, an unknown backend, a
    query that sees no key, and what a backend cannot do; an explicit backend never falls back to another. What no query
    sees, and every tensor, must be finite: a weight of 0 times NaN is NaN. Where NaN or infinity comes from the
    parameters of a prior, ValueError says so (not inside compiled code, nor on a GPU while gradients are asked for,
    which would have to wait).

    Gradients are those of `backward` and `torch.autograd.grad`. A second derivative, forward differentiation and
    torch.func (`grad`, `vmap`, `jvp`) are for backend "reference"; the others raise RuntimeError. Autocast does not
    round what is given.
    """
    check_tensors(q, k, v, offset)
    check_prior(prior, q)
    check_pairs(pairs, q)
    check_positions(q, k, positions)
    if visible is None:
        check_last(q, k, offset)
    check_rows(q, k, logit_scale, prior_scale, visible, offset if positions is None else None)
    if backend == "auto":
        backend = "reference" if pairs is not None else _automatic(q, prior, positions)
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend {backend!r}; choose 'auto' or one of {', '.join(map(repr, BACKENDS))}")
    if visible is None and backend != "triton":
        visible = causal(q.shape[2], offset, q.device)
    arguments = {"prior": prior, "logit_scale": logit_scale, "prior_scale": prior_scale, "visible": visible}
    if prior is not None and backend != "triton":
        check_prior_device(prior, q.device)
    if backend == "reference":
        if pairs is not None and pairs.sums and not visible.sees_no_future(offset):
            named = type(pairs).__name__
            raise ValueError(f"{named} sums over the keys up to the query, but visible has later ones; use causal()")
        if positions is None:
            keys = torch.arange(k.shape[2], device=q.device)
            positions = (torch.arange(offset, offset + q.shape[2], device=q.device), keys)
        places = {"q_positions": positions[0], "k_positions": positions[1]}
        return BACKENDS[backend](q, k, v, pairs=pairs, **places, **arguments)
    if pairs is not None:
        named = type(pairs).__name__
        raise ValueError(f"backend {backend!r} has tables of lags, which cannot hold {named}; use backend='reference'")
    if positions is not None:
        raise ValueError(f"backend {backend!r} takes an integer offset only; use backend='reference' for positions")
    return BACKENDS[backend](q, k, v, offset=offset, **arguments)


def _automatic(q: Tensor, prior: Prior | None, positions: tuple[Tensor, Tensor] | None) -> str:
    if positions is not None:
        return "reference"
    fused = q.is_cuda and prior is not None and serves(q.shape[3], q.dtype) and TRITON
    return "triton" if fused else "sdpa"
