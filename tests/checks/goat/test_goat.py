"""Goat's claims about passkeys, needles, text and offsets where they hold, where they fail, and with one seed."""

import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.goat import language, retrieval
from attention_priors.checks.passkey.runs import BY_LENGTH
from attention_priors.experiments import goat_offsets
from checks.goat import worlds
from checks.goat.worlds import CODE, PAPER, as_claimed, the_reverse

IDS = [f"GOAT-{name}" for name in ("F2a", "F3a", "F3b", "F3c", "C-6", "C-7", "C-10", "E.3")]


def frames(rule=as_claimed, seeds=worlds.SEEDS, **other):
    made = {
        retrieval.COUNTS: worlds.counts(rule, seeds=seeds, early=0.7),
        retrieval.HEADS: worlds.heads(seeds=seeds),
        retrieval.ANSWERS: worlds.needles(rule, seeds=seeds),
        BY_LENGTH: worlds.prompts(0.1, 0.3, seeds=seeds),
        language.PERPLEXITY: worlds.perplexity(worlds.text(seeds=seeds)),
        language.TOTALS: goat_offsets.totals(worlds.offsets({PAPER: 1.0, "goat-rope": 0.5}, seeds=seeds)),
    }
    return made | other


def outcomes(name, given):
    return [each.outcome for each in CHECKS[name].judged(given)]


@pytest.mark.parametrize("name", IDS)
def test_the_claim_holds_where_all_is_as_it_says(name):
    assert set(outcomes(name, frames())) == {"agrees"}
    assert CHECKS[name].verdict("full", frames()).outcome == "agrees"


def failing():
    """Frames in which nothing is as it is said, by claim."""
    worse = worlds.text({PAPER: 0.3, CODE: 0.3}, {PAPER: 0.3, CODE: 0.3, "rope": 0.0})
    rotated = {name: 0.5 if name == "goat-rope" else 0.9 for name in worlds.ROWS}
    return {
        "GOAT-F2a": frames(**{language.PERPLEXITY: worlds.perplexity(worse)}),
        "GOAT-F3a": frames(the_reverse),
        "GOAT-F3b": frames(**{retrieval.HEADS: worlds.heads(-0.2, -0.2)}),
        "GOAT-F3c": frames(the_reverse, **{retrieval.COUNTS: worlds.counts(early=0.2)}),
        "GOAT-C-6": frames(**{language.PERPLEXITY: worlds.perplexity(worse)}),
        "GOAT-C-7": frames(the_reverse),
        "GOAT-C-10": frames(the_reverse, **{BY_LENGTH: worlds.prompts(1.0)}),
        "GOAT-E.3": frames(
            lambda name, multiple: 1.0 if name == "goat-rope" else 0.2,
            **{
                language.TOTALS: goat_offsets.totals(worlds.offsets()),
                language.PERPLEXITY: worlds.perplexity(worlds.text(rotated)),
            },
        ),
    }


@pytest.mark.parametrize("name", IDS)
def test_every_sentence_fails_where_the_opposite_is_so(name):
    found = outcomes(name, failing()[name])
    # What both forms, or all rivals, keep alike is no lead and no loss: undecided, never agreed.
    assert "agrees" not in found and "disagrees" in found, found
    assert CHECKS[name].verdict("full", failing()[name]).outcome == "disagrees"


@pytest.mark.parametrize("name", IDS)
def test_one_seed_decides_nothing_that_an_interval_over_seeds_has_to(name):
    assert "disagrees" not in outcomes(name, frames(seeds=(0,)))
    assert "undecided" in outcomes(name, frames(seeds=(0,)))


def test_a_run_that_misses_its_gate_decides_nothing():
    lost = frames(**{retrieval.COUNTS: worlds.counts(missed=[PAPER], early=0.7)})
    found = CHECKS["GOAT-F3a"].judged(lost)
    assert [each.outcome for each in found] == ["undecided"] * 3 + ["agrees"] * 3
    assert "gate missed: goat-composite (seed 0, 1, 2)" in found[0].note
    deaf = frames(**{language.PERPLEXITY: worlds.perplexity(worlds.text(missed=[PAPER]))})
    assert outcomes("GOAT-F2a", deaf) == ["undecided", "agrees", "undecided", "agrees"]


def test_the_code_s_row_of_any_training_length_stands_for_the_code():
    longer = {name: "goat-code-1024" if name == CODE else name for name in worlds.ROWS}
    given = frames()
    for metric in (retrieval.COUNTS, retrieval.HEADS, language.PERPLEXITY):
        given[metric] = given[metric].replace({"encoding": longer})
    for name in ("GOAT-F3a", "GOAT-F3b"):
        assert set(outcomes(name, given)) == {"agrees"}


def test_a_profile_without_the_needle_or_the_rotated_form_says_so():
    other = frames(**{retrieval.ANSWERS: worlds.needles(task="single-2")})
    found = CHECKS["GOAT-C-7"].judged(other)
    assert found[-1].outcome == "undecided" and "no task single-1" in found[-1].note
    alone = goat_offsets.totals(worlds.offsets()[lambda rows: rows["encoding"] == PAPER])
    found = CHECKS["GOAT-E.3"].judged(frames(**{language.TOTALS: alone}))[0]
    assert found.outcome == "undecided" and found.note == "not in this profile: goat-rope"


def test_where_nobody_learns_the_offsets_nothing_is_decided():
    none = goat_offsets.totals(worlds.offsets({PAPER: 0.1, "goat-rope": 0.2}))
    found = CHECKS["GOAT-E.3"].judged(frames(**{language.TOTALS: none}))[0]
    assert (found.outcome, found.note) == ("undecided", "no run learned the task")


def test_digits_are_counted_in_prompts():
    data = retrieval.Spans(worlds.counts(lambda name, multiple: 0.5, seeds=(0, 1)))
    assert data.counts("rope", [256]) == {0: (20, 40), 1: (19.8, 40)}  # 100 and 99 of 200 digits
    assert data.at("rope", 256).value == pytest.approx(199 / 400)
    assert data.past("rope", "alibi") == [256, 512, 1024, 2048] and data.row("goat-code") == "goat-code"


def test_needles_that_were_not_asked_do_not_count_as_passkeys():
    rows = worlds.needles()
    data = retrieval.needles(pd.concat([rows, worlds.needles(the_reverse, task="single-2")]))
    assert "untrained" not in {name for name, _ in data.runs} and data.counts(PAPER, [256])[0] == (40, 40)
