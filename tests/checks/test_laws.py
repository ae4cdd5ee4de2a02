"""The one evaluator of laws and findings, and what holds of every law of the table."""

import ast
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
from attention_priors.checks.measured import measuring
from attention_priors.claims import law as laws
from attention_priors.claims import quotations, reach
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
from attention_priors.commands import claim as command
from attention_priors.positions.priors import alibi_slopes
from attention_priors.theory import generalised_gaussian, inference

NUMBERS = [{"n": n} for n in (1, 2, 3)]


def square(n):
    return n * n


def law(says=lambda n: n**2, wrong=lambda n: n**3, **more):
    return Law("a sentence", says, more.pop("truth", square), more.pop("cases", NUMBERS), wrong=wrong, **more)


SAID = {"quote": "twice the number", "place": "§2.4, Theorem 4"}
DOUBLE = law(lambda n: 2 * n, **SAID)
FIXED = law()
MILD = {"severity": "needs a repair"}


def deciding(*sentences, corrected=(), **more):
    """A claim of these statements, mended by one correction unless told otherwise."""
    return claim("BAM-T4", *sentences, corrected=corrected, **MILD | more)


@pytest.mark.parametrize(
    ("sentences", "verdict", "summary"),
    [
        ((law(), law()), "verified", "2 of 2 statements hold"),
        ((law(), DOUBLE), "verified with correction", "1 of 2 statements hold"),
        ((DOUBLE, DOUBLE), "contradicted", "0 of 2 statements hold"),
        ((DOUBLE,), "contradicted", "0 of 1 statement holds"),
        ((law(), Reading("a slip", "words", "p. 1")), "verified", "1 of 1 statement holds, 1 read"),
        ((Reading("a slip", "words", "p. 1"),), "inconclusive", "0 of 0 statements hold, 1 read"),
    ],
)
def test_the_verdict_follows_from_the_share_that_holds(sentences, verdict, summary):
    fails = sum(each is DOUBLE for each in sentences)
    check = deciding(*sentences, corrected=[FIXED] * fails)
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
    assert deciding(DOUBLE, corrected=FIXED, missing="more").verdict("theory").verdict == "contradicted"


def test_the_smallest_failing_case_is_the_counterexample():
    found = deciding(law(), DOUBLE, corrected=FIXED).verdict("theory")
    assert found.counterexample.model_dump() == {"inputs": {"n": 1}, "claimed": 2, "actual": 1}
    assert (found.measured, found.relation, found.expected_value) == (1, "==", 2)
    assert found.sentences[1].model_dump() == {
        "text": "a sentence",
        "found": "fails",
        "how": "all cases",
        "tried": 3,
        "failed": 2,
        "note": "",
        **SAID,
        "ours": False,
        "boundary": "",
        "instead": "a sentence",
    }
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
    failing = law(lambda n: n - 1, lambda n: n - 2, truth=roots, **SAID)
    assert "give `repaired`" in deciding(failing, corrected=FIXED).unanswered[0]
    assert not law(lambda n: n - 1, lambda n: n - 2, truth=roots, repaired=lambda n: 0).decide("here").holds


def test_a_proof_is_called_symbolic_and_not_one_case():
    x = sympy.Symbol("x")
    proof = Law("a square", (x + 1) ** 2, x**2 + 2 * x + 1, wrong=x**2 + 1, symbolic=True)
    found = claim("BAM-T4", proof).verdict("theory")
    assert found.sentences[0].how == "symbolic" and found.sentences[0].tried is None
    false = Law("a square", x**2 + 1, (x + 1) ** 2, wrong=x**2 - 1, symbolic=True, **SAID)
    with pytest.raises(LawError, match="refuted symbolically; add a law with a case that shows it"):
        deciding(false, corrected=FIXED).verdict("theory")
    shown = law(lambda n: n * n + 1, lambda n: n * n + 2, truth=lambda n: (n + 1) ** 2, **SAID)
    assert deciding(false, shown, corrected=[FIXED, FIXED]).verdict("theory").counterexample.inputs == {"n": 1}


def test_a_corrected_claim_has_no_automatic_outcome():
    empirical = claims.find("BAM-C4")
    assert (empirical.kind, empirical.scale) == ("empirical", "cpu")
    assert claim("BAM-C4", law()).verdict("theory").outcome == "agrees"
    assert claim("BAM-C4", DOUBLE, corrected=FIXED, **MILD).verdict("theory").outcome == "disagrees"
    assert claim("BAM-C4", law(), DOUBLE, corrected=FIXED, **MILD).verdict("theory").outcome is None


