"""Fits by waves: exact where they must be, best in their norm, and what happens past the window."""

import math

import numpy as np
import pytest

from attention_priors.theory import spectra
from attention_priors.theory.bands import divergence
from attention_priors.theory.inference import softmax

LAGS = np.arange(24.0)


def known(lags):
    return spectra.wave(lags, [0.3, 0.7], [1.0, -0.5], [0.2, 2.0])


def test_the_minimax_fit_finds_a_target_of_its_own_kind_also_past_the_window():
    found = spectra.minimax(known(LAGS), [0.3, 0.7])
    far = np.arange(24.0, 60.0)
    shift = found(LAGS)[0] - known(LAGS)[0]
    np.testing.assert_allclose(found(far) - shift, known(far), atol=1e-5)


def test_each_fit_is_best_in_its_own_sense():
    target, omega = spectra.targets(24)["logarithm"](LAGS), [0.2, 0.5]
    fits = {"minimax": spectra.minimax(target, omega), "capped": spectra.capped(target, omega, 100.0)}
    errors = {name: fit(LAGS) - target for name, fit in fits.items()}
    kl = {name: divergence(softmax(target), softmax(fit(LAGS))) for name, fit in fits.items()}
    assert min(errors, key=lambda n: np.abs(errors[n]).max()) == "minimax"
    assert min(kl, key=kl.get) == "capped"


def test_the_minimax_error_bounds_the_divergence():
    log_prior = spectra.targets(24)["root"]
    fit = spectra.minimax(log_prior(LAGS), [0.2, 0.5])
    error = np.abs(fit(LAGS) - log_prior(LAGS)).max()
    assert 0 < spectra.divergence_of(log_prior, fit, 24) <= error**2 / 2


def test_greedy_frequencies_find_a_wave_on_their_grid():
    omega = 5 * math.pi / 48
    found = spectra.greedy(spectra.wave(LAGS, [omega], [1.0], [0.4]), 1)
    assert found.tolist() == pytest.approx([omega])


def test_no_lags_are_named():
    with pytest.raises(ValueError, match=r"lags = \[\]"):
        spectra.columns([], [1.0])


def test_a_capped_fit_keeps_its_cap_and_finds_a_wave():
    omega, lags = spectra.geometric(6), np.arange(48)
    target = spectra.wave(lags, omega, [0.5, 0, 0, -0.4, 0, 0], np.zeros(6))
    assert spectra.divergence_of(lambda d: target, spectra.capped(target, omega, 1.0), 48) < 1e-6
    assert spectra.capped(10 * target, omega, 1.0).largest <= 1.0
    with pytest.raises(ValueError, match="cap"):
        spectra.capped(target, omega, 0.0)
