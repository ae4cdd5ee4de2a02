"""What is measured of a call is a ratio of two that take turns."""

import pytest

from attention_priors.bench import measure


@pytest.mark.parametrize("backward", ["0", "1"])
def test_a_call_with_the_prior_inside_is_held_against_one_without(backward):
    found = measure.MEASURES["composite_call"]("256", backward, repeats=3)
    assert len(found["all_ratios"]) == 3 and sorted(found["all_ratios"])[1] == found["value"] > 0
    assert found["seconds"] > 0
