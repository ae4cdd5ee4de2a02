"""The one evaluator of laws and findings, and what holds of every law of the table."""

import functools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sympy

from attention_priors import claims
from attention_priors.checks import CHECKS
from attention_priors.claims import law as laws
from attention_priors.claims.finding import (
    UNKNOWN,
    Estimate,
    Finding,
    exactly,
    judge,
    largest,
    lead,
    mean,
    share,
    smallest,
    unknown,
)
from attention_priors.claims.law import Law, LawError, Reading, claim, gap
from attention_priors.positions.priors import alibi_slopes
from attention_priors.theory import generalised_gaussian, inference

NUMBERS = [{"n": n} for n in (1, 2, 3)]


def square(n):
    return n * n


def law(says=lambda n: n**2, wrong=lambda n: n**3, **more):
    return Law("a sentence", says, more.pop("truth", square), more.pop("cases", NUMBERS), wrong=wrong, **more)


DOUBLE = law(lambda n: 2 * n)
FIXED = law()


@pytest.mark.parametrize(
    ("sentences", "verdict", "summary"),
    [
        ((law(), law()), "verified", "2 of 2 sentences hold"),
        ((law(), DOUBLE), "verified with correction", "1 of 2 sentences hold"),
        ((DOUBLE, DOUBLE), "contradicted", "0 of 2 sentences hold"),
        ((DOUBLE,), "contradicted", "0 of 1 sentence holds"),
        ((law(), Reading("a slip", "words", "p. 1")), "verified", "1 of 1 sentence holds, 1 read"),
        ((Reading("a slip", "words", "p. 1"),), "inconclusive", "0 of 0 sentences hold, 1 read"),
    ],
)
def test_the_verdict_follows_from_the_share_that_holds(sentences, verdict, summary):
    check = claim("BAM-T4", *sentences, corrected=FIXED)
    found = check.verdict("theory")
    assert (found.verdict, check.summary()) == (verdict, summary)
    assert [each.text for each in found.sentences] == [each.text for each in sentences]


def test_a_claim_that_no_law_covers_whole_is_inconclusive():
    gap_in_it = claim("BAM-T4", law(), missing="gradients on a GPU").verdict("theory")
    assert (gap_in_it.verdict, gap_in_it.outcome, gap_in_it.opposite) == (
        "inconclusive",
        "undecided",
        "gradients on a GPU",
    )
    assert claim("BAM-T4", DOUBLE, corrected=FIXED, missing="more").verdict("theory").verdict == "contradicted"


def test_the_smallest_failing_case_is_the_counterexample():
    found = claim("BAM-T4", law(), DOUBLE, corrected=FIXED).verdict("theory")
    assert found.counterexample.model_dump() == {"inputs": {"n": 1}, "claimed": 2, "actual": 1}
    assert (found.measured, found.relation, found.expected_value) == (1, "==", 2)
    assert found.sentences[1].model_dump() | {"note": ""} == {
        "text": "a sentence", "found": "fails", "how": "all cases", "tried": 3, "failed": 2, "note": ""
    }  # fmt: skip
    witnessed = law(lambda n: 2 * n, witness=[{"n": 5}]).judge()
    assert (witnessed.decisive.case, len(witnessed.trials), witnessed.failed) == ({"n": 5}, 4, 3)


def test_what_is_measured_of_a_law_that_holds():
    near = law(lambda n: n**2 + 1e-12 * n, lambda n: n**2 + 1, truth=lambda n: float(n * n))
    found = claim("BAM-T4", near).verdict("theory")
    assert found.measured == pytest.approx(3e-12, rel=1e-3) and (found.relation, found.expected_value) == ("<=", 1e-9)
    counted = claim("BAM-T4", law()).verdict("theory")
    assert (counted.measured, counted.relation, counted.expected_value) == (0, "==", 0)
    alone = claim("BAM-T4", law(9, 8, cases=[{"n": 3}])).verdict("theory")
    assert (alone.measured, alone.relation, alone.expected_value) == (9, "==", 9)


