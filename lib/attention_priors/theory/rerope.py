"""ReRoPE and Leaky ReRoPE as attention: two rotations of the same q and k, one for each side of the window.

The rotation of a pair depends on its lag through a map with a kink (positions/maps.py), so that no single rotation of
queries and keys carries it. On each side of the kink the map is affine, and one rotation does.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attention_priors.positions.layouts import half_split
from attention_priors.positions.rotary import Spectrum


def scores(
    q: Tensor,
    k: Tensor,
    spectrum: Spectrum,
    q_positions: Tensor,
    k_positions: Tensor,
    *,
    window: int,
    factor: float = math.inf,
) -> Tensor:
    """<q, R(-m(lag)) k>, m = maps.leaky(lag; window, factor): [batch, heads, queries, keys], not yet over √d.

    factor = infinity is ReRoPE (Su 2023): beyond the window m = window, where queries turn by the window and keys
    not at all. Beyond the window in general m = window + (lag - window) / factor, so queries turn by
    p / factor + window (1 - 1 / factor) and keys by p / factor. Lags must not be negative where they are used.
    """
    if window < 0 or not factor >= 1:
        raise ValueError(f"window = {window}, factor = {factor}, but window >= 0 and factor >= 1 are needed")
    if q.shape[1] % k.shape[1]:
        raise ValueError(f"q has {q.shape[1]} heads, k {k.shape[1]}; a multiple is needed")
    k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
    p, r = q_positions.double(), k_positions.double()
    near = _turned(q, p, spectrum) @ _turned(k, r, spectrum).mT
    far = _turned(q, p / factor + window * (1 - 1 / factor), spectrum) @ _turned(k, r / factor, spectrum).mT
    return torch.where(p[:, None] - r <= window, near, far)


def attention(q: Tensor, k: Tensor, v: Tensor, spectrum: Spectrum, *, window: int, factor: float = math.inf) -> Tensor:
    """Causal attention with `scores`; the queries are the last positions: [batch, heads, queries, width]."""
    keys = torch.arange(k.shape[2], device=k.device)
    queries = keys[len(keys) - q.shape[2] :]
    logits = scores(q, k, spectrum, queries, keys, window=window, factor=factor) * q.shape[-1] ** -0.5
    weights = logits.masked_fill(keys > queries[:, None], -torch.inf).softmax(-1)
    return weights @ v.repeat_interleave(q.shape[1] // v.shape[1], dim=1)


def _turned(x: Tensor, positions: Tensor, spectrum: Spectrum) -> Tensor:
    omega = torch.tensor(spectrum.omega, dtype=torch.float64, device=x.device)
    return half_split(x, positions[:, None] * omega)
