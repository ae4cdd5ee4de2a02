"""Laws of rotary positions: relative, exact at any position."""

import mpmath
import pytest
import torch

from attention_priors.positions.encodings import ENCODINGS
from attention_priors.positions.rotary import Rotary, Spectrum, Undivided, rope
from refusals import refused


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


def made(name: str):
    """The rotation of an encoding with random parameters, for heads of width 24."""
    torch.manual_seed(1)
    rotation = ENCODINGS[name].rotary(24, 10_000.0).double()
    for parameter in rotation.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return rotation


ROTATIONS = [  # but for what lends its weights, is drawn, or shares heads with a prior
    name for name, row in ENCODINGS.items() if row.rotary and not row.trained_as and not row.whole and not row.prior
]


@pytest.mark.parametrize("name", ROTATIONS)
def test_scores_depend_on_the_lag_alone(name):
    """At any place, of one query as of all, and in the dtype of q and k."""
    rotation, q, k = made(name), random(1, 2, 5, 24), random(1, 1, 5, 24) + 1
    here = torch.tensor([0, 3, 10, 50, 100])

    def scores(positions: torch.Tensor, rows: slice = slice(None)) -> torch.Tensor:
        turned_q, turned_k = rotation(q[:, :, rows], k, positions[rows], positions)
        return turned_q @ turned_k.mT

    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    for shift in (1, 4096):
        torch.testing.assert_close(scores(here + shift)[..., causal], scores(here)[..., causal], rtol=1e-9, atol=1e-8)
    torch.testing.assert_close(scores(here, slice(4, 5)), scores(here)[:, :, 4:], rtol=1e-9, atol=1e-9)
    turns = bool((scores(here * 2) - scores(here)).abs().max() > 0.01)
    assert turns == (name not in ("half-window", "sinusoidal-undivided"))
    for half in rotation(q.half(), k.half(), here, here):
        assert half.dtype == torch.float16


@pytest.mark.parametrize("module_dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_angles_are_exact_at_half_a_million(module_dtype):
    """Against 40 digits; also in a model that was cast to half precision as a whole."""
    width, position = 8, 500_000
    rotary = Rotary(rope(width)).to(module_dtype)
    x = torch.zeros(1, 1, 1, width, dtype=torch.float64)
    x[..., : width // 2] = 1.0
    turned = rotary(x, x, torch.tensor([position]), torch.tensor([position]))[0].flatten()
    with mpmath.workdps(40):
        angles = [position * mpmath.mpf(10_000) ** (mpmath.mpf(-2 * i) / width) for i in range(width // 2)]
        wanted = [float(mpmath.cos(a)) for a in angles] + [float(mpmath.sin(a)) for a in angles]
    torch.testing.assert_close(turned, torch.tensor(wanted, dtype=torch.float64), rtol=0, atol=1e-9)


@pytest.mark.parametrize("width", [1, 16, 32])
def test_logits_are_the_inner_products_themselves(width):
    q, k = torch.randn(2, 1, 2, 5, width, dtype=torch.float64)
    turned, same = Undivided(width)(q, k, torch.arange(5), torch.arange(5))
    assert torch.equal(same, k)
    assert torch.allclose(turned @ same.mT / width**0.5, q @ k.mT, rtol=1e-12)


def test_a_rotation_inside_undivided_logits_comes_first():
    q, k = torch.randn(2, 1, 2, 5, 16, dtype=torch.float64)
    rotary = Rotary(rope(16))
    (q_own, k_own), (q_turned, k_turned) = (
        Undivided(16, rotary)(q, k, torch.arange(5), torch.arange(5)),
        rotary(q, k, torch.arange(5), torch.arange(5)),
    )
    assert torch.equal(k_own, k_turned) and torch.allclose(q_own, 4 * q_turned)


test_refuses_what_is_outside_the_domain = refused(
    (lambda: rope(3), "width = 3"),
    (lambda: rope(0), "width = 0"),
    (lambda: rope(4, 1.0), "base = 1.0"),
    (lambda: rope(4, float("nan")), "base = nan"),
    (lambda: Undivided(0), "width = 0, but a head has at least 1 component"),
    (lambda: Rotary(Spectrum((1.0,), decay=(0.5,))), "decay"),
    (lambda: Rotary(rope(4))(random(1, 1, 2, 6), random(1, 1, 2, 6), torch.arange(2), torch.arange(2)), "width 6"),
)
