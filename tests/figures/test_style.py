"""One look per method, readable in print, in grey and with a colour-vision deficiency."""

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.figures import methods, panels, style, words
from attention_priors.positions.encodings import ENCODINGS
from figures import looks

# Machado, Oliveira and Fernandes (2009), severity 1: how linear RGB looks without one kind of cone.
DEFICIENCIES = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


@pytest.fixture(autouse=True)
def closed():
    style.apply()
    yield
    plt.close("all")


def linear(color):
    rgb = np.array(mpl.colors.to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def luminance(color):
    return float(linear(color) @ [0.2126, 0.7152, 0.0722])


# the benchmark of all encodings marks families instead
LINES = [name for name, row in ENCODINGS.items() if {name, row.unscaled} & {*methods.METHODS, *methods.VARIANTS}]


def test_every_encoding_drawn_as_a_line_has_one_style():
    drawn = {*config.profile("cpu").passkey.encodings, *config.profile("full").passkey.encodings}
    assert drawn <= set(LINES)
    for name in LINES:
        look, row = methods.look(name), ENCODINGS[name]
        assert set(look) == {"color", "dashes", "marker", "label"} and look["label"] == row.label
        assert look == methods.look(name)


def test_an_unknown_method_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="bam-ssmax"):
        methods.look("bam-ssmaks")


@pytest.mark.parametrize(("down", "count", "labelled"), [(2, 4, [0, 1, 1, 1]), (1, 2, [1, 1])])
def test_the_lowest_panel_of_a_column_has_tick_labels_where_the_last_row_is_not_full(down, count, labelled):
    _, axes = style.figure(nrows=down, ncols=3 if down > 1 else 2, sharex=True, sharey=True)
    shown = style.panels(axes, count)
    assert [ax.get_visible() for ax in axes.flat] == [True] * count + [False] * (axes.size - count)
    assert [ax.xaxis.get_tick_params()["labelbottom"] for ax in shown] == list(map(bool, labelled))


def test_ssmax_keeps_the_colour_and_the_plain_form_is_lighter_and_dashed():
    for base, (color, _, marker) in methods.METHODS.items():
        plain, scaled = methods.look(base), methods.look(f"{base}-ssmax")
        assert scaled["color"] == color and scaled["dashes"] == style.SOLID
        assert plain["dashes"] != style.SOLID and plain["marker"] == scaled["marker"] == marker
        assert luminance(plain["color"]) >= luminance(color)


def test_dashes_and_markers_alone_tell_all_methods_apart():
    looks = [methods.look(name) for name in [*LINES, *style.CONTROLS]]
    assert len({(look["dashes"], look["marker"]) for look in looks}) == len(looks)


def test_lines_stand_out_from_paper():
    for name in [*LINES, *style.CONTROLS]:
        color = methods.look(name)["color"]
        assert style.contrast(color) == pytest.approx(1.05 / (luminance(color) + 0.05)) and style.contrast(color) >= 3
        assert style.contrast(style.darken(color)) >= 4.5, name


@pytest.mark.parametrize("kind", DEFICIENCIES)
def test_base_colours_differ_for_colour_blind_readers(kind):
    seen = [np.array(DEFICIENCIES[kind]) @ linear(color) for color, _, _ in methods.METHODS.values()]
    assert min(np.abs(a - b).max() for a, b in itertools.combinations(seen, 2)) > 0.05


@pytest.mark.parametrize(
    "length, label", [(128, "128"), (1000, "1,000"), (1024, "1K"), (1536, "1,536"), (65536, "64K"), (64000, "64,000")]
)
def test_length_labels(length, label):
    assert style.length_label(length) == label


def test_the_length_axis_has_a_tick_at_every_length(legible):
    figure, ax = style.figure()
    style.length_axis(ax, [128, 256, 512, 1024], trained=128)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["128", "256", "512", "1K"]
    style.length_axis(ax, [2**i for i in range(4, 18)])
    assert len(ax.get_xticks()) <= 9
    legible(figure)


def test_direct_labels_do_not_overlap_and_name_every_line(legible):
    figure, ax = style.figure(style.SINGLE, 2.4)
    for i, name in enumerate(["bam-ssmax", "bam", "alibi", "rope", "nope"]):
        ax.plot([128, 256, 512], [1, 0.5, 0.001 * i], **methods.look(name))
    ax.plot([128], [0.3], label="_seeds")
    style.length_axis(ax, [128, 256, 512])
    style.direct_labels(ax)
    figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
    assert len(boxes) == 5
    assert all(low.y1 <= high.y0 + 1 for low, high in itertools.pairwise(boxes))
    assert all(box.x1 <= figure.bbox.x1 for box in boxes)
    legible(figure)


