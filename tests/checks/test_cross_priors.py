"""X-3 and X-4: verdicts, and the lag on the edge of the window by hand."""

import math

import pytest

from attention_priors.checks import CHECKS, cross_priors


@pytest.mark.parametrize(("identifier", "verdict"), [("X-3", "verified"), ("X-4", "verified with correction")])
def test_verdicts(identifier: str, verdict: str) -> None:
    assert CHECKS[identifier].decide().verdict == verdict


def test_x4_the_lag_on_the_edge_keeps_a_third() -> None:
    found = CHECKS["X-4"].decide().counterexample
    assert found["inputs"] == {"alpha": 1.0, "d": 1.0}
    assert found["claimed"] == 0 and found["actual"] == pytest.approx(math.exp(-1))


@pytest.mark.parametrize(("beta", "admissible"), [(0.5, True), (2.0, True), (2.2, False), (-0.5, False)])
def test_the_form_is_negative_outside_kerple_s_exponents(beta: float, admissible: bool) -> None:
    assert (cross_priors.least_form(beta) > -1e-9) == admissible
