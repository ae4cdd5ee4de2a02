"""One plain attention call with a prior inside: position as coordinates of queries and keys, and no table of biases."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ..positions.composite import MODES, coordinates, rank, uniform
from ..positions.finite_rank import extend
from ..positions.priors import Prior
from .inputs import for_all_heads
from .precision import no_autocast
from .visible import Visible


def composite(
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
    """Backend of `attention`; see there. [batch, heads, queries, width], computed in at least float32.

    q' = [a_i q_c, b_i φ(i) sqrt(d)] and k' = [k_c, ψ(j)] go through torch's scaled_dot_product_attention as they are,
    so that nothing grows with the product of queries and keys. The last rank + 2 components of q and k must be zero, as
    `positions.composite.Content` leaves them. ValueError for those that are not, for a prior without finite rank, and
    for masks other than the plainly causal one and none.
    """
    if prior is None:
        raise ValueError("backend 'composite' carries a prior, and there is none; use backend='sdpa'")
    queries, keys, width = q.shape[2], k.shape[2], q.shape[3]
    places = rank(prior) + 2
    if width <= places:
        raise ValueError(
            f"heads of width {width} leave no content beside the prior's {places} coordinates; give wider "
            "heads or fewer modes"
        )
    if bool(k[..., -places:].any()) and bool(q[..., -places:].any()):
        raise ValueError(
            f"the last {places} components of q and k hold content, but the prior needs them; leave them "
            "zero (positions.composite.Content), or use backend='sdpa'"
        )
    causal = queries == keys and visible.plainly_causal()
    if not causal and not (visible.facts.first == 0 and bool((visible.last == keys - 1).all())):
        raise ValueError(
            "backend 'composite' sees all keys, or each query those up to itself; use backend='sdpa' for "
            "windows, documents and part of the queries"
        )
    dtype = torch.promote_types(q.dtype, torch.float32)
    with no_autocast(q):
        q, k, v, before = q.to(dtype), k.to(dtype), v.to(dtype), q.dtype
        device = q.device
        phi, psi = coordinates(
            prior, torch.arange(offset, offset + queries, device=device), torch.arange(keys, device=device)
        )
        phi, psi = phi.to(dtype)[None] * width**0.5, psi.to(dtype)[None]
        content = q[..., :-places]
        if logit_scale is not None:
            content = content * logit_scale[..., None].to(dtype)
        if prior_scale is not None:
            phi = phi * prior_scale[..., None].to(dtype)
        k, v = for_all_heads(q, k, v)  # heads that share a key have priors of their own
        q = torch.cat([content, phi.expand(len(q), -1, -1, -1)], -1)
        k = torch.cat([k[..., :-places], psi.expand(len(k), -1, -1, -1)], -1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal).to(before)


class GoatAttention(nn.Module):
    """Causal self-attention with Goat's prior: x -> attention(x); no mask, cache, dropout, grouped heads.

    Queries and keys have heads of d_c = d - (2R + 2) components, values of d = width / heads, and the prior
    Σ_r α_r cos ω_r (i - j) + β_r sin ω_r (i - j) + u(j) fills the rest in one plain call (Goat, Algorithm 1).
    """

    def __init__(self, width: int, heads: int, modes: int = MODES) -> None:
        """ValueError where the heads do not divide the width, or are at most 2R + 2 wide."""
        super().__init__()
        if heads < 1 or width % heads or width // heads <= 2 * modes + 2:
            raise ValueError(
                f"width = {width}, heads = {heads}, modes = {modes}: give heads that divide the width and "
                "are wider than 2 modes + 2"
            )
        content = heads * (width // heads - 2 * modes - 2)
        self.heads, self.prior = heads, uniform(heads, modes)
        self.query, self.key = nn.Linear(width, content, bias=False), nn.Linear(width, content, bias=False)
        self.value, self.output = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        """Attention of every place to those up to it, in at least float32. ValueError for another shape."""
        if x.ndim != 3 or x.shape[-1] != self.query.in_features:
            raise ValueError(f"x has shape {list(x.shape)}, but [batch, length, {self.query.in_features}] is needed")
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        places, before = torch.arange(x.shape[1], device=x.device), v.dtype
        dtype = torch.promote_types(before, torch.float32)  # bfloat16 rounds u(j) = s j to nothing
        with no_autocast(x):
            q, k = extend(q.to(dtype), k.to(dtype), *coordinates(self.prior, places, places))
            mixed = F.scaled_dot_product_attention(q, k, v.to(dtype), is_causal=True).to(before)
        return self.output(mixed.transpose(1, 2).flatten(2))