def test_relations_and_their_slack():
    below = law(lambda n: n, lambda n: n + 1, relation="<=")
    assert below.decide("here").holds
    touching = law(lambda n: n * n + 1e-12, lambda n: n * n + 1, relation="<=")
    assert touching.judge().holds and not law(lambda n: n * n, lambda n: n + 9, relation="<").judge().holds
    above = law(lambda n: n * n + 1, lambda n: n * n, relation=">")
    assert above.decide("here").holds
    strict = law(lambda n: n * n, lambda n: n, relation="!=", truth=lambda n: n)
    assert not strict.judge().holds and strict.judge().decisive.case == {"n": 1}
    arrays = law(lambda n: np.full(2, n), lambda n: np.array([n, 99.0]), relation="<=")
    assert arrays.decide("here").holds
    assert not law(lambda n: math.nan, 0, relation="<=").judge().holds
    assert claim("BAM-T4", above).verdict("theory").relation == "<"  # measured against what is said


def test_some_case_suffices_where_the_law_says_so():
    exists = law(lambda n: 2 * n, lambda n: 2 * n + 1, quantifier="exists")
    found = exists.decide("here")
    assert found.holds and found.decisive.case == {"n": 2} and exists.sentence(found).how == "some case"
    assert not law(-1, -2, quantifier="exists").judge().holds


def test_a_tolerance_may_depend_on_the_case():
    draws = law(lambda n: n * n + 0.1 * n, lambda n: n * n + n, tolerance=lambda n: 0.2 * n)
    assert draws.decide("here").holds and draws.judge().decisive.tolerance == pytest.approx(0.6)


def test_a_truth_that_takes_the_sentence_returns_what_is_claimed_and_what_is_true():
    def roots(says, n):
        return 0.0, float(abs(says(n)))

    solved = law(lambda n: n - n, lambda n: n - 1, truth=roots)
    assert solved.takes_sentence and solved.decide("here").holds
    with pytest.raises(LawError, match="give `repaired`"):
        law(lambda n: n - 1, lambda n: n - 2, truth=roots).decide("here")
    assert not law(lambda n: n - 1, lambda n: n - 2, truth=roots, repaired=lambda n: 0).decide("here").holds


def test_a_proof_is_called_symbolic_and_not_one_case():
    x = sympy.Symbol("x")
    proof = Law("a square", (x + 1) ** 2, x**2 + 2 * x + 1, wrong=x**2 + 1, symbolic=True)
    found = claim("BAM-T4", proof).verdict("theory")
    assert found.sentences[0].how == "symbolic" and found.sentences[0].tried is None
    false = Law("a square", x**2 + 1, (x + 1) ** 2, wrong=x**2 - 1, symbolic=True)
    with pytest.raises(LawError, match="refuted symbolically; add a law with a case that shows it"):
        claim("BAM-T4", false, corrected=FIXED).verdict("theory")
    shown = law(lambda n: n * n + 1, lambda n: n * n + 2, truth=lambda n: (n + 1) ** 2)
    assert claim("BAM-T4", false, shown, corrected=FIXED).verdict("theory").counterexample.inputs == {"n": 1}


def test_a_corrected_claim_has_no_automatic_outcome():
    empirical = claims.find("BAM-C4")
    assert (empirical.kind, empirical.scale) == ("empirical", "cpu")
    assert claim("BAM-C4", law()).verdict("theory").outcome == "agrees"
    assert claim("BAM-C4", DOUBLE, corrected=FIXED).verdict("theory").outcome == "disagrees"
    assert claim("BAM-C4", law(), DOUBLE, corrected=FIXED).verdict("theory").outcome is None


