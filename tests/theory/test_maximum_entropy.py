"""The dual solver against laws that are known, and its answer to moments that no law has."""

import numpy as np
import pytest

from attention_priors.theory.inference import truncated_geometric
from attention_priors.theory.maximum_entropy import exponential_family, maximum_entropy


@pytest.mark.parametrize(("m", "n"), [(0.1, 5), (0.7, 40), (-0.3, 12)])
def test_the_mean_lag_gives_back_the_slope(m, n):
    p = exponential_family(np.arange(n), m)
    found, slope = maximum_entropy(np.arange(n), p @ np.arange(n))
    assert slope == pytest.approx([m], abs=1e-8) and np.allclose(found, p, atol=1e-9)
    if m > 0:
        assert np.allclose(p, truncated_geometric(m, n))


def test_the_middle_is_uniform_and_beyond_it_the_oldest_keys_lead():
    assert maximum_entropy(np.arange(10), 4.5)[1] == pytest.approx([0.0], abs=1e-9)
    assert maximum_entropy(np.arange(10), 7.0)[1][0] < 0 < maximum_entropy(np.arange(10), 1.0)[1][0]


def test_several_statistics_and_dependent_ones():
    indicators = np.eye(4)[:, np.arange(20) // 5]
    p = exponential_family(indicators, [0.3, -1.0, 0.0, 2.0])
    assert np.allclose(maximum_entropy(indicators, indicators @ p)[0], p, atol=1e-9)


@pytest.mark.parametrize(
    ("statistics", "moments", "message"),
    [
        (np.arange(5), 4.0, r"moment 4 of statistic 0 must lie inside \(0, 4\)"),
        (np.arange(5), np.nan, "finite"),
        (np.ones(5), 1.0, "inside"),
        ([np.arange(5), np.arange(5) ** 2], [2.0, 3.9], "no law"),
    ],
)
def test_moments_without_a_law_are_named(statistics, moments, message):
    with pytest.raises(ValueError, match=message):
        maximum_entropy(statistics, moments)
