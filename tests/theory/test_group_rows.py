"""The numbers behind the pictures of groups."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from attention_priors.theory import group_rows as rows
from attention_priors.theory.groups import Block, overflow_position


def test_portraits_score_what_each_block_can():
    frame = pd.DataFrame(rows.portrait_rows(paths=4, last=10.0, steps=101))
    score = frame[frame["path"] == 0].set_index(["kind", "x"])["y"]
    assert score["shear", 10.0] == pytest.approx(-1.0)
    assert score["damped shear"].idxmax() == pytest.approx(1 / 0.35, abs=0.06)
    assert score["rotation", 10.0] == pytest.approx(math.cos(6.0))
    assert score["doubled rotation", 10.0] == pytest.approx(math.cos(6.0))
    assert set(frame["path"]) == {0, 1, 2, 3, 4}


def test_hands_keep_their_length_only_without_damping():
    frame = pd.DataFrame(rows.hand_rows((0.5,), (0.0, -0.1), last=10))
    length = np.hypot(frame["x"], frame["y"])
    undamped = frame["rate"] == 0
    assert np.allclose(length[undamped], 1)
    last = length[~undamped & (frame["t"] == 10)].tolist()
    assert last == pytest.approx([math.exp(-1), math.exp(1)])


def test_factors_by_block_do_not_overflow():
    rate = math.log(1 - 2**-5)
    positions = np.array([100, 400])
    absolute = rows.rounded_scores(rate, 0.3, positions, 8, torch.float16, 0)
    blocked = rows.rounded_scores(rate, 0.3, positions, 8, torch.float16, 64)
    exact = Block(rate, 0.3).group(8)[0, 0]
    assert np.isfinite(absolute).tolist() == [True, False]
    assert blocked == pytest.approx([exact, exact], rel=5e-3)


def test_rounding_names_the_first_overflow():
    rate = math.log(1 - 2**-5)
    found = pd.DataFrame(rows.rounding_rows(rate, 0.0, 450, lag=8, block=64)).set_index(["dtype", "factors"])
    assert found.loc[("fp16", "absolute"), "overflows from"] == overflow_position(rate, "fp16") + 8
    assert (found["overflows from"] == "").sum() == 5


def test_growth_is_the_power_of_the_decay():
    frame = pd.DataFrame(rows.growth_rows((0.5,), last=512, block=16)).set_index(["factors", "position"])["log10 size"]
    assert frame["absolute", 100] == pytest.approx(100 * math.log10(2))
    assert frame["by block"].max() == pytest.approx(15 * math.log10(2))
    with pytest.raises(ValueError, match=r"decay = 1\.5"):
        rows.growth_rows((1.5,), 10, 4)