def build(*sentences, **more):
    return lambda: claim("BAM-T4", *sentences, **more).verdict("theory")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: claim("BAM-T4"), "has no sentence; give a Law"),
        (lambda: claim("BAM-T4", law(cases=[])), "has no cases; give at least one"),
        (lambda: claim("BAM-T4", law(cases=[{"m": 1}])), "its truth takes n, which the case {'m': 1} lacks"),
        (lambda: claim("BAM-T4", law(lambda m: m)), "its sentence takes m, which the case {'n': 1} lacks"),
        (lambda: claim("BAM-T4", law(tolerance=math.inf)), "nothing can miss a tolerance of inf; give a finite one"),
        (lambda: claim("BAM-T4", law(relation="~")), "unknown relation '~'"),
        (lambda: claim("BAM-T4", law(quantifier="most")), "unknown quantifier 'most'"),
        (lambda: claim("BAM-T4", Reading("a slip", "", "p. 1")), "needs a quotation and its place"),
        (build(law(tolerance=99.0)), "its `wrong` passes (tolerance 99)"),
        (build(law(wrong=square)), "its `wrong` passes"),
        (build(law(truth=lambda n: math.nan)), "so does its truth in its place; give `repaired`"),
        (build(law(lambda n: n, lambda n: n + 1, relation=">=")), "give `repaired`"),
        (build(law(truth=lambda n: 1 / (n - 2))), "its truth cannot take the case {'n': 2} (division by zero)"),
        (build(DOUBLE), "fails; add `corrected`, the law that holds instead"),
        (build(DOUBLE, corrected=law(lambda n: 3 * n)), "its correction fails too at {'n': 1}"),
        (lambda: laws.claims(claim("BAM-T4", FIXED), claim("BAM-T4", FIXED)), "is decided twice; keep one"),
        (lambda: claim("BAM-T4", Finding("f", UNKNOWN, "==", 0, metrics=("m",))), "cannot be judged by an interval"),
        (lambda: claim("BAM-T4", Finding("f", UNKNOWN, ">", 0, metrics=())), "reads no metrics; name them"),
    ],
)
def test_what_could_decide_nothing_is_one_line_with_file_claim_and_remedy(make, message):
    with pytest.raises(LawError) as error:
        make()
    text = str(error.value)
    assert message in text and "BAM-T4" in text and "test_laws.py" in text and "\n" not in text


@pytest.mark.parametrize(
    ("claimed", "actual", "distance"),
    [
        (1, 1.5, 0.5),
        (Fraction(1, 3), Fraction(1, 3), 0.0),
        (math.inf, math.inf, 0.0),
        (math.inf, 1.0, math.inf),
        ([1, [2, 3]], (1, (2, 5)), 2.0),
        ([1, 2], [1], math.inf),
        ({"a": 1.0}, {"a": 1.25}, 0.25),
        ({"a"}, {"a"}, 0.0),
        ("yes", "no", math.inf),
        (True, 1.0, 0.0),
        (True, False, math.inf),
        (np.array([1.0, np.inf]), [1.0, np.inf], 0.0),
        (np.ones((2, 2)), np.ones(4), math.inf),
        (1 + 1j, 1, 1.0),
    ],
)
def test_the_gap_of_two_values(claimed, actual, distance):
    assert gap(claimed, actual) == distance


def test_a_grid_has_every_combination_the_last_name_fastest():
    assert laws.grid(n=(1, 2), m=(3, 4)) == [{"n": n, "m": m} for n in (1, 2) for m in (3, 4)]


def test_nan_is_no_gap():
    assert math.isnan(gap(math.nan, math.nan)) and math.isnan(gap(np.array([1.0, np.nan]), np.array([1.0, np.nan])))


def test_a_truth_that_rests_on_what_its_sentence_rests_on_is_circular():
    slopes = "attention_priors.positions.priors.alibi_slopes"
    assert slopes in law(alibi_slopes, truth=functools.partial(alibi_slopes, heads=8)).circular()
    assert law(lambda n: 2 ** (-8 / n), truth=alibi_slopes).circular() == []
    closed = "attention_priors.theory.inference.posterior"
    assert closed in law(generalised_gaussian.coded, truth=inference.posterior).circular()  # two closed forms
    assert law(alibi_slopes, truth=inference.posterior).circular() == []


# ---- findings


def estimate(low, high, seeds=(0, 1)):
    """An estimate whose interval widens with the level: the 95 % one is given."""
    value = (low + high) / 2

    def interval(level):
        wide = (high - low) / 2 * (1 + 20 * (level - 0.95))
        return value - wide, value + wide

    return Estimate(value, interval, seeds)


