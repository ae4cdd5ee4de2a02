"""Claims on rotations: verdicts, and counterexamples by hand."""

import math

import pytest

from attention_priors.checks import (
    CHECKS,
    survey_rotations,
    survey_rotations_code,
    survey_rotations_longer,
    survey_rotations_more,
)
from attention_priors.positions.extensions import turns
from attention_priors.positions.rotary import rope

MODULES = (survey_rotations, survey_rotations_code, survey_rotations_longer, survey_rotations_more)
VERDICTS = {
    "PE-SIN": "verified",
    "PE-SIN-L": "verified",
    "PE-SIN-DOT": "verified",
    "PE-F1": "verified",
    "PE-ROPE": "verified",
    "PE-E-ROPE1": "contradicted",
    "PE-E2": "verified with correction",
    "PE-2D": "verified",
    "PE-ROPE-EQ": "verified",
    "PE-ROPE-MAP": "verified with correction",
    "PE-E-CODE": "verified with correction",
    "PE-NTK": "verified",
    "PE-DLIN": "verified with correction",
    "PE-DNTK": "verified",
    "PE-PNTK": "verified",
    "PE-BETA": "verified with correction",
    "PE-PI-E1": "contradicted",
    "PE-XPOS": "verified with correction",
    "PE-RAND": "verified",
    "PE-E1": "verified with correction",
}


@pytest.mark.parametrize("identifier", VERDICTS)
def test_verdicts(identifier):
    assert CHECKS[identifier].decide().verdict == VERDICTS[identifier]


def test_these_modules_decide_these_ids():
    assert sorted(name for module in MODULES for name in module.CHECKS) == sorted(VERDICTS)


def example(identifier, part=0):
    return CHECKS[identifier].printed[part].judge().counterexample


def test_the_chain_at_q_equal_to_i():
    """|i| e^{iΘ(i)} = i, but i e^{iΘ(i)} = i · i = -1."""
    for part in (0, 1):
        found = example("PE-E-ROPE1", part)
        assert found["inputs"] == {"re": 0.0, "im": 1.0, "angle": 0.0}
        assert (found["claimed"], found["actual"]) == (pytest.approx((1j * 1j).real), 0.0)


def test_the_first_block_of_two_dimensions():
    found = example("PE-E2")
    assert found["inputs"] == {"d": 2, "index": 0}
    assert (found["claimed"], found["actual"]) == (pytest.approx(1e-4), 1.0)


def test_rotate_half_leaves_the_neighbour_alone():
    found = example("PE-ROPE-MAP", 3)
    assert found["inputs"] == {"d": 4, "m": 1, "component": 1}
    assert (found["claimed"], found["actual"]) == (pytest.approx(math.sin(1)), 0.0)


def test_a_short_call_rebuilds_nothing():
    found = example("PE-E-CODE", 2)
    assert found["inputs"]["length"] <= found["inputs"]["trained"] and found["claimed"] and not found["actual"]


def test_the_scale_halves_as_the_text_doubles():
    found = example("PE-DLIN", 1)
    assert (found["claimed"], found["actual"]) == (1.0, 0.5)
    assert found["inputs"]["trained"] / found["inputs"]["later"] == 0.5


def test_ten_in_base_root_ten_has_digits_that_add_up_to_twenty():
    found, beta = example("PE-BETA"), math.sqrt(10)
    assert found["inputs"] == {"d": 16, "n": 10}
    # floors of 10, 10 / β = 3.16, 10 / β² = 1 (computed with β² = 10 exactly), mod β
    digits = (10 % beta, 3 % beta, 1 % beta)
    assert sum(digit * beta**m for m, digit in enumerate(digits)) == pytest.approx(found["actual"]) == 20


def test_beyond_six_hundred_the_bound_stands():
    assert example("PE-PI-E1")["inputs"] == {"factor": 601.0}
    assert survey_rotations_longer.interpolation_error(1e5) <= 1
    # the bound is nearly attained, so the check would notice a smaller one
    assert survey_rotations_longer.interpolation_error(601.0) > 0.98


def test_xpos_with_the_printed_sign_shrinks_with_the_sum_of_positions():
    found = example("PE-XPOS")
    xi, m, n, shift = (found["inputs"][name] for name in ("xi", "m", "n", "shift"))
    assert found["claimed"] == pytest.approx(math.exp(xi * (m + n)))
    assert found["actual"] == pytest.approx(math.exp(xi * (m + n + 2 * shift)))
    turned = example("PE-XPOS", 1)
    assert turned["inputs"] == {"xi": 1.0, "theta": 0.0, "n": 1}
    assert (turned["claimed"], turned["actual"]) == (pytest.approx(math.e), pytest.approx(1 / math.e))


def test_two_tokens_show_the_causal_mask():
    found = example("PE-E1")
    assert found["inputs"] == {"first": 0.0, "second": 1.0} and (found["claimed"], found["actual"]) == (0.0, 0.5)


def test_partial_ntk_has_the_ranges_of_llama():
    """64 planes, 2048 positions: rounded ends 20 .. 36 and 38 .. 43 of the two ramps."""
    turned = turns(rope(128), 2048)
    assert turned[20] >= 16 > turned[21] and turned[35] > 2 >= turned[36]
    assert turned[38] >= 1.25 > turned[39] and turned[42] > 0.75 >= turned[43]


def test_checkers_notice_small_errors():
    ntk, partial = CHECKS["PE-NTK"].printed[0], CHECKS["PE-PNTK"].printed[2]
    assert not ntk.check(lambda b, a, d: b * a ** (d / (d - 2)) * (1 + 1e-9)).holds
    assert not partial.check(((17.0, 2.0), (1.25, 0.75))).holds
    assert not CHECKS["PE-SIN"].printed[0].check(lambda p, c, d: survey_rotations._entry(p + 1e-5, c, d)).holds
