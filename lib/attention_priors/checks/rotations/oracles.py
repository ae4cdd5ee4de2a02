"""Rotations computed by others: the scaled frequencies and the RoPE of transformers, complex numbers in numpy.

Everything here is float32 where transformers is (`FLOAT32` is the relative error that this allows) and float64 else.
"""

from __future__ import annotations

import numpy as np

FLOAT32 = 2e-6


def scaled(kind: str, width: int, factor: float, trained: int, **more: float) -> tuple[np.ndarray, float]:
    """(frequencies, factor on cos and sin) of transformers' `kind`: linear, yarn, llama3."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    longest = trained
    names = {"rope_type": kind, "rope_theta": 10_000.0, "factor": float(factor)}
    if kind in ("yarn", "llama3"):
        names["original_max_position_embeddings"] = trained
        longest = int(trained * factor)
    sizes = {"hidden_size": width, "num_attention_heads": 1, "head_dim": width, "max_position_embeddings": longest}
    config = LlamaConfig(rope_parameters=names | more, **sizes)
    frequencies, attention = ROPE_INIT_FUNCTIONS[kind](config, "cpu")
    return frequencies.double().numpy(), float(attention)


def ramp(many: float, few: float, width: int, trained: int) -> np.ndarray:
    """The blend 0 .. 1 over planes that transformers' YaRN uses between `many` and `few` turns, read off its output."""
    factor = 1024.0
    kept = scaled("yarn", width, factor, trained, beta_fast=many, beta_slow=few)[0]
    plain = 10_000.0 ** (-np.arange(0, width, 2) / width)
    # float32 leaves 1e-7 of noise: exact 0 and 1 are restored, which is what the blend has at its ends
    return np.clip(np.round((1 - kept / plain) / (1 - 1 / factor), 6), 0, 1)


def score(q: np.ndarray, k: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Re Σ_j q_j conj(k_j) e^{exponents_j}: the score of complex planes under a phase and a damping per plane."""
    return (q * np.conj(k) * np.exp(exponents)).sum(-1).real


def planes(x: np.ndarray) -> np.ndarray:
    """The complex planes of real features: component i is paired with i + width/2."""
    half = x.shape[-1] // 2
    return x[..., :half] + 1j * x[..., half:]


def rotate_half(q, k, angles) -> tuple:
    """q and k [heads, length, width] turned by transformers' Llama."""
    import torch
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    both = torch.cat([angles, angles], dim=-1)[None]
    return tuple(x[0] for x in apply_rotary_pos_emb(q[None], k[None], both.cos(), both.sin()))
