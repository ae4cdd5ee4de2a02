"""The figures of the groups: captions state what is drawn, and nothing leaves its panel."""

import math
import re

import numpy as np
import pandas as pd
import pytest
import torch

from attention_priors.experiments import pucks as task
from attention_priors.figures.groups import factors, portraits, pucks
from attention_priors.theory.groups import Block, overflow_position

PUCKS = pd.DataFrame(
    [
        {
            "encoding": name,
            "seed": seed,
            "multiple": multiple,
            "correct": 40 + 20 * seed,
            "samples": 100,
            "coupling": 1.0,
            "decay": 0.1,
        }
        for name in task.ENCODINGS
        for seed in (0, 1)
        for multiple in task.MULTIPLES
    ]
)


@pytest.fixture
def grown(small):
    return factors.rows(small(length=375), 0, decays=(1 - 2**-5, 1 - 2**-6))


def test_portraits_score_what_each_block_can(small):
    frame = portraits.rows(small(), 0, paths=4, last=10.0, steps=101)
    score = frame[frame["path"] == 0].set_index(["kind", "x"])["y"]
    assert score["shear", 10.0] == pytest.approx(-1.0)
    assert score["damped shear"].idxmax() == pytest.approx(1 / 0.35, abs=0.06)
    assert score["rotation", 10.0] == pytest.approx(math.cos(6.0))
    assert score["doubled rotation", 10.0] == pytest.approx(math.cos(6.0))
    assert set(frame["path"]) == {0, 1, 2, 3, 4}


def test_scores_stay_inside_their_panels(small):
    frame = portraits.rows(small(), 0, paths=1)
    for ax in portraits.draw(frame).axes[len(portraits.PANELS) :]:
        bottom, top = ax.get_ylim()
        assert all(bottom < y < top for line in ax.get_lines() for y in line.get_ydata())
    assert "lag 2.9 " in portraits.caption(frame)


def test_hands_keep_their_length_only_without_damping(small):
    frame = portraits.rows_hands(small(), 0, omegas=(0.5,), rates=(0.0, -0.1), last=10)
    length = np.hypot(frame["x"], frame["y"])
    undamped = frame["rate"] == 0
    assert np.allclose(length[undamped], 1)
    last = length[~undamped & (frame["t"] == 10)].tolist()
    assert last == pytest.approx([math.exp(-1), math.exp(1)])
    assert "0.37 and 2.72" in portraits.caption_hands(frame)


def test_growth_is_the_power_of_the_decay(small):
    frame = factors.rows(small(length=64), 0, decays=(0.5,), block=16).set_index(["factors", "position"])["log10 size"]
    assert frame["absolute", 100] == pytest.approx(100 * math.log10(2))
    assert frame["by block"].max() == pytest.approx(15 * math.log10(2))
    with pytest.raises(ValueError, match=r"decay = 1\.5"):
        factors.rows(small(), 0, decays=(1.5,))


def test_the_bound_within_a_block_holds_at_positions_that_are_not_drawn(grown):
    largest = (1 - 2**-5) ** -63  # at the last of 64 positions
    bound = float(re.search(r"a block of 64 it stays below ([\d.]+) ", factors.caption(grown))[1])
    assert largest <= bound < largest + 0.1


def test_factors_by_block_do_not_overflow():
    rate = math.log(1 - 2**-5)
    positions = np.array([100, 400])
    absolute = factors.rounded_scores(rate, 0.3, positions, 8, torch.float16, 0)
    blocked = factors.rounded_scores(rate, 0.3, positions, 8, torch.float16, 64)
    exact = Block(rate, 0.3).group(8)[0, 0]
    assert np.isfinite(absolute).tolist() == [True, False]
    assert blocked == pytest.approx([exact, exact], rel=5e-3)


def test_rounding_names_the_first_overflow():
    rate = math.log(1 - 2**-5)
    found = pd.DataFrame(factors.rounding(rate, 0.0, 450, lag=8, block=64)).set_index(["dtype", "factors"])
    assert found.loc[("fp16", "absolute"), "overflows from"] == overflow_position(rate, "fp16") + 8
    assert (found["overflows from"] == "").sum() == 5


def test_every_seed_of_the_pucks_is_a_dot():
    axes = pucks.draw(PUCKS).axes
    assert len(axes) == len(task.MULTIPLES)
    for ax in axes:
        dots = [line for line in ax.get_lines() if line.get_label() == "_seeds"]
        assert len(dots) == len(task.ENCODINGS) and all(sorted(line.get_xdata()) == [0.4, 0.6] for line in dots)


KINDS = [(-0.1, 0.0, False), (0.0, 0.5, False), (-0.2, 0.0, True), (0.0, 0.4, True)]


@pytest.mark.parametrize(("rate", "omega", "defect"), KINDS)
def test_the_sliders_draw_every_kind_of_block(rate, omega, defect):
    figure = portraits.explore(rate, omega, defect)
    assert len(figure.axes) == 2 and figure.axes[1].lines
