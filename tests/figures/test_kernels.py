"""The figures of notebook 08: nothing covers what is drawn."""

from attention_priors.figures import kernel
from figures.committed import frame


def test_the_legend_of_the_tiles_covers_no_curve():
    tiles = frame("kernel_tiles")
    figure = kernel.draw_tiles(tiles)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert len(legend.get_texts()) == tiles["prior"].nunique()
    assert not any(legend.get_window_extent().overlaps(ax.get_tightbbox()) for ax in figure.axes)


def test_the_legend_of_the_errors_has_marks_and_no_lines():
    (ax,) = kernel.draw_errors(frame("kernel_errors")).axes
    handles = ax.get_legend().legend_handles
    assert len({handle.get_marker() for handle in handles}) == len(handles) > 1
    assert {handle.get_linestyle() for handle in handles} == {"None"}