def test_spread_moves_no_more_than_needed():
    far = np.array([10.0, 50.0, 30.0])
    assert np.array_equal(style.spread(far, 8, 0, 100), far)
    packed = style.spread(np.array([98.0, 99.0, 2.0]), 8, 0, 100)
    assert packed.max() <= 100 and np.diff(np.sort(packed)).min() >= 8 and packed[2] == 2.0
    assert np.allclose(style.spread(np.array([50.0, 50.0, 50.0]), 8, 0, 100), [42, 50, 58])  # about where they were
    assert np.allclose(style.spread(np.array([1.0, 0.0]), 8, 0, 100), [8, 0])  # within the axes, in order


def test_a_name_has_its_line_s_marker_and_a_lead_when_it_was_pushed_away():
    figure, ax = style.figure(style.SINGLE, 2.4)
    for name, end in (("bam-ssmax", 0.8), ("alibi", 0.01), ("rope", 0.0)):
        ax.plot([128, 512], [1, end], **methods.look(name))
    style.direct_labels(ax)
    figure.draw_without_rendering()
    leads = {line.get_marker(): line for line in ax.get_lines() if line.get_label() == "_lead"}
    markers = {name: methods.look(name)["marker"] for name in ("bam-ssmax", "alibi", "rope")}
    assert set(leads) == set(markers.values())
    assert leads[markers["bam-ssmax"]].get_linewidth() == 0
    for name, text in zip(markers, ax.texts, strict=True):
        lead = leads[markers[name]]
        start, _, place = lead.get_transform().transform(np.column_stack(lead.get_data()))
        box = text.get_window_extent()
        assert place[1] == pytest.approx((box.y0 + box.y1) / 2, abs=2) and start[0] < place[0] < box.x0
        if name != "bam-ssmax":
            assert lead.get_linewidth() > 0 and abs(start[1] - place[1]) > 1


def test_the_edges_of_a_band_have_the_dashes_of_its_line():
    _, ax = style.figure()
    look = methods.look("alibi")
    style.interval_band(ax, [1, 2], [0, 0], [1, 2], look["color"], look["dashes"])
    (line,) = ax.plot([1, 2], [0.5, 1], **look)
    low, high, _ = ax.get_lines()
    assert [*low.get_ydata(), *high.get_ydata()] == [0, 0, 1, 2]
    for edge in (low, high):
        ratio = edge.get_linewidth() / line.get_linewidth()
        assert np.allclose(edge._dash_pattern[1], np.array(line._dash_pattern[1]) * ratio)


def test_apply_forgets_what_was_set_before():
    mpl.rcParams["font.size"] = 3
    style.apply()
    assert mpl.rcParams["font.size"] >= style.SMALLEST and mpl.rcParams["image.cmap"] == "cividis"


def test_a_caption_is_cut_between_sentences():
    said = "As in Fig. 4, n = 2.5 here. What follows, e.g. This, is long. β rises."
    assert words.parts(said, 8) == ("As in Fig. 4, n = 2.5 here.", "What follows, e.g. This, is long. β rises.")
    assert words.parts(said, 14) == (said.removesuffix(" β rises."), "β rises.")
    assert words.parts(said) == (said, "") and words.parts(said, 1)[0] == "As in Fig. 4, n = 2.5 here."


def test_pale_cut_touching_and_strange_are_seen():
    figure, ax = style.figure(style.SINGLE, 2)
    ax.plot([0, 1], [0, 1], **methods.look("bam"))
    assert not looks.pale(figure) | looks.cut(figure) | looks.touching(figure) | looks.strange(figure)
    ax.plot([0, 1], [1, 0], color="#56B4E9", label="pale")
    ax.plot([0, 1], [1, 1], color=style.BLUE, alpha=0.2, label="thin")
    ax.plot([0, 1], [1, 1], color="#EEEEEE", label="_fill")
    assert {each.split()[1] for each in looks.pale(figure)} == {"pale", "thin"}
    figure.text(0.9, 0.5, "a word that is longer than the figure")
    ax.set_xticks([0, 0.05], ["first tick", "second tick"])
    assert len(looks.cut(figure)) == 1 and looks.touching(figure) == {"first tick|second tick"}
    ax.plot([0, 1], [0, 0], color=style.BLUE, label="RoPE")
    assert looks.strange(figure) == {"RoPE"}


def test_the_next_line_s_bars_stand_aside():
    _, ax = style.figure()
    mean = pd.DataFrame({"mean": [1.0, 2.0], "low": [0.5, 1.5], "high": [1.5, 2.5]}, index=[1, 2])
    seen = []
    for name in ("bam", "rope", "alibi"):
        line = panels.Line(mean.index, mean["mean"], methods.look(name), mean["low"], mean["high"], mean["mean"])
        panels.add(ax, line)
        corners = ax.collections[-1].get_transform().transform([(1, 1)]) - ax.transData.transform([(1, 1)])
        seen.append(round(corners[0, 0] * 72 / ax.figure.dpi, 2))
    assert seen == [0, -style.ASIDE, style.ASIDE]
    assert ax.dataLim.y0 <= 0.5 and ax.dataLim.y1 >= 2.5


def test_rows_come_nearer_where_a_page_is_full():
    assert style.pitch(10) == style.pitch(47) == style.ROW
    assert 100 * style.pitch(100) == pytest.approx(style.PAGE)
