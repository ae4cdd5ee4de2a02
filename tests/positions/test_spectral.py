"""Goat's waves and sink: the formula, its factors, its special cases, bad input."""

import math

import pytest
import torch

from attention_priors.positions.finite_rank import extend
from attention_priors.positions.spectral import Fourier, Sink, geometric, lanes
from refusals import refused


def waves(modes=3, heads=2):
    draw = torch.Generator().manual_seed(0)
    alpha, beta = (torch.randn(heads, modes, generator=draw, dtype=torch.float64) for _ in range(2))
    return Fourier(geometric(modes), alpha, beta)


def test_features_multiply_to_the_log_prior_far_out():
    prior = waves()
    i, j = torch.tensor([5, 10**6]), torch.tensor([0, 999_999])
    phi, _ = prior.features(i)
    _, psi = prior.features(j)
    expected = prior.log_prior((i[:, None] - j).flatten()).unflatten(1, (2, 2))
    torch.testing.assert_close(phi @ psi.mT, expected, rtol=0, atol=1e-9)


def test_a_half_precision_module_keeps_its_frequencies_and_gives_float32():
    prior = waves().to(torch.bfloat16)
    assert prior.omega.tolist() == list(geometric(3))
    assert prior.log_prior(torch.arange(4)).dtype == torch.float32


def test_the_sink_starts_uniform_and_learns():
    sink = Sink(torch.zeros(3))
    u = sink.log_prior(torch.arange(10), 10)
    assert u.shape == (3, 10) and not u.any()
    u.sum().backward()
    assert sink.network[-1].weight.grad.any() and sink.slopes.grad.any()


def test_lanes_carry_prior_and_bias_in_an_even_number_of_coordinates():
    prior, places = waves(), torch.arange(12)
    bias = torch.randn(2, 12, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    phi, psi = lanes(prior, bias, places, places)
    assert phi.shape[-1] == psi.shape[-1] == 2 * 3 + 2
    kappa = prior.log_prior((places[:, None] - places).flatten()).unflatten(1, (12, 12))
    torch.testing.assert_close(phi @ psi.mT, kappa + bias[:, None])
    q = torch.ones(2, 12, 4, dtype=torch.float64)
    assert extend(q, q, phi, psi)[0].shape[-1] == 12


def test_wavelengths_are_geometric():
    lengths = [2 * math.pi / w for w in geometric(5, 2, 512)]
    assert lengths == pytest.approx([2, 8, 32, 128, 512])
    assert geometric(1, 2, 512) == pytest.approx((math.pi,))


ONE = torch.ones(1, 1)


test_bad_input_is_named = refused(
    (lambda: Fourier([], ONE, ONE), r"omega = \[\]"),
    (lambda: Fourier([math.nan], ONE, ONE), "omega = .*finite frequency"),
    (lambda: Fourier([1.0, 2.0], ONE, ONE), r"alpha has shape \[1, 1\].*2 modes"),
    (lambda: Fourier([1.0], ONE, torch.tensor([[math.inf]])), "beta = .*finite"),
    (lambda: Fourier([1.0], ONE, torch.ones(2, 1)), "alpha has 1 heads, beta 2"),
    (lambda: Fourier.uniform(0, [1.0]), "heads = 0"),
    (lambda: Sink(torch.tensor([math.nan])), "slopes = "),
    (lambda: Sink(torch.zeros(1), hidden=0), "hidden = 0"),
    (lambda: Sink(torch.zeros(1), width=3), "width = 3"),
    (lambda: Sink(torch.zeros(1)).log_prior(torch.arange(2), 0), "length = 0"),
    (lambda: lanes(waves(), torch.zeros(2, 3), torch.arange(4), torch.arange(4)), r"bias has shape \[2, 3\]"),
    (lambda: geometric(0), "modes = 0"),
    (lambda: geometric(2, 1.0), "wavelengths 1.0"),
    (lambda: geometric(2, 8, 4), "wavelengths 8 to 4"),
)
