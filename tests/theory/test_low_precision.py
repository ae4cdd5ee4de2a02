"""Carriers of a prior: exact where nothing is rounded, and what bfloat16 does to them."""

import pytest
import torch

from attention_priors.theory import low_precision


@pytest.mark.parametrize("name", low_precision.CARRIERS)
def test_features_are_the_prior_they_stand_for(name):
    make, size = low_precision.CARRIERS[name]
    query, keys = make(40, size)
    lags = 39 - torch.arange(40.0, dtype=torch.float64)
    rates = 2 * torch.pi / 16 * 0.25 ** torch.arange(4.0, dtype=torch.float64)
    wanted = {
        "key slope": -size * lags,
        "Jordan block": -size * lags,
        "Fourier": size * (lags[:, None] * rates).cos().sum(-1),
    }[name]
    found = keys @ query
    torch.testing.assert_close(found - found[-1], wanted - wanted[-1], rtol=1e-6, atol=1e-5)


def test_rounding_and_parts():
    """8 bits: 257 is no bfloat16; three of them hold 24 bits."""
    assert low_precision.rounded(torch.tensor([255.0, 256.0, 257.0])).tolist() == [255, 256, 256]
    x = torch.rand(100, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert ((sum(low_precision.parts(x)) - x).abs() / x).max() < 2.0**-24
    assert ((low_precision.parts(x)[0] - x).abs() / x).max() > 2.0**-10


def test_an_unknown_way_is_refused():
    features = low_precision.key_slope(4, 0.5)
    with pytest.raises(ValueError, match="how = 'rotated'; choose exact, content, product, split, added"):
        low_precision.weights(features, (torch.zeros(2).double(), torch.zeros(4, 2).double()), "rotated")
