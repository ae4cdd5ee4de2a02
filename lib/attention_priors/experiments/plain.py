"""The straightforward way to a learned prior, as the measure of ours: an L x L bias with a power per element."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ..attention import BACKENDS, Visible
from ..positions.priors import GeneralizedGaussian

NAME = "plain"


def plain(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    prior: GeneralizedGaussian,
    logit_scale: Tensor | None,
    prior_scale: Tensor | None,
    visible: Visible,
    offset: int,
) -> Tensor:
    """softmax(a_i <q_i, k_j> / sqrt(d) + b_i log π + mask) with log π and mask as [1, heads, L, L] tensors."""
    i = torch.arange(offset, offset + q.shape[2], device=q.device)[:, None]
    distance = (i - torch.arange(k.shape[2], device=q.device) + prior.mu[:, None, None]).abs() + prior.epsilon
    bias = -prior.theta_alpha.exp()[:, None, None] * distance.pow(prior.theta_beta[:, None, None])
    if prior_scale is not None:
        bias = bias * prior_scale[..., None]
    mask = torch.zeros(q.shape[2], k.shape[2], device=q.device).masked_fill(~visible.dense(k.shape[2]), -torch.inf)
    if logit_scale is not None:
        q = q * logit_scale[..., None]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=(bias + mask)[None])


def register() -> None:
    """Offer the plain version to the models of this process as backend "plain"."""
    BACKENDS[NAME] = plain
