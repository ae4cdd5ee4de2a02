"""Sinusoidal positions."""

import mpmath
import pytest
import torch

from attention_priors.positions.absolute import Learned, Sinusoidal
from attention_priors.positions.maps import RandomisedSinusoidal
from refusals import refused


@pytest.mark.parametrize("position", [0, 1, 4095, 500_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_is_its_formula_at_any_position(position, dtype):
    """Against 40 digits; also in a model that was cast to half precision as a whole."""
    width = 6
    with mpmath.workdps(40):
        angles = [position * mpmath.mpf(10_000) ** (-mpmath.mpf(2 * i) / width) for i in range(width // 2)]
        wanted = [float(f(angle)) for angle in angles for f in (mpmath.sin, mpmath.cos)]
    found = Sinusoidal(width).to(dtype)(torch.tensor([position]))[0]
    torch.testing.assert_close(found, torch.tensor(wanted), rtol=0, atol=1e-7)


def test_leading_dimensions_and_state():
    module = Sinusoidal(4)
    assert module(torch.arange(6).view(2, 3)).shape == (2, 3, 4)
    assert not module.state_dict() and not list(module.parameters())


def test_learned_positions_are_rows_of_a_table_that_ends():
    made = Learned(6, longest=5)
    places = torch.tensor([[4, 0], [2, 2]])
    assert torch.equal(made(places), made.table.weight[places])
    made(places).sum().backward()
    assert made.table.weight.grad.abs().sum(1).tolist() == [6, 0, 12, 0, 6]


test_refuses_what_is_outside_the_domain = refused(
    (lambda: Sinusoidal(3), "width = "),
    (lambda: Sinusoidal(0), "width = "),
    (lambda: Sinusoidal(4, 1.0), "base = "),
    (lambda: Learned(6, longest=5)(torch.tensor([5])), "position 5, but the table ends at 4"),
    (lambda: Learned(6, longest=5)(torch.tensor([3, -1])), "position -1, but positions begin at 0"),
    (lambda: RandomisedSinusoidal(6, longest=5)(torch.tensor([3, -1])), "position -1, but positions begin at 0"),
    (lambda: Learned(6, longest=0), "longest = 0"),
)
