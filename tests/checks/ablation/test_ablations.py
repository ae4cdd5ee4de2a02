"""The ablations in worlds with every arm that the claims speak of, where they hold and where they fail."""

import functools

import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.checks import CHECKS
from attention_priors.checks.ablation import priors, training
from attention_priors.checks.ablation.priors import CODED, LAPLACE, LOCATION, NEGATIVE, POSITIVE, SHAPE
from attention_priors.checks.ablation.study import HEADS, LANGUAGE, PRIORS, TRAINING, study
from attention_priors.checks.ablation.training import EXTENDED, FOUR, ONE, TWO
from attention_priors.experiments import ablations

CLAIMS = [*priors.CHECKS, *training.CHECKS]
OURS, FAR, SEEDS = "bam-ssmax", (8192, 16384, 75008, 128000), (0, 1, 2, 3, 4)
NEAR = (96, 128, 192, 256, 384, 512, 1024, 2048, 4096)


def _trained(name, arm):
    """The training length of an arm as a multiple of the shortest one."""
    return int(arm[-2]) if name == "length" else 2 if arm.endswith(EXTENDED) else 1


def printed(name, arm, multiple):
    """All claims hold."""
    if multiple <= _trained(name, arm):
        return 1.0
    if name == "size":
        return 1.0 if arm.endswith(EXTENDED) else {"32x2": 1.0, "64x3": 0.5}.get(arm, 0.0)
    if name == "length":
        return {"1T": 0.88 if multiple < 586 else 0.5, "2T": 0.95, "4T": 1.0}[arm.rpartition("-")[2]]
    low = {SHAPE: 0.7, LOCATION: 0.4, LAPLACE: 0.3, CODED: 0.3, NEGATIVE: 0.3, POSITIVE: 0.3, "bam-laplace": 0.3}
    return low.get(arm, 1.0 if arm in (OURS, "bam") else 0.05)


def reverse(name, arm, multiple):
    """They all fail."""
    if multiple <= _trained(name, arm):
        return 1.0
    if name == "size":
        return 0.3 if arm.endswith(EXTENDED) else {"32x2": 0.2, "64x3": 0.5}.get(arm, 1.0)
    if name == "length":
        return {"1T": 1.0, "2T": 0.4, "4T": 0.2}[arm.rpartition("-")[2]]
    return {OURS: 0.2, "bam": 0.2, SHAPE: 0.4, LOCATION: 0.9}.get(arm, 1.0)


@functools.cache
def arms():
    made = config.profile("cpu").model_copy(update={"seeds": SEEDS, "main_seeds": SEEDS})
    sizes = tuple(config.Size(width=w, layers=n, heads=2, hidden=w) for w, n in ((32, 2), (64, 3), (96, 4)))
    settings = made.ablations.model_copy(
        update={
            "start": (OURS, LAPLACE, CODED, "bam", "bam-laplace"),
            "subset": (OURS, LOCATION, SHAPE, *priors.OTHERS),
            "sign": (OURS, NEGATIVE, POSITIVE),
            "multiples": (1, 2, 4),
            "length": (OURS,),
            "sizes": sizes,
            "far": config.Evaluation(lengths=FAR, samples=20),
        }
    )
    near = config.Evaluation(lengths=NEAR, samples=20)
    passkey = made.passkey.model_copy(update={"evaluation": near, "size": sizes[1]})
    made = made.model_copy(update={"ablations": settings, "passkey": passkey})
    studies = ("start", "subset", "sign", "length", "size")
    return [(each.study, each.name, each.spec, each.evaluations) for each in ablations.arms(made, studies)]


@functools.lru_cache(maxsize=16)
def frames(rule=printed, far=FAR, seeds=SEEDS):
    """What `ablations` would measure in a world of `rule`."""
    rows = []
    for name, arm, spec, evaluations in arms():
        about = {"study": name, "arm": arm, "seed": spec.seed, "trained": spec.recipe.length, "samples": 20}
        for length in (n for each in evaluations for n in each.lengths if n in NEAR + far and spec.seed in seeds):
            right = round(20 * rule(name, arm, length / 128))
            rows.append(about | {"length": length, "correct": right, "parameters": spec.model.width})
    every = pd.DataFrame(rows).drop_duplicates(["study", "arm", "seed", "length"])
    holds, noise = rule is printed, np.random.default_rng(0)
    heads = [
        {
            "encoding": name,
            "seed": seed,
            "head": head,
            "beta": beta,
            "passkey_lift": 20.0 if holds else 0.5,
            "recent_mass": 0.3 if (name == OURS) == holds else 0.05,
        }
        for name in (OURS, NEGATIVE)
        for seed in seeds
        for head, beta in enumerate((-0.5, 0.5, 1.0))
    ]
    more = {NEGATIVE: 0.5, LOCATION: 0.0} if holds else {NEGATIVE: -0.5, LOCATION: -0.5}
    losses = [
        {
            "trained_on": True,
            "encoding": name,
            "seed": seed,
            "length": length,
            "trained": 128,
            "passed": True,
            "loss": 2 + more.get(name, 0.0) + noise.normal(0, 0.005),
        }
        for name in (OURS, LOCATION, NEGATIVE)
        for seed in seeds
        for length in (128, 256, 1024)
    ]
    of = every["study"].isin(["length", "size"])
    return {PRIORS: every[~of], TRAINING: every[of], HEADS: pd.DataFrame(heads), LANGUAGE: pd.DataFrame(losses)}


