"""What position takes of a head in Goat's recipe for ImageNet, counted as the rank of a matrix of biases."""

import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.images.resolution import rank


@pytest.mark.parametrize(("pairs", "sinks", "expected"), [(2, 0, 4), (2, 1, 5), (8, 0, 16), (8, 1, 17)])
def test_two_dimensions_a_pair_and_one_for_the_bias(pairs, sinks, expected):
    assert rank(pairs, sinks, side=18) == expected


def test_the_bias_stands_beside_the_printed_32():
    printed, beside = (found for _, found in CHECKS["GOAT-TAB2"].laws)
    assert printed.holds and beside.holds and beside.decisive.actual == beside.decisive.claimed
