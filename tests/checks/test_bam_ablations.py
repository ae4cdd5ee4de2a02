"""The judges of the ablations on made-up worlds with every arm that they speak of; each flips with its numbers."""

import functools

import numpy as np
import pandas as pd
import pytest

from attention_priors import claims, config
from attention_priors.checks import CHECKS, bam_ablations, bam_ablations_training
from attention_priors.checks.ablation_worlds import (
    CODED,
    HEADS,
    LANGUAGE,
    LAPLACE,
    LOCATION,
    NEGATIVE,
    POSITIVE,
    PRIORS,
    SHAPE,
    TRAINING,
    Study,
    as_printed,
    reversed_,
    world,
)
from attention_priors.checks.bam_ablations_training import FOUR, ONE, TWO
from attention_priors.experiments import ablations

CLAIMS = [*bam_ablations.CHECKS, *bam_ablations_training.CHECKS]
FAR = (8192, 16384, 75008, 128000)


def profile(far=FAR, seeds=(0, 1, 2)):
    """The cpu profile with every arm that a claim speaks of, at lengths that do not move with its budget."""
    made = config.profile("cpu").model_copy(update={"seeds": seeds, "main_seeds": seeds})
    near = config.Evaluation(lengths=tuple(128 * 2**k for k in range(6)), samples=20)
    sizes = tuple(config.Size(width=w, layers=n, heads=2, hidden=w) for w, n in ((32, 2), (64, 3), (96, 4)))
    settings = made.ablations.model_copy(update={
        "start": ("bam-ssmax", LAPLACE, CODED),
        "subset": ("bam-ssmax", LOCATION, SHAPE, "nope-ssmax", "sinusoidal-ssmax", "rope-ssmax", "alibi-ssmax"),
        "sign": ("bam-ssmax", NEGATIVE, POSITIVE),
        "multiples": (1, 2, 4), "length": ("bam-ssmax",), "sizes": sizes,
        "far": config.Evaluation(lengths=far, samples=10),
    })  # fmt: skip
    passkey = made.passkey.model_copy(update={"evaluation": near, "size": sizes[1]})
    return made.model_copy(update={"ablations": settings, "passkey": passkey})


@functools.cache
def frames(rule=as_printed, far=FAR, seeds=(0, 1, 2)):
    """What `ablations` would measure in a world of `rule`."""
    made = {}
    for metric, studies in ((PRIORS, ablations.PRIORS), (TRAINING, ablations.TRAINING)):
        rows = []
        for arm in ablations.arms(profile(far, seeds), studies):
            about = {"study": arm.study, "arm": arm.name, "encoding": arm.encoding, "seed": arm.spec.seed,
                     "trained": arm.spec.recipe.length, "parameters": arm.spec.model.width}  # fmt: skip
            rows += [about | {"length": length, "correct": 0, "samples": asked.samples, "asked": 1}
                     for asked in arm.evaluations for length in asked.lengths]  # fmt: skip
        made[metric] = pd.DataFrame(rows).drop_duplicates(["study", "arm", "seed", "length"])
    noise = np.random.default_rng(0)
    made[HEADS] = pd.DataFrame(
        {"encoding": name, "seed": seed, "layer": 0, "head": head, "beta": beta, "recent_mass": 0.0,
         "passkey_lift": 0.0}
        for name in ("bam-ssmax", NEGATIVE) for seed in seeds for head, beta in enumerate((-0.5, 0.5, 1.0))
    )  # fmt: skip
    made[LANGUAGE] = pd.DataFrame(
        {"domain": "text", "trained_on": True, "encoding": name, "seed": seed, "length": length, "trained": 128,
         "unigram": 500.0, "loss": 0.0, "noise": noise.normal(0, 0.005)}
        for name in ("bam-ssmax", LOCATION, NEGATIVE) for seed in seeds for length in (128, 256, 1024)
    )  # fmt: skip
    made = dict(world(made, rule))
    made[LANGUAGE]["loss"] += made[LANGUAGE]["noise"]
    return made


def outcome(claim, made):
    return CHECKS[claim].judge(made).outcome


@pytest.mark.parametrize("claim", CLAIMS)
def test_worlds_where_it_holds_and_where_it_fails(claim):
    assert (outcome(claim, frames(as_printed)), outcome(claim, frames(reversed_))) == ("agrees", "disagrees")


@pytest.mark.parametrize("claim", CLAIMS)
def test_flipped_numbers_change_the_answer(claim):
    check = CHECKS[claim]
    for rule in (as_printed, reversed_, lambda study, arm, multiple: 0.5):
        made = frames(rule)
        before = {name: frame.copy() for name, frame in made.items()}
        assert check.judge(made).outcome != check.judge(check.flip(made)).outcome
        assert all(made[name].equals(before[name]) for name in made), "flip changed its input"


