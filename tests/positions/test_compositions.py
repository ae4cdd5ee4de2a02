"""RoPE with learned biases and over a grid; both are written out in checks/rotations/laws.py."""

import pytest
import torch

from attention_priors.positions.rotary import BiasedRotary, GridRotary, Rotary, rope

GENERATOR = torch.Generator().manual_seed(7)


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=GENERATOR)


def biased():
    module = BiasedRotary(4, 2, Rotary(rope(8)))
    with torch.no_grad():
        module.a.copy_(random(4, 8))
        module.b.copy_(random(2, 8))
    return module


def test_it_starts_as_rope():
    q, k, positions = random(1, 4, 5, 8), random(1, 2, 5, 8), torch.arange(5)
    for found, wanted in zip(
        BiasedRotary(4, 2, Rotary(rope(8)))(q, k, positions, positions),
        Rotary(rope(8))(q, k, positions, positions),
        strict=True,
    ):
        assert torch.equal(found, wanted)


def test_without_content_the_scores_are_the_prior():
    module, positions = biased(), torch.tensor([0, 3, 9, 40, 1000])
    q, k = module(torch.zeros(1, 4, 5, 8).double(), torch.zeros(1, 2, 5, 8).double(), positions, positions)
    found = (q @ k.repeat_interleave(2, dim=1).mT)[0] * 8**-0.5
    lags = (positions[:, None] - positions).flatten()
    torch.testing.assert_close(module.log_prior(lags).unflatten(1, (5, 5)), found, rtol=0, atol=1e-9)


def test_both_biases_learn():
    module, positions = biased(), torch.arange(5)
    q, k = module(random(1, 4, 5, 8), random(1, 2, 5, 8), positions, positions)
    (q @ k.repeat_interleave(2, dim=1).mT).square().sum().backward()
    assert module.a.grad.abs().min() > 0 and module.b.grad.abs().min() > 0


def test_refusals():
    with pytest.raises(ValueError, match="heads = 3, kv_heads = 2"):
        BiasedRotary(3, 2, Rotary(rope(8)))
    x = random(1, 1, 2, 6)
    with pytest.raises(ValueError, match="head width 6"):
        GridRotary(rope(4))(x, x, torch.zeros(2, 2, dtype=torch.int64), torch.zeros(2, 2, dtype=torch.int64))
