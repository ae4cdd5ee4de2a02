"""The figures of the phase diagram state what is drawn, and draw all of it."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.figures.phase import LOOKS, margins


@pytest.fixture
def size(small):
    return small(length=32)


@pytest.mark.parametrize("spec", [margins.LIMITS, margins.CONTENT])
def test_tail_masses_of_0_and_1_lie_inside_the_frame(spec, size):
    for ax in spec.draw(spec.rows(size, 0)).axes:
        bottom, top = ax.get_ylim()
        assert bottom < 0 and top > 1


def test_exponents_that_rise_with_the_lag_are_inside_the_frame(size):
    """Sandwich's go down to -1.5 where its waves come back: beyond the lags of the small frame."""
    far = pd.DataFrame([{"prior": "Sandwich, head 3", "lag": 2.0**15, "exponent": -1.52}])
    frame = pd.concat([margins.rows_exponents(size, 0, farthest=512), far])
    (ax,) = margins.draw_exponents(frame).axes
    assert ax.get_ylim()[0] < frame["exponent"].min()


def test_every_prior_has_a_look(size):
    assert set(margins.rows_exponents(size, 0, farthest=512)["prior"]) <= set(LOOKS)
    assert set(margins.rows_content(size, 0)["prior"]) <= set(LOOKS)
    assert {row["series"] for row in margins.rows_margins(size, 0, length=512)} <= set(LOOKS)


def test_margins_of_the_uniform_prior_are_logarithms(size):
    rows = pd.DataFrame(margins.rows_margins(size, 0, length=512, points=10))
    far = rows[(rows["panel"] == "at the far end") & (rows["series"] == "uniform")]
    assert np.allclose(far["margin"], np.log(far["x"] - 1), atol=1e-9)


def test_a_plane_is_local_on_the_right_of_its_border(size):
    rows = pd.DataFrame(margins.rows_planes(size, 0, window=8, length=128, steps=7))
    ggd = rows[rows["family"] == "GGD"].pivot(index="y", columns="x", values="tail")
    assert (ggd.iloc[:, 0] > 0.9).all() and ggd.iloc[0, -1] < 1e-6


@pytest.mark.parametrize(("r1", "r2"), [(0.0, 1.0), (3.0, 100.0), (1.0, 1e-3)])
def test_the_sliders_reach_no_error(r1, r2):
    margins.explore(64, r1, r2)
