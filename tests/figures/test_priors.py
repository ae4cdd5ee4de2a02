"""The figures of notebook 04 draw from their frames alone, at any size, and their captions state what is drawn."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from attention_priors.figures import FIGURES, priors
from attention_priors.theory import prior_rows

FRAMES = {
    "prior_shapes": prior_rows.shape_rows(32),
    "prior_tails": prior_rows.tail_rows((100, 1000), (4, 20)),
    "prior_far_end": prior_rows.far_rows(50, (0.1, 1.0, 10.0)),
    "prior_sharpness": prior_rows.sharpness_rows(10.0, 4096),
    "prior_epsilon": prior_rows.epsilon_rows(64, (-0.2, -0.1, 0.0), range(6)),
    "prior_gradients": prior_rows.gradient_rows((0, 1, 5, 63), (2, 16, 512)),
    "prior_scaled": prior_rows.scaled_rows((64, 512)),
    "softmax_fading": prior_rows.fading_rows((2, 64, 4096)),
}


def test_every_figure_of_the_topic_is_tried():
    assert set(FRAMES) == set(priors.FIGURES) <= set(FIGURES)


@pytest.mark.parametrize("name", FRAMES)
def test_draws_and_captions(name, whole):
    whole(FIGURES[name], pd.DataFrame(FRAMES[name]))


@pytest.mark.parametrize("name", ["prior_far_end", "softmax_fading", "prior_sharpness"])
def test_lines_differ_without_colour(name):
    figure = FIGURES[name].draw(pd.DataFrame(FRAMES[name]))
    lines = [line for line in figure.axes[0].get_lines() if not line.get_label().startswith("_")]
    looks = {(str(line._unscaled_dash_pattern), line.get_marker()) for line in lines}
    assert len(looks) == len(lines) >= 4
    plt.close(figure)


def test_what_leaves_the_panel_of_sharpness_is_named():
    frame = pd.DataFrame(FRAMES["prior_sharpness"])
    relative = frame.set_index("beta") / frame.set_index("beta").loc[1.0]
    above = relative.loc[0.5][relative.loc[0.5] > priors.HIGHEST]
    caption = priors.caption_sharpness(frame)
    assert set(above.index) == {"rms lag", "beyond 2 alpha"}
    assert f"above the panel: beyond 2 α ({above['beyond 2 alpha']:.2g}), rms lag ({above['rms lag']:.2g})." in caption


def test_the_negative_curve_is_no_peak_at_the_scale_of_the_others():
    frame = pd.DataFrame(FRAMES["prior_shapes"])
    negative = frame[frame["curve"] == "negative"].sort_values("key")["share"].to_numpy()
    assert (negative[:-1] >= negative[1:]).all() and negative[0] < 1.5 and negative[-1] == 0


@pytest.mark.parametrize(("alpha", "beta", "mu"), [(5, 0.8, -20), (10, 0, 0), (1e4, -3, 0), (1, 4, 20), (3, -1, -4)])
def test_the_sliders_reach_no_error(alpha, beta, mu):
    priors.explore(64, alpha, beta, mu)
