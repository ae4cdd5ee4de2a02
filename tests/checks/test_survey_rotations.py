"""Claims on rotations: verdicts, and counterexamples by hand."""

import math

import numpy as np
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

code = survey_rotations_code
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
        assert (found["claimed"], found["actual"]) == ("-1 + 0 i", "0 + 1 i")  # i * i and i


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


CALLS = (2048, 4096, 4096, 2049, 4097, 1)


@pytest.mark.parametrize("listing", ["linear", "dynamic", "partial"])
def test_the_scaled_listings_grow_as_transformers_does(listing):
    assert [done for _, done in code.rebuilds(listing, 2048, CALLS)] == code.grows(2048, CALLS)


def test_the_llama_listing_forgets_that_it_grew():
    """Every call above 2048 builds, the one of 2049 a shorter table than the one it replaces."""
    assert [done for _, done in code.rebuilds("huggingface", 2048, CALLS)] == [False, True, True, True, True, False]
    assert [held for held, _ in code.rebuilds("huggingface", 2048, CALLS)] == [2048, 2048, 4096, 4096, 2049, 4097]
    assert code.grows(2048, CALLS) == [False, True, False, False, True, False]


def test_a_listing_that_tested_against_its_cache_would_refute_the_statement(monkeypatch):
    as_printed = code.facts
    monkeypatch.setattr(code, "facts", lambda name: as_printed(name) | {"compared": "max_seq_len_cached"})
    found = CHECKS["PE-E-CODE"].corrected
    assert not found.judge().holds and found.judge_false().holds


@pytest.mark.parametrize(
    "rule",
    [lambda trained, held, length: length >= trained, lambda trained, held, length: False,
     lambda trained, held, length: length != held],
)  # fmt: skip
def test_other_rules_of_rebuilding_are_refuted(rule):
    assert not code.check_rebuilds(rule).holds


def test_decoding_with_the_listings():
    """Hugging Face's positions are right. GPT-NeoX's table starts at 0 for a new token: nothing is turned at all."""
    assert code.decoded("huggingface", 8, 24) < 1e-5
    q, k = code.drawn(8, 24)
    theta = 10_000.0 ** (-np.arange(0, 8, 2) / 8)
    halves = (x[..., :4].numpy() + 1j * x[..., 4:].numpy() for x in (q, k))
    lag = np.subtract.outer(np.arange(24), np.arange(24))
    turned = np.einsum("hip,hjp,ijp->hij", *(x.conj() if n else x for n, x in enumerate(halves)),
                       np.exp(1j * lag[..., None] * theta)).real  # fmt: skip
    missed = np.abs(np.tril((q @ k.mT).numpy() - turned)).max()
    assert missed > 1 and code.decoded("neox", 8, 24) == pytest.approx(missed, abs=1e-5)


def test_names_that_are_defined_are_found():
    assert code.check_name(("huggingface", "LlamaRotaryEmbedding", "found")).holds
    assert not code.check_name(("huggingface", "LlamaRotaryEmbedding", "NameError")).holds
    assert not code.check_name(("neox", "Rotary", "NameError")).holds
    with pytest.raises(ValueError, match=r"no listing 'gptj'.*neox"):
        code.facts("gptj")


@pytest.mark.parametrize(
    "expected",
    [{"max_position_embeddings": "TypeError", "": "2048"}, {"max_position_embedding": "TypeError", "": "4096"}],
)
def test_other_outcomes_of_the_keyword_are_refuted(expected):
    assert not code.check_keyword(expected).holds


@pytest.mark.parametrize(
    "limits",
    [(lambda d: d - 2, lambda d: d // 2), (lambda d: d, lambda d: d // 2), (lambda d: d - 1, lambda d: d)],
)
def test_other_limits_of_the_ramp_are_refuted(limits, monkeypatch):
    assert not code.check_clamp(limits).holds
    # transformers alone refutes them too, whatever was transcribed
    written = {"ramp clamped to": f"{limits[0](0)} + dim", "ramp entries": "dim" if limits[1](2) == 2 else "dim // 2"}
    monkeypatch.setattr(code, "facts", lambda name: written)
    assert not code.check_clamp(limits).holds


@pytest.mark.parametrize("layers", [(), (1,), (0, 0), (0, 2)])
def test_positions_added_elsewhere_are_noticed(layers):
    assert not survey_rotations.check_additions(layers).holds


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
