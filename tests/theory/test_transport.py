"""The transport cost and its plan: closed cases, limits of the temperature, and what they refuse."""

import math

import numpy as np
import pytest
from scipy import stats

from attention_priors.theory import transport

SCORES = np.array([1.0, 0.0, -2.0, 0.5])


def test_entropy_and_divergence_are_scipy_s():
    p, q = np.random.default_rng(0).dirichlet(np.ones(6), 2)
    assert transport.entropy(p) == pytest.approx(stats.entropy(p))
    assert transport.divergence(p, q) == pytest.approx(stats.entropy(p, q))
    assert transport.entropy([1.0, 0.0]) == 0 and transport.divergence([1.0, 0.0], [0.5, 0.5]) == math.log(2)
    assert transport.divergence([0.5, 0.5], [1.0, 0.0]) == math.inf


def test_the_plan_at_low_and_high_temperature():
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(transport.plan(SCORES, 1e-3, prior), [1, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(transport.plan(SCORES, 1e9, prior), prior, atol=1e-8)


def test_a_key_of_prior_zero_receives_nothing():
    found = transport.plan(SCORES, 1.0, [0.0, 0.5, 0.5, 0.0])
    assert found[0] == found[3] == 0 and found.sum() == pytest.approx(1)


@pytest.mark.parametrize("tau", [0.0, -1.0, math.nan])
def test_a_temperature_that_is_not_positive_is_refused(tau):
    for act in (transport.plan, lambda scores, tau: transport.cost([0.25] * 4, scores, tau)):
        with pytest.raises(ValueError, match=f"tau = {tau}, but the temperature must be above 0"):
            act(SCORES, tau)


def test_no_key_at_all_is_refused():
    with pytest.raises(ValueError, match="no visible key"):
        transport.plan(SCORES, 1.0, np.zeros(4))