def build(*sentences, **more):
    def answered():
        check = claim("BAM-T4", *sentences, **MILD | more)
        if check.unanswered:
            assert check.verdict("theory").verdict == "contradicted", "it is shown, and refused in what is committed"
            raise LawError(check.unanswered[0])

    return answered


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
        (build(law(lambda n: 2 * n), corrected=FIXED), "fails and quotes nothing; give `quote` and `place`, or say"),
        (build(DOUBLE, corrected=FIXED, severity=""), "fails; give `severity`, one of breaks a result, needs"),
        (lambda: claim("BAM-T4", FIXED, severity="bad"), "severity 'bad' is none of breaks a result, needs a repair"),
        (
            build(DOUBLE, DOUBLE, corrected=FIXED),
            "answers nothing; say which of the 2 failing statements: answers=(1,)",
        ),
        (build(DOUBLE, corrected=law(answers=(2,))), "answers (2,); say which of the 1 failing statements"),
        (build(DOUBLE, DOUBLE, corrected=law(answers=(1,))), "fails; add `corrected`, the law that holds instead"),
        (build(law(quote="twice the number")), "needs both a quotation and its place"),
        (build(law(quote="two", place="§1")), "quotes too little to be found ('two'); give 12 characters or more"),
        (build(law(quote="n" * 241, place="§1")), "quotes 241 characters; at most 240 (two lines)"),
        (build(law(quote="twice the number", place="§1, page 3")), "names the place 'page 3'; after the section come"),
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


def test_a_parameter_is_not_the_global_of_its_name():
    tree = ast.parse("lambda a, b=c.d, *e: [a.x, f(b, e), (lambda g: g)(g)]")
    assert sorted(reach._names(tree)) == ["c", "c.d", "f", "g"]


# ---- what an author would accept


def test_what_is_ours_counts_for_nothing():
    ours = law(lambda n: 2 * n, ours=True)
    check = claim("BAM-T4", law(), ours, corrected=FIXED)
    found = check.verdict("theory")
    assert (found.verdict, check.summary(), found.corrected) == ("verified", "1 of 1 statement holds", None)
    assert [each.ours for each in found.sentences] == [False, True] and found.sentences[1].instead == "a sentence"
    alone = claim("BAM-T4", ours).verdict("theory")
    assert (alone.verdict, alone.outcome) == ("inconclusive", "undecided")
    assert deciding(DOUBLE, ours, corrected=law(answers=(1,))).verdict("theory").verdict == "contradicted"
    assert check.frame().index.tolist() == ["claim", "ours", "instead"]


def test_a_claim_that_no_document_states_needs_no_quotation():
    own = claim("X-4", law(lambda n: 2 * n), corrected=FIXED).verdict("theory")
    assert (own.verdict, own.severity) == ("contradicted", None)


def test_rounding_is_no_failure_and_a_stated_tolerance_is_meant():
    near = {"truth": lambda n: float(n * n)}
    assert law(lambda n: n * n * (1 + 9e-5), **near).judge().holds
    assert not law(lambda n: n * n * (1 + 2e-4), **near).judge().holds
    assert not law(lambda n: n * n * (1 + 9e-5), tolerance=0, **near).judge().holds
    assert law(lambda n: n * n * (1 + 9e-5), relation="<", **near).judge().holds
    assert not law(lambda n: float(n * n), relation="<", **near).judge().holds, "equality is no rounding"
    assert not law(lambda n: 100_001, truth=lambda n: 100_000).judge().holds, "whole numbers are exact"
    assert not law(lambda n: np.array([1.0, 2.001]), truth=lambda n: np.array([1.0, 2.0])).judge().holds
    small = {"truth": lambda n: np.array([1.0, 1e-6]), "relation": "<="}  # beside a large entry, yet an entry
    assert law(lambda n: np.array([1.00009, 1e-6]), **small).judge().holds
    assert not law(lambda n: np.array([1.0, 2e-6]), **small).judge().holds
    assert law(0.0, truth=lambda n: 0.0).judge().holds and not law(0.0, truth=lambda n: 1e-6).judge().holds


