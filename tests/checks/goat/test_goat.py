"""Goat's claims: digits counted in prompts, models that have not copied, heads that do not sink, rows renamed."""

import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.goat import retrieval
from checks.committed import frame, frames, notes, outcomes

COUNTS, ANSWERS, SINKS = retrieval.COUNTS, retrieval.ANSWERS, "sinks_heads"


def test_models_that_have_not_copied_decide_nothing_about_priors():
    rows = frame("copying_judged")
    none = {"copying_judged": rows.assign(copied=rows["copied"] & (rows["encoding"] != "goat-eight"))}
    assert outcomes("GOAT-F1", none) == ["undecided"] * 4
    assert "no model of goat-eight has copied" in notes("GOAT-F1", none)[0]


def test_without_a_head_that_sinks_nothing_is_said_of_sinks():
    rows = frame(SINKS)
    for name, place in (("rope", 0), ("alibi", 1)):
        none = {SINKS: rows.assign(mass=rows["mass"].mask(rows["encoding"] == name, 0.1))}
        assert outcomes("GOAT-CSINK", none)[place] == "undecided"
        assert f"no head of {name} sinks" in notes("GOAT-CSINK", none)[place]


def test_a_line_of_u_decides_nothing():
    rows = frame(SINKS)
    found = CHECKS["GOAT-F2b"].judged({SINKS: rows.assign(rise=-rows["rise"].abs() - 1)})
    assert found[2].outcome == "disagrees" and not found[2].finding.decides


@pytest.mark.parametrize(("name", "metric"), [("GOAT-F3a", COUNTS), ("GOAT-F2b", SINKS)])
def test_the_code_s_row_of_any_training_length_stands_for_the_code(name, metric):
    rows = frame(metric).replace({"encoding": {"goat-code": "goat-code-2048"}})
    assert outcomes(name, {metric: rows}) == outcomes(name, frames(name))


def test_a_profile_without_the_needle_says_so_and_other_needles_are_no_passkeys():
    rows = frame(ANSWERS)
    other = frames("GOAT-C-7", **{ANSWERS: rows[rows["task"] != "single-1"]})
    assert outcomes("GOAT-C-7", other)[-1] == "undecided" and "no task single-1" in notes("GOAT-C-7", other)[-1]
    wrong = rows.assign(right=rows["right"].where(rows["task"] == "single-1", 0))
    untrained = wrong.assign(right=wrong["right"].mask(wrong["encoding"] == "untrained", 0))
    found, before = (CHECKS["GOAT-C-7"].judged(frames("GOAT-C-7", **{ANSWERS: each})) for each in (untrained, rows))
    assert (found[-1].estimate.value, found[-1].note) == (before[-1].estimate.value, before[-1].note)


def test_where_nobody_learns_the_offsets_nothing_is_decided():
    rows = frame("goat_offset_totals")
    none = frames("GOAT-E.3", goat_offset_totals=rows.assign(correct=rows["samples"] // 10))
    assert outcomes("GOAT-E.3", none)[2] == "undecided" and "no run learned the task" in notes("GOAT-E.3", none)[2]


def test_digits_are_counted_in_prompts():
    rows = pd.DataFrame(
        [("rope", seed, length, 40, digits, 40, 128) for seed in (0, 1) for length, digits in ((96, 200), (128, 200))]
        + [("rope", 0, 256, 10, 100, 40, 128), ("rope", 1, 256, 10, 99, 40, 128)],
        columns=["encoding", "seed", "length", "correct", "digits", "samples", "trained"],
    )
    data = retrieval.Spans(rows)
    assert data.counts("rope", [256]) == {0: (20, 40), 1: (19.8, 40)}  # 100 and 99 of 200 digits
    assert data.at("rope", 256).value == pytest.approx(199 / 400)
