"""Figures of notebook 05 draw from small frames, and their captions follow the numbers."""

import re

import pandas as pd
import pytest

from attention_priors.figures import spectra as figures
from attention_priors.theory import bands, spectra

FRAMES = {
    "spectra_band": lambda: bands.band_rows((0.5, 2.0), draws=20, steps=21),
    "spectra_sinks": lambda: bands.sink_rows((2, 100, 10**4), (0.0, 2.0, 5.0), decay=0.5, bound=2.0, sink=0.9),
    "spectra_shapes": lambda: spectra.profile_rows(48, 6),
    "spectra_fits": lambda: spectra.fit_rows(32, (1, 2), (2, 4, 16)),
    "spectra_beyond": lambda: spectra.beyond_rows(32, 2, 8),
}


@pytest.mark.parametrize("name", FRAMES)
def test_every_figure_draws_and_captions(name):
    frame = pd.DataFrame(FRAMES[name]())
    spec = figures.FIGURES[name]
    figure = spec.draw(frame)
    figure.canvas.draw()
    assert figure.axes and len(spec.caption(frame)) > 100


def test_all_figures_are_tested():
    assert set(FRAMES) == set(figures.FIGURES)


def test_the_caption_of_the_band_has_the_sharp_ends():
    caption = figures.caption_band(pd.DataFrame(FRAMES["spectra_band"]()))
    assert "3.69" in caption and "0.881" in caption


@pytest.mark.parametrize("name", FRAMES)
def test_captions_write_the_symbols_of_the_figure(name):
    caption = figures.FIGURES[name].caption(pd.DataFrame(FRAMES[name]()))
    assert not re.search(r"\b(alpha|beta|delta|omega|pi)\b", caption)


def test_no_two_sinks_look_alike():
    left = figures.draw_sinks(pd.DataFrame(FRAMES["spectra_sinks"]())).axes[0]
    looks = [(line.get_linestyle(), line._dash_pattern, line.get_marker()) for line in left.get_lines()]
    assert len(looks) == 6 and all(looks.count(look) == 1 for look in looks)


def test_little_of_the_axis_beyond_the_window_is_empty():
    frame = pd.DataFrame(FRAMES["spectra_beyond"]())
    (ax,) = figures.draw_beyond(frame).axes
    assert frame["fit"].max() < ax.get_ylim()[1] <= max(10, 2 * frame["fit"].max())


def test_the_table_names_its_units():
    frame = pd.DataFrame(FRAMES["spectra_fits"]())
    assert "KL on 16 windows (nats)" in figures.build_fits(frame).columns


@pytest.mark.parametrize(("modes", "alpha", "beta", "shift"), [(1, -6, 0, 0), (32, 6, 6, 3), (4, 0, 0, 1)])
def test_the_sliders_reach_no_error(modes, alpha, beta, shift):
    figures.explore(64, modes, alpha, beta, shift)
