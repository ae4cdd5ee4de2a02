"""Figures of parallel attention, from small simulations and from ParallelComp's tables."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.figures.parallel import prior
from attention_priors.figures.parallel.hits import hits
from attention_priors.theory import margins
from attention_priors.theory.inference import softmax


@pytest.fixture
def size(small):
    return small(draws=40_000, length=64)


def test_the_prior_without_content_is_the_same_in_every_chunk(size):
    frame = prior.rows(size, 0, chunks=3, slope=0.5)
    shared = frame[frame["positions"] == "shared"]
    masses = shared.groupby("chunk")["share"].sum()
    assert masses[[1, 2, 3]].tolist() == pytest.approx([masses[1]] * 3) and shared["share"].sum() == pytest.approx(25)
    assert "3 chunks of 8 keys" in prior.caption(frame)


def test_the_slider_shows_the_mass_of_the_last_chunk():
    title = prior.explore(size=4, chunks=2, slope=1e-9).axes[0].get_title()
    assert title == "last 4 keys hold 0.56 (true), 0.56 (shared)"  # 5 of 9 keys


def test_counts_stay_below_their_bounds(size):
    rows = prior.rows_counts(size, 0, epsilon=0.01)
    for row in rows:
        assert row["least"] <= row["mean"] <= row["most"] <= row["bound"] and row["most"] <= 99
    assert "1/ε = 100" in prior.caption_counts(pd.DataFrame(rows))


def test_errors_of_a_budget_stay_below_their_bound_and_every_curve_is_in_the_legend(size):
    rows = prior.rows_budget(size, 0, width=4, queries=8)
    assert all(row["error"] <= row["bound"] + 1e-12 for row in rows)
    assert all(row["error"] < 1e-12 for row in rows if row["budget"] == 64)
    frame = pd.DataFrame(rows)
    assert "cut from 64 keys" in prior.caption_budget(frame)
    (ax,) = prior.draw_budget(frame).axes
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [line.get_label() for line in ax.get_lines()] and len(labels) == 5


def test_longer_queries_find_their_chunk():
    found = hits((0, 40), chunks=4, tokens=6, kept=1, draws=200, seed=0)
    assert found[0]["expected"] == pytest.approx(0.25) and found[1]["hits"] > 190


def test_the_lead_of_reused_positions_and_of_one_line(size):
    rows = prior.rows_margin(size, 0, width=10, chunks=(1, 4), slopes=(0.0, 0.5))
    table = {(row["layout"], row["slope"], row["chunks"]): row["margin"] for row in rows}
    for slope in (0.0, 0.5):
        assert table["reused positions", slope, 1] == pytest.approx(table["one line", slope, 1])
    assert table["one line", 0.0, 4] == pytest.approx(np.log(39))
    # slope .5 over 30 further keys; the normaliser grows from 1 - e^-5 to 1 - e^-20
    added = table["one line", 0.5, 4] - table["one line", 0.5, 1]
    near = margins.margin(softmax(-0.5 * np.arange(10.0))[5])
    far = margins.margin(softmax(-0.5 * np.arange(40.0))[35])
    assert added == pytest.approx(far - near)