def finding(low, high, relation=">", bound=0.0, **more):
    return Finding("f", lambda frames: estimate(low, high), relation, bound, metrics=("m",), **more)


@pytest.mark.parametrize(
    ("found", "outcome", "note"),
    [
        (finding(0.1, 0.3), "agrees", ""),
        (finding(-0.1, 0.3), "undecided", ""),
        (finding(-0.3, -0.1), "disagrees", ""),
        (finding(-0.3, -0.1, "<"), "agrees", ""),
        (finding(0.1, 0.3, "<="), "disagrees", ""),
        (finding(0.1, 0.3, margin=0.2), "agrees", ""),
        (finding(0.02, 0.04, margin=0.05), "undecided", "smaller than 0.05, our margin"),
        (finding(-0.02, 0.04, margin=0.05), "undecided", "smaller than 0.05, our margin"),
        (finding(-0.2, -0.1, margin=0.05), "disagrees", ""),
        (finding(0.1, 0.3, ours=True, bound=0.05), "agrees", "0.05 is our bound"),
        (Finding("f", lambda frames: UNKNOWN, ">", 0, metrics=("m",)), "undecided", "not measured, or its gate missed"),
    ],
)
def test_intervals_decide_and_margins_are_said(found, outcome, note):
    (judged,) = judge([found], {})
    assert (judged.outcome, judged.note) == (outcome, note)


def test_one_of_several_disagrees_only_after_holm():
    barely = finding(-0.3, -0.01)
    assert [each.outcome for each in judge([barely], {})] == ["disagrees"]
    both = judge([barely, finding(0.1, 0.3)], {})
    assert [each.outcome for each in both] == ["undecided", "agrees"] and "correcting for the number" in both[0].note
    clear = finding(-9.0, -8.0)  # excluded at every level: the other then stands alone
    assert [each.outcome for each in judge([barely, clear], {})] == ["disagrees", "disagrees"]


def test_the_ledger_keeps_the_finding_that_decides():
    check = claim("BAM-C1", finding(0.1, 0.3), finding(-9.0, -8.0), recipe="paper")
    found = check.verdict("cpu", {"m": pd.DataFrame()})
    assert (found.verdict, found.outcome, found.measured, found.seeds) == (
        "scaled reproduction",
        "disagrees",
        -8.5,
        [0, 1],
    )
    assert found.evidence == ["metrics/m.csv"] and "disagrees with one at or below it" in found.opposite
    assert check.summary({}) == "1 of 2 sentences agree"
    assert check.frame({})["found"].tolist() == ["agrees", "disagrees"]
    open_ = claim("BAM-C1", finding(0.1, 0.3), finding(-1.0, 1.0), recipe="paper")
    assert open_.verdict("cpu", {}).verdict == "inconclusive" and open_.summary({}).endswith("agree, 1 undecided")


def test_estimates_are_made_once_for_fixed_frames():
    asked = []
    counting = Finding("f", lambda frames: asked.append(1) or estimate(1, 2), ">", 0, metrics=("m",))
    fixed = claim("BAM-C1", counting, recipe="paper").fixed({})
    fixed.summary({}), fixed.frame({}), fixed.verdict("cpu", {})
    assert asked == [1]


def test_estimates_over_seeds():
    means = mean({0: 1.0, 1: 3.0})
    low, high = means.interval(0.95)
    assert (means.value, means.seeds) == (2.0, (0, 1)) and high - 2 == pytest.approx(12.706, rel=1e-4)
    assert means.interval(0.99)[1] > high
    assert (means - mean({1: 2.0, 2: 2.0})).interval(0.95) == pytest.approx((low - 2, high - 2))
    half = share({0: (5, 10), 1: (5, 10)})
    assert half.value == 0.5 and half.interval(0.99)[0] < half.interval(0.95)[0] < 0.5
    assert mean({0: 0.5, 1: 0.9}, within=(-1, 1)).interval(0.95) == (-1, 1)
    assert math.isnan(mean({}).value) and mean({0: 1.0}).interval(0.95) == (-math.inf, math.inf)


