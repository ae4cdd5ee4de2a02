"""Verdicts on attention as transport, and the one counterexample by hand."""

import pytest

from attention_priors.checks import CHECKS, transport

VERDICTS = {
    "GOAT-D2.1": "verified",
    "GOAT-P2.2": "verified",
    "GOAT-P2.2b": "verified",
    "GOAT-EQ3": "verified",
    "GOAT-P3.1": "verified",
    "GOAT-E7": "verified",
    "X-1": "verified",
}


def test_this_module_checks_these_ids() -> None:
    assert set(transport.CHECKS) == set(VERDICTS)


@pytest.mark.parametrize("identifier", VERDICTS)
def test_verdicts(identifier: str) -> None:
    assert CHECKS[identifier].decide().verdict == VERDICTS[identifier]


def test_e7_scaling_twice_is_another_attention() -> None:
    assert transport.departure(lambda dot, width: dot / width) > 0.05
    assert transport.departure(lambda dot, width: dot / width**0.5) < 1e-6


def test_the_three_roads_are_three_computations() -> None:
    assert len({road.__code__ for road in transport.ROADS.values()}) == 3


def test_a_solver_of_another_problem_is_noticed() -> None:
    """The program at twice the temperature has another minimiser."""
    wrong = transport.check_program(lambda cp, p, s, tau, prior: -s @ p - 2 * tau * cp.sum(cp.entr(p)))
    assert not wrong.holds and wrong.measured > 0.05
