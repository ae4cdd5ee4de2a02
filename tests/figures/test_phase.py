"""The figures of notebook 14 draw from their frames alone, and their captions state what is drawn."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.experiments.learned import FIGURE_LENGTH
from attention_priors.figures import FIGURES, phase
from attention_priors.theory import phase_rows

RNG = np.random.default_rng(0)
HEADS = pd.DataFrame({"seed": [0, 0, 1, 1], "beta": [-0.5, 0.3, -0.1, 1.0], "predicted": [0.03, 1e-3, 0.03, 1e-7],
                      "measured": [0.9, 0.01, 0.6, 1e-7]})  # fmt: skip
MODELS = pd.DataFrame(
    [
        {"encoding": name, "seed": seed, "length": length, "trained": 128, "tail": tail, "accuracy": RNG.uniform()}
        for name, tail in (("nope", 0.8), ("nope-ssmax", 0.8), ("alibi", 0.5), ("alibi-ssmax", 0.5), ("bam-ssmax", 0.9))
        for seed in (0, 1)
        for length in (256, 512)
    ]
)
FRAMES = {
    "phase_exponents": pd.DataFrame(phase_rows.exponent_rows(512)),
    "phase_planes": pd.DataFrame(phase_rows.plane_rows(8, 128, 7)),
    "phase_limits": pd.DataFrame(phase_rows.limit_rows((100, 1000), 64)),
    "phase_content": pd.DataFrame(phase_rows.content_rows(256, 2.0)),
    "phase_margins": pd.DataFrame(phase_rows.margin_rows(512, 10)),
    "phase_heads": HEADS,
    "phase_models": MODELS,
}


def test_every_figure_of_the_topic_is_tried():
    assert set(FRAMES) == set(phase.FIGURES) <= set(FIGURES)


@pytest.mark.parametrize("name", FRAMES)
def test_draws_and_captions(name, whole):
    whole(FIGURES[name], FRAMES[name])


def test_heads_below_the_floor_are_drawn_at_it_and_the_caption_says_so():
    (ax,) = phase.draw_heads(HEADS).axes
    drawn = np.concatenate([line.get_xydata() for line in ax.get_lines() if line.get_marker() != "None"])
    assert len(drawn) == len(HEADS) and drawn.min() == phase.FLOOR
    caption = phase.caption_heads(HEADS)
    assert "drawn there (both: 1 heads)" in caption
    assert f"prompt of {FIGURE_LENGTH} tokens" in caption and "(BAM SSMax)" in caption


@pytest.mark.parametrize("name", ["phase_limits", "phase_content"])
def test_tail_masses_of_0_and_1_lie_inside_the_frame(name):
    for ax in FIGURES[name].draw(FRAMES[name]).axes:
        bottom, top = ax.get_ylim()
        assert bottom < 0 and top > 1


def test_exponents_that_rise_with_the_lag_are_inside_the_frame():
    """Sandwich's go down to -1.5 where its waves come back: beyond the lags of the small frame."""
    far = pd.DataFrame([{"prior": "Sandwich, head 3", "lag": 2.0**15, "exponent": -1.52}])
    frame = pd.concat([FRAMES["phase_exponents"], far])
    (ax,) = phase.draw_exponents(frame).axes
    assert ax.get_ylim()[0] < frame["exponent"].min()


def test_every_prior_has_a_look():
    for name in ("phase_exponents", "phase_content"):
        assert set(FRAMES[name]["prior"]) <= set(phase.LOOKS)
    assert set(FRAMES["phase_margins"]["series"]) <= set(phase.LOOKS)


def test_margins_of_the_uniform_prior_are_logarithms():
    rows = FRAMES["phase_margins"]
    far = rows[(rows["panel"] == "at the far end") & (rows["series"] == "uniform")]
    assert np.allclose(far["margin"], np.log(far["x"] - 1), atol=1e-9)


def test_a_plane_is_local_on_the_right_of_its_border():
    rows = FRAMES["phase_planes"]
    ggd = rows[rows["family"] == "GGD"].pivot(index="y", columns="x", values="tail")
    assert (ggd.iloc[:, 0] > 0.9).all() and ggd.iloc[0, -1] < 1e-6


@pytest.mark.parametrize(("r1", "r2"), [(0.0, 1.0), (3.0, 100.0), (1.0, 1e-3)])
def test_the_sliders_reach_no_error(r1, r2):
    phase.explore(64, r1, r2)
