"""Places on a grid: the prior as coordinates against the bias written out, shifts, axes, tables on finer grids."""

import math

import pytest
import torch

from attention_priors.positions.finite_rank import extend
from attention_priors.positions.grids import (
    GRIDS,
    AxialRotary,
    Grid,
    GridFourier,
    LearnedGrid,
    SinusoidalGrid,
    all_round,
    along_axes,
    grid_encoding,
    modes,
)
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.positions.spectral import geometric
from refusals import refused

LADDER = geometric(3, 4.0, 40.0)
PRIORS = [name for name, row in GRIDS.items() if row.prior]


def drawn(waves, heads: int = 2, extra: int = 0) -> GridFourier:
    """A prior with coefficients that are not zero, in float64."""
    torch.manual_seed(len(waves) + extra)
    prior = GridFourier(heads, waves, extra).double()
    for parameter in prior.parameters():
        parameter.data.normal_()
    return prior


def written_out(prior: GridFourier, grid: Grid) -> torch.Tensor:
    """[heads, tokens, tokens]: κ of every pair of places, and the sink where the key stands nowhere."""
    places = [(row, column) for row in range(grid.height) for column in range(grid.width)]
    phase = torch.tensor([[[a - c, b - d] for c, d in places] for a, b in places]).double() @ prior.waves.double().T
    kappa = torch.einsum("hr,ijr->hij", prior.alpha, phase.cos()) + torch.einsum("hr,ijr->hij", prior.beta, phase.sin())
    bias = torch.nn.functional.pad(kappa, (prior.extra, 0, prior.extra, 0))
    if prior.extra:
        bias[:, :, : prior.extra] = prior.sink[:, None, None]
    return bias


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("waves", [along_axes(LADDER, LADDER), all_round(LADDER, 3), [(0.7, -0.4)]])
def test_one_plain_call_is_attention_with_the_bias_written_out(waves, extra):
    grid, prior = Grid(3, 4), drawn(waves, extra=extra)
    q, k, v = torch.randn(3, 2, 2, grid.patches + extra, 6, dtype=torch.float64).requires_grad_()
    composite = torch.nn.functional.scaled_dot_product_attention(*extend(q, k, *prior.features(grid.places())), v)
    explicit = ((q @ k.transpose(-1, -2)) / 6**0.5 + written_out(prior, grid)).softmax(-1) @ v
    torch.testing.assert_close(composite, explicit, rtol=0, atol=1e-12)
    wanted = [*prior.parameters(), q, k, v] if not extra else [prior.alpha, prior.beta, prior.sink]
    wanted = [each for each in wanted if each.is_leaf]
    weight = torch.randn_like(composite)
    ours, truth = (torch.autograd.grad((x * weight).sum(), wanted) for x in (composite, explicit))
    for one, other in zip(ours, truth, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", PRIORS)
def test_priors_start_uniform_and_do_not_see_a_shift_of_the_grid(name):
    prior = GRIDS[name].prior(2, 32, 0)
    places = Grid(4, 5).places()
    phi, psi = prior.features(places)
    assert not (phi @ psi.mT).any() and prior.rank == 4 * modes(32) + 2
    prior = drawn([tuple(wave) for wave in prior.waves.tolist()])
    phi, psi = prior.features(places)
    for shift in ([3.0, 0.0], [0.0, -7.0], [500_000.0, 123_456.0]):
        moved_phi, moved_psi = prior.features(places + torch.tensor(shift))
        torch.testing.assert_close(moved_phi @ moved_psi.mT, phi @ psi.mT, rtol=0, atol=1e-9)


def test_the_split_ladder_gives_rows_what_is_fast_and_columns_what_is_slow():
    waves = GRIDS["goat-2d-split"].prior(1, 32, 0).waves
    rows, columns = waves[waves[:, 0] != 0, 0], waves[waves[:, 1] != 0, 1]
    assert len(rows) == len(columns) == modes(32) and rows.min() > columns.max()
    assert (2 * math.pi / columns).min() > 1000, "wavelengths in patches, on grids of tens of patches"
    same = GRIDS["goat-2d"].prior(1, 32, 0).waves
    torch.testing.assert_close(same[:4], same[4:].flip(1))


def test_axial_rotations_know_the_lag_alone_and_each_half_one_axis():
    turn, places = AxialRotary(8, 100.0), Grid(3, 4).places()
    q, k = torch.randn(2, 1, 1, 12, 8, dtype=torch.float64)
    scores = turn(q, places) @ turn(k, places).mT
    moved = turn(q, places + torch.tensor([5.0, -2.0])) @ turn(k, places + torch.tensor([5.0, -2.0])).mT
    torch.testing.assert_close(scores, moved)
    straight = Rotary(rope(4, 100.0))
    for axis, half in ((0, [0, 1, 4, 5]), (1, [2, 3, 6, 7])):
        expected = straight.turn(q[..., half], places[:, axis].long())
        torch.testing.assert_close(turn(q, places)[..., half], expected)
    with_token = AxialRotary(8, 100.0, extra=1)
    longer = torch.cat([q[:, :, :1], q], 2)
    torch.testing.assert_close(with_token(longer, places)[:, :, 1:], turn(q, places))
    assert torch.equal(with_token(longer, places)[:, :, 0], q[:, :, 0])


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_can_be_made_without_memory(name):
    with torch.device("meta"):
        made = GRIDS[name].prior(2, 24, 1)
    assert all(x.is_meta for x in made.parameters()) and made.rank == GRIDS[name].prior(2, 24, 1).rank


def test_a_table_is_stretched_as_places_are():
    small, large = Grid(6, 6), Grid(18, 12)
    table = LearnedGrid(2, small)
    table.table.data = small.places().T.reshape(1, 2, 6, 6).float()  # each vector says where it stands
    assert torch.equal(table(small, small.places()), small.places().float())
    found, expected = table(large, large.places()), large.over(small).float()
    inside = ((expected > 1) & (expected < 4)).all(1)  # torch's cubics (a = -3/4) bend a line by less than 1/20
    assert inside.sum() > 40
    torch.testing.assert_close(found[inside], expected[inside], rtol=0, atol=0.05)
    assert torch.equal(small.over(small), small.places())


def test_sinusoids_of_rows_and_columns():
    places = Grid(2, 3).places()
    found = SinusoidalGrid(8, Grid(9, 9))(Grid(2, 3), places)
    assert found.shape == (6, 8) and torch.equal(found[0, :4], found[2, :4]) and torch.equal(found[0, 4:], found[3, 4:])
    torch.testing.assert_close(found[4, 4], torch.tensor(math.sin(1.0)))


test_bad_input = refused(
    (lambda: Grid(0, 4), "0 x 4", "at least 1 row"),
    (lambda: GridFourier(0, [(1.0, 0.0)]), "heads = 0", "at least 1 head"),
    (lambda: GridFourier(1, []), "waves = []", "at least one finite"),
    (lambda: GridFourier(1, [(math.nan, 0.0)]), "nan", "at least one finite"),
    (lambda: GridFourier(1, [(1.0, 0.0)], extra=-1), "extra = -1", "0 tokens or more"),
    (lambda: GridFourier(1, [(1.0, 0.0)]).table(torch.arange(3)), "GridFourier", "take `features`"),
    (lambda: all_round(LADDER, 1), "directions = 1", "at least 2"),
    (lambda: AxialRotary(6, 100.0), "width = 6", "divisible by 4"),
    (lambda: SinusoidalGrid(6, Grid(2, 2)), "width = 6", "a multiple of 4"),
    (lambda: modes(4), "head width 4", "use heads of 8 or more"),
    (lambda: grid_encoding("goat"), "'goat'", "choose one of nope-2d"),
)
