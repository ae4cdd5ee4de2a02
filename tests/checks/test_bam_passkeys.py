"""The judges of notebook 10 on made-up worlds, the protocol on broken generators and scorings, and intervals."""

import contextlib
import functools
import itertools
import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from attention_priors import claims
from attention_priors.checks import (
    CHECKS,
    bam_ablations_training,
    bam_passkey_task,
    bam_passkeys,
    belonging,
    intervals,
)
from attention_priors.checks.evidence import CheckError
from attention_priors.checks.intervals import Estimate, difference, judge, share
from attention_priors.experiments import passkeys
from attention_priors.tasks import passkey

TRAINED = 128
COMMON, FAR = tuple(TRAINED * 2**k for k in range(6)), (8192, 16384, 32768, 64000)
ENCODINGS = ("bam", "bam-ssmax", *bam_passkeys.PLAIN, *bam_passkeys.SCALED)
CLAIMS = list(bam_passkeys.CHECKS)


@functools.lru_cache(maxsize=64)
def frames(rule, seeds=5, far=FAR):
    """The metrics of runs in which a share rule(encoding, multiple) of the prompts is answered, the deepest first."""
    rows, reach, samples = [], [], []
    for name in ENCODINGS:
        ours = name == "bam-ssmax"
        lengths = [(length, 20) for length in COMMON] + [(length, 10) for length in far if ours]
        good = list(itertools.accumulate((rule(name, n / TRAINED) >= 0.8 for n, _ in lengths), bool.__and__))
        longest = max((n for (n, _), enough in zip(lengths, good, strict=True) if enough), default=0)
        for seed in range(seeds if name.startswith("bam") else min(seeds, 3)):
            one = {"form": "plain", "encoding": name, "seed": seed, "trained": TRAINED}
            reach.append(one | {"reach": longest, "longest_tested": lengths[-1][0]})
            for length, n in lengths:
                right = round(rule(name, length / TRAINED) * n)
                rows.append(one | {"length": length, "correct": right, "samples": n, "accuracy": right / n})
                if ours:
                    samples += [one | {"length": length, "depth": k / (n - 1), "correct": int(k < right)}
                                for k in range(n)]  # fmt: skip
    return {name: pd.DataFrame(made) for name, made in
            (("passkey_samples", samples), ("passkey_by_length", rows), ("passkey_reach", reach))}  # fmt: skip


def test_the_made_up_metrics_are_those_of_the_experiment():
    made = frames(bam_passkeys.only_bam, 2)
    found = passkeys.by_length(made["passkey_samples"].assign(digits=0))
    expected = made["passkey_by_length"].query("encoding == 'bam-ssmax'").reset_index(drop=True)
    assert found[["seed", "length", "correct", "samples"]].equals(expected[["seed", "length", "correct", "samples"]])


def outcome(claim, rule, **world):
    return CHECKS[claim].judge(frames(rule, **world)).outcome


WORLDS = {
    "BAM-F2": (bam_passkeys.only_bam, bam_passkeys.nobody),
    "BAM-F3": (bam_passkeys.only_bam, bam_passkeys.nobody),
    "BAM-F13": (bam_passkeys.scaling_helps, bam_passkeys.scaling_hurts),
    "BAM-C1": (bam_passkeys.only_bam, bam_passkeys.nobody),
    "BAM-C6": (bam_passkeys.only_bam, bam_passkeys.nobody),
    "BAM-C13": (bam_passkeys.scaling_helps, bam_passkeys.scaling_hurts),
}


def test_the_notebook_owns_these_ids():
    assert set(CLAIMS) == set(WORLDS)
    ablated = set(bam_ablations_training.CHECKS)
    found = {name: check.metrics for name, check in belonging("passkeys").items() if name.startswith("BAM-")}
    assert {name for name, metrics in found.items() if metrics} == set(WORLDS) | ablated
    exact = {name for name, metrics in found.items() if not metrics}
    assert exact == {"BAM-D7", "BAM-E7", "BAM-E8", "BAM-E9", "BAM-E10", "BAM-C19"}
    left = {"BAM-F14", "BAM-C15"}
    register = claims.register().items()
    owned = {name for name, claim in register if claim.notebook == "passkeys" and claim.document == "BAM"}
    assert owned == exact | set(WORLDS) | ablated | left


