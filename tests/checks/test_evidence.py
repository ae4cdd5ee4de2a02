"""The rule from evidence to verdict, and the law of every registered check: it can say no, and it can say yes."""

import functools
import json
import math

import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks import evidence as ev


def holds(statement) -> ev.Evidence:
    return ev.compare(bool(statement), "==", True)


def part(statement, **more) -> ev.Part:
    return ev.Part("a sentence", statement, holds, false=False, **more)


FIXED = part(True)


@pytest.mark.parametrize(
    ("printed", "corrected", "verdict"),
    [
        ((True, True), None, "verified"),
        ((True, True), FIXED, "verified"),
        ((True, False), FIXED, "verified with correction"),
        ((False, False), FIXED, "contradicted"),
        ((False,), FIXED, "contradicted"),
    ],
)
def test_rule(printed, corrected, verdict):
    check = ev.Check("BAM-X", tuple(part(p) for p in printed), corrected)
    assert check.decide().verdict == verdict


def test_a_check_that_does_not_cover_its_claim_is_inconclusive():
    gap = "gradients on a GPU"
    assert ev.Check("BAM-X", (part(True),), missing=gap).decide().verdict == "inconclusive"
    assert ev.Check("BAM-X", (part(False),), FIXED, missing=gap).decide().verdict == "contradicted"


@pytest.mark.parametrize("corrected", [None, part(False)])
def test_a_failing_claim_needs_a_corrected_statement_that_holds(corrected):
    with pytest.raises(ev.CheckError, match=r"BAM-X: .*correct"):
        ev.Check("BAM-X", (part(False),), corrected).decide()


def test_the_decisive_evidence_is_the_first_failure():
    example = {"inputs": {"n": 2}, "claimed": 1, "actual": 3}
    failing = ev.Part("no", 3, lambda s: ev.compare(s, "==", 1, 0.0, counterexample=example), false=4)
    decision = ev.Check("BAM-X", (part(True), failing), FIXED).decide()
    assert (decision.evidence.measured, decision.counterexample) == (3, example)
    assert decision.corrected == FIXED.text
    verified = ev.Check("BAM-X", (part(True),), FIXED).decide()
    assert (verified.counterexample, verified.corrected) == (None, "")


def test_the_frame_shows_every_sentence_and_the_correction_only_where_one_is_needed():
    example = {"inputs": {"n": 2}, "claimed": 1, "actual": 3}
    failing = ev.Part("no", 3, lambda s: ev.compare(s, "==", 1, 0.0, counterexample=example), false=4)
    shown = ev.Check("BAM-X", (part(True), failing), FIXED).frame()
    assert shown.index.tolist() == ["printed", "printed", "corrected"]
    assert shown["holds"].tolist() == [True, False, True]
    assert shown["measured"].iloc[1] == "3 == 1"
    assert shown["counterexample"].tolist() == ["", "n = 2: claimed 1, actual 3", ""]
    assert len(ev.Check("BAM-X", (part(True),), FIXED).frame()) == 1


@pytest.mark.parametrize(
    ("measured", "relation", "expected", "answer"),
    [
        (1.0, "==", 1.05, True),
        (1.0, "==", 1.2, False),
        (1.0, "!=", 1.2, True),
        (1.0, "<", 1.0, False),
        (1.0, "<=", 1.0, True),
        (2.0, ">", 1.0, True),
        (1.0, ">=", 1.5, False),
        (math.nan, "==", math.nan, False),
        (math.nan, "!=", 1.0, False),
        (math.nan, "<=", 1.0, False),
        (math.inf, "==", math.inf, True),
        ("n/a", "==", "n/a", True),
        (True, "==", False, False),
    ],
)
def test_compare(measured, relation, expected, answer):
    assert ev.compare(measured, relation, expected, 0.1).holds is answer


def test_unknown_relation_is_named():
    with pytest.raises(ev.CheckError, match="unknown relation '~'"):
        ev.compare(1, "~", 1)


