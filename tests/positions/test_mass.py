"""Tail mass, mean lag, windows and order of priors, against mpmath's sums and scipy's laws."""

import mpmath
import numpy as np
import pytest
import torch
from scipy import special, stats

from attention_priors.positions import mass
from attention_priors.positions.priors import GeneralizedGaussian, Laplace, Uniform
from refusals import refused

LAGS = torch.arange(400)
PRIORS = {
    "uniform": Uniform(2),
    "laplace": Laplace([0.5, 0.01]),
    "gaussian": GeneralizedGaussian([-1.0, 0.5], [2.0, 0.3]),
    "negative": GeneralizedGaussian([0.0, 2.0], [-0.5, -1.0]),
    "shifted": GeneralizedGaussian([-2.0, 0.0], [1.0, -0.5], [-1.5, -1.0]),
}


def exact(log_prior):
    """Weights of one head at 30 digits."""
    with mpmath.workdps(30):
        weights = [mpmath.exp(mpmath.mpf(value)) for value in log_prior.double().tolist()]
        total = mpmath.fsum(weights)
        return [w / total for w in weights]


@pytest.mark.parametrize("name", PRIORS)
def test_against_mpmath(name):
    table = PRIORS[name].log_prior(LAGS).detach()
    for head in range(2):
        p = exact(table[head])
        assert mass.normalised(table)[head].tolist() == pytest.approx([float(w) for w in p], abs=1e-15)
        for window in (0, 7, 398, 399, 1000):
            tail = float(mpmath.fsum(p[window + 1 :]))
            assert mass.tail_mass(table, window)[head].item() == pytest.approx(tail, rel=1e-12, abs=1e-300)
        lag = float(mpmath.fsum(d * w for d, w in enumerate(p)))
        assert mass.mean_lag(table)[head].item() == pytest.approx(lag, rel=1e-12)


@pytest.mark.parametrize("name", PRIORS)
def test_a_constant_changes_nothing(name):
    table = PRIORS[name].log_prior(LAGS).detach().double()
    for function in (mass.normalised, mass.mean_lag, lambda t: mass.tail_mass(t, 5), lambda t: mass.window_for(t, 0.1)):
        assert torch.allclose(function(table).double(), function(table - 700.0).double(), rtol=1e-12)


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("tolerance", [0.503, 0.0507, 1e-6, 0.0])  # no ties among 400 equal keys
def test_the_window_is_the_smallest(name, tolerance):
    table = PRIORS[name].log_prior(LAGS).detach()
    for head, window in enumerate(mass.window_for(table, tolerance).tolist()):
        assert mass.tail_mass(table, window)[head] <= tolerance
        assert window == 0 or mass.tail_mass(table, window - 1)[head] > tolerance


def test_continuous_closed_forms_match_scipy():
    for alpha, beta in ((1.0, 0.3), (4.0, 1.0), (10.0, 2.0), (10.0, 5.0)):
        law = stats.gennorm(beta, scale=alpha)
        for window in (0.0, 3.0, 25.0):
            assert mass.continuous_tail(alpha, beta, window) == pytest.approx(2 * law.sf(window), rel=1e-9, abs=1e-300)
        mean = special.gamma(2 / beta) / special.gamma(1 / beta)
        assert mass.characteristic_lag(alpha, beta) == pytest.approx(alpha * mean)
    assert mass.characteristic_lag(1.0, 0.5) == pytest.approx(6.0)


def test_tails_alone_do_not_imply_order():
    # larger tail everywhere, and yet the ratio of the weights falls from lag 1 to lag 2
    heavy, light = (torch.tensor([p]).log() for p in ([0.5, 0.3, 0.2], [0.8, 0.08, 0.12]))
    assert all(mass.tail_mass(heavy, d) > mass.tail_mass(light, d) for d in (0, 1))
    assert not mass.dominates(heavy, light).any() and mass.dominates(heavy, heavy).all()


def test_tilted_tail_is_attained_by_the_worst_content():
    table = Laplace([0.2]).log_prior(LAGS).double()
    tail = mass.tail_mass(table, 10)
    worst = table + 1.5 * (LAGS > 10)
    assert mass.tail_mass(worst, 10).item() == pytest.approx(mass.tilted_tail(tail, 1.5).item(), rel=1e-12)
    draw = np.random.default_rng(0)
    for _ in range(20):
        content = torch.as_tensor(1.5 * draw.random(400))
        assert mass.tail_mass(table + content, 10) <= mass.tilted_tail(tail, 1.5) + 1e-15
    assert mass.tilted_tail(0.3, 0.0) == pytest.approx(0.3)


def test_invisible_keys_have_no_mass():
    table = torch.tensor([[-torch.inf, 0.0, 0.0, -torch.inf]])
    assert mass.normalised(table).tolist() == [[0.0, 0.5, 0.5, 0.0]]
    assert mass.window_for(table, 0.0).tolist() == [2]


test_bad_input_is_named = refused(
    (lambda: mass.tail_mass(torch.zeros(1, 4), -1), "window = -1"),
    (lambda: mass.window_for(torch.zeros(1, 4), 1.0), "tolerance = 1.0"),
    (lambda: mass.mean_lag(torch.zeros(1, 0)), r"shape \[1, 0\]"),
    (lambda: mass.tilted_tail(0.1, -1.0), "content range = -1.0"),
    (lambda: mass.characteristic_lag(1.0, 0.0), "beta = 0.0"),
    (lambda: mass.continuous_tail(0.0, 1.0, 3), "alpha = 0.0"),
)