@pytest.mark.parametrize("claim", CLAIMS)
def test_models_that_learned_nothing_and_single_seeds_decide_nothing(claim):
    assert outcome(claim, frames(as_printed, FAR, (0,))) == outcome(claim, frames(reversed_, FAR, (0,))) == "undecided"
    dead = world(frames(), lambda study, arm, multiple: 0.0)
    if claim not in ("BAM-C2", "BAM-C3"):  # these two also rest on losses and heads
        assert outcome(claim, dead) == "undecided"


@pytest.mark.parametrize("claim", ["BAM-F11", "BAM-F12", "BAM-TAB5"])
def test_what_was_not_tested_far_enough_cannot_agree(claim):
    assert outcome(claim, frames(as_printed, (4224,))) == "undecided"


def test_a_study_joins_its_arms_and_their_training_lengths():
    data = Study(frames()[TRAINING], "length")
    assert data.trained == 128 and data.beyond(ONE, TWO, FOUR) == [1024, 2048, 4096, *FAR]
    assert data.beyond(ONE)[0] == 256 and data.missing(ONE, "nobody") == ["nobody"]
    low = frames(lambda study, arm, multiple: 0.5 if arm == TWO and multiple == 2 else 1.0)[TRAINING]
    assert Study(low, "length").learned(ONE, FOUR) and not Study(low, "length").learned(TWO)


def test_an_arm_that_a_profile_does_not_train_leaves_its_sentence_open():
    made = {**frames(), PRIORS: frames()[PRIORS].query("arm != @POSITIVE")}
    found = bam_ablations.claim_3(made)
    assert [each.outcome for each in found] == ["agrees", "agrees", "agrees", "undecided"]
    assert f"not trained: {POSITIVE}" in found[-1].text


def test_a_training_length_that_a_profile_leaves_out_leaves_its_sentences_open():
    made = {**frames(), TRAINING: frames()[TRAINING].query("arm != @FOUR")}
    found = bam_ablations_training.figure_12(made)
    assert [each.outcome for each in found] == ["undecided", "agrees", "undecided"]
    assert f"not trained: {FOUR}" in found[-1].text


def test_one_subset_behind_one_encoding_is_enough_to_refute():
    def rule(study, arm, multiple):
        return 0.9 if arm == "alibi-ssmax" and study == "subset" else as_printed(study, arm, multiple)

    found = bam_ablations.figure_9(frames(rule))[-1]
    assert found.outcome == "disagrees" and "alibi-ssmax" in found.text and LOCATION in found.text


def test_a_cost_of_the_location_that_is_small_or_large():
    for cost, expected in ((0.0, "agrees"), (0.3, "disagrees")):

        def rule(study, arm, multiple, cost=cost):
            return {"bam-ssmax": 0.95 - cost, LOCATION: 0.95}.get(arm, 0.2) if multiple > 1 else 1.0

        assert bam_ablations.claim_2(frames(rule))[0].outcome == expected


def test_a_positive_location_peaks_in_the_future():
    assert bam_ablations.future().measured == -2.0 and bam_ablations.future().outcome == "agrees"


def test_a_seed_without_negative_heads_has_no_retrieval_head():
    heads = frames()[HEADS].assign(passkey_lift=30.0)
    assert bam_ablations.retrieval_heads(heads).outcome == "agrees"
    none = heads.assign(beta=heads["beta"].abs())
    found = bam_ablations.retrieval_heads(none)
    assert found.measured == 0 and found.outcome == "disagrees"


@pytest.mark.parametrize("gap, expected", [(0.1, "agrees"), (0.5, "disagrees")])
def test_what_is_competitive(gap, expected):
    def rule(study, arm, multiple):
        return 1.0 - gap * (arm == ONE and multiple >= 4)

    made = frames(rule)[TRAINING]
    data = Study(made, "length")
    assert bam_ablations_training.competitive(data, data.beyond(ONE, TWO, FOUR)).outcome == expected


def test_sizes_are_ordered_by_parameters_and_gains_compared():
    data = Study(frames()[TRAINING], "size")
    assert bam_ablations_training.sizes(data) == ["32x2", "64x3", "96x4"]
    found = bam_ablations_training.claim_14(frames())
    assert [each.outcome for each in found] == ["agrees"] * 3 and "96x4 and 64x3" in found[-1].text


def test_every_claim_has_one_owner_and_the_ledger_takes_its_verdict(tmp_path):
    for module, notebook in ((bam_ablations, "learned_priors"), (bam_ablations_training, "passkeys")):
        verdicts = [check.verdict("cpu", frames()) for check in module.CHECKS.values()]
        path = claims.write_part(tmp_path, "cpu", notebook, verdicts)
        assert all(each.verdict == "scaled reproduction" and each.opposite for each in claims.read(path).values())
        assert all(check.frame(frames())["outcome"].eq("agrees").all() for check in module.CHECKS.values())
