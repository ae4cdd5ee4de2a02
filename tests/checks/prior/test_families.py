"""X-3, X-4 and X-6: verdicts, the lag on the edge of the window by hand, and three buckets by hand."""

import math
from dataclasses import replace

import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.prior import families

CORRECTED = "verified with correction"


@pytest.mark.parametrize(("identifier", "verdict"), [("X-3", "verified"), ("X-4", CORRECTED), ("X-6", CORRECTED)])
def test_verdicts(identifier: str, verdict: str) -> None:
    assert CHECKS[identifier].verdict("theory").verdict == verdict


def test_x4_the_lag_on_the_edge_keeps_a_third() -> None:
    found = CHECKS["X-4"].verdict("theory").counterexample
    assert found.inputs == {"alpha": 1.0, "d": 1.0}
    assert found.claimed == 0 and found.actual == pytest.approx(math.exp(-1))


@pytest.mark.parametrize("size", [lambda w: w - 1, lambda w: 64, lambda w: max(w, 2)])
def test_x4_other_windows_are_refuted(size) -> None:
    for law in CHECKS["X-4"].sentences[2:]:
        other = replace(law, says=lambda size, keys, change=size: families.band(change(size), keys))
        assert not other.judge().holds


def test_x4_mistral_sees_itself_and_one_more() -> None:
    assert families.mistral(2, 3).tolist() == [[True, False, False], [True, True, False], [False, True, True]]


def test_x6_three_buckets_by_hand() -> None:
    found = CHECKS["X-6"].verdict("theory").counterexample
    assert found.claimed == pytest.approx(1 / 3, abs=1e-4)  # the mean bucket is 1: the uniform law
    assert found.actual == pytest.approx(math.e / (2 + math.e))


@pytest.mark.parametrize(("beta", "admissible"), [(0.5, True), (2.0, True), (2.2, False), (-0.5, False)])
def test_the_form_is_negative_outside_kerple_s_exponents(beta: float, admissible: bool) -> None:
    assert (families.least_form(beta) > -1e-9) == admissible
