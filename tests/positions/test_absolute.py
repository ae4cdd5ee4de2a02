"""Sinusoidal positions."""

import mpmath
import pytest
import torch

from attention_priors.positions.absolute import Learned, Sinusoidal


@pytest.mark.parametrize("position", [0, 1, 4095, 500_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_is_its_formula_at_any_position(position: int, dtype: torch.dtype) -> None:
    """Against 40 digits; also in a model that was cast to half precision as a whole."""
    width = 6
    with mpmath.workdps(40):
        angles = [position * mpmath.mpf(10_000) ** (-mpmath.mpf(2 * i) / width) for i in range(width // 2)]
        wanted = [float(f(angle)) for angle in angles for f in (mpmath.sin, mpmath.cos)]
    found = Sinusoidal(width).to(dtype)(torch.tensor([position]))[0]
    torch.testing.assert_close(found, torch.tensor(wanted), rtol=0, atol=1e-7)


def test_leading_dimensions_and_state() -> None:
    module = Sinusoidal(4)
    assert module(torch.arange(6).view(2, 3)).shape == (2, 3, 4)
    assert not module.state_dict() and not list(module.parameters())


@pytest.mark.parametrize(("width", "base"), [(3, 10_000.0), (0, 10_000.0), (4, 1.0)])
def test_refuses_what_is_outside_the_domain(width: int, base: float) -> None:
    with pytest.raises(ValueError, match="width = " if base > 1 else "base = "):
        Sinusoidal(width, base)


def test_learned_positions_are_rows_of_a_table_that_ends() -> None:
    made = Learned(6, longest=5)
    places = torch.tensor([[4, 0], [2, 2]])
    assert torch.equal(made(places), made.table.weight[places])
    made(places).sum().backward()
    assert made.table.weight.grad.abs().sum(1).tolist() == [6, 0, 12, 0, 6]
    with pytest.raises(ValueError, match="position 5, but the table ends at 4"):
        made(torch.tensor([5]))
    with pytest.raises(ValueError, match="longest = 0"):
        Learned(6, longest=0)
