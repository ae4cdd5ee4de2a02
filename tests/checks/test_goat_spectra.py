"""Verdicts of notebook 05 and its counterexamples worked out by hand."""

import math

import numpy as np
import pytest

from attention_priors.checks import CHECKS, belonging, goat_composite, goat_sinks, goat_spectra

VERDICTS = {
    "GOAT-EQ12": "verified",
    "GOAT-EQ18": "verified",
    "GOAT-EQ20": "verified with correction",
    "GOAT-DIM": "verified",
    "GOAT-ALG1": "verified",
    "GOAT-T5.1": "verified",
    "GOAT-T5.1t": "verified",
    "GOAT-D5.2": "verified with correction",
    "GOAT-SINKGRAD": "verified with correction",
    "GOAT-D5.3": "verified",
    "GOAT-T5.4a": "verified",
    "GOAT-T5.4b": "verified with correction",
    "GOAT-T5.4p": "verified",
    "GOAT-C1": "verified",
    "GOAT-C2": "verified with correction",
    "GOAT-C-2": "verified with correction",
    "GOAT-C-3": "verified",
    "GOAT-C-4": "verified",
    "GOAT-C-5": "verified with correction",
    "GOAT-E8": "verified",
    "GOAT-C-12": "verified with correction",
    "X-5": "verified",
    "X-7": "verified",
    "X-8": "verified",
    "X-16": "verified",
}


def test_the_notebook_owns_these_ids():
    assert set(belonging("spectra_and_sinks")) == set(VERDICTS)


@pytest.mark.parametrize("identifier", VERDICTS)
def test_verdicts(identifier):
    assert CHECKS[identifier].decide().verdict == VERDICTS[identifier]


def example(identifier, part):
    return CHECKS[identifier].printed[part].judge().counterexample


def test_eq20_two_keys():
    found = example("GOAT-EQ20", 2)
    assert found["inputs"] == {"bias": [1.0, 0.0], "key": 0}
    assert found["actual"] == pytest.approx(1 - math.log(math.e + 1))


@pytest.mark.parametrize("names", [{"beta"}, {"alpha", "omega"}, {"alpha", "beta", "omega"}])
def test_eq12_other_sets_of_trained_numbers_end_elsewhere(names):
    assert not goat_spectra.check_trained(frozenset(names)).holds


def test_eq12_frequencies_that_moved_would_be_noticed(monkeypatch):
    monkeypatch.setattr(goat_spectra, "geometric", lambda *_: tuple(2 * math.pi / np.linspace(4, 64, 4)))
    assert not goat_spectra.check_trained(frozenset({"alpha", "beta"})).holds


def test_dim_one_wave_and_a_sink_by_hand():
    """a cos wd + b sin wd has rank 2, u(j) one more; 4 coordinates, of which one pads."""
    bias, (phi, psi) = goat_composite.table(1, 12)
    assert goat_composite.rank(bias) == 3 and phi.shape[-1] == 4
    assert np.abs((phi @ psi.T).numpy() - bias).max() < 1e-12
    # 10 coordinates hold content of 6, 7 with the spare one, and no more
    assert goat_composite.room(bias, 10) == 6


@pytest.mark.parametrize("reserved", [lambda r: 2 * r, lambda r: 2 * r + 3, lambda r: 2 * r + 4])
def test_dim_other_widths_are_refuted(reserved):
    assert not goat_composite.check_width(reserved).holds


@pytest.mark.parametrize("shift", [(2, 0), (-2, 0), (1, 0), (0, -2)])
def test_dim_other_shares_of_content_and_values_are_refuted(shift):
    assert not goat_composite.check_ranks(lambda dh, dp: (dh - dp + shift[0], dh + shift[1])).holds


def test_t51t_three_keys_meet_the_band_and_miss_the_divergence():
    p = [0.5, 0.3, 0.2]

    def odds(x):
        return math.log(x / (1 - x))

    sets = [(0.5, 1), (0.3, 1), (0.2, 1), (0.8, 2), (0.7, 2), (0.5, 2)]
    omega = max(abs(odds(mass) - odds(count / 3)) for mass, count in sets)
    assert omega == pytest.approx(math.log(2))
    assert sum(x * math.log(3 * x) for x in p) > omega**2 / 8


def test_d52_ten_keys():
    found = example("GOAT-D5.2", 2)
    assert found["inputs"] == {"margin": 1.0, "keys": 10}
    assert found["actual"] == pytest.approx(math.e / (math.e + 9))


def test_sinkgrad_by_hand():
    ratio, direction = example("GOAT-SINKGRAD", 1), example("GOAT-SINKGRAD", 2)
    assert ratio["inputs"] == {"width": 4, "coordinate": 1.0} and ratio["actual"] == pytest.approx(2 / math.sqrt(4))
    assert direction["inputs"]["target"] == 0 and direction["actual"] == "down"  # the sink's value is 1


def test_t54b_ten_keys():
    """u(0) - u(1) = 1 caps the margin at 1, whatever the other eight keys are; ln 9 more is claimed."""
    found = example("GOAT-T5.4b", 3)
    assert found["inputs"] == {"margin_of_two": 1.0, "keys": 10}
    assert (found["claimed"], found["actual"]) == (pytest.approx(1 + math.log(9)), pytest.approx(1))


def test_t54p_a_frequency_of_one_has_no_integer_period():
    assert goat_sinks.check_period(lambda: (2 * math.pi / 8, 2 * math.pi / 2)).detail == "P = 8"
    assert not goat_sinks.check_period(lambda: (1.0,)).holds


def test_c2_by_hand():
    sine, trough = (example("GOAT-C2", k) for k in (3, 4))
    assert sine["inputs"] == {"alpha": 0.0, "beta": 1.0}
    assert trough["inputs"] == {"sign": -1} and math.exp(-1) < math.exp(1)


def test_the_starts_first_step():
    assert example("GOAT-C-2", 2)["inputs"] == {"rate": 1.0, "target": 1}
    out = 1 / (1 + math.exp(-0.25))
    assert (out**2 + (1 - out) ** 2) / 2 > 0.25


def test_c5_seventeen_keys():
    """Five keys let sqrt(4)/5 of independent noise through, seventeen sqrt(16)/17."""
    found = example("GOAT-C-5", 1)
    assert found["inputs"] == {"keys": 17}
    assert (found["claimed"], found["actual"]) == (pytest.approx(math.sqrt(4) / 5), pytest.approx(4 / 17))


def test_e8_the_first_of_two_rows_sees_one_key():
    assert goat_sinks.row_prior(lambda i, n: -math.log(n), 0, 2) == (pytest.approx(0.5), 1.0)


def test_c12_a_rotation_interacts():
    assert example("GOAT-C-12", 2)["actual"] == 2.0
