"""The figures of notebook 08 from frames made up here: nothing covers what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from attention_priors.figures.kernel import errors, tiles
from attention_priors.figures.kernel import instructions as bars


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def instructions(*counts):
    kinds = [("forward", "no bias"), ("forward", "table"), ("backward_table", "free table")]
    return pd.DataFrame([(*kind, count) for kind, count in zip(kinds, counts, strict=True)],
                        columns=["kernel", "variant", "instructions"])  # fmt: skip


@pytest.mark.parametrize("counts", [(9.5, 15.2, 34.1), (13.9, 16.4, 23.5), (np.nan, np.nan, np.nan)])
def test_printed_numbers_hide_no_slot_and_stay_in_the_axes(counts):
    figure = bars.draw(instructions(*counts))
    figure.draw_without_rendering()
    (ax,) = figure.axes
    strokes = [line.get_window_extent() for line in ax.get_lines()]
    assert len(strokes) == len(ax.texts) == 3
    for text in ax.texts:
        box = text.get_window_extent()
        assert not any(box.overlaps(stroke) for stroke in strokes) and box.x1 <= ax.bbox.x1


def test_the_legend_of_the_tiles_covers_no_curve():
    rows = [{"prior": prior, "keys": keys, "content": content, "kept": kept} for content in (2, 8)
            for prior, kept in (("ALiBi", 0.0), ("GGD", 1.0)) for keys in (1024, 2048)]  # fmt: skip
    figure = tiles.draw(pd.DataFrame(rows))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ALiBi", "GGD"]
    assert not any(legend.get_window_extent().overlaps(ax.get_tightbbox()) for ax in figure.axes)


def test_the_legend_of_the_errors_has_marks_and_no_lines():
    rows = [{"way": way, "result": "out", "seed": seed, "error": 0.1 + seed}
            for way in ("plain", "kernel") for seed in range(3)]  # fmt: skip
    (ax,) = errors.draw(pd.DataFrame(rows)).axes
    handles = ax.get_legend().legend_handles
    assert [handle.get_marker() for handle in handles] == ["s", "o"]
    assert {handle.get_linestyle() for handle in handles} == {"None"}
