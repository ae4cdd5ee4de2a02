"""What the tests of the survey's table find, and that each can say no."""

import pytest
import torch

from attention_priors.experiments import properties


def found(name):
    return tuple(properties.properties([name])[["relative", "trainable", "each_layer"]].iloc[0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nope", (True, False, False)),
        ("learned", (False, True, False)),
        ("rope", (True, False, True)),
        ("sinusoidal-undivided", (False, False, False)),
        ("rope-undivided", (True, False, True)),
        ("rope-randomised", (False, False, True)),
        ("kerple-log", (True, True, True)),
        ("goat", (False, True, True)),
    ],
)
def test_properties(name, expected):
    assert found(name) == expected


def test_a_constant_of_the_row_is_no_position_and_one_entry_is():
    lags = torch.arange(8)[:, None] - torch.arange(8)
    table = (-0.3 * lags).double().masked_fill(lags < 0, -torch.inf)[None]
    assert properties.is_relative(table + torch.randn(8, 1, dtype=torch.float64))
    table[0, 5, 2] += 1e-6
    assert not properties.is_relative(table)
