"""The band around a prior: by hand, reached, and its dresses."""

import math

import numpy as np
import pytest

from attention_priors.theory import bands
from attention_priors.theory.inference import posterior, softmax
from refusals import refused


def test_the_band_by_hand():
    low, high = bands.band(0.5, 2.0)
    assert (low, high) == (pytest.approx(1 / (1 + math.e**2)), pytest.approx(math.e**2 / (1 + math.e**2)))
    assert bands.printed_band(0.5, 2.0)[1] == pytest.approx(math.e**2 / 2) and bands.printed_band(0.5, 2.0)[1] > 1
    assert bands.band([0.0, 1.0], 3.0)[0].tolist() == [0, 1] == bands.band([0.0, 1.0], 3.0)[1].tolist()


@pytest.mark.parametrize("pi", [0.01, 0.4, 0.95])
def test_content_on_the_set_reaches_both_ends(pi):
    prior = np.array([pi, (1 - pi) / 3, 2 * (1 - pi) / 3])
    low, high = bands.band(pi, 1.7)
    assert posterior([1.7, 0, 0], prior)[0] == pytest.approx(high)
    assert posterior([0, 1.7, 1.7], prior)[0] == pytest.approx(low)


def test_the_divergence_of_a_certain_key_from_two_equal_ones():
    assert bands.divergence([1.0, 0.0], [0.5, 0.5]) == pytest.approx(math.log(2))


def test_noise_share_and_margin_are_one_formula():
    assert bands.most_noise(2.0, 5) == pytest.approx(1 - softmax([2.0, 0, 0, 0, 0])[0])
    assert bands.most_noise(bands.margin_for(0.2, 5), 5) == pytest.approx(0.2)
    assert bands.most_share(1.0, 5) == pytest.approx(1 - bands.most_noise(2.0, 5))
    assert bands.most_share(1.0, 5, 2) == pytest.approx(softmax([1.0, 1, -1, -1, -1])[:2].sum())


test_bad_input_is_named = refused(
    (lambda: bands.shifted(1.5, 0.0), "mass = 1.5"),
    (lambda: bands.band(0.5, -1.0), "omega = -1.0"),
    (lambda: bands.band(0.5, math.nan), "omega = nan"),
    (lambda: bands.most_share(-1.0, 5), "bound = -1.0"),
)
