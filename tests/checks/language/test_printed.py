"""BAM's tables 1 and 2 and its recipe: counterexamples worked out by hand, and counts against small models."""

import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.language import baselines, recipe
from attention_priors.config import ModelConfig
from attention_priors.model import Transformer, count
from attention_priors.theory import sizes


def example(identifier):
    return CHECKS[identifier].verdict("theory").counterexample


def test_e6_rope_on_wikipedia():
    # 18.9281 - 18.3599 = 0.5682
    found = example("BAM-E6")
    assert found.inputs == {"corpus": "wikipedia", "baseline": "rope", "bam": 18.9281, "other": 18.3599}
    assert baselines.lead(18.9281, 18.3599) == 0.5682


def test_e6_holds_of_fineweb():
    gaps = baselines.perplexity_gaps()
    ahead = gaps[(gaps.corpus == "fineweb") & (gaps.gap > 0)]
    assert list(ahead.encoding) == ["alibi"]
    assert ahead.gap.item() == pytest.approx(0.0869)


def test_with_ssmax_bam_is_first_on_fineweb_and_second_on_wikipedia():
    gaps = baselines.perplexity_gaps("bam-ssmax")
    assert [(r.corpus, r.encoding) for r in gaps[gaps.gap > 0].itertuples()] == [("wikipedia", "alibi-ssmax")]


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        (95.96e6, "~95M", True),
        (95.96e6, "~96M", True),
        (95.96e6, "~97M", False),
        (380.7e6, "~380M", True),
        (431.0e6, "432M", False),
        (1.141e9, "1.1B", True),
        (1.160e9, "1.2B", True),
        (1.0738e9, "~1B", True),
        (65.5e6, "~67M", False),
    ],
)
def test_rounded_or_cut(value, text, shown):
    assert sizes.shows(value, text) is shown


PARTS = {"embedding": 25_165_824, "transformer": 95_963_904}  # of 120M


def test_tab1_by_hand():
    block = 4 * 768 * 768 + 3 * 768 * 1536 + 2 * 768
    assert sizes.transformer(layers=12, width=768, hidden=1536) == 12 * block + 768 + 32768 * 768 == 95_963_904
    found = example("BAM-TAB1")
    assert found.inputs == {"name": "432M", "embedding": 50_331_648, "transformer": 380_677_632}
    assert found.actual == 431_009_280


def law(identifier, beginning):
    check = CHECKS[identifier]
    return next(each for each in (*check.statements, *check.corrected) if each.text.startswith(beginning))


def test_built_model_has_the_scalars_it_would_train():
    built = {row: law("BAM-TAB1", f"The built models have as many parameters in the {row}") for row in PARTS}
    assert {row: each.truth("120M") for row, each in built.items()} == PARTS
    assert [law("BAM-C22", "The built priors").truth(n, 16, 12) for n in (1, 2, 3)] == [192, 384, 576]
    assert law("BAM-E11", "With a third one").truth("120M", "SSMax") == 384 + 192


def test_a_small_model_counts_like_its_pieces():
    shape = {"vocabulary": 11, "width": 8, "layers": 3, "heads": 2, "hidden": 12}
    found = count(Transformer(ModelConfig(encoding="bam-location-ssmax", **shape)))
    assert found["embedding"] == 11 * 8
    assert found["transformer"] == sizes.transformer(3, 8, 12, vocabulary=11) + 2 * 3  # and SSMax
    assert found["prior"] == law("BAM-C22", "The built priors").truth(3, heads=2, layers=3) == 18
    assert count(Transformer(ModelConfig(encoding="bam", **shape)))["prior"] == 12
    assert count(Transformer(ModelConfig(encoding="bam-shared-ssmax", **shape)))["prior"] == 2 * 2


def test_e11_is_1008_at_432m():
    found = example("BAM-E11")
    assert found.inputs == {"scalars": 3, "heads": 24, "layers": 14} and found.actual == 3 * 24 * 14 == 1008


def test_share_of_the_conclusion():
    # 0.00032 %: 384 of the 120M model's parameters
    trained = law("BAM-C22", "The built priors").truth(2, 16, 12)
    assert 100 * trained / (sum(PARTS.values()) + trained) == pytest.approx(3.2e-4, abs=5e-6)


def test_c17_budget_and_batch():
    assert recipe.STEPS * recipe.TOKENS == 11_354_701_824
    assert recipe.TOKENS == 1152 * 512 == 6 * 48 * 2048
    assert example("BAM-C17").inputs == {"model": "432M", "rate": 5e-4}


def test_c17_a_document_is_seen_from_its_start():
    assert recipe.seen(6) == {6} and recipe.seen(8) == {6, 7, 8}
