"""Laws of rotary positions: orthogonal, relative, exact at any position."""

import mpmath
import pytest
import torch

from attention_priors.positions.encodings import encoding
from attention_priors.positions.rotary import Rotary, Spectrum, Undivided, rope


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


def test_the_frequencies_are_a_geometric_sequence() -> None:
    assert rope(8).omega == pytest.approx((1.0, 0.1, 0.01, 0.001))
    assert rope(2, 500.0).omega == (1.0,)


@pytest.mark.parametrize("position", [0, 1, 777, 500_000])
def test_a_rotation_is_orthogonal(position: int) -> None:
    """The matrix R(p) itself: R Rᵀ = 1."""
    rotary, unit = Rotary(rope(10)), torch.eye(10, dtype=torch.float64)[None, None]
    positions = torch.full((10,), position)
    matrix = rotary(unit, unit, positions, positions)[0][0, 0]
    torch.testing.assert_close(matrix @ matrix.T, torch.eye(10, dtype=torch.float64), rtol=0, atol=1e-14)
    assert torch.linalg.det(matrix).item() == pytest.approx(1.0)


def test_position_zero_is_the_identity() -> None:
    x = random(1, 2, 3, 6)
    zero = torch.zeros(3, dtype=torch.int64)
    assert torch.equal(Rotary(rope(6))(x, x, zero, zero)[0], x)


@pytest.mark.parametrize("shift", [1, 4096, 499_000])
def test_scores_depend_on_relative_positions(shift: int) -> None:
    rotary, q, k = Rotary(rope(8)), random(1, 2, 5, 8), random(1, 1, 5, 8) + 1
    here = torch.tensor([0, 3, 10, 500, 1000])

    def scores(positions: torch.Tensor) -> torch.Tensor:
        turned_q, turned_k = rotary(q, k, positions, positions)
        return turned_q @ turned_k.transpose(-1, -2)

    torch.testing.assert_close(scores(here + shift), scores(here), rtol=0, atol=1e-9)
    assert (scores(here * 2) - scores(here)).abs().max() > 0.1


@pytest.mark.parametrize("module_dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_angles_are_exact_at_half_a_million(module_dtype: torch.dtype) -> None:
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


def test_the_plane_of_the_half_split_layout() -> None:
    """Component i turns with component i + width / 2, as in Llama."""
    x = torch.zeros(1, 1, 1, 4, dtype=torch.float64)
    x[..., 1] = 1.0
    turned = Rotary(Spectrum((0.0, 0.5)))(x, x, torch.tensor([1]), torch.tensor([1]))[0].flatten()
    wanted = torch.tensor([0, 0.5, 0, 0.5], dtype=torch.float64)
    wanted[1], wanted[3] = wanted[1].cos(), wanted[3].sin()
    torch.testing.assert_close(turned, wanted)


def test_grouped_queries_and_fewer_queries_than_keys() -> None:
    rotary, q, k = Rotary(rope(4)), random(2, 4, 3, 4), random(2, 2, 7, 4)
    keys = torch.arange(7)
    turned_q, turned_k = rotary(q, k, keys[-3:], keys)
    assert turned_q.shape == q.shape and turned_k.shape == k.shape
    assert torch.equal(turned_q[:, :, 1:2], rotary(q[:, :, 1:2], k, keys[-2:-1], keys)[0])


def test_keeps_the_dtype_and_saves_no_state() -> None:
    rotary = Rotary(rope(4))
    x = random(1, 1, 2, 4).bfloat16()
    assert rotary(x, x, torch.arange(2), torch.arange(2))[0].dtype == torch.bfloat16
    assert not rotary.state_dict()


@pytest.mark.parametrize("width", [1, 16, 32])
def test_logits_are_the_inner_products_themselves(width) -> None:
    q, k = torch.randn(2, 1, 2, 5, width, dtype=torch.float64)
    turned, same = Undivided(width)(q, k, torch.arange(5), torch.arange(5))
    assert torch.equal(same, k)
    assert torch.allclose(turned @ same.mT / width**0.5, q @ k.mT, rtol=1e-12)


def test_a_rotation_inside_undivided_logits_comes_first() -> None:
    q, k = torch.randn(2, 1, 2, 5, 16, dtype=torch.float64)
    rotary = Rotary(rope(16))
    (q_own, k_own), (q_turned, k_turned) = (
        Undivided(16, rotary)(q, k, torch.arange(5), torch.arange(5)),
        rotary(q, k, torch.arange(5), torch.arange(5)),
    )
    assert torch.equal(k_own, k_turned) and torch.allclose(q_own, 4 * q_turned)


def test_three_baselines_have_a_row_without_the_factor() -> None:
    for name in ("sinusoidal", "rope", "alibi"):
        row, usual = encoding(f"{name}-undivided"), encoding(name)
        assert isinstance(row.rotary(16, 10_000.0), Undivided) and row.rotary(16, 10_000.0).factor == 4
        assert (row.absolute, row.prior, row.ssmax) == (usual.absolute, usual.prior, usual.ssmax)


def test_refuses_what_is_outside_the_domain() -> None:
    bad = [
        (lambda: rope(3), "width = 3"),
        (lambda: rope(0), "width = 0"),
        (lambda: rope(4, 1.0), "base = 1.0"),
        (lambda: rope(4, float("nan")), "base = nan"),
        (lambda: Undivided(0), "width = 0, but a head has at least 1 component"),
        (lambda: Rotary(Spectrum((1.0,), decay=(0.5,))), "decay"),
        (lambda: Rotary(rope(4))(random(1, 1, 2, 6), random(1, 1, 2, 6), torch.arange(2), torch.arange(2)), "width 6"),
    ]
    for make, message in bad:
        with pytest.raises(ValueError, match=message):
            make()
