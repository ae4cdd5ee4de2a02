"""The one-parameter groups: rows worked out by hand, variants that are noticed, sequences that are not defective."""

import math
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from attention_priors.checks import CHECKS, belonging
from attention_priors.checks.groups import generators


def example(identifier, which=None):
    """Of the first statement that fails, ours among them, or of one by its place."""
    law = CHECKS[identifier].failing[0][0] if which is None else CHECKS[identifier].sentences[which]
    return law.counterexample(law.judge())


def test_the_appendix_owns_what_no_notebook_derives():
    listed = {"OPG-1", "OPG-16"}
    derived = {name for name, notebook in CHECKS.notebooks.items() if notebook == "audit_groups"}
    assert listed | derived == {*belonging("audit_groups")} and len(derived) == 4


def test_1_one_dimension_cannot_hold_a_clock_hand():
    found = example("OPG-1")  # F(0) = (1, 0), F(a quarter turn) = (0, 1): no fixed P has both as multiples
    assert abs(found["claimed"] - found["actual"]) == pytest.approx(1.0)


def test_4_by_hand():
    found = example("OPG-4")
    assert found["claimed"] == pytest.approx(math.cos(math.pi / 2) ** 2, abs=1e-9)
    assert found["actual"] == pytest.approx(math.cos(math.pi))


def test_7_in_whole_time_minus_one_is_a_step():
    found = example("OPG-7")
    assert found == {"inputs": {"step": [[-1]]}, "claimed": True, "actual": False}  # e^x > 0 for every real x


@pytest.mark.parametrize(("identifier", "rate"), [("OPG-9a", 1.0), ("OPG-9c", -1.0)])
def test_9_by_hand(identifier, rate):
    found = example(identifier)
    assert found["inputs"] == {"content": -1.0, "rate": rate, "age": 0}
    assert np.sign(-math.exp(rate) + 1) == found["actual"] == -found["claimed"]  # of logits -e^rate and -1


def test_9c_the_audit_s_numbers():
    """A key at logit -5 beside one of 0, at λ = -.05, 50 tokens on: from .0067 of the two to .40."""
    weights = [1 / (1 + math.exp(5 * math.exp(-0.05 * age))) for age in (0, 50)]
    assert weights == pytest.approx([0.0067, 0.3988], abs=1e-4)


def test_15_the_bias_is_a_straight_line():
    found = example("OPG-15")
    assert found["inputs"] == {"encoding": "ALiBi", "scores": [0.0, -0.5, -1.0, -1.5]}
    assert (found["claimed"], found["actual"]) == (False, True)
    names = vars(sys.modules[CHECKS["OPG-15"].sentences[0].truth.__module__])
    assert names["released"](0.5)[:4] == found["inputs"]["scores"] and example("OPG-15", 2)["inputs"] == {"slope": 0.5}


def test_15_close_is_not_exact():
    eps = 0.001  # X = diag(0, -eps), q = (-1, 1) / (2 eps), k = (1, 1): the slope 1/2, nearly, and diagonalisable
    near = [(math.exp(-eps * d) - 1) / (2 * eps) for d in range(4)]
    assert near == pytest.approx([0.0, -0.5, -1.0, -1.5], abs=0.01)
    ratio = Fraction(999, 1000)
    assert not CHECKS["OPG-15"].sentences[0].truth([(ratio**d - 1) / (2 * (1 - ratio)) for d in range(8)])


def test_16_rerope_stops_turning():
    found = example("OPG-16")
    assert found["inputs"] == {"omega": math.pi / 2, "window": 1, "lag": 2}
    assert (found["claimed"], found["actual"]) == (-1.0, 0.0)


def test_16_each_kind_is_measured_on_one_system():
    assert sorted(generators.kinds()) == [(False, False), (False, True), (True, False), (True, True)]


def test_x9_squares_have_no_third_difference():
    found = example("X-9")
    assert found["inputs"] == {"beta": 2, "mu": 0} and found["actual"] is True
    assert 9 - 3 * 4 + 3 * 1 - 0 == 0


@pytest.mark.parametrize(
    ("identifier", "variant"),
    [
        ("OPG-2", lambda says: lambda a, x: says(a, x) * (1 + 1e-3)),
        ("OPG-3", lambda says: lambda t, s, tau: says(t, s, tau)[::-1]),
        ("OPG-F1", lambda says: lambda rate, omega, side, t: says(rate, omega * (1 + 1e-3), side, t)),
        ("OPG-F2", lambda says: lambda rate, x, v, t: says(rate * (1 + 1e-3), x, v, t)),
        ("OPG-12", lambda says: lambda size, rate, t: says(size, rate, t) * (1 + 1e-3)),
        ("OPG-13", lambda says: lambda rate, omega, t: says(rate, omega * (1 + 1e-3), t)),
        ("OPG-14", lambda says: lambda rate: [each * (1 + 1e-3) for each in says(rate)]),
        ("X-2", lambda says: lambda m, lag: says(m * (1 + 1e-3), lag)),
    ],
)
def test_near_variants_are_refused(identifier, variant):
    law = CHECKS[identifier].sentences[0]
    assert not replace(law, says=variant(law.says)).judge().holds
