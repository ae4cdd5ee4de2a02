"""Priors that are inner products of features: their laws, their closed forms, and attention without a bias table."""

import math

import pytest
import torch

from attention_priors.positions.finite_rank import ExponentialPolynomial, extend


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def wave(omega=0.4, radius=1.0):
    turn = radius * double([[math.cos(omega), -math.sin(omega)], [math.sin(omega), math.cos(omega)]])
    return ExponentialPolynomial(turn[None], double([[1.0, 0.0]]), double([[0.8, -0.5]]))


def slope(m=0.25):
    return ExponentialPolynomial(double([[[1.0, 1.0], [0.0, 1.0]]]), double([[0.0, 1.0]]), double([[-m, 0.0]]))


@pytest.mark.parametrize("radius", [1.0, 0.9])
def test_a_rotation_is_a_fourier_mode_and_a_contraction_a_damped_one(radius):
    lags = torch.arange(-30, 31)
    d = lags.double()
    expected = radius**d * (0.8 * torch.cos(0.4 * d) - 0.5 * torch.sin(0.4 * d))
    assert torch.allclose(wave(radius=radius).log_prior(lags)[0], expected, rtol=1e-10, atol=1e-12)


def test_the_defective_matrix_is_alibis_slope():
    lags = torch.arange(-7, 300)
    assert torch.equal(slope().log_prior(lags)[0], -0.25 * lags.double())


@pytest.mark.parametrize("prior", [wave(), wave(radius=0.97), slope()])
def test_features_give_the_prior_at_every_pair_of_positions(prior):
    i, j = torch.arange(20, 40), torch.arange(25)
    phi, psi = prior.features(i)[0], prior.features(j)[1]
    lags = i[:, None] - j[None, :]
    expected = prior.log_prior(lags.flatten()).reshape(1, 20, 25)
    assert torch.allclose(phi @ psi.transpose(-1, -2), expected, rtol=1e-9, atol=1e-9)


def test_gradients_reach_all_three_parts():
    prior = ExponentialPolynomial(torch.eye(2)[None] * 0.9, torch.ones(1, 2), torch.ones(1, 2), trainable=True)
    prior.log_prior(torch.arange(5)).sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in prior.parameters())
    assert not any(parameter.requires_grad for parameter in slope().parameters())


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((double([[[1.0, 0.0], [0.0, 0.0]]]), double([[1.0, 0.0]]), double([[1.0, 0.0]])), "transition .* singular"),
        ((double([[[1.0]]]), double([[1.0, 2.0]]), double([[1.0]])), r"start has shape \[1, 2\]"),
        ((double([[[1.0]]]), double([[1.0]]), double([[math.inf]])), "readout .* finite"),
        ((torch.zeros(1, 0, 0), torch.zeros(1, 0), torch.zeros(1, 0)), "transition has shape"),
    ],
)
def test_bad_parts_are_named(parts, message):
    with pytest.raises(ValueError, match=message):
        ExponentialPolynomial(*parts)


def test_parts_without_memory_are_not_read():
    empty = torch.empty(2, 3, 3, device="meta")
    assert ExponentialPolynomial(empty, empty[..., 0], empty[..., 0]).transition.is_meta


def test_widths_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="q 4, k 6, phi 2, psi 2"):
        extend(torch.zeros(3, 4), torch.zeros(3, 6), torch.zeros(3, 2), torch.zeros(3, 2))
