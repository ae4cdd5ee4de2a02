"""What reading in chunks costs: what stays, what is held at most, and that both are told by their figure."""

import pandas as pd
import pytest
import torch

from attention_priors.config import Size
from attention_priors.experiments.memory import timed
from attention_priors.experiments.parallel_cost import AT_ONCE, HALF, WHOLE, cost
from attention_priors.figures import FIGURES, NotCompared

SIZE = Size(width=16, layers=2, heads=2, hidden=16)


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(cost(SIZE, 64, 700, torch.device("cpu"), rounds=1))


def test_half_of_the_keys_take_half_of_the_cache_however_many_chunks_are_read_at_once(frame):
    assert set(frame["at_once"]) == set(AT_ONCE) and len(frame) == 2 * len(AT_ONCE)
    cache = frame.set_index(["kept", "at_once"])["cache"]
    assert cache[WHOLE].nunique() == cache[HALF].nunique() == 1
    assert cache[HALF].iloc[0] == pytest.approx(cache[WHOLE].iloc[0] / 2, rel=0.05)


def test_more_chunks_at_once_hold_more(frame):
    memory = frame[frame["kept"] == WHOLE].set_index("at_once")["memory"]
    assert memory[1] < memory[4] < memory[8] and (frame[["prefill", "token"]] > 0).all(axis=None)


def test_seconds_are_those_of_the_work():
    seconds, found = timed(lambda: sum(range(10**6)), torch.device("cpu"))
    assert found == 499999500000 and 0 < seconds < 5


def test_its_figure_names_both_ways_and_refuses_one_alone(frame):
    spec = FIGURES["parallel_cost"]
    said = spec.caption(frame)
    assert "700 tokens in windows of 64: 16 chunks at once" in said and len(said.split()) <= 40
    assert len(spec.draw(frame).axes) == 4
    with pytest.raises(NotCompared):
        spec.draw(frame[frame["kept"] == WHOLE])
