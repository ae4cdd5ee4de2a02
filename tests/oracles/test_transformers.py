"""Transformers as an independent witness, here where the sizes are drawn and there where they are published.

what                                        agrees to
RoPE frequencies: linear, dynamic, yarn,    2e-6, relative (theirs are float32)
  llama3, and YaRN's and Llama 3's factor
Bloom's slopes                              1e-5, relative (theirs are float32 powers)
T5's buckets                                exactly
"""

import numpy as np
import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from attention_priors.positions import extensions
from attention_priors.positions.priors import Laplace, alibi_slopes, t5_bucket
from attention_priors.positions.rotary import Spectrum, rope


def theirs(kind: str, width: int, factor: float, trained: int, length: int, base: float) -> tuple[np.ndarray, float]:
    """Frequencies and the factor on cos and sin."""
    names = {"rope_type": kind, "rope_theta": base, "factor": factor}
    longest = trained
    if kind in ("yarn", "llama3"):
        names["original_max_position_embeddings"], longest = trained, int(trained * factor)
    if kind == "llama3":
        names |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    sizes = {"hidden_size": width, "num_attention_heads": 1, "head_dim": width, "max_position_embeddings": longest}
    config = LlamaConfig(rope_parameters=names, **sizes)
    frequencies, attention_factor = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=length)
    return frequencies.double().numpy(), float(attention_factor)


OURS = {
    "linear": lambda spectrum, factor, trained, length: extensions.interpolate(spectrum, factor),
    "dynamic": lambda spectrum, factor, trained, length: extensions.dynamic_ntk(spectrum, factor, length, trained),
    "yarn": lambda spectrum, factor, trained, length: extensions.yarn(spectrum, factor, trained),
    "llama3": lambda spectrum, factor, trained, length: extensions.llama3(spectrum, factor, trained),
}


@pytest.mark.parametrize("kind", OURS)
@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
@pytest.mark.parametrize("width", [16, 64, 128])
def test_rope_scaling(width, base, kind):
    for factor in (1.5, 4.0, 32.0):
        for trained, length in ((128, 100), (128, 1000), (4096, 4097), (8192, 131_072)):
            spectrum: Spectrum = OURS[kind](rope(width, base), factor, trained, length)
            frequencies, on_waves = theirs(kind, width, factor, trained, length, base)
            np.testing.assert_allclose(spectrum.omega, frequencies, rtol=2e-6)
            assert spectrum.temperature == pytest.approx(on_waves**-2, rel=2e-6)


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
