"""A head shared between content and position: the room, the prior in it, the forms of u, bad input."""

import math

import pytest
import torch

from attention_priors.positions import composite
from attention_priors.positions.composite import Bump, Content, SharedSink, coordinates, rank
from attention_priors.positions.encodings import encoding
from attention_priors.positions.priors import Laplace, Product, alibi_slopes
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.positions.spectral import Fourier, Sink, geometric
from refusals import refused


def drawn(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def full(prior):
    """The prior in float64 with parameters that are not those of the start."""
    prior.double()
    with torch.no_grad():
        for k, parameter in enumerate(prior.parameters()):
            parameter += 0.3 * drawn(*parameter.shape, seed=k)
    return prior


def test_content_has_the_logits_of_its_own_width():
    q, k = drawn(1, 2, 5, 16), drawn(1, 2, 7, 16, seed=1)
    there = Content(16, 10)(q, k, torch.arange(5), torch.arange(7))
    assert all(x.shape == y.shape and not x[..., 6:].any() for x, y in zip(there, (q, k), strict=True))
    logits = there[0] @ there[1].mT / 4
    torch.testing.assert_close(logits, q[..., :6] @ k[..., :6].mT / math.sqrt(6), rtol=0, atol=1e-12)


def test_a_rotation_inside_the_content_turns_that_width():
    q, k, here = drawn(1, 2, 5, 16), drawn(1, 2, 5, 16, seed=1), torch.arange(5)
    turned = Rotary(rope(6))(q[..., :6], k[..., :6], here, here)
    found = encoding("goat-rope").rotary(16, 10_000.0)(q, k, here, here)
    torch.testing.assert_close(found[1][..., :6], turned[1])
    torch.testing.assert_close(found[0][..., :6], turned[0] * math.sqrt(16 / 6))


@pytest.mark.parametrize("name", ["goat-composite", "goat-seeded", "goat-code", "goat-no-sink", "goat-eight-bump"])
def test_coordinates_multiply_to_the_prior(name):
    prior, i, j = full(encoding(name).prior(2)), torch.arange(3, 20), torch.arange(30)
    phi, psi = coordinates(prior, i, j)
    assert phi.shape[-1] == psi.shape[-1] == rank(prior) + 2 == encoding(name).rotary(48, 10_000.0).coordinates
    of_keys = prior.of_keys(j, len(j))
    expected = prior.table((i[:, None] - j).flatten()).unflatten(1, (17, 30))
    expected = expected if of_keys is None else expected + of_keys[:, None]
    torch.testing.assert_close(phi @ psi.mT, expected, rtol=0, atol=1e-5 if of_keys is not None else 1e-12)


def test_several_factors_over_lags_stand_side_by_side():
    one, two = Fourier(geometric(2), drawn(3, 2), drawn(3, 2)), Fourier(geometric(3), drawn(3, 3), drawn(3, 3))
    phi, psi = coordinates(Product(one, two), torch.arange(5), torch.arange(5))
    assert phi.shape[-1] == 4 + 6 + 2
    torch.testing.assert_close(
        (phi @ psi.mT)[:, 4, 1], (one.log_prior(torch.tensor([3])) + two.log_prior(torch.tensor([3])))[:, 0]
    )


def test_a_shared_sink_is_its_formula():
    torch.manual_seed(0)
    u = full(SharedSink(torch.tensor([0.5, 0.25]), length=32))
    j = torch.tensor([0, 1, 7, 100])
    inputs = torch.cat(
        [u.sinusoids(j).double(), (j / 32.0)[:, None].double(), (j.double().log1p() / math.log(33))[:, None]], -1
    )
    by_hand = torch.log1p(u.slopes.exp())[:, None] * j + u.gains[:, None] * u.network(inputs).T
    torch.testing.assert_close(u.log_prior(j, 101), by_hand, rtol=0, atol=1e-12)
    assert torch.equal(u.log_prior(j, 101), u.log_prior(j, 5000)), "the current length does not enter"


def test_starts_are_uniform_or_alibis():
    j, slopes = torch.arange(40), torch.tensor(alibi_slopes(4))
    for name in ("goat-composite", "goat-bump", "goat-eight", "goat-no-sink", "goat-rope"):
        phi, psi = coordinates(encoding(name).prior(4), j, j)
        assert not (phi @ psi.mT).any()
    torch.manual_seed(0)
    for name in ("goat-seeded", "goat-code"):
        prior = encoding(name).prior(4)
        torch.testing.assert_close(prior.of_keys(j, 40), slopes[:, None] * j, rtol=1e-5, atol=1e-5)
        waves = prior.split()[0][0]
        assert not waves.beta.any() and 0 < waves.alpha.abs().max() < 6 * composite.SPREAD


def test_a_bump_is_at_the_first_key_alone():
    bump = Bump(2)
    with torch.no_grad():
        bump.height.copy_(torch.tensor([3.0, -1.0]))
    assert bump.log_prior(torch.tensor([0, 1, 0, 9]), 4).tolist() == [[3, 0, 3, 0], [-1, 0, -1, 0]]


test_bad_input_is_named = refused(
    (lambda: Content(10, 10), "heads of width 10 leave no content beside 10 coordinates of position; give wider"),
    (lambda: encoding("goat-composite").rotary(8, 10_000.0), "width 8 leave no content beside 10 coordinates"),
    (lambda: encoding("goat-rope").rotary(8, 10_000.0), "width 8 leave no content beside 10 coordinates"),
    (lambda: Content(32, 7), "coordinates = 7, but a prior takes an even number"),
    (lambda: Content(32, 0), "coordinates = 0, but a prior takes an even number"),
    (lambda: SharedSink(torch.tensor([0.5, math.nan])), "every head needs one finite slope above 0"),
    (lambda: SharedSink(torch.tensor([0.5]), length=0), "length = 0, hidden = 16, but at least 1 of each"),
    (lambda: Sink(torch.tensor([math.inf])), "every head needs one finite slope"),
    (lambda: Sink(torch.zeros(2)).log_prior(torch.arange(3), 0), "length = 0, but positions are divided by it"),
    (lambda: Bump(0), "heads = 0, but at least 1 is needed"),
    (lambda: rank(Laplace([0.5])), "the prior Laplace has no finite rank; give a sum of waves"),
)
