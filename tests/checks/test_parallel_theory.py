"""Verdicts on the theory of ParallelComp, its counterexamples worked out by hand, and checkers that notice errors."""

import math

import numpy as np
import pytest

from attention_priors.checks import (
    CHECKS,
    parallel_theory,
    parallel_theory_counts,
    parallel_theory_decay,
    parallel_theory_eviction,
)
from attention_priors.theory import parallel

VERDICTS = {
    "PC-EQ1": "verified with correction",
    "PC-EQ3": "verified with correction",
    "PC-EQ6": "verified with correction",
    "PC-EQ8": "verified",
    "PC-EQ8g": "contradicted",
    "PC-EQ10": "verified with correction",
    "PC-PRIOR": "verified",
    "PC-T3.1a": "verified with correction",
    "PC-T3.1b": "contradicted",
    "PC-T3.1c": "verified with correction",
    "PC-TA.1": "verified with correction",
    "PC-TA.2": "contradicted",
    "PC-TA.2x": "verified",
    "PC-TA.2d": "contradicted",
    "PC-TA.3": "contradicted",
    "PC-TA.3x": "verified",
    "PC-TA.4": "verified with correction",
    "PC-TA.5": "contradicted",
    "PC-TA.6": "contradicted",
}
MODULES = (parallel_theory, parallel_theory_counts, parallel_theory_decay, parallel_theory_eviction)


def test_the_modules_hold_these_ids():
    assert sorted(name for module in MODULES for name in module.CHECKS) == sorted(VERDICTS)


@pytest.mark.parametrize("identifier", VERDICTS)
def test_verdicts(identifier):
    assert CHECKS[identifier].decide().verdict == VERDICTS[identifier]


def examples(identifier):
    return [part.judge().counterexample for part in CHECKS[identifier].printed]


def test_eq1_two_tokens_and_a_query():
    found = examples("PC-EQ1")[-1]
    assert found == {"inputs": {"length": 2, "context": 2, "query": 1}, "claimed": 1, "actual": 2}


def test_eq6_three_queries_and_two_keys():
    found = examples("PC-EQ6")[1]["inputs"]["differences"]
    assert sum(found) > 0 and sum(1 / (1 + math.exp(-x)) for x in found) < len(found) / 2


def test_eq8g_by_hand():
    largest, even, above = examples("PC-EQ8g")
    assert largest["inputs"]["weights"] == [0.5, 0.49, 0.01]
    assert largest["actual"] == above["actual"] == pytest.approx(0.98)
    before = -(0.5 * math.log(0.5) + 0.49 * math.log(0.49) + 0.01 * math.log(0.01)) / math.log(3)
    after = -(0.98 * math.log(0.98) + 0.02 * math.log(0.02)) / math.log(2)
    assert (even["claimed"], even["actual"]) == (pytest.approx(before), pytest.approx(after))


def test_t31a_by_hand():
    words, falls, below = examples("PC-T3.1a")
    assert words is None  # with the sign of A.2
    assert falls["claimed"] == below["actual"] == pytest.approx(math.exp(math.sqrt(math.log(2))))
    assert falls["actual"] == pytest.approx(math.exp(math.sqrt(math.log(8))))


def test_t31b_two_equal_weights_break_every_constant():
    part = CHECKS["PC-T3.1b"].printed[0]
    assert part.judge().counterexample["inputs"]["keys"] == 2 and "7 of 7 constants" in part.judge().detail
    for constant in np.linspace(-50, 50, 11):
        claimed, actual = part.evaluate(part.statement, 2, 0.4, 0.5, constant)
        assert claimed <= actual  # equality only where the correction is below the last digit
    assert part.evaluate(part.statement, 2, 0.4, 0.5, -1.0)[0] < 2


def test_ta1_by_hand():
    _, returns, reversed_order = examples("PC-TA.1")
    assert returns["actual"] == pytest.approx(math.cos(4)) and returns["claimed"] == pytest.approx(math.cos(3))
    assert (reversed_order["claimed"], reversed_order["actual"]) == pytest.approx((math.exp(-1), math.exp(-2)))


def test_ta2_by_hand():
    necessary, sufficient = examples("PC-TA.2")
    assert necessary["claimed"] == pytest.approx(math.exp(-math.sqrt(math.log(8)))) and 1 / (1 + math.e) > 0.1
    assert sufficient["inputs"] == {"rate": 4.0, "keys": 2, "ineffective": 1, "delta": 0.5}
    assert math.exp(-4) / (1 + math.exp(-4)) > math.exp(-4 * math.sqrt(math.log(4)))


def test_ta2d_by_hand():
    mass, noise, bound = examples("PC-TA.2d")
    assert (mass["claimed"], mass["actual"]) == pytest.approx(tuple(1 / (1 + math.exp(-x)) for x in (1, 0.5)))
    assert (noise["claimed"], noise["actual"]) == (1, 2)
    assert (bound["claimed"], bound["actual"]) == (1.75, 1.875)  # 2 - 1/4, 2 - 1/8


def test_ta5_and_ta6_by_hand():
    negative, threshold = examples("PC-TA.5")
    assert (negative["claimed"], negative["actual"]) == (-1, 0)
    assert threshold["claimed"] == pytest.approx(math.exp(-math.sqrt(math.log(4))))
    assert examples("PC-TA.6")[1] == examples("PC-TA.3")[0]


def test_t31c_by_hand():
    counted, settles = examples("PC-T3.1c")
    assert counted is None
    assert settles["inputs"] == {"rate": 1.0, "narrow": 2, "wide": 3, "epsilon": 0.1}
    assert math.exp(-2) / (1 + math.exp(-1) + math.exp(-2)) < 0.1 < math.exp(-1) / (1 + math.exp(-1) + math.exp(-2))
    assert (settles["claimed"], settles["actual"]) == (0, 1)  # both of two weights are above .1; one of three is not
    assert not CHECKS["PC-T3.1c"].printed[0].check(lambda w, k: w - (k > 0)).holds


def test_checkers_notice_small_errors():
    count = CHECKS["PC-TA.2x"].printed[1]
    assert not count.check(lambda r, e, t, copies: parallel.count_bound(r, e, 0.8 * t, copies)).holds
    growth = CHECKS["PC-TA.2x"].printed[2]
    assert not growth.check(lambda log_w, r, e: (log_w**0.25 - math.log(e)) / r).holds
    assert not growth.check(lambda log_w, r, e: log_w**0.5 / r).holds
    share = CHECKS["PC-TA.3x"].printed[2]
    assert not share.check(lambda c, s: 1.001 * parallel.share_above(c, s)).holds
    merge = CHECKS["PC-EQ10"].printed[0]
    assert not merge.check(lambda o, z: parallel.merge(o, [x + 1e-6 * i for i, x in enumerate(z)])).holds
    cache = CHECKS["PC-EQ6"].printed[2]
    assert not cache.check(lambda scores, budget: np.argsort(scores)[::-1][[*range(budget - 1), budget]]).holds