@pytest.mark.parametrize("claim", CLAIMS)
def test_worlds_where_it_holds_and_where_it_fails(claim):
    holds, fails = WORLDS[claim]
    assert (outcome(claim, holds), outcome(claim, fails)) == ("agrees", "disagrees")


@pytest.mark.parametrize("claim", CLAIMS)
def test_flipped_numbers_change_the_answer(claim):
    for rule in (*WORLDS[claim], lambda name, multiple: 0.5):
        made = frames(rule)
        before, after = (CHECKS[claim].judge(f).outcome for f in (made, CHECKS[claim].flip(made)))
        assert before != after
        frames.cache_clear()
        assert made["passkey_by_length"].equals(frames(rule)["passkey_by_length"]), "flip changed its input"


@pytest.mark.parametrize("claim", CLAIMS)
def test_models_that_learned_nothing_decide_nothing(claim):
    assert outcome(claim, lambda name, multiple: 0.0) == "undecided"


@pytest.mark.parametrize("claim", CLAIMS)
def test_one_seed_decides_nothing(claim):
    for rule in WORLDS[claim]:
        assert outcome(claim, rule, seeds=1) == "undecided"


@pytest.mark.parametrize("claim", ["BAM-F2", "BAM-F3", "BAM-C1", "BAM-C6"])
def test_what_was_not_tested_far_enough_cannot_agree(claim):
    assert outcome(claim, bam_passkeys.only_bam, far=()) == "undecided"
    if claim != "BAM-C1":  # which says nothing about shorter lengths
        assert outcome(claim, bam_passkeys.nobody, far=()) == "disagrees"


@pytest.mark.parametrize("claim", CLAIMS)
def test_missing_encodings_are_no_error(claim):
    made = frames(WORLDS[claim][0])
    made = {name: frame[frame["encoding"].isin(["bam-ssmax"])] for name, frame in made.items()}
    assert CHECKS[claim].judge(made).outcome in (("agrees",) if claim == "BAM-F3" else ("undecided",))


def test_one_strong_baseline_refutes_that_bam_is_alone():
    def rule(name, multiple):
        return 1.0 if name == "nope-ssmax" else bam_passkeys.only_bam(name, multiple)

    assert outcome("BAM-C6", rule) == outcome("BAM-F2", rule) == "disagrees"
    assert outcome("BAM-C1", rule) == "undecided"  # its reach is only known to be 32 times the training length
    made = frames(rule)
    rows = CHECKS["BAM-C6"].frame(made)
    assert "nope-ssmax" in rows[rows["outcome"] == "disagrees"]["sentence"].iloc[0]


def test_a_failed_baseline_is_not_evidence():
    def rule(name, multiple):
        return 0.3 if name == "rope-ssmax" and multiple <= 1 else bam_passkeys.only_bam(name, multiple)

    assert outcome("BAM-C6", rule) == "undecided"


def test_a_failed_baseline_that_still_reaches_far_is_evidence():
    def rule(name, multiple):
        return 0.5 if name == "nope-ssmax" else bam_passkeys.only_bam(name, multiple)

    assert outcome("BAM-C6", rule) == outcome("BAM-F2", rule) == "disagrees"


@pytest.mark.parametrize("plus, minus, doubted", [(["nope"], [], "disagrees"), ([], ["nope"], "agrees")])
def test_what_has_not_learned_is_a_lower_bound(plus, minus, doubted):
    data = bam_passkeys.Accuracies(frames(lambda name, m: float(name != "nope"))["passkey_by_length"])
    for found in ("agrees", "disagrees", "undecided"):
        large, small = (data.trusted(found, relation, plus, minus) for relation in (">", "<="))
        assert large == ("undecided" if found == doubted else found)
        assert small == ("undecided" if found != doubted else found)
        assert data.trusted(found, ">", ["bam"], ["alibi"]) == found


