"""Verdicts on attention as transport; solvers of other problems are noticed."""

from dataclasses import replace

import numpy as np
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.attention import transport


@pytest.mark.parametrize("identifier", transport.CHECKS)
def test_verdicts(identifier: str) -> None:
    assert CHECKS[identifier].verdict("theory").verdict == "verified"


def test_e7_scaling_twice_is_another_attention() -> None:
    assert np.abs(transport.scaled(64, 1.0) - transport.weights(64)).max() > 0.05
    assert np.abs(transport.scaled(64, 0.5) - transport.weights(64)).max() < 1e-6


def test_the_three_roads_are_three_computations() -> None:
    assert len({road.__code__ for road in transport.ROADS.values()}) == 3


def test_a_solver_of_another_problem_is_noticed() -> None:
    """The program at twice the temperature has another minimiser."""
    law = transport.CHECKS["GOAT-D2.1"].sentences[0]
    found = replace(law, says=lambda cp, p, s, tau: -s @ p - 2 * tau * cp.sum(cp.entr(p))).judge()
    assert found.failed == 3 and max(trial.gap for trial in found.trials) > 0.05
