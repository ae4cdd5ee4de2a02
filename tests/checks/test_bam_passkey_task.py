"""The protocol on broken generators and scorings, and the intervals that checks not yet turned into findings use."""

import contextlib
import math

import numpy as np
import pytest
import torch
from scipy import stats

from attention_priors.checks import CHECKS, bam_passkey_task, intervals
from attention_priors.checks.evidence import CheckError
from attention_priors.checks.intervals import Estimate, difference, judge, share
from attention_priors.tasks import passkey

# ---- the protocol


def test_the_protocol_is_verified():
    decision = CHECKS["BAM-D7"].decide()
    assert decision.verdict == "verified" and len(decision.printed) == 5


@pytest.mark.parametrize("name", ["KEY_SENTENCE", "QUESTION", "DESCRIPTION"])
def test_a_generator_with_other_counts_is_found(name, monkeypatch):
    monkeypatch.setattr(passkey, name, getattr(passkey, name).replace(" the ", " the the ", 1))
    with contextlib.suppress(ValueError, RuntimeError):  # parts that do not fit together any more
        assert not bam_passkey_task.check_parts(bam_passkey_task.PRINTED).holds


def test_scores_that_shift_or_forgive_are_found():
    def shifted(model, tokens):
        guess = model(tokens[None], last=passkey.DIGITS).argmax(-1)[0]
        return bool((guess == tokens[-passkey.DIGITS :]).all())

    assert not bam_passkey_task.check_scoring(shifted).holds
    assert not bam_passkey_task.check_scoring(lambda model, tokens: True).holds
    assert not bam_passkey_task.check_scoring(lambda model, tokens: False).holds
    assert bam_passkey_task.all_right(bam_passkey_task.tiny_model(), torch.zeros(90, dtype=torch.long), needed=0)


# ---- intervals


def test_share_is_the_hull_of_both_intervals():
    perfect = share([10] * 5, [10] * 5)
    assert (perfect.value, perfect.high) == (1.0, 1.0) and perfect.low == pytest.approx(0.025 ** (1 / 50))
    spread = share([0, 10, 10], [10] * 3)
    half = stats.t.ppf(0.975, 2) * np.std([0, 1, 1], ddof=1) / math.sqrt(3)
    assert spread.low == max(0, 2 / 3 - half) and spread.high == 1.0
    assert share([7], [10]) == Estimate(0.7, 0.0, 1.0)
    assert math.isnan(share([], []).value)


def test_difference_is_exact_for_symmetric_terms():
    found = difference(Estimate(3.0, 2.7, 3.3), Estimate(1.0, 0.6, 1.4))
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 1.5, 2.5))


def test_difference_against_newcombe():
    """Newcombe (1998), method 10, example (a): 56/70 - 48/80 has the 95 % interval 0.0524 to 0.3339 from Wilson's."""
    a, b = (stats.binomtest(k, n).proportion_ci(method="wilson") for k, n in ((56, 70), (48, 80)))
    found = difference(Estimate(0.8, a.low, a.high), Estimate(0.6, b.low, b.high))
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@pytest.mark.parametrize(
    "low, high, relation, margin, expected",
    [
        (0.5, 0.7, ">=", 0, "agrees"),
        (0.5, 0.7, ">", 0, "undecided"),
        (0.51, 0.7, ">", 0, "agrees"),
        (0.2, 0.5, ">=", 0, "undecided"),
        (0.2, 0.5, ">", 0, "disagrees"),
        (0.2, 0.54, ">", 0.05, "disagrees"),
        (0.2, 0.54, ">", 0, "undecided"),
        (0.2, 0.5, "<=", 0, "agrees"),
        (0.2, 0.5, "<", 0, "undecided"),
        (0.51, 0.7, "<=", 0, "disagrees"),
        (0.5, 0.7, "<", 0, "disagrees"),
        (0.4, 0.6, "<=", 0, "undecided"),
    ],
)
def test_judging_by_an_interval(low, high, relation, margin, expected):
    assert judge(Estimate((low + high) / 2, low, high), relation, 0.5, margin) == expected


def test_judging_refuses_equality_and_knows_the_unknown():
    with pytest.raises(CheckError, match="'=='"):
        judge(Estimate(0, 0, 0), "==", 0)
    assert judge(intervals.UNKNOWN, ">", 0) == "undecided"
    assert intervals.joined([]) == "undecided"
    assert intervals.joined(["agrees", "undecided"]) == "undecided"
    assert intervals.joined(["undecided", "disagrees", "agrees"]) == "disagrees"
