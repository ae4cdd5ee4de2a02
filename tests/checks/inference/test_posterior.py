"""Verdicts of notebook 01, and the counterexamples of its claims worked out by hand."""

from fractions import Fraction

import numpy as np
import pytest

from attention_priors.checks import CHECKS, belonging
from attention_priors.checks.inference import families
from attention_priors.theory import inference as theory

VERDICTS = {
    "BAM-D1": "verified",
    "BAM-D2": "verified with correction",
    "BAM-D5": "verified with correction",
    "BAM-T1": "verified with correction",
    "BAM-L1": "verified",
    "BAM-L2": "verified with correction",
    "BAM-I1": "verified with correction",
    "BAM-I2": "verified with correction",
    "BAM-I2n": "verified",
    "BAM-I3": "verified with correction",
    "BAM-E1": "contradicted",
    "BAM-E12": "contradicted",
    "BAM-C10": "verified",
    "BAM-F5": "verified",
}


def test_the_notebook_owns_these_ids():
    assert {name for name in belonging("attention_is_inference") if name.startswith("BAM")} == set(VERDICTS)


@pytest.mark.parametrize("identifier", VERDICTS)
def test_verdicts(identifier):
    assert CHECKS[identifier].verdict("theory").verdict == VERDICTS[identifier]


def example(identifier):
    return CHECKS[identifier].verdict("theory").counterexample.model_dump()


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


def test_l2_the_first_query_sees_only_itself():
    found = example("BAM-L2")
    assert found["inputs"] == {"m": 1, "i": 1}
    assert (found["claimed"], found["actual"]) == (pytest.approx(1 * 1 / 2), 1.0)


def test_i1_two_equal_keys():
    found = example("BAM-I1")
    x, y = found["inputs"]["x"], found["inputs"]["y"]
    joint = sum(a * b for a, b in zip(x, y, strict=True))
    assert found["claimed"] == Fraction(sum(x) * sum(y), joint) == 2
    assert found["actual"] == Fraction(joint, sum(x) * sum(y)) == Fraction(1, 2)


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
    assert not law.judge(lambda seed: law.says(seed) + 0.01 * np.eye(5)[0]).holds


def test_the_rule_of_buckets_is_the_library_s():
    assert [families.bucket(d) for d in range(200)] == theory.t5_bucket(np.arange(200)).tolist()
    assert [families.bucket(d) for d in (15, 16, 18, 19, 112, 113, 199)] == [15, 16, 16, 17, 30, 31, 31]
