"""Ablations: arms that a profile does not train, runs that missed the gate at their own length, heads of one sign."""

from attention_priors.checks.ablation.study import HEADS, PRIORS, TRAINING, study
from attention_priors.checks.ablation.training import FOUR, ONE, TWO
from checks.committed import frame, frames, outcomes


def test_a_study_joins_its_arms_and_each_is_gated_at_its_own_training_length():
    rows = frame(TRAINING)
    data = study({TRAINING: rows}, TRAINING, "length")
    assert data.trained == 128 and min(data.beyond(ONE)) == 256 and min(data.beyond(ONE, TWO, FOUR)) > 512
    low = (rows["arm"] == TWO) & rows["length"].between(129, 256)  # beyond T, but within what this arm was trained at
    data = study({TRAINING: rows.assign(correct=rows["correct"].mask(low, 0))}, TRAINING, "length")
    assert data.present([ONE, TWO, FOUR, "nobody"]) == [ONE, FOUR]


def test_an_arm_that_a_profile_does_not_train_leaves_its_sentences_open():
    some = frame(PRIORS).query("arm != 'bam-positive-ssmax'")
    assert outcomes("BAM-C3", frames("BAM-C3", **{PRIORS: some}))[-1] == "undecided"
    shortest = frame(TRAINING).query("arm != @FOUR")
    assert outcomes("BAM-F12", frames("BAM-F12", **{TRAINING: shortest}))[0] == "undecided"


def test_without_negative_heads_there_is_no_retrieval_head():
    heads = frame(HEADS)
    none = heads.assign(beta=heads["beta"].abs(), passkey_lift=30.0)
    assert outcomes("BAM-C3", frames("BAM-C3", **{HEADS: none}))[2] == "disagrees"
