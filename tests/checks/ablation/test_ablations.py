"""Ablations: arms that a profile does not train, runs that missed the gate at their own length, heads of one sign."""

from attention_priors.checks.ablation.study import HEADS, PRIORS, TRAINING
from attention_priors.checks.ablation.training import TWO
from checks.committed import frame, frames, notes, outcomes


def test_each_arm_is_gated_at_its_own_training_length():
    rows = frame(TRAINING)
    low = (rows["arm"] == TWO) & rows["length"].between(129, 256)  # beyond T, but within what this arm was trained at
    missed = frames("BAM-F12", **{TRAINING: rows.assign(correct=rows["correct"].mask(low, 0))})
    assert any(f"gate missed: {TWO} (seed 0" in note for note in notes("BAM-F12", missed))


def test_an_arm_that_a_profile_does_not_train_leaves_its_sentences_open():
    some = frame(PRIORS).query("arm != 'bam-positive-ssmax'")
    assert outcomes("BAM-C3", frames("BAM-C3", **{PRIORS: some}))[-1] == "undecided"
    shortest = frame(TRAINING).query("arm != 'bam-ssmax-4T'")
    assert outcomes("BAM-F12", frames("BAM-F12", **{TRAINING: shortest}))[0] == "undecided"


def test_without_negative_heads_there_is_no_retrieval_head():
    heads = frame(HEADS)
    none = heads.assign(beta=heads["beta"].abs(), passkey_lift=30.0)
    assert outcomes("BAM-C3", frames("BAM-C3", **{HEADS: none}))[2] == "disagrees"
