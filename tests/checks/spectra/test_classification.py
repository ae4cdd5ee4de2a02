"""Goat's slope on keys in low precision, against what torch's attention and transformers' BLOOM do."""

import numpy as np
import pytest
import torch
from scipy import special
from torch.nn.functional import one_hot, scaled_dot_product_attention

from attention_priors.checks import CHECKS
from attention_priors.theory import key_slope


def test_e6_bloom_builds_its_bias_in_the_dtype_of_the_model():
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    mask = torch.ones(1, 300)
    half, full = (build_alibi_tensor(mask, 8, dtype)[0, 0].double() for dtype in (torch.bfloat16, torch.float32))
    assert half.diff().min() == 0 and full.diff().min() > 0


def last_weights(coordinates, width=64):
    """Weight of all other keys, then of the last `width` - 1, as torch's attention gives them in bf16, content zero."""
    lanes, keys = coordinates.shape
    q, k = torch.zeros(1, 1, width, dtype=torch.bfloat16), torch.zeros(1, keys, width, dtype=torch.bfloat16)
    q[..., :lanes], k[0, :, :lanes] = width**0.5, torch.as_tensor(coordinates.T).bfloat16()
    v = one_hot(torch.arange(keys).sub(keys - width).clamp(min=0), width).bfloat16()[None]
    return scaled_dot_product_attention(q, k, v)[0, 0].double().numpy()


def test_e6_torch_attention_agrees_with_the_emulation():
    coordinates = key_slope.key_slope(0.5, 2048, "bf16")
    exact = special.softmax(0.5 * np.arange(2048))
    blocks = np.concatenate([[exact[:-63].sum()], exact[-63:]])
    measured = key_slope.total_variation(last_weights(coordinates), blocks)
    assert measured == pytest.approx(key_slope.misplaced(coordinates, 0.5), abs=5e-3)
    _, both = CHECKS["GOAT-E6"].corrected[0].truth(lambda j: (j, 0 * j), 0.5, 2048)  # the larger of the two
    assert both == pytest.approx(measured, abs=5e-3) and both >= measured
