"""What the survey prints of sinusoids, RoPE and xPos: rows worked out by hand, and variants that are noticed."""

import math
from dataclasses import replace

import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.encodings import rotary


def example(identifier):
    return CHECKS[identifier].verdict("theory").counterexample


def test_the_chain_at_q_equal_to_i():
    """|i| e^{iΘ(i)} = i, but i e^{iΘ(i)} = i · i = -1."""
    found = example("PE-E-ROPE1")
    assert found.inputs == {"re": 0.0, "im": 1.0, "angle": 0.0}
    assert (found.claimed, found.actual) == ([-1.0, 0.0], [0.0, 1.0])


def test_the_first_block_of_two_dimensions():
    found = example("PE-E2")
    assert found.inputs == {"width": 2, "plane": 0}
    assert (found.claimed, found.actual) == (pytest.approx(1e-4), 1.0)


def test_rotate_half_leaves_the_neighbour_alone():
    found = example("PE-ROPE-MAP")
    assert found.inputs == {"width": 4, "position": 1, "unit": 0, "component": 1}
    assert (found.claimed, found.actual) == (pytest.approx(math.sin(1)), 0.0)


def test_xpos_with_the_printed_sign_shrinks_with_the_sum_of_positions():
    found = example("PE-XPOS")
    xi, m, n, shift = (found.inputs[name] for name in ("xi", "m", "n", "shift"))
    assert found.claimed == pytest.approx(math.exp(xi * (m + n)))
    assert found.actual == pytest.approx(math.exp(xi * (m + n + 2 * shift)))
    turned = CHECKS["PE-XPOS"].sentences[1]
    row = turned.counterexample(turned.judge())
    assert row["inputs"] == {"xi": 1.0, "theta": 0.0, "n": 1}
    assert (row["claimed"], row["actual"]) == (pytest.approx([math.e, 0]), pytest.approx([1 / math.e, 0]))


def test_two_tokens_show_the_causal_mask():
    found = example("PE-E1")
    assert found.inputs == {"first": 0.0, "second": 1.0} and (found.claimed, found.actual) == (0.0, 0.5)


@pytest.mark.parametrize("layers", [(), (1,), (0, 0), (0, 2)])
def test_positions_added_elsewhere_are_noticed(layers):
    assert not replace(CHECKS["PE-SIN"].sentences[1], says=layers).judge().holds


def test_a_small_error_of_the_position_is_noticed():
    entry = CHECKS["PE-SIN"].sentences[0]
    assert not replace(entry, says=lambda width, position: rotary.row(width, position + 1e-5)).judge().holds
