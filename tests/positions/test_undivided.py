"""Logits that are not divided by the root of the head's width."""

import pytest
import torch

from attention_priors.positions.encodings import encoding
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.positions.undivided import Undivided

PLACES = torch.arange(5)


@pytest.mark.parametrize("width", [1, 16, 32])
def test_logits_are_the_inner_products_themselves(width) -> None:
    q, k = torch.randn(2, 1, 2, 5, width, dtype=torch.float64)
    turned, same = Undivided(width)(q, k, PLACES, PLACES)
    assert torch.equal(same, k)
    assert torch.allclose(turned @ same.mT / width**0.5, q @ k.mT, rtol=1e-12)


def test_a_rotation_inside_comes_first() -> None:
    q, k = torch.randn(2, 1, 2, 5, 16, dtype=torch.float64)
    rotary = Rotary(rope(16))
    (q_own, k_own), (q_turned, k_turned) = Undivided(16, rotary)(q, k, PLACES, PLACES), rotary(q, k, PLACES, PLACES)
    assert torch.equal(k_own, k_turned) and torch.allclose(q_own, 4 * q_turned)


def test_three_baselines_have_a_row_without_the_factor() -> None:
    for name in ("sinusoidal", "rope", "alibi"):
        row, usual = encoding(f"{name}-undivided"), encoding(name)
        assert isinstance(row.rotary(16, 10_000.0), Undivided) and row.rotary(16, 10_000.0).factor == 4
        assert (row.absolute, row.prior, row.ssmax) == (usual.absolute, usual.prior, usual.ssmax)


def test_a_head_has_a_component() -> None:
    with pytest.raises(ValueError, match="width = 0, but a head has at least 1 component"):
        Undivided(0)
