"""Transformers as an independent witness, here where the sizes are drawn and there where they are published.

what                                        agrees to
Bloom's slopes                              1e-5, relative (theirs are float32 powers)
T5's buckets                                exactly

RoPE's extensions are held to them by checks/rotations/laws.py and tests/integrations/test_extending.py.
"""

import pytest
import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from attention_priors.positions.priors import Laplace, alibi_slopes, t5_bucket


@pytest.mark.parametrize("heads", [*range(1, 34), 64, 71, 112])
def test_bloom_s_slopes(heads):
    bias = build_alibi_tensor(torch.ones(1, 50), heads, torch.float32)[:, 0].double()
    lags = torch.arange(49, -1, -1)
    ours = Laplace(alibi_slopes(heads)).log_prior(lags).double()
    torch.testing.assert_close(ours - ours[:, :1], bias - bias[:, :1], rtol=1e-5, atol=0)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("buckets", [*range(2, 34), 48, 63, 64, 128])
def test_t5_s_buckets(buckets, bidirectional):
    """Also where the farthest lag is close to the number of buckets, so that some hold no lag."""
    side = buckets // 2 if bidirectional else buckets
    if bidirectional and (buckets % 2 or side < 2):
        return
    lags = torch.arange(-1500, 1501)
    for farthest in {side // 2 + 1, side // 2 + 2, side - 1, side, side + 1, side + 5, 2 * side, 64, 128, 200, 1000}:
        if farthest > side // 2:
            found = T5Attention._relative_position_bucket(-lags, bidirectional, buckets, farthest)
            assert torch.equal(t5_bucket(lags, buckets, farthest, bidirectional), found), farthest
