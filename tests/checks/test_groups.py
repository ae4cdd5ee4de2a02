"""Verdicts on the one-parameter groups, counterexamples worked out by hand, checkers that notice small errors."""

import math
from fractions import Fraction

import numpy as np
import pytest

from attention_priors.checks import (
    CHECKS,
    belonging,
    groups_alibi,
    groups_axioms,
    groups_blocks,
    groups_decay,
    groups_law,
    groups_scope,
    groups_time,
)
from attention_priors.theory import groups

MODULES = (groups_axioms, groups_law, groups_time, groups_blocks, groups_decay, groups_alibi, groups_scope)
VERDICTS = {
    "OPG-1": "verified with correction",
    "OPG-2": "verified",
    "OPG-3": "verified",
    "OPG-4": "verified with correction",
    "OPG-5": "verified",
    "OPG-6": "verified",
    "OPG-7": "verified",
    "OPG-8": "verified",
    "OPG-9a": "verified with correction",
    "OPG-9b": "verified",
    "OPG-9c": "verified",
    "OPG-9d": "verified",
    "OPG-10": "verified",
    "OPG-11": "verified",
    "OPG-12": "verified",
    "OPG-13": "verified",
    "OPG-14": "verified",
    "OPG-15": "contradicted",
    "OPG-16": "verified with correction",
    "OPG-17": "verified",
    "OPG-20": "verified",
    "OPG-F1": "verified",
    "OPG-F2": "verified",
    "OPG-TAB1": "verified",
    "X-2": "verified",
    "X-9": "verified with correction",
}


def test_these_modules_own_these_ids():
    assert sorted(name for module in MODULES for name in module.CHECKS) == sorted(VERDICTS)
    assert set(VERDICTS) <= set(belonging("one_parameter_groups"))


@pytest.mark.parametrize("identifier", VERDICTS)
def test_verdicts(identifier):
    assert CHECKS[identifier].decide().verdict == VERDICTS[identifier]


def examples(identifier):
    return [part.judge().counterexample for part in CHECKS[identifier].printed]


def test_1_one_dimension_cannot_hold_a_clock_hand():
    found = examples("OPG-1")[2]  # F(0) = (1, 0), F(a quarter turn) = (0, 1): no fixed P has both as multiples
    assert abs(found["claimed"] - found["actual"]) == pytest.approx(1.0)


def test_4_by_hand():
    cosine = examples("OPG-4")[2]
    assert cosine["claimed"] == pytest.approx(math.cos(math.pi / 2) ** 2, abs=1e-12)
    assert cosine["actual"] == pytest.approx(math.cos(math.pi))


def test_9a_by_hand():
    trend = examples("OPG-9a")[1]
    assert -math.e < -1 and (trend["claimed"], trend["actual"]) == (1.0, -1.0)


def test_15_the_bias_is_a_straight_line():
    for found in examples("OPG-15"):  # a list of scores written out by hand, and BLOOM's first head
        assert found["inputs"]["bias"] == [0.0, -0.5, -1.0, -1.5]
        assert (found["claimed"], found["actual"]) == (False, True)


def test_15_close_is_not_exact():
    eps = 0.001  # X = diag(0, -eps), q = (-1, 1) / (2 eps), k = (1, 1): the slope 1/2, nearly, and diagonalisable
    near = [(math.exp(-eps * d) - 1) / (2 * eps) for d in range(4)]
    assert near == pytest.approx([0.0, -0.5, -1.0, -1.5], abs=0.01)
    ratio = Fraction(999, 1000)
    assert not groups_alibi.is_defective([(ratio**d - 1) / (2 * (1 - ratio)) for d in range(8)])


def test_16_rerope_stops_turning():
    found = examples("OPG-16")[2]
    assert (found["claimed"], found["actual"]) == (-1.0, 0.0)


def test_x9_squares_have_no_third_difference():
    found = examples("X-9")[2]
    assert [d**2 for d in found["inputs"]["lags"]] == [0, 1, 4, 9]
    assert 9 - 3 * 4 + 3 * 1 - 0 == 0 and found["actual"] is True


def test_checkers_notice_small_errors():
    chain = CHECKS["OPG-12"].printed[0]
    assert not chain.check(lambda exp, rate, t, k: chain.statement(exp, rate, t, k) * (1 + 1e-9 * (k == 4))).holds
    doubled = CHECKS["OPG-13"].printed[0]
    assert not doubled.check(lambda rate, omega, t: doubled.statement(rate, omega * (1 + 1e-8), t)).holds
    slope = CHECKS["X-2"].printed[0]
    assert not slope.check(lambda m: slope.statement(m * (1 + 1e-9))).holds
    growth = CHECKS["OPG-14"].printed[0]
    assert not growth.check(lambda rate: abs(rate) + 1e-6).holds


def test_ordinary_sequences_are_not_defective():
    assert [name for name, values in groups_alibi.published().items() if groups_alibi.is_defective(values)] == ["ALiBi"]


def test_extrapolation_separates_whole_shapes_from_others():
    lags = np.arange(25.0)
    for beta, member in ((2.0, True), (1.999, False)):
        c, x, b = groups.realise((lags**beta)[:, None, None])
        predicted = (c.T @ groups.exponential(x, 100.0) @ b).item()
        assert (abs(predicted / 100**beta - 1) < 1e-4) is member
