"""The figures of the generalised Gaussian: distributions, lines that differ without colour, captions."""

import pandas as pd
import pytest

from attention_priors.figures import FIGURES
from attention_priors.figures.prior import shapes

FRAMES = {
    "prior_shapes": {},
    "prior_tails": {"lengths": (100, 1000), "windows": (4, 20)},
    "prior_far_end": {"ratios": (0.1, 1.0, 10.0)},
    "prior_sharpness": {"keys": 4096},
    "softmax_fading": {"lengths": (2, 64, 4096)},
}


def made(name, small, **given):
    return pd.DataFrame(FIGURES[name].rows(small(length=64), 0, **FRAMES[name] | given))


@pytest.mark.parametrize("name", ["prior_far_end", "softmax_fading", "prior_sharpness"])
def test_lines_differ_without_colour(name, small):
    figure = FIGURES[name].draw(made(name, small))
    lines = [line for line in figure.axes[0].get_lines() if not line.get_label().startswith("_")]
    looks = {(str(line._unscaled_dash_pattern), line.get_marker()) for line in lines}
    assert len(looks) == len(lines) >= 4


def test_shapes_are_distributions(small):
    frame = made("prior_shapes", small)
    assert frame.groupby("curve")["share"].sum().tolist() == pytest.approx([64] * 5)


def test_what_leaves_the_panel_of_sharpness_is_named(small):
    frame = made("prior_sharpness", small)
    relative = frame.set_index("beta") / frame.set_index("beta").loc[1.0]
    above = relative.loc[0.5][relative.loc[0.5] > shapes.HIGHEST]
    assert set(above.index) == {"rms lag", "beyond 2 alpha"}
    listed = f"above the panel: beyond 2 α ({above['beyond 2 alpha']:.2g}), rms lag ({above['rms lag']:.2g})."
    assert listed in shapes.caption_sharpness(frame)


def test_the_negative_curve_is_no_peak_at_the_scale_of_the_others(small):
    frame = made("prior_shapes", small)
    negative = frame[frame["curve"] == "negative"].sort_values("key")["share"].to_numpy()
    assert (negative[:-1] >= negative[1:]).all() and negative[0] < 1.5 and negative[-1] == 0


@pytest.mark.parametrize(("alpha", "beta", "mu"), [(5, 0.8, -20), (10, 0, 0), (1e4, -3, 0), (1, 4, 20), (3, -1, -4)])
def test_the_sliders_reach_no_error(alpha, beta, mu):
    shapes.explore(64, alpha, beta, mu)
