"""Mean scores of rotations by hand."""

import numpy as np

from attention_priors.positions.rotary import rope, xpos
from attention_priors.theory.rotations import mean_score


def test_mean_scores_of_two_planes():
    """ω = 1 and .01: the mean of two cosines, damped for xPos."""
    lags = np.array([0.0, 1.0, 30.0])
    np.testing.assert_allclose(mean_score(rope(4), lags), (np.cos(lags) + np.cos(lags / 100)) / 2)
    fast, slow = (np.exp(-rate * lags) for rate in xpos(4).decay)
    np.testing.assert_allclose(mean_score(xpos(4), lags), (fast * np.cos(lags) + slow * np.cos(lags / 100)) / 2)