def test_smallest_counterexample_is_the_first_candidate_that_fails():
    candidates = [{"n": n} for n in range(5)]

    def square_is_double(factor, n):
        return factor * n, n * n

    found = ev.smallest_counterexample(square_is_double, 2, candidates)
    assert found == {"inputs": {"n": 1}, "claimed": 2, "actual": 1}
    assert ev.smallest_counterexample(square_is_double, 2, [{"n": 0}, {"n": 2}]) is None


def test_counting_and_plain_numbers():
    import numpy as np

    inputs = {"p": [np.float64(0.5), 0.5], "n": np.int64(3), "flag": np.bool_(True)}
    assert ev.count_numbers(inputs) == 4
    assert json.dumps(ev.plain(inputs)) == '{"p": [0.5, 0.5], "n": 3, "flag": true}'


def test_an_empirical_claim_without_sentences_is_shown_as_one():
    found = ev.Finding("agrees", 0.4, ">", 0.0, interval=(0.1, 0.7), detail="16 heads a seed")
    check = ev.EmpiricalCheck("BAM-X", ("m",), "paper", lambda frames: found, "x", lambda frames: frames)
    assert check.summary({}) == "1 of 1 sentence agrees"
    (row,) = check.frame({}).to_dict("records")
    assert "16 heads a seed" in row["sentence"] and row["95 % interval"] == "[0.1, 0.7]" and row["outcome"] == "agrees"


def test_an_empirical_outcome_must_be_known():
    check = ev.EmpiricalCheck(
        "BAM-X", ("m",), "paper", lambda frames: ev.Finding("maybe", 1, ">", 0), "x", lambda frames: frames
    )
    with pytest.raises(ev.CheckError, match="maybe"):
        check.verdict("smoke", {})


# ---- every registered check

EXACT = {name: check for name, check in CHECKS.items() if isinstance(check, ev.Check)}


@functools.cache
def decide(identifier):
    return EXACT[identifier].decide()


PARTS = [(name, k) for name, check in EXACT.items() for k in range(len(check.printed))]


@pytest.mark.parametrize("identifier", EXACT)
def test_every_check_decides_and_is_filed_under_its_id(identifier):
    check, decision = EXACT[identifier], decide(identifier)
    assert check.id == identifier == decision.id
    known = ("inconclusive",) if check.missing else ("verified",)
    assert decision.verdict in (*known, "verified with correction", "contradicted")
    assert not any(isinstance(e.measured, float) and math.isnan(e.measured) for e in decision.printed)


@pytest.mark.parametrize(("identifier", "k"), PARTS)
def test_every_part_refutes_its_false_variant(identifier, k):
    evidence = EXACT[identifier].printed[k].judge_false()
    assert not evidence.holds, evidence


@pytest.mark.parametrize("identifier", [name for name, check in EXACT.items() if check.corrected])
def test_every_corrected_statement_holds_and_refutes_its_false_variant(identifier):
    corrected = EXACT[identifier].corrected
    assert corrected.judge().holds
    assert not corrected.judge_false().holds


@pytest.mark.parametrize(("identifier", "k"), PARTS)
def test_the_checker_of_a_failing_part_can_say_yes(identifier, k):
    check, failing = EXACT[identifier], EXACT[identifier].printed[k]
    if decide(identifier).printed[k].holds:
        return
    if failing.repaired is not None:
        assert failing.check(failing.repaired).holds
    else:
        assert failing.check is check.corrected.check, f"{identifier}: give the failing part `repaired`"


@pytest.mark.parametrize(("identifier", "k"), PARTS)
def test_every_counterexample_is_small_and_follows_from_the_printed_formula(identifier, k):
    printed, found = EXACT[identifier].printed[k], decide(identifier).printed[k].counterexample
    if found is None:
        return
    assert 1 <= ev.count_numbers(found["inputs"]) <= 5
    claimed, actual = printed.evaluate(printed.statement, **found["inputs"])
    assert ev.agree(claimed, found["claimed"]) and ev.agree(actual, found["actual"])
    assert not ev.agree(found["claimed"], found["actual"], 1e-9)


@pytest.mark.parametrize("identifier", EXACT)
def test_every_failing_claim_has_a_counterexample(identifier):
    decision = decide(identifier)
    replaced = decision.verdict in ("verified with correction", "contradicted")
    assert replaced == (decision.counterexample is not None) == bool(decision.corrected)