@pytest.mark.parametrize("limit, expected", [(2, "agrees"), (8, "agrees"), (16, "undecided"), (32, "undecided")])
def test_the_ratio_of_reaches_counts_steps_and_ends(limit, expected):
    def rule(name, multiple):
        return float(name == "bam-ssmax" or multiple <= (limit if name == "alibi" else 1))

    made = frames(rule)
    found = bam_passkeys.ratio(bam_passkeys.Accuracies(made["passkey_by_length"]), made["passkey_reach"])
    assert found.measured == pytest.approx(500 / limit)
    assert found.outcome == expected
    assert "alibi" in found.text


def test_a_reach_short_of_the_claim_is_refuted():
    def rule(name, multiple):
        return float(multiple <= (16 if name == "bam-ssmax" else 2))

    made = frames(rule)
    found = bam_passkeys.ratio(bam_passkeys.Accuracies(made["passkey_by_length"]), made["passkey_reach"])
    assert (found.measured, found.outcome) == (8, "disagrees")
    assert found.interval == (4, 16)  # one step of the tested lengths on either side


@pytest.mark.parametrize("helped, expected", [(6, "agrees"), (5, "agrees"), (4, "disagrees"), (0, "disagrees")])
def test_nearly_all_means_five_of_six(helped, expected):
    gaining = [*bam_passkeys.BASES, "bam"][:helped]

    def rule(name, multiple):
        gain = 0.5 * (name.endswith("-ssmax") and name.removesuffix("-ssmax") in gaining)
        return 1.0 if multiple <= 1 else gain

    found = bam_passkeys.helped(bam_passkeys.Accuracies(frames(rule)["passkey_by_length"]))
    assert (found.measured, found.outcome) == (helped, expected)


@pytest.mark.parametrize("bad, expected", [(0, "agrees"), (1, "agrees"), (10, "disagrees")])
def test_cells_at_zero(bad, expected):
    made = frames(bam_passkeys.only_bam)
    cells = made["passkey_samples"].copy()
    ours = cells["encoding"] == "bam-ssmax"
    places = [(length, band) for length in COMMON for band in range(5)][:bad]
    for length, band in places:
        hit = ours & (cells["length"] == length) & ((cells["depth"] * 5).astype(int).clip(upper=4) == band)
        cells.loc[hit, "correct"] = 0
    found = bam_passkeys.cells(bam_passkeys.Accuracies(made["passkey_by_length"]), cells)[1]
    assert found.measured == pytest.approx(bad / 50)
    assert found.outcome == expected


def test_few_prompts_make_larger_cells():
    made = frames(lambda name, multiple: 0.8)
    samples = made["passkey_samples"]
    few = samples[(samples["length"] == 64000) & samples["depth"].isin([k / 9 for k in (0, 2, 4, 6, 9)])]
    found = bam_passkeys.cells(bam_passkeys.Accuracies(made["passkey_by_length"]), few)
    assert [each.measured for each in found] == [
        0.5,
        0.0,
    ]  # misses at the end: one of two halves is perfect, none empty


def test_the_ledger_takes_every_verdict(tmp_path):
    made = frames(bam_passkeys.only_bam)
    verdicts = [check.verdict("cpu", made) for check in bam_passkeys.CHECKS.values()]
    path = claims.write_part(tmp_path, "cpu", "passkeys", [*verdicts, CHECKS["BAM-D7"].verdict("cpu")])
    read = claims.read(path)
    assert {name: v.verdict for name, v in read.items()}["BAM-F2"] == "scaled reproduction"
    assert all(v.opposite and v.evidence for name, v in read.items() if name != "BAM-D7")


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
