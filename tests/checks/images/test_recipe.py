"""What position takes of a head in Goat's recipe for ImageNet, counted as the rank of a matrix of biases."""

import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.images.recipe import rank


@pytest.mark.parametrize(("pairs", "sinks", "expected"), [(2, 0, 4), (2, 1, 5), (8, 0, 16), (8, 1, 17)])
def test_two_dimensions_a_pair_and_one_for_the_bias(pairs, sinks, expected):
    assert rank(pairs, sinks, side=18) == expected


def test_the_printed_32_have_no_room_for_the_bias():
    found = CHECKS["GOAT-TAB2"].verdict("theory")
    assert found.verdict == "verified with correction"
    assert (found.counterexample.claimed, found.counterexample.actual) == (32, 33)