def test_a_lead_is_taken_within_the_seeds_of_both():
    found = lead({0: (9, 10), 1: (5, 10), 2: (1, 10)}, {1: (2, 10), 2: (0, 10), 7: (10, 10)})
    assert found.value == pytest.approx(0.2) and found.seeds == (1, 2) and found.interval(0.95) == (-1.0, 1.0)
    equal = lead({s: (10, 10) for s in range(5)}, {s: (0, 10) for s in range(5)}).interval(0.95)
    assert equal == pytest.approx((1 - math.hypot(*[1 - 0.025 ** (1 / 50)] * 2), 1.0))  # no point, though seeds agree
    assert math.isnan(lead({0: (1, 2)}, {1: (1, 2)}).value)


def test_the_largest_of_several_knows_their_number_and_what_is_unknown():
    two = {"a": estimate(0.1, 0.3), "b": estimate(0.2, 0.6)}
    found = largest(two)
    assert found.value == 0.4 and found.note == "decided by b"
    low, high = found.interval(0.95)
    assert high == pytest.approx(0.6) and low == pytest.approx(two["b"].interval(0.975)[0])
    some = largest(two | {"c": unknown("c was not trained")})
    assert some.interval(0.95) == (pytest.approx(low), math.inf) and some.note.endswith("; c was not trained")
    least = smallest(two)
    assert least.value == 0.2 and least.interval(0.95) == pytest.approx((0.1, two["a"].interval(0.975)[1]))
    nothing = smallest({"c": unknown("c was not trained")})
    assert math.isnan(nothing.value) and nothing.note == "c was not trained"
    assert exactly(3.0).interval(0.999) == (3.0, 3.0)


def test_the_note_of_an_estimate_stands_in_its_row():
    (row,) = judge([Finding("f", lambda frames: unknown("a is missing"), ">", 0, metrics=("m",), ours=True)], {})
    assert (row.outcome, row.note) == ("undecided", "0 is our bound; a is missing")


@pytest.mark.parametrize(
    ("ends", "told"),
    [((0.1, 0.2), "[0.1, 0.2]"), ((0.1, math.inf), "[0.1, ∞)"), ((-math.inf, 2.0), "(−∞, 2]"),
     ((-math.inf, math.inf), "–")],
)  # fmt: skip
def test_an_interval_with_one_end_is_shown(ends, told):
    (row,) = judge([Finding("f", lambda frames: Estimate(0.15, lambda level: ends), ">", 0, metrics=("m",))], {})
    assert row.row()["95 % interval"] == told


# ---- every law of the table

LAWS = {name: check for name, check in CHECKS.items() if isinstance(check, laws.Check)}
DECIDED = [(name, law) for name, check in LAWS.items() for law in (*check._of(Law), *check.corrected)]


@pytest.mark.parametrize("identifier", LAWS)
def test_every_law_refuses_its_near_variant_and_can_say_yes(identifier):
    check = LAWS[identifier]
    assert check.id == identifier and check.laws is not None  # LawError otherwise
    fails = [law for law, found in check.laws if not found.holds]
    assert all(found.holds for _, found in check.replacement) and bool(fails) == bool(check.replacement)


@pytest.mark.parametrize(("identifier", "law"), DECIDED, ids=lambda each: getattr(each, "text", each))
def test_no_truth_rests_on_what_its_sentence_rests_on(identifier, law):
    shared = law.circular()
    assert not shared, f"{LAWS[identifier].file}: {identifier}: {law.text!r} is judged by {shared}; take another truth"


@pytest.mark.parametrize("identifier", LAWS)
def test_every_counterexample_recomputes_from_what_the_row_prints(identifier):
    check = LAWS[identifier]
    if check.metrics or (shown := check.verdict("theory").counterexample) is None:
        return
    failing = next(law for law, found in check.laws if not found.holds and not law.symbolic)
    again = replace(failing, cases=[shown.inputs], witness=()).judge()
    assert not again.holds and failing.counterexample(again) == shown.model_dump()


def test_a_broken_evaluator_is_noticed(monkeypatch):
    monkeypatch.setattr(laws, "gap", lambda claimed, actual: 0.0)
    with pytest.raises(LawError, match="its `wrong` passes"):
        law().decide("here")
