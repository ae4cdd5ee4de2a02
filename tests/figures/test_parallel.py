"""Figures of parallel attention, from small simulations."""

import pandas as pd
import pytest

from attention_priors.figures import FIGURES, parallel, style
from attention_priors.report import Report
from attention_priors.theory import parallel_rows as rows

FRAMES = {
    "parallel_prior": (lambda: rows.prior_rows(3, 8, 0.2), "3 chunks of 8 keys"),
    "parallel_counts": (lambda: rows.count_rows((16, 64, 256), 0.01, 0.05, 10, seed=0), "1/ε = 100"),
    "parallel_dimension": (lambda: rows.dimension_rows((16, 64), 1.0, 4, 64, 10, seed=0), "within 4 lags"),
    "parallel_calibration": (lambda: rows.calibration_rows(12), "p₂ = p₁ (1 - p₁)"),
    "parallel_budget": (lambda: rows.budget_rows(64, 4, 8, 2.0, seed=0), "cut from 64 keys"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_figures_draw_and_explain_themselves(name, tmp_path):
    build, words = FRAMES[name]
    report = Report(tmp_path, "smoke", parallel.NOTEBOOK)
    report.metrics(FIGURES[name].metrics, pd.DataFrame(build()), "k")
    figure = report.figure(name)
    assert figure.get_size_inches()[0] in (style.SINGLE, style.DOUBLE)
    assert words in (tmp_path / "smoke" / "figures" / f"{name}.md").read_text().replace("\n", " ")


def test_the_share_without_decay_is_given_as_a_range():
    frame = pd.DataFrame(FRAMES["parallel_counts"][0]())
    flat = frame.loc[frame["rate"] == 0, "share"]
    assert flat.max() > flat.min() + 1e-3
    assert f"keeps {flat.min():.3f} to {flat.max():.3f} of" in parallel.caption_counts(frame)


def test_every_curve_of_a_budget_is_in_the_legend():
    (ax,) = parallel.draw_budget(pd.DataFrame(FRAMES["parallel_budget"][0]())).axes
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [line.get_label() for line in ax.get_lines()] and len(labels) == 5


def test_the_slider_shows_the_mass_of_the_last_chunk():
    title = parallel.explore(size=4, chunks=2, slope=1e-9).axes[0].get_title()
    assert title == "mass of the last 4 keys: 0.56 (true), 0.56 (shared)"  # 5 of 9 keys
