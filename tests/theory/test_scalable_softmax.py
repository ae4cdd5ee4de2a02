"""Leading orders against simulation and limits, leads against the posterior, and bad input."""

import math

import numpy as np
import pytest

from attention_priors.theory import scalable_softmax as theory
from attention_priors.theory.inference import posterior, softmax
from refusals import refused


def test_entropy_and_total_against_a_large_sample():
    z = np.random.default_rng(0).standard_normal(2_000_000)
    for a in (0.5, 1.0, 1.5):
        p = softmax(a * z)
        assert -(p @ np.log(p)) == pytest.approx(float(theory.entropy(len(z), 1.0, a)), abs=0.02)
        assert np.log(np.exp(a * z).sum()) == pytest.approx(float(theory.log_total(len(z), 1.0, a)), abs=0.02)


def test_the_total_is_continuous_where_it_freezes():
    n, sigma = 10_000, 0.7
    a = float(theory.freezing_scale(n, sigma))
    assert theory.log_total(n, sigma, a * (1 + 1e-9)) == pytest.approx(float(theory.log_total(n, sigma, a)))
    assert theory.noisy_lead(n, sigma, 3 * a) == pytest.approx(sigma * math.sqrt(2 * math.log(n)))


def test_freezing_length_is_where_ssmax_meets_the_freezing_scale():
    n = theory.freezing_length(0.4, 1.0)
    assert 0.4 * math.log(n) == pytest.approx(float(theory.freezing_scale(n, 1.0)))
    assert theory.freezing_length(0.01, 1.0) == math.inf


@pytest.mark.parametrize(("a", "c"), [(1.0, 1.0), (3.0, 1.0), (3.0, 3.0)])
def test_prior_lead_gives_half_of_the_weight(a, c):
    b = -0.3 * np.arange(20.0)
    for lag in (0, 7, 19):
        lead = theory.prior_lead(b, lag, a, c)
        content = a * np.where(np.arange(20) == lag, lead, 0.0)
        assert posterior(content, softmax(c * b))[lag] == pytest.approx(0.5)


def test_prior_lead_of_the_uniform_prior():
    assert theory.prior_lead(np.zeros(100), 99) == pytest.approx(math.log(99))
    assert theory.prior_lead(np.zeros(100), 99, 0.5 * math.log(100)) == pytest.approx(2.0, abs=0.01)


def test_all_laws_are_1_at_the_trained_length():
    for law in theory.laws(512).values():
        assert law(512) == pytest.approx(1.0)
    assert theory.laws(512)["ln n / ln N"](512**2) == pytest.approx(2.0)


test_bad_input = refused(
    (lambda: theory.freezing_scale(10, 0.0), "sigma = 0.0"),
    (lambda: theory.freezing_length(-1.0, 1.0), "s = -1.0"),
    (lambda: theory.prior_lead(np.zeros(3), 3), "lag = 3 of 3"),
    (lambda: theory.prior_lead(np.zeros(3), 1, 0.0), "content_scale = 0.0"),
)
