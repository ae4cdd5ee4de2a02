"""Scalable softmax: s_h ln n_i."""

import math

import pytest
import torch

from attention_priors.attention import attention, causal
from attention_priors.positions.scaling import Constant, ScalableSoftmax


def test_is_its_formula() -> None:
    module = ScalableSoftmax(3)
    with torch.no_grad():
        module.scale.copy_(torch.tensor([1.0, 0.5, 2.0]))
    factors = module(torch.tensor([1, 2, 500_000]))
    for head, scale in enumerate((1.0, 0.5, 2.0)):
        wanted = [0.0, scale * math.log(2), scale * math.log(500_000)]
        assert factors[head].tolist() == pytest.approx(wanted, rel=1e-6)
    assert module(torch.ones(4, 7, dtype=torch.int64)).shape == (4, 3, 7)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_counts_beyond_half_precision(dtype: torch.dtype) -> None:
    factor = ScalableSoftmax(1).to(dtype)(torch.tensor([70_000]))
    assert factor.dtype == dtype and factor.item() == pytest.approx(math.log(70_000), rel=4e-3)


def test_softmax_with_base_n() -> None:
    """exp(s ln n z) = n^(s z): the weights by their other formula."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, 6, 4, dtype=torch.float64, generator=generator) for _ in range(3))
    scale = ScalableSoftmax(2).double()(causal(6).count)
    found = attention(q, k, v, logit_scale=scale)
    for row in range(6):
        n, here = row + 1, slice(row, row + 1)
        powers = n ** (q[:, :, here] @ k[:, :, :n].transpose(-1, -2) / 2)
        torch.testing.assert_close(found[:, :, here], powers / powers.sum(-1, keepdim=True) @ v[:, :, :n])


def test_constant_stands_for_one() -> None:
    assert Constant(2)(torch.arange(1, 5)) is None


def test_refuses_no_heads() -> None:
    with pytest.raises(ValueError, match="heads = 0"):
        ScalableSoftmax(0)
