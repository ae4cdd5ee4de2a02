"""The figures of the groups draw from their frames alone; captions state what is drawn."""

import re

import pandas as pd
import pytest

from attention_priors.experiments import pucks
from attention_priors.figures import FIGURES, groups
from attention_priors.theory import group_rows

FRAMES = {
    "groups_portraits": group_rows.portrait_rows(paths=4, last=12.0, steps=61),
    "groups_hands": group_rows.hand_rows((0.3,), (0.0, -0.1), last=6),
    "groups_factors": group_rows.growth_rows((1 - 2**-5, 1 - 2**-6), last=3000, block=64),
    "groups_pucks": [
        {
            "encoding": name,
            "seed": seed,
            "multiple": multiple,
            "correct": 50,
            "samples": 100,
            "coupling": 1.0,
            "decay": 0.1,
        }
        for name in pucks.ENCODINGS
        for seed in (0, 1)
        for multiple in pucks.MULTIPLES
    ],
}


def test_every_figure_of_the_topic_is_tried():
    assert set(FRAMES) == set(groups.FIGURES) <= set(FIGURES)


@pytest.mark.parametrize("name", FRAMES)
def test_draws_and_captions(name, whole):
    whole(FIGURES[name], pd.DataFrame(FRAMES[name]))


def test_captions_follow_the_numbers():
    assert "lag 2.8 " in groups.caption_portraits(pd.DataFrame(FRAMES["groups_portraits"]))
    assert "0.55 and 1.82" in groups.caption_hands(pd.DataFrame(FRAMES["groups_hands"]))
    factors = groups.caption_factors(pd.DataFrame(FRAMES["groups_factors"]))
    assert "fp16 at position 350 and fp32 at 2,795" in factors


def test_every_seed_of_the_pucks_is_a_dot():
    frame = pd.DataFrame(FRAMES["groups_pucks"]).assign(correct=lambda rows: 40 + 20 * rows["seed"])
    (ax,) = groups.draw_pucks(frame).axes
    heights = {height for dots in ax.get_lines() + ax.collections for height in _heights(dots)}
    assert {0.4, 0.6} <= heights


def _heights(drawn):
    if hasattr(drawn, "get_offsets"):
        return [height for _, height in drawn.get_offsets()]
    return drawn.get_ydata() if drawn.get_linestyle() == "None" else []


def test_the_bound_within_a_block_holds_at_positions_that_are_not_drawn():
    largest = (1 - 2**-5) ** -63  # at the last of 64 positions
    caption = groups.caption_factors(pd.DataFrame(FRAMES["groups_factors"]))
    bound = float(re.search(r"a block of 64 it stays below ([\d.]+) ", caption)[1])
    assert largest <= bound < largest + 0.1


def test_scores_stay_inside_their_panels():
    frame = pd.DataFrame(group_rows.portrait_rows(paths=1, last=24.0, steps=241))
    for ax in groups.draw_portraits(frame).axes[len(groups.PANELS) :]:
        bottom, top = ax.get_ylim()
        assert all(bottom < y < top for line in ax.get_lines() for y in line.get_ydata())


def test_hands_name_their_axes():
    axes = groups.draw_hands(pd.DataFrame(FRAMES["groups_hands"])).axes
    assert all(ax.get_xlabel() for ax in axes) and axes[0].get_ylabel()


KINDS = [(-0.1, 0.0, False), (0.0, 0.5, False), (-0.2, 0.0, True), (0.0, 0.4, True)]


@pytest.mark.parametrize(("rate", "omega", "defect"), KINDS)
def test_the_sliders_draw_every_kind_of_block(rate, omega, defect):
    figure = groups.explore(rate, omega, defect)
    assert len(figure.axes) == 2 and figure.axes[1].lines
