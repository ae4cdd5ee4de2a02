"""X-3 and X-4: verdicts, and the lag on the edge of the window by hand."""

import math

import numpy as np
import pytest

from attention_priors.checks import CHECKS, cross_priors


@pytest.mark.parametrize(("identifier", "verdict"), [("X-3", "verified"), ("X-4", "verified with correction")])
def test_verdicts(identifier: str, verdict: str) -> None:
    assert CHECKS[identifier].decide().verdict == verdict


def test_x4_the_lag_on_the_edge_keeps_a_third() -> None:
    found = CHECKS["X-4"].decide().counterexample
    assert found["inputs"] == {"alpha": 1.0, "d": 1.0}
    assert found["claimed"] == 0 and found["actual"] == pytest.approx(math.exp(-1))


@pytest.mark.parametrize("seen", [lambda d, w: d < w - 1, lambda d, w: True, lambda d, w: d < max(w, 2)])
def test_x4_other_windows_are_refuted(seen) -> None:
    assert not cross_priors.check_window(seen).holds


def test_x4_mistral_sees_itself_and_one_more() -> None:
    assert cross_priors.attended(2, 3).tolist() == [[True, False, False], [True, True, False], [False, True, True]]


def test_x4_scipy_alone_refutes_another_edge(monkeypatch) -> None:
    """Were our prior a hard window that keeps half of the edge, scipy's density would still say exp(-1)."""

    def edge(d, alpha):
        return float(d < alpha) + 0.5 * (d == alpha)

    monkeypatch.setattr(cross_priors, "steep", lambda lags, alpha: np.array([edge(d, alpha) for d in lags]))
    assert not cross_priors.check_limits(edge).holds


@pytest.mark.parametrize(("beta", "admissible"), [(0.5, True), (2.0, True), (2.2, False), (-0.5, False)])
def test_the_form_is_negative_outside_kerple_s_exponents(beta: float, admissible: bool) -> None:
    assert (cross_priors.least_form(beta) > -1e-9) == admissible
