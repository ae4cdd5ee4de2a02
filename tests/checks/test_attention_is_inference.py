"""Verdicts of notebook 01, and the counterexamples of its claims worked out by hand."""

import numpy as np
import pytest

from attention_priors.checks import CHECKS


def example(identifier):
    """The smallest case in which the first statement fails that does, ours among them."""
    law, found = CHECKS[identifier].failing[0]
    return law.counterexample(found)


def test_d2_two_equal_keys():
    # weights (1/2, 1/2), prior (1/2, 1/2): the factor is (1, 1)
    found = example("BAM-D2")
    assert found["inputs"] == {"content": [0.5, 0.5], "prior": [0.5, 0.5]}
    assert (found["claimed"], found["actual"]) == (1.0, pytest.approx(2.0))


def test_t1_marginal_of_two_keys():
    found = example("BAM-T1")
    p = [a * b for a, b in zip(found["inputs"]["content"], found["inputs"]["prior"], strict=True)]
    assert found["actual"] == pytest.approx(p[0] / sum(p))
    assert found["claimed"] == pytest.approx(found["inputs"]["prior"][0])


def test_i1_two_equal_keys():
    found = example("BAM-I1")
    x, y = found["inputs"]["x"], found["inputs"]["y"]
    joint = sum(a * b for a, b in zip(x, y, strict=True))
    assert found["claimed"] == sum(x) * sum(y) / joint == 2
    assert found["actual"] == joint / (sum(x) * sum(y)) == 0.5


def test_i2_a_point_mass_overlaps_more():
    found = example("BAM-I2")
    p = found["inputs"]["p"]
    assert found["claimed"] == pytest.approx(p[0] ** 2 + p[1] ** 2)
    assert found["actual"] == pytest.approx(max(p))


def test_i3_equal_tokens_carry_no_information():
    found = example("BAM-I3")
    assert found["inputs"] == {"tokens": [1, 1], "prior": [0.5, 0.5]}
    assert (found["claimed"], found["actual"]) == (pytest.approx(np.log(2)), pytest.approx(0.0, abs=1e-15))


def test_e12_odds_of_two_keys():
    found = example("BAM-E12")
    assert found["inputs"] == {"scores": [1, 0], "scales": [1, 2]}
    assert (found["claimed"], found["actual"]) == (pytest.approx(2.0), pytest.approx(4.0))


def test_sampling_notices_an_error_of_one_per_cent():
    (law,) = CHECKS["BAM-D2"].corrected
    assert not law.judge(lambda f, prior: law.says(f, prior) + 0.01 * np.eye(5)[0]).holds
