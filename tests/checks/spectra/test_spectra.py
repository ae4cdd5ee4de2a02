"""Verdicts of notebook 05 and appendix A2, and counterexamples worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.spectra import composite, waves


def example(identifier, part):
    law, found = CHECKS[identifier].laws[part]
    return law.counterexample(found)


def refused(identifier, part, says):
    return not replace(CHECKS[identifier].laws[part][0], says=says).judge().holds


def test_eq20_two_keys():
    found = example("GOAT-EQ20", 1)
    assert found["inputs"] == {"bias": [1.0, 0.0]}
    assert found["actual"] == pytest.approx(1 - math.log(math.e + 1))


@pytest.mark.parametrize("names", ["beta", "alpha omega"])
def test_eq12_other_sets_of_trained_numbers_end_elsewhere(names):
    assert refused("GOAT-EQ12", 3, waves.best_curve(names))


def test_dim_one_wave_and_a_sink_by_hand():
    """a cos wd + b sin wd has rank 2, u(j) one more; 4 coordinates, of which one pads."""
    bias, (phi, psi) = composite.table(1, 12)
    assert composite.rank(bias) == 3 and phi.shape[-1] == 4
    assert np.abs((phi @ psi.T).numpy() - bias).max() < 1e-12
    # 10 coordinates hold content of 6, 7 with the spare one, and no more
    assert composite.room(bias, 10) == 6


@pytest.mark.parametrize("shift", [(2, 0), (-2, 0), (1, 0), (0, -2)])
def test_dim_other_shares_of_content_and_values_are_refuted(shift):
    assert refused("GOAT-DIM", 2, lambda head, position: (head - position + shift[0], head + shift[1]))


def test_t51t_three_keys_meet_the_band_and_miss_the_divergence():
    p = [0.5, 0.3, 0.2]

    def odds(x):
        return math.log(x / (1 - x))

    sets = [(0.5, 1), (0.3, 1), (0.2, 1), (0.8, 2), (0.7, 2), (0.5, 2)]
    omega = max(abs(odds(mass) - odds(count / 3)) for mass, count in sets)
    assert omega == pytest.approx(math.log(2))
    assert sum(x * math.log(3 * x) for x in p) > omega**2 / 8


def test_d52_ten_keys():
    found = example("GOAT-D5.2", 3)
    assert found["inputs"] == {"margin": 1.0, "keys": 10}
    assert found["actual"] == pytest.approx(math.e / (math.e + 9))


def test_sinkgrad_by_hand():
    ratio, direction = example("GOAT-SINKGRAD", 1), example("GOAT-SINKGRAD", 2)
    assert ratio["inputs"] == {"d_c": 4, "coordinate": 1.0} and ratio["actual"] == pytest.approx(2 / math.sqrt(4))
    assert direction == {"inputs": {"target": 0}, "claimed": True, "actual": False}  # the sink's value is 1


def test_t54b_ten_keys():
    """u(0) - u(1) = 1 caps the margin at 1, whatever the other eight keys are; ln 9 more is claimed."""
    found = example("GOAT-T5.4b", 3)
    assert found["inputs"] == {"margin_of_two": 1.0, "keys": 10}
    assert (found["claimed"], found["actual"]) == (pytest.approx(1 + math.log(9)), pytest.approx(1))


def test_t54p_a_frequency_of_one_has_no_integer_period():
    assert example("GOAT-T5.4p", 1)["actual"] == pytest.approx(abs(710 - 113 * 2 * math.pi))
    assert CHECKS["GOAT-T5.4p"].corrected[0].truth(44) == pytest.approx(abs(44 - 7 * 2 * math.pi))


def test_c2_by_hand():
    sine, trough = (example("GOAT-C2", k) for k in (4, 6))
    assert sine["inputs"] == {"alpha": 0.0, "beta": 1.0}
    assert trough["inputs"] == {"sign": -1} and math.exp(-1) < math.exp(1)


def test_the_starts_first_step():
    found = example("GOAT-C-2", 4)
    assert found["inputs"] == {"rate": 1.0, "target": 1}
    out = 1 / (1 + math.exp(-0.25))
    assert found["actual"] == pytest.approx((out**2 + (1 - out) ** 2) / 2 - 0.25)


def test_c5_seventeen_keys():
    """Five keys let sqrt(4)/5 of independent noise through, seventeen sqrt(16)/17."""
    found = example("GOAT-C-5", 2)
    assert found["inputs"] == {"keys": 17}
    assert (found["claimed"], found["actual"]) == (pytest.approx(math.sqrt(4) / 5), pytest.approx(4 / 17))


def test_e8_the_first_of_two_rows_sees_one_key():
    weight = CHECKS["GOAT-E8"].sentences[1].truth
    assert weight(0) == 1.0 and weight(1) == pytest.approx(0.5)


def test_c12_a_rotation_interacts_and_four_waves_leave_most_of_a_profile():
    assert example("GOAT-C-12", 4)["actual"] == 2.0
    assert example("GOAT-C-12", 3)["actual"] == pytest.approx(1 - 8 / 63, abs=0.03)
