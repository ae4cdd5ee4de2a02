"""Extensions of RoPE: rows worked out by hand, and variants that the checkers of A4 and notebook 06 notice."""

import math
from dataclasses import replace

import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.rotations import extensions
from attention_priors.positions.extensions import turns
from attention_priors.positions.rotary import rope


def law(identifier, which=0):
    return CHECKS[identifier].sentences[which]


def example(identifier):
    return CHECKS[identifier].verdict("theory").counterexample


def test_the_scale_halves_as_the_text_doubles():
    found = example("PE-DLIN")
    assert (found.claimed, found.actual) == (1.0, 0.5) and found.inputs["trained"] / found.inputs["later"] == 0.5


def test_digits_of_whole_and_other_bases():
    assert extensions.digits(8, 345) == [5.0, 4.0, 3.0, 0.0]  # β = 10
    # d = 16, β = sqrt(10): floors of 10, 10 / β = 3.16, 10 / β² = 1, mod β, add up to 20
    digits, beta = extensions.digits(16, 10), math.sqrt(10)
    assert digits[:3] == pytest.approx([10 % beta, 3 % beta, 1 % beta])
    assert sum(digit * beta**m for m, digit in enumerate(digits)) == pytest.approx(20)
    assert not extensions.adds_up(16) and extensions.adds_up(4)


def test_beyond_six_hundred_the_bound_stands():
    found = example("PE-PI-E1")
    assert found.inputs == {"factor": 601.0, "width": 2}
    assert found.actual == pytest.approx((1 - math.cos(0.5)) / 0.125, abs=1e-5)  # the chord's error in its middle
    # the bound is nearly attained, so the check would notice a smaller one
    of_bound = law("PE-PI-E1").truth
    assert of_bound(601.0, 128) > 0.98 and of_bound(1e5, 128) <= 1


def test_partial_ntk_has_the_ranges_of_llama():
    """64 planes, 2048 positions: rounded ends 20 .. 36 and 38 .. 43 of the two ramps."""
    turned = turns(rope(128), 2048)
    assert turned[20] >= 16 > turned[21] and turned[35] > 2 >= turned[36]
    assert turned[38] >= 1.25 > turned[39] and turned[42] > 0.75 >= turned[43]


@pytest.mark.parametrize(
    ("identifier", "which", "variant"),
    [
        ("PE-NTK", 0, lambda b, a, d: b * a ** (d / (d - 2)) * (1 + 1e-12)),
        ("PE-PNTK", 0, 15.0),
        ("PE-PNTK", 1, 0.8),
        ("PE-PNTK", 2, lambda **model: law("PE-PNTK", 2).says(**model, slow=(1.25, 0.7))),
    ],
)
def test_near_variants_are_refused(identifier, which, variant):
    assert not replace(law(identifier, which), says=variant).judge().holds
