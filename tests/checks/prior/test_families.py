"""X-3, X-4, X-6 and X-14: verdicts, a lag and three buckets by hand, and whom corrections answer."""

import math

import pytest

from attention_priors.checks import CHECKS

CORRECTED = "verified with correction"


def test_x4_the_lag_on_the_edge_keeps_a_third() -> None:
    found = CHECKS["X-4"].verdict("theory").counterexample
    assert found.inputs == {"alpha": 1.0, "d": 1.0}
    assert found.claimed == 0 and found.actual == pytest.approx(math.exp(-1))


def test_x6_three_buckets_by_hand() -> None:
    found = CHECKS["X-6"].verdict("theory").counterexample
    assert found.claimed == pytest.approx([1 / 3] * 3, abs=1e-4)  # the mean bucket is 1: the uniform law
    assert found.actual == pytest.approx([1 / (2 + math.e), math.e / (2 + math.e), 1 / (2 + math.e)])


def test_x14_each_family_is_answered_by_its_own_normaliser() -> None:
    instead = {line.text.split(",")[0]: line.instead for line in CHECKS["X-14"].verdict("theory").sentences}
    assert instead["GGD"].startswith("the GGD needs") and "KERPLE-log" not in instead["GGD"]
    assert "KERPLE-log (r2 = 1) needs" in instead["KERPLE-log (r2 = 1): r1 ln d to leading order"]
