"""Exponents, limits and margins of priors against sums and scipy."""

import numpy as np
import pytest
from scipy import special

from attention_priors.theory import generalised_gaussian as gaussian
from attention_priors.theory import phase
from attention_priors.theory.inference import log_sum_exp
from refusals import refused


def test_the_exponent_of_known_priors():
    lags = np.arange(2**14, dtype=np.float64)
    at, flat = phase.octave_exponents(0 * lags)
    assert at.tolist() == [2.0**k for k in range(1, 14)] and not flat.any()
    assert np.allclose(phase.octave_exponents(-0.1 * lags)[1], 0.1 * 0.75 * at / np.log(2))
    assert np.allclose(phase.octave_exponents(-1.7 * np.log1p(lags))[1][-4:], 1.7, atol=0.01)
    rising = phase.octave_exponents(-np.sqrt(lags))[1]
    assert np.allclose(rising[-3:] / rising[-4:-1], np.sqrt(2), atol=0.01)


@pytest.mark.parametrize(("r1", "r2", "window"), [(2.0, 1.0, 0), (3.0, 0.2, 10), (4.0, 5.0, 64)])
def test_a_power_tail_is_the_limit_of_its_sums(r1, r2, window):
    found = gaussian.tails(lambda d: -r1 * np.log1p(r2 * d), [10**6], [window])[0, 0]
    assert phase.power_tail(r1, r2, window) == pytest.approx(found, abs=2e-6)


def test_a_power_tail_is_whole_up_to_one_and_falls_beyond():
    assert phase.power_tail(1.0, 0.3, 500) == phase.power_tail(0.2, 4.0, 0) == 1.0
    assert 0.9 < phase.power_tail(1.01, 1.0, 64) < 1
    expected = special.zeta(1.5, 66) / special.zeta(1.5, 1)
    assert phase.power_tail(1.5, 1.0, 64) == pytest.approx(expected, rel=1e-12)


def test_the_required_margin_gives_half_of_the_weight():
    table = -np.sqrt(np.arange(50.0))
    lead = phase.required_margin(table[30], log_sum_exp(table))
    table[30] += lead
    assert np.exp(table[30]) / np.exp(table).sum() == pytest.approx(0.5, abs=1e-12)
    assert phase.required_margin(0.0, np.log(101)) == pytest.approx(np.log(100))
    assert phase.required_margin(-5000.0, 0.0) == 5000.0
    assert phase.required_margin(0.0, 0.0) == -np.inf


test_values_outside_the_domain_are_named = refused(
    (lambda: phase.octave_exponents([0.0] * 3), "3 lags"),
    (lambda: phase.power_tail(0.0, 1.0, 3), "r1 = 0.0"),
    (lambda: phase.power_tail(1.0, 1.0, -1), "window = -1"),
    (lambda: phase.required_margin(1.0, 0.5), "own = 1.0"),
)