def test_a_theorem_that_fails_on_its_boundary_alone_holds_except_there():
    edge = law(lambda n: 2 * n, lambda n: 5, cases=[{"n": 1}], boundary="n = 1", **SAID)
    found = deciding(edge, corrected=FIXED, severity="editorial").verdict("theory")
    assert (found.verdict, found.severity) == ("verified with correction", "editorial")
    assert found.corrected == "Holds, except at n = 1. a sentence"
    both = deciding(edge, DOUBLE, corrected=[FIXED, FIXED]).verdict("theory")
    assert both.verdict == "contradicted" and "except" not in both.corrected


def test_corrections_answer_statements_one_to_one():
    three = replace(DOUBLE, text="second"), replace(FIXED, text="one"), replace(FIXED, text="two")
    found = deciding(DOUBLE, three[0], corrected=three[1:]).verdict("theory")
    assert [each.instead for each in found.sentences] == ["one", "two"] and found.corrected == "one two"
    both = replace(FIXED, text="both", answers=(1, 2))
    assert [each.instead for each in deciding(DOUBLE, three[0], corrected=both).verdict("theory").sentences] == [
        "both"
    ] * 2


TEXT = """Title
Abstract
We double each number.
1 Introduction
Here x𝑥x grows, “for all n”, as Table 2 says.
2.4 Numbers
Theorem 4. The double is α0\\alpha\\geq 0 of it, and twice the number.
Appendix B Proofs
B.1 Doubling
It is twice the number, again.
"""


@pytest.mark.parametrize(
    ("quote", "place", "said"),
    [
        ("twice the number", "§2.4, Theorem 4", None),
        ("twice the number", "App. B.1", None),
        ("twice the number", "App. B", None),
        ("We double each", "Abstract", None),
        ('Here $x$ grows, "for all n"', "Table 2", None),
        (r"double is $\alpha\geq 0$ of it", "§2.4", None),
        ("We double … Introduction", "Title", None),
        ("twice the numbers", "§2.4", "not in T: “twice the numbers”; nearest is “twice the number"),
        ("We double each", "§2.4", "stands in T, but not in §2.4"),
        ("twice the number", "§2.5", "T has no section '§2.5'"),
        ("twice the number", "§2.4, Theorem 5", "T has no Theorem 5"),
        ("twice the number", "Numbering", "T has no section 'Numbering'"),
    ],
)
def test_a_quotation_is_found_at_its_place_or_the_nearest_passage_is_named(quote, place, said):
    found = quotations.Document("T", TEXT.replace("\\\\", "\\")).objection(quote, place)
    assert found is None if said is None else said in found and "\n" not in found


