"""The theory of ParallelComp: verdicts, counterexamples worked out by hand, sentences a little off are refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import special

from attention_priors.checks import CHECKS
from attention_priors.theory import parallel


def examples(identifier):
    """(claimed, actual) where each law fails, None where it holds."""
    return [None if found.holds else law.counterexample(found) for law, found in CHECKS[identifier].laws]


def refused(identifier, number, **change):
    return not replace(CHECKS[identifier].laws[number][0], **change).judge().holds


def test_eq3_the_second_of_two_chunks_has_the_lower_information():
    assert examples("PC-EQ3")[3] == {"inputs": {"information": [2.0, 1.0], "kept": 1}, "claimed": "1", "actual": "2"}


def test_eq6_three_queries_and_two_keys():
    found = examples("PC-EQ6")[1]["inputs"]["favour"]
    assert sum(found) > 0 and sum(1 / (1 + math.exp(-x)) for x in found) < len(found) / 2


def test_eq8g_by_hand():
    largest, even, above = examples("PC-EQ8g")
    assert largest["inputs"]["weights"] == [0.9, 0.099, 0.001]
    assert largest["actual"] == above["actual"] == pytest.approx(0.99)
    before = -sum(p * math.log(p) for p in (0.9, 0.099, 0.001)) / math.log(3)
    after = -(0.99 * math.log(0.99) + 0.01 * math.log(0.01)) / math.log(2)
    assert (even["claimed"], even["actual"]) == (pytest.approx(before), pytest.approx(after))


def test_t31a_by_hand():
    words, falls, below, scaled = examples("PC-T3.1a")
    assert words is None and scaled is None
    assert falls["claimed"] == below["claimed"] == pytest.approx(math.exp(math.sqrt(math.log(2))))
    assert falls["actual"] == pytest.approx(math.exp(math.sqrt(math.log(8)))) and below["actual"] == 1


def test_t31b_two_equal_weights_break_every_constant():
    found = examples("PC-T3.1b")[0]
    assert found["inputs"] == {"w": 2, "delta": 0.5, "c": 1.0, "R": 1, "dim": 1} and found["actual"] == 2
    assert found["claimed"] == pytest.approx(2 - math.exp(math.log(0.8) ** 2) / 4)
    bound = CHECKS["PC-T3.1b"].laws[0][0].says
    assert all(bound(2, 0.5, constant, 1.0, 1) < 2 for constant in np.linspace(-50, 50, 11))


def test_ta1_by_hand():
    reversed_order, bounded = examples("PC-TA.1")[-2:]
    mean = {lag: np.cos(lag * 10_000 ** (-np.arange(32) / 32)).mean() for lag in (16, 256)}
    assert (bounded["claimed"], bounded["actual"]) == pytest.approx((1 - 16 * (1 - mean[16]), mean[256]))
    assert (reversed_order["claimed"], reversed_order["actual"]) == pytest.approx((math.exp(-1), math.exp(-2)))


def test_ta2_by_hand():
    necessary, sufficient = examples("PC-TA.2")
    assert necessary["claimed"] == pytest.approx(math.exp(-math.sqrt(math.log(8)))) and 1 / (1 + math.e) > 0.1
    assert sufficient["inputs"] == {"c": 1.0, "R": 4.0, "w": 2, "k": 1} and sufficient["actual"] == 2
    assert math.exp(-4) / (1 + math.exp(-4)) > math.exp(-4 * math.sqrt(math.log(4)))


def test_ta2d_by_hand():
    mass, noise, bound = examples("PC-TA.2d")
    assert (mass["claimed"], mass["actual"]) == pytest.approx(tuple(1 / (1 + math.exp(-x)) for x in (1, 0.5)))
    assert (noise["claimed"], noise["actual"]) == pytest.approx((1, 2))
    share = math.exp(math.log(0.8) ** 2)
    assert (bound["claimed"], bound["actual"]) == pytest.approx((2 - share / 4, 2 - share / 8))


def test_ta5_by_hand():
    threshold, others = examples("PC-TA.5")  # one key before a query of one token: weights 1 / (1 + e) and e / (1 + e)
    assert threshold["claimed"] == pytest.approx(math.exp(-math.sqrt(math.log(4))))
    assert (others["claimed"], others["actual"]) == (1, 2) and 1 / (1 + math.e) > 0.1


def test_a_limit_needs_more_than_two_widths():
    found = examples("PC-T3.1c")[1]
    assert found["inputs"] == {"R": 1.0, "epsilon": 0.1, "w": 16} and (found["claimed"], found["actual"]) == (0, 16)
    assert examples("PC-TA.6")[2] == examples("PC-TA.3")[0]


def test_the_excluded_number_by_hand():
    # ln 100 = 4.605, squared 21.21, e^21.21 = 1.623e9, times .1 / 64000
    assert examples("PC-SK")[0]["claimed"] == pytest.approx(1.623e9 * 0.1 / 64000, rel=1e-3)


def test_small_errors_are_refused():
    window = CHECKS["PC-TA.2x"].laws[1][0].says
    assert refused("PC-TA.2x", 1, says=lambda R, epsilon, w: 0.8 * window(R, epsilon, w))
    assert refused("PC-TA.2x", 2, says=lambda digits, R, epsilon: 4 * (digits**0.25 - math.log(epsilon)) / R)
    assert refused("PC-TA.3x", 2, says=lambda c, s: 1.02 * CHECKS["PC-TA.3x"].laws[2][0].says(c, s))
    assert refused("PC-EQ1", 1, says=lambda products: special.softmax(products / 8.01**0.5, axis=1))
    assert refused("PC-EQ1", 2, says=lambda pair: torch.cat([pair[0].flip(0), pair[1]]))
    merged = CHECKS["PC-EQ10"].laws[0][0].says
    assert refused(
        "PC-EQ10",
        0,
        says=lambda seed, scale: merged(
            seed, scale, weigh=lambda o, z: parallel.merge(o, [x + 1e-6 * i for i, x in enumerate(z)])
        ),
    )


def test_the_two_evictions_commute():
    law = CHECKS["PC-F2"].laws[0][0]
    first, second, third, last = law.says
    found, expected = law.truth((first, third, second, last), 0)
    assert np.allclose(found, expected, atol=1e-12)


def test_reused_positions_forget_the_chunk():
    found = CHECKS["X-15"].laws[0][0].truth(slope=0.3, n=36, scale=0.0)
    assert np.allclose(found.reshape(3, -1), found[:12])
