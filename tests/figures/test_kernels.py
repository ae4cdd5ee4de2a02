"""The figures of notebook 08 from frames made up here: nothing covers what is drawn."""

import pandas as pd

from attention_priors.figures import kernel


def test_the_legend_of_the_tiles_covers_no_curve():
    rows = [
        {"prior": prior, "keys": keys, "content": content, "kept": kept}
        for content in (2, 8)
        for prior, kept in (("ALiBi", 0.0), ("GGD", 1.0))
        for keys in (1024, 2048)
    ]
    figure = kernel.draw_tiles(pd.DataFrame(rows))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ALiBi", "GGD"]
    assert not any(legend.get_window_extent().overlaps(ax.get_tightbbox()) for ax in figure.axes)


def test_the_legend_of_the_errors_has_marks_and_no_lines():
    rows = [
        {"way": way, "result": "out", "seed": seed, "error": 0.1 + seed}
        for way in ("plain", "kernel")
        for seed in range(3)
    ]
    (ax,) = kernel.draw_errors(pd.DataFrame(rows)).axes
    handles = ax.get_legend().legend_handles
    assert [handle.get_marker() for handle in handles] == ["s", "o"]
    assert {handle.get_linestyle() for handle in handles} == {"None"}
