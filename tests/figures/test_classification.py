"""The figures on finite rank and on the rounded slope draw from their frames alone; captions state what is drawn."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.figures import FIGURES, classification
from attention_priors.theory import classification_rows, key_slope

FRAMES = {
    "classification_rank": classification_rows.rank_rows((4, 8, 32), most=6),
    "key_slope_rounding": key_slope.rounding_rows((0.5, 0.25), (64, 512, 2048)),
}


def test_every_figure_of_the_topic_is_tried():
    assert set(FRAMES) == set(classification.FIGURES) <= set(FIGURES)


@pytest.mark.parametrize("name", FRAMES)
def test_draws_and_captions(name, whole):
    whole(FIGURES[name], pd.DataFrame(FRAMES[name]))


def test_errors_at_the_floor_are_drawn_whole():
    error = classification.draw_ranks(pd.DataFrame(FRAMES["classification_rank"])).axes[1]
    lowest = min(float(np.min(line.get_ydata())) for line in error.get_lines())
    assert error.get_ylim()[0] < lowest == classification.SHOWN and error.get_xlim()[0] < 0


def test_the_caption_says_where_the_rank_of_sandwich_levels_off():
    frame = pd.DataFrame(FRAMES["classification_rank"])
    assert "64 cosines beyond what is drawn" in classification.caption_ranks(frame)
    waves = (frame["panel"] == "rank") & (frame["prior"] == "Sandwich")
    assert "64 cosines late" in classification.caption_ranks(frame.assign(value=frame["value"].mask(waves, 128)))
    assert "BAM, β = 2" in classification.caption_ranks(frame)


def test_ranks_are_those_of_the_classification():
    frame = pd.DataFrame(FRAMES["classification_rank"])
    rank = frame[(frame["panel"] == "rank") & (frame["x"] == 32)].set_index("prior")["value"]
    assert set(rank.index) == set(classification.PRIORS)
    finite = {"ALiBi": 1, "damped mode": 2, "BAM, beta = 2": 2, "Goat, 2 modes": 4}
    assert {name: rank[name] for name in finite} == finite
    assert rank["T5"] > rank["KERPLE, logarithm"] > 4


def test_the_error_vanishes_at_the_rank_and_falls_for_smooth_priors():
    frame = pd.DataFrame(FRAMES["classification_rank"])
    error = frame[frame["panel"] == "error"].set_index(["prior", "x"])["value"]
    assert error["Goat, 2 modes", 3] > 1e-2 and error["Goat, 2 modes", 4] < 1e-10
    assert error["KERPLE, logarithm", 6] < 1e-2 * error["KERPLE, logarithm", 2]
