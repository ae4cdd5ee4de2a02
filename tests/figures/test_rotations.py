"""The figures on rotations draw from their frames alone, at any size, and their rows are what they say."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.figures import FIGURES, rotations
from attention_priors.positions.rotary import rope
from attention_priors.positions.xpos import xpos
from attention_priors.theory import rotation_rows as rows

FRAMES = {
    "rotation_spectra": rows.spectrum_rows(4.0, 256),
    "rotation_scores": rows.score_rows(4.0, 64),
    "rotation_maps": rows.map_rows(4.0, 64, seed=0),
    "rotation_sinusoids": rows.sinusoid_rows(20, 16),
}


def test_every_figure_of_the_topic_is_tried():
    assert set(FRAMES) == set(rotations.FIGURES) <= set(FIGURES)


@pytest.mark.parametrize("name", FRAMES)
def test_draws_and_captions(name, whole):
    whole(FIGURES[name], pd.DataFrame(FRAMES[name]))


def test_every_line_has_a_style_of_its_own():
    for name in ("rotation_spectra", "rotation_scores"):
        used = [rotations.LINES[extension] for extension in pd.DataFrame(FRAMES[name])["extension"].unique()]
        assert len(set(used)) == len(used)


def test_mean_scores_by_hand():
    """Two planes, ω = 1 and .01: the mean of two cosines, damped for xPos."""
    lags = np.array([0.0, 1.0, 30.0])
    np.testing.assert_allclose(rows.mean_score(rope(4), lags), (np.cos(lags) + np.cos(lags / 100)) / 2)
    fast, slow = (np.exp(-rate * lags) for rate in xpos(4).decay)
    np.testing.assert_allclose(rows.mean_score(xpos(4), lags), (fast * np.cos(lags) + slow * np.cos(lags / 100)) / 2)


def test_interpolation_reads_the_scores_of_the_trained_range():
    frame = pd.DataFrame(FRAMES["rotation_scores"])
    last = frame[(frame["panel"] == "far") & (frame["extension"] == "interpolation")].iloc[-1]
    around = 64 * (1 + np.linspace(-0.1, 0.1, 41))
    assert last["lag"] == 256 and last["score"] == pytest.approx(rows.mean_score(rope(128), around).mean())


@pytest.mark.parametrize(("factor", "trained"), [(1.0, 128), (64.0, 131_072)])
def test_the_sliders_reach_no_error(factor, trained):
    rotations.explore(factor, trained)