def test_the_command_names_what_it_cannot_find(tmp_path, monkeypatch, capsys):
    assert command.main(["--quotations", str(tmp_path)]) == 2
    assert "lacks the text of BAM, GOAT, OPG, PE, PC" in capsys.readouterr().err
    for name in quotations.SOURCES:
        (tmp_path / name).write_text(f"{name} says little.")
    sums = {name: quotations._sum(tmp_path / name)[:16] for name in quotations.SOURCES}
    monkeypatch.setattr(quotations, "SOURCES", sums)
    assert command.main(["--quotations", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    count = sum(bool(law.quote) for check in LAWS.values() for law in check.statements)
    assert lines[-1] == f"{count} quotations, {count} not found" and len(lines) == count + 1


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
    assert check.summary({}) == "1 of 2 statements agree"
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
    [
        ((0.1, 0.2), "[0.1, 0.2]"),
        ((0.1, math.inf), "[0.1, ∞)"),
        ((-math.inf, 2.0), "(−∞, 2]"),
        ((-math.inf, math.inf), "–"),
    ],
)
def test_an_interval_with_one_end_is_shown(ends, told):
    (row,) = judge([Finding("f", lambda frames: Estimate(0.15, lambda level: ends), ">", 0, metrics=("m",))], {})
    assert row.row()["95 % interval"] == told


@pytest.mark.beyond
def test_what_the_runs_cannot_show_is_measured_and_decides_nothing():
    frames = {"m": pd.DataFrame({"size": [1]})}
    below = Estimate(0.1, lambda level: (0.05, 0.15), (0, 1))
    lacks = Finding("large models do", lambda frames: below, ">", 0.5, metrics=("m",), beyond="a larger model")
    small = replace(lacks, text="small ones do", relation="<", beyond=lambda frames: "" if len(frames["m"]) else "x")
    check = claim("BAM-F2", lacks, small)
    found = check.verdict("cpu", frames)
    assert (found.verdict, found.outcome) == ("inconclusive", "not testable here")
    assert [each.found for each in found.sentences] == ["not testable here", "agrees"]
    assert "large models do: not testable here (a larger model)" in found.opposite
    assert check.summary(frames) == "1 of 1 statement agrees, 1 not testable here"
    against = claim("BAM-F2", lacks, replace(small, relation=">")).verdict("cpu", frames)
    assert (against.verdict, against.outcome) == ("scaled reproduction", "disagrees"), "what can be tested decides"
    with pytest.raises(ValueError, match="is not testable here; use 'inconclusive'"):
        claims.Verdict.model_validate(found.model_dump() | {"verdict": "scaled reproduction", "evidence": ["m"]})


def test_a_control_of_ours_is_told_and_neither_decides_nor_counts_in_the_correction():
    said, control = finding(0.1, 0.3), replace(finding(-0.3, -0.1), text="a control", decides=False)
    check = claim("BAM-F2", said, control)
    found = check.verdict("cpu", {"m": pd.DataFrame()})
    assert (found.verdict, found.outcome) == ("scaled reproduction", "agrees")
    assert [(each.found, each.ours) for each in found.sentences] == [("agrees", False), ("disagrees", True)]
    assert "ours, decides nothing" in found.sentences[1].note and "a control" not in found.opposite.partition(". ")[0]
    assert check.summary({"m": pd.DataFrame()}) == "1 of 1 statement agrees"
    against = claim("BAM-F2", said, replace(control, decides=True)).verdict("cpu", {"m": pd.DataFrame()})
    assert against.outcome == "disagrees", "without the mark it would decide"
    close = finding(-0.3, -0.01)  # excluded alone; beside another that counts only after Holm's correction
    alone, beside = (judge([close, each], {})[0].outcome for each in (control, replace(said, text="another")))
    assert (alone, beside) == ("disagrees", "undecided")


def test_a_long_array_is_abridged_where_a_line_shows_it():
    assert claims.show([0.5] * 24) == "[" + ", ".join(["0.5"] * 24) + "]"
    assert claims.show([[1.0, 2.0]] * 13) == "[1, 2, 1, 2, 1, 2, ... 26 numbers]"


# ---- every law of the table

LAWS = {name: check for name, check in CHECKS.items() if isinstance(check, laws.Check)}
DECIDED = [(name, law) for name, check in LAWS.items() for law in (*check._of(Law), *check.corrected)]


@pytest.mark.parametrize("identifier", LAWS)
def test_every_law_refuses_its_near_variant_and_can_say_yes(identifier):
    check = LAWS[identifier]
    assert check.id == identifier and check.laws is not None  # LawError otherwise
    for lacking in check.unanswered:
        raise LawError(lacking)
    assert not check.wanting or check.replacement


@pytest.mark.parametrize(("identifier", "law"), DECIDED, ids=lambda each: getattr(each, "text", each))
def test_no_truth_rests_on_what_its_sentence_rests_on(identifier, law):
    shared = law.circular()
    assert not shared, f"{LAWS[identifier].file}: {identifier}: {law.text!r} is judged by {shared}; take another truth"


def test_a_broken_evaluator_is_noticed(monkeypatch):
    monkeypatch.setattr(laws, "gap", lambda claimed, actual: 0.0)
    with pytest.raises(LawError, match="its `wrong` passes"):
        law().decide("here")


@pytest.mark.parametrize(
    ("relation", "ends", "outcome"),
    [
        (">", (0.0, 0.2), "undecided"),
        (">=", (0.0, 0.2), "agrees"),
        ("<", (0.0, 0.2), "disagrees"),
        ("<=", (0.0, 0.2), "undecided"),
        (">", (0.0, 0.0), "disagrees"),
        ("<=", (0.0, 0.0), "agrees"),
    ],
)
def test_an_interval_that_ends_at_the_bound(relation, ends, outcome):
    touching = Estimate(0.1, lambda level: ends)
    (judged,) = judge([Finding("f", lambda frames: touching, relation, 0.0, metrics=("m",))], {})
    assert judged.outcome == outcome


def test_what_is_no_number_decides_nothing_whatever_its_interval():
    nothing = Estimate(math.nan, lambda level: (0.5, 1.0))
    assert judge([Finding("f", lambda frames: nothing, ">", 0.0, metrics=("m",))], {})[0].outcome == "undecided"


def test_a_difference_adds_the_squares_of_distances_that_point_the_same_way():
    ours, theirs = (Estimate(value, lambda level, ends=ends: ends) for value, ends in ((5, (2, 17)), (1, (-4, 5))))
    assert (ours - theirs).interval(0.95) == pytest.approx((4 - 5, 4 + 13))  # 3 and 4; 12 and 5


def test_a_share_is_the_mean_over_seeds_however_many_prompts_each_had():
    assert share({0: (5, 10), 1: (20, 20)}).value == 0.75


@pytest.mark.beyond
def test_what_decides_nothing_or_cannot_be_tested_is_not_counted_in_the_correction():
    barely, other = finding(-0.3, -0.01), finding(0.1, 0.3)
    for beside in (replace(other, decides=False), replace(other, beyond="a GPU")):
        assert judge([barely, beside], {})[0].outcome == "disagrees"
    assert judge([barely, other], {})[0].outcome == "undecided"


def test_only_an_interval_within_the_margin_is_called_smaller():
    (judged,) = judge([finding(-0.3, 0.04, margin=0.05)], {})
    assert (judged.outcome, judged.note) == ("undecided", "")


@pytest.mark.beyond
def test_a_claim_of_findings_and_laws_has_the_worst_outcome_of_what_counts():
    agrees, lacks, open_ = finding(0.1, 0.3), finding(0.1, 0.3, beyond="a GPU"), finding(-0.1, 0.3)

    def outcome(*sentences, **more):
        return claim("BAM-C1", *sentences, recipe="paper", **more).verdict("cpu", {}).outcome

    assert outcome(agrees, law()) == "agrees" and outcome(agrees, DOUBLE, corrected=FIXED, **MILD) == "disagrees"
    assert outcome(agrees, replace(DOUBLE, ours=True)) == "agrees"
    assert outcome(agrees, open_, lacks) == outcome(agrees, lacks, open_) == "not testable here"


def test_slack_and_what_is_no_number():
    nan = law(lambda n: math.nan, 0, relation="!=", truth=lambda n: n)
    assert not nan.judge().holds
    above = law(lambda n: n * n - 0.05, 0, relation=">=", tolerance=0.1)
    assert above.judge().holds and not law(lambda n: n * n - 0.2, 0, relation=">=", tolerance=0.1).judge().holds


def test_rounding_counts_towards_either_side():
    near = {"truth": lambda n: float(n * n)}
    assert law(lambda n: n * n * (1 - 9e-5), relation=">=", **near).judge().holds
    assert not law(lambda n: n * n * (1 - 2e-4), relation=">=", **near).judge().holds


def test_a_repair_must_hold_and_a_correction_that_fails_replaces_nothing():
    def roots(says, n):
        return 0.0, float(abs(says(n)))

    wrong = law(
        lambda n: n - 1,
        lambda n: n - 2,
        truth=roots,
        repaired=lambda n: 1,
        quote="twice the number",
        place="§2.4",
    )
    assert any("give `repaired`" in each for each in claim("BAM-T4", wrong, corrected=FIXED, **MILD).unanswered)
    found = claim("BAM-T4", DOUBLE, corrected=law(lambda n: 3 * n), **MILD).verdict("theory")
    assert found.corrected == "Nothing that holds is put in its place yet." and not found.sentences[0].instead


def test_the_ledger_keeps_the_interval_that_decides():
    found = claim("BAM-C1", finding(0.1, 0.3), finding(-9.0, -8.0), recipe="paper").verdict("cpu", {})
    assert (found.measured, found.interval) == (-8.5, (-9.0, -8.0))


def test_a_finding_lies_above_0_unless_said_and_says_what_it_is_given_last():
    make = measuring("m", ours=True)
    found = make("t", lambda frame: frame)
    assert (found.relation, found.bound, found.ours, found.metrics) == (">", 0.0, True, ("m",))
    assert not make("t", lambda frame: frame, ours=False).ours


def test_a_number_that_is_none_is_a_gap_at_any_place():
    nan = math.nan
    assert all(math.isnan(gap(each, [1.0, 2.0])) for each in ([nan, 2.0], [1.0, nan]))
    assert math.isnan(gap({"a": 1.0, "b": nan}, {"a": 1.0, "b": 2.0}))
