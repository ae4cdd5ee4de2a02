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


@pytest.mark.parametrize("fit", [spectra.least_squares, spectra.minimax])
def test_every_fit_finds_a_target_of_its_own_kind_also_past_the_window(fit):
    found = fit(known(LAGS), [0.3, 0.7])
    far = np.arange(24.0, 60.0)
    shift = found(LAGS)[0] - known(LAGS)[0]
    np.testing.assert_allclose(found(far) - shift, known(far), atol=1e-5)


def test_each_fit_is_best_in_its_own_sense():
    target, omega = spectra.targets(24)["logarithm"](LAGS), [0.2, 0.5]
    fits = {f.__name__: f(target, omega) for f in (spectra.least_squares, spectra.minimax)}
    fits["capped"] = spectra.capped(target, omega, 100.0)
    errors = {name: fit(LAGS) - target for name, fit in fits.items()}
    kl = {name: divergence(softmax(target), softmax(fit(LAGS))) for name, fit in fits.items()}
    assert min(errors, key=lambda n: np.sum(errors[n] ** 2)) == "least_squares"
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


def test_the_slope_error_of_one_wave():
    omega, m, length = 0.01, 0.5, 50
    lags = np.arange(float(length))
    error = np.abs(spectra.wave(lags, [omega], [0.0], [-m / omega]) + m * lags).max()
    assert spectra.slope_error(m, omega, length) == pytest.approx(error)
    assert error <= m * omega**2 * 49**3 / 6


def test_almost_periods():
    assert spectra.almost_period([math.pi / 2, math.pi / 4], 1e-9, 100) == 8
    assert spectra.almost_period([1.0], 1e-3, 1000) == 710  # 355/113
    assert spectra.almost_period([1.0], 1e-6, 1000) is None


def test_rows():
    rows = spectra.fit_rows(24, (1, 2), (2,))
    assert len(rows) == 4 * 4 * 2 and all(math.isfinite(v) for row in rows for v in list(row.values())[2:])
    assert {row["target"] for row in spectra.profile_rows(48, 6)} == set(spectra.shapes(48))
    ranks = {(r["beta"], r["n"]): r["rank"] for r in spectra.rank_rows((8, 16), (1.0, 2.0, -1.0), (1e-12,))}
    assert [ranks[1.0, 16], ranks[2.0, 16]] == [2, 3] and ranks[-1.0, 8] < ranks[-1.0, 16]
    errors = [row["error"] for row in spectra.storage_rows((64, 2**18), 4) if row["dtype"] == "bfloat16"]
    assert max(errors) < 0.05 and len(errors) == 2
    assert {row["frequencies"] for row in spectra.beyond_rows(24, 2, 2)} == set(spectra.LADDERS)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: spectra.columns([], [1.0]), r"lags = \[\]"),
        (lambda: spectra.almost_period([1.0], 0.0, 5), "tolerance = 0.0"),
        (lambda: spectra.almost_period([1.0], 0.1, 0), "limit = 0"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_capped_fit_keeps_its_cap_and_finds_a_wave():
    omega, lags = spectra.geometric(6), np.arange(48)
    target = spectra.wave(lags, omega, [0.5, 0, 0, -0.4, 0, 0], np.zeros(6))
    assert spectra.divergence_of(lambda d: target, spectra.capped(target, omega, 1.0), 48) < 1e-6
    assert spectra.capped(10 * target, omega, 1.0).largest <= 1.0
    with pytest.raises(ValueError, match="cap"):
        spectra.capped(target, omega, 0.0)
