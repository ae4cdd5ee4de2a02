"""Block sums to long contexts, and the closed forms of notebook 04, against mpmath and direct sums."""

import math

import mpmath
import numpy as np
import pytest
import torch

from attention_priors.positions.priors import GeneralizedGaussian
from attention_priors.theory import generalised_gaussian as theory


@pytest.mark.parametrize("beta", [1.0, 0.5, -0.5, -2.0])
def test_tails_and_density_against_direct_sums(beta, monkeypatch):
    monkeypatch.setattr(theory, "BLOCK", 7)  # many blocks, ragged at the ends
    with mpmath.workdps(40):
        weights = [mpmath.exp(-((mpmath.mpf(d) / 3) ** beta)) if d or beta > 0 else mpmath.mpf(0) for d in range(200)]
        found = theory.tails(theory.printed(3.0, beta), (20, 200), (0, 4, 30))
        for row, keys in zip(found, (20, 200), strict=True):
            total = mpmath.fsum(weights[:keys])
            for tail, window in zip(row, (0, 4, 30), strict=True):
                expected = float(mpmath.fsum(weights[window + 1 : keys]) / total)
                assert tail == pytest.approx(expected, rel=1e-12, abs=1e-300)
        density = theory.far_density(theory.printed(3.0, beta), (20, 200))
        for value, keys in zip(density, (20, 200), strict=True):
            expected = float(keys * weights[keys - 1] / mpmath.fsum(weights[:keys]))
            assert value == pytest.approx(expected, rel=1e-12)


def test_small_tails_keep_their_digits():
    tail = theory.tails(theory.laplace(1.0), (1000,), (200,))[0, 0]
    assert tail == pytest.approx(math.exp(-201), rel=1e-12)


def test_a_rising_log_prior_does_not_overflow():
    assert theory.far_density(theory.laplace(-1.0), (10**4,))[0] == pytest.approx(10**4 * -math.expm1(-1.0))


def test_coded_is_the_library_prior_in_float64():
    lags = np.arange(64)
    prior = GeneralizedGaussian([0.3], [-0.4], [-0.7])
    found = theory.coded(0.3, -0.4, -0.7)(lags)
    assert found == pytest.approx(prior.log_prior(torch.arange(64)).detach()[0].numpy(), rel=1e-5)
    distance = np.abs(lags + 2 * math.sinh(-0.7)) + 1e-5
    assert found == pytest.approx(-math.exp(0.3) * distance**-0.4, rel=1e-14)


def test_peak_weight_by_hand():
    assert theory.peak_weight(4, 0.5, 1.0) == pytest.approx(2 / 5)
    assert theory.peak_weight(3, math.log(2)) == pytest.approx(1 / 2)
