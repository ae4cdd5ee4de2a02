"""Rows and panels: where means, intervals, seeds and headings stand, and what stays empty."""

import numpy as np

from attention_priors.figures import forest, style

ROWS = [
    forest.Row("one", {"near": forest.Cell([0.2, 0.4], 0.3, 0.1, 0.5), "far": forest.Cell([0.0], 0.0)}, group="a"),
    forest.Row("two", {"near": forest.Cell([1.0], 1.0)}, group="a", hollow=True),
    forest.Row("three", {"near": forest.Cell([0.5, 0.5], 0.5, 0.5, 0.5)}, group="b"),
]


def drawn(ax, label):
    return [line for line in ax.get_lines() if line.get_label() == label]


def test_a_mark_for_each_mean_a_bar_for_each_interval_a_dot_for_each_seed(legible):
    figure, (near, far) = forest.draw(ROWS, ["near", "far"], "share")
    legible(figure)
    assert [line.get_xdata()[0] for line in drawn(near, "_mean")] == [0.3, 1.0, 0.5]
    assert [list(line.get_xdata()) for line in drawn(near, "_bars")] == [[0.1, 0.5], [0.5, 0.5]]
    assert sum(len(line.get_xdata()) for line in drawn(near, "_seeds")) == 5
    assert len(drawn(far, "_mean")) == 1 and not drawn(far, "_bars")


def test_the_first_row_stands_on_top_under_the_heading_of_its_group():
    figure, (near, _) = forest.draw(ROWS, ["near", "far"], "share")
    figure.draw_without_rendering()
    assert [tick.get_text() for tick in near.get_yticklabels()] == ["one", "two", "three"]
    heights = [near.transData.transform((0, y))[1] for y in near.get_yticks()]
    assert np.all(np.diff(heights) < 0)
    headings = {text.get_text(): text.xy[1] for text in near.texts}
    assert headings == {"a": near.get_yticks()[0] - 1, "b": near.get_yticks()[2] - 1}


def test_a_row_that_decides_nothing_is_hollow():
    _, (near, _) = forest.draw(ROWS, ["near", "far"], "share")
    assert [line.get_markerfacecolor() for line in drawn(near, "_mean")] == [style.DARK, "white", style.DARK]