def outcome(claim, made):
    return CHECKS[claim].verdict("cpu", made).outcome


def found(claim, made):
    return [(each.outcome, each.note) for each in CHECKS[claim].judged(made)]


@pytest.mark.parametrize("claim", CLAIMS)
def test_worlds_where_it_holds_and_where_it_fails(claim):
    assert (outcome(claim, frames(printed)), outcome(claim, frames(reverse))) == ("agrees", "disagrees")


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_learned_nothing_and_single_seeds_decide_nothing(claim):
    assert outcome(claim, frames(printed, FAR, (0,))) == outcome(claim, frames(reverse, FAR, (0,))) == "undecided"
    dead = {name: frame.assign(correct=0) if "correct" in frame else frame for name, frame in frames().items()}
    language = dead[LANGUAGE].assign(passed=False)
    assert outcome(claim, dead | {LANGUAGE: language}) == "undecided"


@pytest.mark.parametrize("claim", ["BAM-F11", "BAM-F12", "BAM-TAB5"])
def test_what_was_not_tested_far_enough_cannot_agree(claim):
    assert outcome(claim, frames(printed, ())) == "undecided"


def test_a_study_joins_its_arms_and_their_training_lengths():
    data = study(frames()[TRAINING], "length")
    assert data.trained == 128 and data.beyond(ONE, TWO, FOUR) == [1024, 2048, 4096, 8192]
    assert data.beyond(ONE)[0] == 256 and data.present([ONE, "nobody"]) == [ONE]
    low = frames(lambda name, arm, multiple: 0.5 if arm == TWO and multiple == 1.5 else 1.0)
    assert study(low[TRAINING], "length").present([ONE, TWO, FOUR]) == [ONE, FOUR]


def test_an_arm_that_a_profile_does_not_train_leaves_its_sentences_open():
    made = frames()
    signs = found("BAM-C3", made | {PRIORS: made[PRIORS].query("arm != @POSITIVE")})
    assert [each[0] for each in signs] == ["agrees", "agrees", "agrees", "undecided"]
    assert f"not in this profile: {POSITIVE}" in signs[-1][1]
    lengths = found("BAM-F12", made | {TRAINING: made[TRAINING].query("arm != @FOUR")})
    assert [each[0] for each in lengths] == ["undecided", "agrees", "undecided"] and FOUR in lengths[2][1]
    none = found("BAM-F8", made | {PRIORS: made[PRIORS].query("study != 'start'")})
    assert none == [("undecided", "the study of start is not in this profile")] * 2


def test_one_subset_behind_one_encoding_is_enough_to_refute():
    def rule(name, arm, multiple):
        return 0.95 if arm == "alibi-ssmax" and name == "subset" else printed(name, arm, multiple)

    last = found("BAM-F9", frames(rule))[-1]
    assert last[0] == "disagrees" and f"decided by {LOCATION} over alibi-ssmax" in last[1]


def test_a_seed_without_negative_heads_has_no_retrieval_head():
    made = frames()
    none = made | {HEADS: made[HEADS].assign(beta=made[HEADS]["beta"].abs(), passkey_lift=30.0)}
    assert [each[0] for each in found("BAM-C3", none)] == ["agrees", "agrees", "disagrees", "agrees"]


@pytest.mark.parametrize(("gap", "expected"), [(0.1, "agrees"), (0.5, "disagrees")])
def test_what_is_competitive(gap, expected):
    made = frames(lambda name, arm, multiple: 1.0 - gap * (arm == ONE and multiple >= 4))
    assert found("BAM-F12", made)[-1][0] == expected


def test_sizes_are_ordered_by_parameters_and_gains_compared():
    assert training.sizes(frames()[TRAINING]) == ["32x2", "64x3", "96x4"]
    assert "decided by 96x4 over 64x3" in found("BAM-C14", frames())[-1][1]
