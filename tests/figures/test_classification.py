"""The figures on finite rank and on the rounded slope state what is drawn."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.figures.groups import classification_rank as ranks
from attention_priors.figures.guide import key_slope_rounding


@pytest.fixture(scope="module")
def frame(small):
    return pd.DataFrame(ranks.rows(small(length=32), 0, most=6))


def test_errors_at_the_floor_are_drawn_whole(frame):
    error = ranks.draw(frame).axes[1]
    lowest = min(float(np.min(line.get_ydata())) for line in error.get_lines())
    assert error.get_ylim()[0] < lowest == ranks.SHOWN and error.get_xlim()[0] < 0


def test_the_caption_says_where_the_rank_of_sandwich_levels_off(frame):
    assert "64 cosines beyond what is drawn" in ranks.caption(frame)
    waves = (frame["panel"] == "rank") & (frame["prior"] == "Sandwich")
    assert "64 cosines late" in ranks.caption(frame.assign(value=frame["value"].mask(waves, 128)))
    assert "BAM, β = 2" in ranks.caption(frame)


def test_ranks_are_those_of_the_classification(frame):
    rank = frame[(frame["panel"] == "rank") & (frame["x"] == 32)].set_index("prior")["value"]
    assert set(rank.index) == set(ranks.PRIORS)
    finite = {"ALiBi": 1, "damped mode": 2, "BAM, beta = 2": 2, "Goat, 2 modes": 4}
    assert {name: rank[name] for name in finite} == finite
    assert rank["T5"] > rank["KERPLE, logarithm"] > 4


def test_the_error_vanishes_at_the_rank_and_falls_for_smooth_priors(frame):
    error = frame[frame["panel"] == "error"].set_index(["prior", "x"])["value"]
    assert error["Goat, 2 modes", 3] > 1e-2 and error["Goat, 2 modes", 4] < 1e-10
    assert error["KERPLE, logarithm", 6] < 1e-2 * error["KERPLE, logarithm", 2]


def test_the_rounded_slope_covers_every_setting(small, whole):
    rows = key_slope_rounding.rows(small(), 0, slopes=(0.5, 0.25), lengths=(64, 512, 2048))
    assert len(rows) == 2 * 2 * 2 * 3 and {row["lanes"] for row in rows} == {1, 2}
    whole(key_slope_rounding.FIGURE, pd.DataFrame(rows))
