"""Scalable softmax: s_h ln n_i."""

import math

import pytest
import torch

from attention_priors.positions.scaling import Constant, ScalableSoftmax


def test_is_its_formula():
    module = ScalableSoftmax(3)
    with torch.no_grad():
        module.scale.copy_(torch.tensor([1.0, 0.5, 2.0]))
    factors = module(torch.tensor([1, 2, 500_000]))
    for head, scale in enumerate((1.0, 0.5, 2.0)):
        wanted = [0.0, scale * math.log(2), scale * math.log(500_000)]
        assert factors[head].tolist() == pytest.approx(wanted, rel=1e-6)
    assert module(torch.ones(4, 7, dtype=torch.int64)).shape == (4, 3, 7)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_counts_beyond_half_precision(dtype):
    factor = ScalableSoftmax(1).to(dtype)(torch.tensor([70_000]))
    assert factor.dtype == dtype and factor.item() == pytest.approx(math.log(70_000), rel=4e-3)


def test_constant_stands_for_one():
    assert Constant(2)(torch.arange(1, 5)) is None


def test_refuses_no_heads():
    with pytest.raises(ValueError, match="heads = 0"):
        ScalableSoftmax(0)
