"""Figures of scalable softmax: simulations against their leading order."""

import pytest

from attention_priors.figures.ssmax import leads


@pytest.fixture
def size(small):
    return small(draws=20_000, length=32)  # contexts 8 .. 1024


def test_rows_agree_with_the_leading_order_far_from_freezing(size):
    for row in leads.rows_entropy(size, 0, sigma=1.0):
        if row["law"] == "1" and row["keys"] >= 256:
            assert row["entropy"] == pytest.approx(row["predicted"], abs=0.01)
    for row in leads.rows(size, 0, scales=(0.2,)):
        if row["softmax"] != "largest score" and row["keys"] == 1024:
            assert row["lead"] == pytest.approx(row["predicted"], abs=0.1)


def test_scaling_the_prior_keeps_its_penalty(size):
    found = {(r["scaled"], r["prior"]): r["lead"] for r in leads.rows_priors(size, 0, lengths=(2**14,))}
    for prior in ("ALiBi, slope 1/256", "beta = 1/2"):
        assert found["content and prior", prior] == pytest.approx(found["nothing", prior], rel=0.1)
        assert found["content", prior] < 0.2 * found["nothing", prior]
    for prior in ("uniform", "beta = -1/2"):
        assert found["content", prior] == pytest.approx(1.0, abs=0.02)


def test_a_sure_winner_keeps_its_weight_under_ssmax_only():
    rows = leads.weights(1.0, 0.1, 3.0, (10, 10**6))
    assert {r["softmax"]: r["weight"] > 0.9 for r in rows if r["keys"] == 10**6} == {"softmax": False, "SSMax": True}


def test_explore_draws_both_forms():
    (ax,) = leads.explore((4, 16, 64), s=0.5, sigma=1.0, lead=3.0).axes
    assert [line.get_label() for line in ax.get_lines()] == ["softmax", "SSMax"]
