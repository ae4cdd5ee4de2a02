"""Figures of parallel attention, from small simulations."""

import pandas as pd
import pytest

from attention_priors.figures import FIGURES, parallel, style
from attention_priors.report import Report
from attention_priors.theory import parallel_rows as rows

FRAMES = {
    "parallel_prior": (lambda: rows.prior_rows(3, 8, 0.2), "3 chunks of 8 keys"),
    "parallel_counts": (lambda: rows.count_rows((16, 64, 256), 0.01, 0.05, 10, seed=0), "1/eps = 100"),
    "parallel_dimension": (lambda: rows.dimension_rows((16, 64), 1.0, 4, 64, 10, seed=0), "within 4 lags"),
    "parallel_calibration": (lambda: rows.calibration_rows(12), "p_2 = p_1"),
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


def test_the_slider_shows_the_mass_of_the_last_chunk():
    title = parallel.explore(size=4, chunks=2, slope=1e-9).axes[0].get_title()
    assert title == "mass of the last 4 keys: 0.56 (true), 0.56 (shared)"  # 5 of 9 keys
