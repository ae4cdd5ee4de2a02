"""The figures and the table of notebook 03's own sections draw from their frames alone, and say what is drawn."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.figures import FIGURES, TABLES, guide
from attention_priors.theory import guide_rows

FRAMES = {
    "guide_page": guide_rows.page_rows(64, 20),
    "guide_buckets": guide_rows.bucket_rows(150),
    "guide_sandwich": guide_rows.sandwich_rows(1200, points=60),
    "guide_turns": guide_rows.turn_rows(4),
    "guide_decay": guide_rows.decay_rows(2000, points=40),
}


def test_every_figure_of_the_topic_is_tried():
    assert set(FRAMES) == set(guide.FIGURES) <= set(FIGURES)


@pytest.mark.parametrize("name", FRAMES)
def test_draws_and_captions(name, whole):
    whole(FIGURES[name], pd.DataFrame(FRAMES[name]))


def test_every_family_has_its_formulas():
    families = set(guide_rows.examples())
    assert families == set(guide.FORMULAS) == set(guide.TEXT)


def test_the_weights_of_the_page_are_whole_at_full_resolution():
    frame = pd.DataFrame(guide_rows.page_rows(64, 4000))
    totals = frame.groupby(["family", "setting"])["share"].sum()
    assert np.allclose(totals, 64, rtol=1e-5)


def test_the_table_has_a_row_per_setting_and_the_known_numbers():
    frame = pd.DataFrame(guide_rows.statistics_rows(4096, (8,)))
    table = TABLES["guide_priors"].build(frame)
    assert len(table) == sum(len(settings) for settings in guide_rows.examples().values())
    alibi = frame[(frame["family"] == "ALiBi") & (frame["setting"] == "m = 1/4")].iloc[0]
    assert alibi["normaliser"] == pytest.approx(1 / -np.expm1(-0.25), rel=1e-9)
    assert alibi["tail 8"] == pytest.approx(np.exp(-0.25 * 9), rel=1e-9)
    assert alibi["mean lag"] == pytest.approx(1 / np.expm1(0.25), rel=1e-9)
    assert "4,096" in TABLES["guide_priors"].caption(frame)


@pytest.mark.parametrize("family", ["ALiBi", "GGD", "KERPLE, power", "KERPLE, log", "Sandwich"])
@pytest.mark.parametrize(("first", "second"), [(0.01, 0.1), (4.0, 64.0)])
def test_the_sliders_reach_no_error(family, first, second):
    guide.explore(64, family, first, second)
