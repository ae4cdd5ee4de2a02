"""Passkeys: who counts as having learned the task, what was given up, what is not there, and other generators."""

import contextlib

import pytest
import torch

from attention_priors.checks.passkey import protocol, recall
from attention_priors.checks.passkey import retrieval as claims_of_bam
from attention_priors.checks.passkey.runs import BY_LENGTH, OURS, Runs
from attention_priors.tasks import passkey
from checks.committed import frame, frames, notes, outcomes


def plain():
    return frame(BY_LENGTH).query("form == 'plain'")


def test_a_table_of_places_that_answers_at_the_training_length_alone_misses_its_gate():
    rows = plain()
    table = (rows["encoding"] == "rope") & (rows["length"] != rows["trained"])
    found = Runs(rows.assign(correct=rows["correct"].mask(table, 0)))
    assert found.present(["rope", OURS]) == [OURS] and found.why("rope").startswith("gate missed: rope (seed 0, 1")
    assert found.why("nobody") == "not in this profile: nobody" and found.why(OURS) == ""


def test_the_lead_over_a_rival_that_lost_some_seeds_says_so():
    rows = plain()
    lost = (rows["encoding"] == "alibi") & (rows["seed"] < 2) & (rows["length"] == 112)
    found = Runs(rows.assign(correct=rows["correct"].mask(lost, 0))).ahead(["bam"], ["alibi"])
    assert found.seeds and 0 not in found.seeds and "gate missed: alibi (seed 0, 1)" in found.note


def test_what_was_given_up_counts_as_without_a_hit():
    rows = plain()
    rope = rows["encoding"] == "rope"
    rows = rows.assign(correct=rows["correct"].mask(rope & (rows["length"] == 512), 0))
    found = Runs(rows[~rope | (rows["length"] <= 512)])
    assert found.counts("rope", [8192])[0] == (0, rows.loc[rows["length"] == 8192, "samples"].max())


def test_a_reach_short_of_the_claim_is_refuted_up_to_a_step():
    reach = frame("passkey_reach")
    ours = reach["encoding"] == OURS
    reach = reach.assign(reach=reach["reach"].where(ours, 256).mask(ours, 2048))
    rows = plain()
    rows = rows.assign(correct=rows["samples"].where(rows["length"] <= reach["reach"].where(ours).max(), 0))
    found = claims_of_bam.further({BY_LENGTH: rows, "passkey_reach": reach})
    low, high = found.interval(0.95)
    assert found.value == 3 and low <= 2 and high >= 4


def test_what_the_benchmark_lacks_is_named():
    read = frames("X-11")
    (listed, chunks, *_) = read
    assert "without NoPE" in notes("X-11", read | {listed: read[listed].query("encoding != 'nope'")})[0]
    assert "without ParallelComp" in notes("X-11", read | {chunks: read[chunks].query("length < 8192")})[0]
    counts = read["encodings_counts"]
    old = counts[counts["encoding"].isin(["alibi", "kerple-log"])]
    assert set(outcomes("X-33", {"encodings_counts": old})) == {"undecided"}
    few = read["encodings_tails"]
    few = few[few["encoding"].isin(few["encoding"].unique()[-4:])].assign(passed=True)
    assert outcomes("X-11", read | {"encodings_tails": few})[5:] == ["undecided"] * 3


def test_who_missed_the_gate_of_recall_decides_nothing_and_few_have_no_spread():
    rows = frame(recall.ANSWERS)
    lost = (rows["encoding"] == "fox-slow") & (rows["length"] <= rows["trained"])
    missed = {recall.ANSWERS: rows.assign(correct=rows["correct"].mask(lost, 0))}
    assert outcomes("X-41", missed)[4:] == ["undecided"] * 2 and "fox-slow" in notes("X-41", missed)[4]
    few = {recall.ANSWERS: rows[rows["encoding"].isin(["bam", "alibi", "rope"])]}
    assert notes("X-40", few) == ["0.2 is our bound; 3 encodings passed the gate; 6 are needed"]


@pytest.mark.parametrize("name", ["KEY_SENTENCE", "QUESTION", "DESCRIPTION"])
def test_a_generator_with_other_counts_is_found(name, monkeypatch):
    monkeypatch.setattr(passkey, name, getattr(passkey, name).replace(" the ", " the the ", 1))
    with contextlib.suppress(ValueError, RuntimeError):  # parts that do not fit together any more
        assert any(protocol.tokens_of(part) != count for part, count in protocol.PRINTED.items())


def test_scores_that_forgive_are_found():
    assert protocol.accepted(0, 0, 1) == (True, False)  # every answer is right if no digit is needed
    assert protocol.accepted(6, 0, 0) == (False, True)  # and none if six of five are
    assert protocol.all_right(protocol.tiny_model(), torch.zeros(90, dtype=torch.long), needed=0)
    assert [protocol.depth(sample, 19) for sample in (0, 1, 19)] == [0, 1, 19]
