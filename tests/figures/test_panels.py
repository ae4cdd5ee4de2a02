"""Panels of lines: what stands highest is seen in all that share an axis, and each has a letter."""

from matplotlib import pyplot as plt

from attention_priors.figures import panels

LOOK = {"color": "#000000", "label": "a"}


def line(high: float) -> list[panels.Line]:
    return [panels.Line([1, 2], [1.0, 1.0], LOOK, [0.9, 0.9], [high, high])]


def test_a_bar_of_a_later_panel_is_within_an_axis_that_the_first_one_ends():
    _, axes = panels.draw({"low": line(1.5), "high": line(9.0)}, "x", "y", ylim=(0, None))
    assert {ax.get_ylim()[0] for ax in axes} == {0} and all(ax.get_ylim()[1] >= 9 for ax in axes)
    plt.close("all")


def test_more_panels_than_letters_have_two():
    axes = list(plt.figure().subplots(4, 7).flat)
    panels.letter(axes)
    assert [ax.get_title(loc="left") for ax in axes][24:] == ["y", "z", "aa", "ab"]
    plt.close("all")
