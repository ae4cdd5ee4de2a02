"""The rows of the figures on rotations are what they say, and every line has a look of its own."""

import numpy as np
import pytest

from attention_priors.figures.rotation import LINES, scores, spectra
from attention_priors.positions.rotary import rope
from attention_priors.theory.rotations import mean_score


def test_every_line_has_a_style_of_its_own(small):
    for module in (spectra, scores):
        used = [LINES[extension] for extension in module.rows(small(), 0)["extension"].unique()]
        assert len(set(used)) == len(used)


def test_interpolation_reads_the_scores_of_the_trained_range(small):
    frame = scores.rows(small(length=64), 0, factor=4.0)
    last = frame[(frame["panel"] == "far") & (frame["extension"] == "interpolation")].iloc[-1]
    around = 64 * (1 + np.linspace(-0.1, 0.1, 41))
    assert last["lag"] == 256 and last["score"] == pytest.approx(mean_score(rope(128), around).mean())


@pytest.mark.parametrize(("factor", "trained"), [(1.0, 128), (64.0, 131_072)])
def test_the_sliders_reach_no_error(factor, trained):
    spectra.explore(factor, trained)
