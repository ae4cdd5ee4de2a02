"""ReRoPE's two rotations against every pair turned by the mapped lag, in numpy with complex numbers."""

import math

import numpy as np
import pytest
import torch

from attention_priors.positions.rotary import Rotary, rope
from attention_priors.theory import rerope

GENERATOR = torch.Generator().manual_seed(2)
Q, K, V = (torch.randn(2, heads, 12, 8, dtype=torch.float64, generator=GENERATOR) for heads in (4, 2, 2))


def mapped(lag, window, factor):
    return lag if lag <= window else window + (lag - window) / factor


def pair_by_pair(window, factor):
    """[batch, heads, 12, 12]: each causal pair on its own."""
    found = np.full((2, 4, 12, 12), -np.inf)
    for b, h, i in np.ndindex(2, 4, 12):
        for j in range(i + 1):
            q, k = Q[b, h, i].numpy(), K[b, h // 2, j].numpy()
            planes = (q[:4] + 1j * q[4:]) * (k[:4] - 1j * k[4:])
            found[b, h, i, j] = (
                (planes * np.exp(1j * mapped(i - j, window, factor) * np.array(rope(8).omega))).sum().real
            )
    return found


@pytest.mark.parametrize("window", [0, 1, 5, 11, 50])
@pytest.mark.parametrize("factor", [1.0, 2.0, 3.7, math.inf])
def test_the_two_rotations_are_the_mapped_lag(window, factor):
    wanted = pair_by_pair(window, factor)
    positions, seen = torch.arange(12), np.isfinite(wanted)
    found = rerope.scores(Q, K, rope(8), positions, positions, window=window, factor=factor).numpy()
    np.testing.assert_allclose(found[seen], wanted[seen], rtol=0, atol=1e-12)
    weights = np.exp(wanted / math.sqrt(8))
    out = (weights / weights.sum(-1, keepdims=True)) @ V.repeat_interleave(2, dim=1).numpy()
    attended = rerope.attention(Q, K, V, rope(8), window=window, factor=factor)
    np.testing.assert_allclose(attended, out, rtol=0, atol=1e-12)
    last = rerope.attention(Q[:, :, -3:], K, V, rope(8), window=window, factor=factor)
    torch.testing.assert_close(last, attended[:, :, -3:], rtol=0, atol=1e-12)


def test_a_window_as_long_as_the_context_and_factor_one_are_rope():
    positions = torch.arange(12)
    q, k = Rotary(rope(8))(Q, K, positions, positions)
    plain = q @ k.repeat_interleave(2, dim=1).mT
    for window, factor in ((11, math.inf), (3, 1.0)):
        found = rerope.scores(Q, K, rope(8), positions, positions, window=window, factor=factor)
        torch.testing.assert_close(found.tril(), plain.tril(), rtol=0, atol=1e-12)


def test_refusals():
    positions = torch.arange(12)
    for window, factor in ((-1, 2.0), (3, 0.5), (3, float("nan"))):
        with pytest.raises(ValueError, match="window = "):
            rerope.scores(Q, K, rope(8), positions, positions, window=window, factor=factor)
    with pytest.raises(ValueError, match="4 heads, k 3"):
        rerope.scores(Q, torch.zeros(2, 3, 12, 8).double(), rope(8), positions, positions, window=3)
