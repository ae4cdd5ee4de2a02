"""Maps of positions and lags: their special cases, and the law of randomised positions."""

from itertools import combinations

import pytest
import torch
from scipy import stats

from attention_priors.positions import maps

LAGS = torch.arange(40)


def test_special_cases():
    assert torch.equal(maps.leaky(LAGS, 8, 1.0), LAGS.double())
    assert torch.equal(maps.leaky(LAGS, 8, float("inf")), maps.rectified(LAGS, 8).double())
    assert torch.equal(maps.leaky(LAGS, 0, 4.0), maps.interpolated(LAGS, 4.0))
    assert maps.leaky(torch.tensor([7, 8, 9, 12]), 8, 4.0).tolist() == [7, 8, 8.25, 9]
    assert maps.rectified(torch.tensor([0, 7, 8, 1000]), 8).tolist() == [0, 7, 8, 8]
    assert torch.equal(maps.randomised(9, 9, torch.Generator()), torch.arange(9))


def test_every_ordered_subset_is_equally_likely():
    draw, subsets = torch.Generator().manual_seed(0), list(combinations(range(6), 3))
    counts = dict.fromkeys(subsets, 0)
    for _ in range(4000):
        counts[tuple(maps.randomised(3, 6, draw).tolist())] += 1  # KeyError for anything but a sorted subset
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


def test_refusals():
    bad = [
        (lambda: maps.rectified(LAGS, -1), "window = -1"),
        (lambda: maps.leaky(LAGS, 4, 0.5), "factor = 0.5"),
        (lambda: maps.interpolated(LAGS, float("nan")), "factor = nan"),
        (lambda: maps.randomised(0, 4, torch.Generator()), "length = 0"),
        (lambda: maps.randomised(5, 4, torch.Generator()), "longest = 4"),
    ]
    for make, message in bad:
        with pytest.raises(ValueError, match=message):
            make()
