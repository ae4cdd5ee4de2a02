"""Figures of notebooks 07 and 13's audits draw from their rows, and their captions count what stands behind."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from attention_priors.checks import parallel_rows
from attention_priors.figures import FIGURES, scalable_softmax, style
from attention_priors.report import Report
from attention_priors.theory import margins
from attention_priors.theory import scalable_softmax as theory

ROWS = {
    "parallel_averages": parallel_rows.average_rows,
    "parallel_gains": parallel_rows.gain_rows,
    "parallel_margin": lambda: margins.margin_rows(16, [1, 2, 4], [0.0, 0.1]),
    "ssmax_entropy": lambda: theory.entropy_rows([8, 16, 32], 1.0, 16, 1000),
    "ssmax_leads": lambda: theory.lead_rows([8, 16, 32], 1.0, [1.0, 0.5, 0.2], 1000),
    "ssmax_priors": lambda: theory.prior_lead_rows([32, 128], 1.0),
}


@pytest.mark.parametrize("name", ROWS)
def test_figures_draw_and_explain_themselves(name, tmp_path):
    report = Report(tmp_path, "smoke", FIGURES[name].notebook)
    report.metrics(FIGURES[name].metrics, pd.DataFrame(ROWS[name]()), "k")
    figure = report.figure(name)
    assert figure.get_size_inches()[0] in (style.SINGLE, style.DOUBLE)
    text = (tmp_path / "smoke" / "figures" / f"{name}.md").read_text()
    assert "profile smoke" in text and FIGURES[name].paper in text
    plt.close("all")


def test_the_added_leads_are_those_of_the_lines_drawn():
    frame = pd.DataFrame(ROWS["parallel_margin"]())
    (ax,) = FIGURES["parallel_margin"].draw(frame).axes
    added = FIGURES["parallel_margin"].caption(frame).split("Added lead: ")[1].split("; ")
    assert len(added) == len(ax.get_lines()) == 3
    plt.close("all")


def test_captions_count():
    assert "84 follow" in FIGURES["parallel_averages"].caption(pd.DataFrame(parallel_rows.average_rows()))
    gains = pd.DataFrame(parallel_rows.gain_rows())
    assert "Qwen2.5: +0.95 in the mean, 6 of 16 lost" in FIGURES["parallel_gains"].caption(gains)
    gains.loc[gains["gain"] < 0, "gain"] = 0.0
    assert "0 of 16 lost" in FIGURES["parallel_gains"].caption(gains)


def test_each_average_of_table_1_has_its_name_on_its_own_side():
    (ax,) = FIGURES["parallel_averages"].draw(pd.DataFrame(parallel_rows.average_rows())).axes
    first = [text for text in ax.texts if text.xy[1] == 0]
    assert len(first) == 2
    for text in first:
        assert text.get_ha() == ("right" if text.xy[0] < 0 else "left")
    plt.close("all")


def test_captions_write_the_symbols_of_the_figure():
    entropy = scalable_softmax.caption_entropy(pd.DataFrame(ROWS["ssmax_entropy"]()))
    assert "N = 16; YaRN's is 1 below N" in entropy and "√(ln n / ln N)" in entropy and "0.1 ln" in entropy
    priors = scalable_softmax.caption_priors(pd.DataFrame(ROWS["ssmax_priors"]()))
    assert "BAM, β = -1/2:" in priors and "beta" not in priors


def test_explore_draws_both_forms():
    (ax,) = scalable_softmax.explore((4, 16, 64), s=0.5, sigma=1.0, lead=3.0).axes
    assert [line.get_label() for line in ax.get_lines()] == ["softmax", "SSMax"]
    plt.close("all")
