"""Learned frequencies and generators."""

import itertools

import numpy as np
import pytest
import torch
from scipy import linalg

from attention_priors.positions.generators import LearnedGroup, LearnedRotary
from attention_priors.positions.rotary import Rotary, Spectrum, rope

WIDTH = 8


def drawn(length: int, seed: int) -> torch.Tensor:
    return torch.randn(1, 2, length, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_learned_frequencies_start_as_rope_and_receive_gradients():
    q, k, places = drawn(6, 0), drawn(6, 1), torch.arange(6)
    made = LearnedRotary(rope(WIDTH))
    for one, other in zip(made(q, k, places, places), Rotary(rope(WIDTH))(q, k, places, places), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)  # the logarithms are kept in float32
    turned, still = made(q, k, places, places)
    ((turned @ still.mT) * drawn(6, 2)[..., :6]).sum().backward()
    assert (made.log_omega.grad.abs() > 1e-6).all()


def test_learned_frequencies_refuse_what_has_no_logarithm():
    for bad in (Spectrum((0.5, 0.0)), Spectrum((0.5,), decay=(0.1,))):
        with pytest.raises(ValueError, match="pure rotation"):
            LearnedRotary(bad)


@pytest.mark.parametrize("defective", [False, True])
def test_learned_groups_score_by_the_exponential_of_their_generator(defective):
    """X is put together here as a matrix and exponentiated by scipy."""
    torch.manual_seed(0)
    made = LearnedGroup(WIDTH, defective=defective)
    with torch.no_grad():
        made.damping.normal_(-2, 1)
        if defective:
            made.coupling.normal_(0, 0.3)
    omega, decay = made.omega.detach().numpy(), made.decay.detach().numpy()
    chains, planes = (2, len(omega)) if defective else (1, len(omega))
    x = np.zeros((chains, 2, planes, chains, 2, planes))
    for chain, plane in itertools.product(range(chains), range(planes)):
        x[chain, 0, plane, chain, 0, plane] = x[chain, 1, plane, chain, 1, plane] = -decay[plane]
        x[chain, 0, plane, chain, 1, plane], x[chain, 1, plane, chain, 0, plane] = omega[plane], -omega[plane]
    if defective:
        for half, plane in itertools.product(range(2), range(planes)):
            x[0, half, plane, 1, half, plane] = made.coupling[plane].item()
    x = x.reshape(WIDTH, WIDTH)
    q, k, places = drawn(6, 0), drawn(6, 1), torch.tensor([0, 1, 3, 7, 8, 20])
    turned, still = made(q, k, places, places)
    scores = (turned @ still.mT).detach().numpy()[0]
    for i, j in itertools.product(range(6), range(6)):
        exact = np.einsum("ha,ab,hb->h", q[0, :, i], linalg.expm(float(places[i] - places[j]) * x), k[0, :, j])
        np.testing.assert_allclose(scores[:, i, j], exact, rtol=1e-6, atol=1e-6)


def test_all_parameters_of_a_defective_group_receive_gradients_and_its_limits_are_named():
    made, places = LearnedGroup(WIDTH, defective=True), torch.arange(6)
    turned, still = made(drawn(6, 0), drawn(6, 1), places, places)
    (turned @ still.mT).square().sum().backward()
    assert all((p.grad.abs() > 1e-8).all() for p in (made.log_omega, made.damping, made.coupling))
    with pytest.raises(ValueError, match=r"width = 6.*multiple of 4"):
        LearnedGroup(6, defective=True)
    with torch.no_grad():
        made.damping.fill_(10.0)
    with pytest.raises(ValueError, match=r"overflows torch.float32; attend in blocks"):
        made(drawn(6, 0).float(), drawn(6, 1).float(), 1000 * places, 1000 * places)
