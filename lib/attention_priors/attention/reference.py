"""The specification: attention with a prior, written out over the whole matrix, in any dtype, with any positions."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from ..positions.pairs import PairBias, Pairs
from ..positions.priors import FAR, Prior
from .precision import no_autocast
from .visible import Visible


def weights(
    q: Float[Tensor, "batch heads queries width"],
    k: Float[Tensor, "batch kv_heads keys width"],
    *,
    prior: Prior | None,
    logit_scale: Float[Tensor, "*a_rows heads queries"] | None,
    prior_scale: Float[Tensor, "*b_rows heads queries"] | None,
    visible: Visible,
    q_positions: Tensor,
    k_positions: Tensor,
    pairs: PairBias | None = None,
) -> Float[Tensor, "batch heads queries keys"]:
    """p_ij = softmax_j(a_i <q_i, k_j> / sqrt(d) + b_i log π(i, j)) over the visible keys j; in at least float32.

    With `pairs` their bias is added, and their sink to what the weights are divided by.
    """
    with no_autocast(q):
        mask = visible.dense(k.shape[2])
        mask = mask[:, None] if mask.ndim == 3 else mask
        dtype = torch.promote_types(q.dtype, torch.float32)
        q, k = q.to(dtype), k.to(dtype).repeat_interleave(q.shape[1] // k.shape[1], dim=1)
        logits = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        if logit_scale is not None:
            logits = logits * logit_scale[..., None].to(logits)
        sink = None
        if pairs is not None:
            bias, sink = pairs(Pairs(q, logits, mask, q_positions, k_positions))
            logits = logits + bias
        if prior is not None:
            log_prior = _near(_log_prior(prior, q_positions, k_positions), mask).to(logits)
            logits = logits + (log_prior if prior_scale is None else log_prior * prior_scale[..., None].to(logits))
        logits = logits.masked_fill(~mask, -torch.inf)
        if sink is None:
            return logits.softmax(-1)
        return torch.cat([logits, sink[..., None]], -1).softmax(-1)[..., :-1]


def reference(q: Tensor, k: Tensor, v: Tensor, **arguments: object) -> Tensor:
    """Σ_j p_ij v_j: [batch, heads, queries, width]."""
    p = weights(q, k, **arguments)
    with no_autocast(q):
        return (p @ v.to(p.dtype).repeat_interleave(q.shape[1] // v.shape[1], dim=1)).to(q.dtype)


def _log_prior(prior: Prior, q_positions: Tensor, k_positions: Tensor) -> Float[Tensor, "heads rows keys"]:
    """[heads, queries, keys], or [heads, 1, keys] where nothing depends on the query."""
    lags = q_positions[:, None] - k_positions
    table, of_keys = prior.table(lags.flatten()), prior.of_keys(k_positions, len(k_positions))
    terms = [] if table is None else [table.unflatten(1, lags.shape)]
    terms += [] if of_keys is None else [of_keys[:, None, :]]
    return sum(terms[1:], terms[0])


def _near(log_prior: Tensor, mask: Tensor) -> Tensor:
    """Less its visible peak in rows where that is beyond ±FAR: no row feels a constant, but its digits would."""
    peak = log_prior.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)
    far = peak.abs() > FAR
    return log_prior if torch.compiler.is_compiling() or not far.any() else log_prior - torch.where(far, peak, 0)
