"""ReRoPE's limits, and what it refuses; checks/rotations/laws.py turns every pair by the mapped lag."""

import math

import pytest
import torch

from attention_priors.positions.rotary import Rotary, rope
from attention_priors.theory import rerope

GENERATOR = torch.Generator().manual_seed(2)
Q, K = (torch.randn(2, heads, 12, 8, dtype=torch.float64, generator=GENERATOR) for heads in (4, 2))


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
