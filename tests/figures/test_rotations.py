"""The rows of the figures on rotations are what they say, and every line has a look of its own."""

import pytest

from attention_priors.figures.rotation import LINES, spectra


def test_every_line_has_a_style_of_its_own(small):
    used = [LINES[extension] for extension in spectra.rows(small(), 0)["extension"].unique()]
    assert len(set(used)) == len(used)


@pytest.mark.parametrize(("factor", "trained"), [(1.0, 128), (64.0, 131_072)])
def test_the_sliders_reach_no_error(factor, trained):
    spectra.explore(factor, trained)
