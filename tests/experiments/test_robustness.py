"""Arms change one thing each, and the order is compared over encodings."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from attention_priors import config
from attention_priors.checks import CHECKS
from attention_priors.experiments import robustness as arms
from attention_priors.experiments.arms import passkey_run
from attention_priors.experiments.correlation import kendall
from attention_priors.experiments.tuning import tried

PROFILE = config.profile("smoke")
NAMES = ("rope", "alibi", "t5", "sandwich", "kerple-log", "bam")


def test_an_arm_changes_one_thing():
    usual = passkey_run(PROFILE, "bam", 0)
    wide, fixed, own, long = (
        arms.run(PROFILE, arm, "bam", 0) for arm in (arms.LARGER, arms.STEPS, arms.RATES, arms.LONGER)
    )
    assert arms.run(PROFILE, arms.BENCHMARK, "bam", 0) == usual
    assert wide.recipe == usual.recipe and wide.model.width == PROFILE.robustness.size.width
    assert not fixed.recipe.stops and fixed.recipe.steps == PROFILE.robustness.steps and fixed.model == usual.model
    assert own.recipe == usual.recipe.model_copy(update={"prior_rate": 0.2 * usual.recipe.prior_rate})
    assert long.recipe.length == 2 * usual.recipe.length and long.recipe.batch == usual.recipe.batch / 2
    assert arms.run(PROFILE, arms.RATES, "rope", 0) == passkey_run(PROFILE, "rope", 0), "no rate of its own: one run"


def test_the_rates_of_full_are_those_of_the_best_trial():
    """By the loss on answers up to T, as the notebook says, and not by what lies beyond."""
    settings, recipe = config.profile("full").robustness, config.profile("full").passkey.recipe
    trials = tried()
    best = trials.loc[trials.groupby("encoding")["answer_loss"].idxmin()].set_index("encoding")
    assert set(settings.encodings) == set(best.index)
    for name, row in best.iterrows():
        assert row["rate"] == pytest.approx(settings.rates.get(name, 1.0) * recipe.rate)
        assert row["prior_rate"] == pytest.approx(settings.prior_rates.get(name, 1.0) * recipe.prior_rate)


def counts(order: dict[str, tuple[str, ...]], near: int = 20) -> pd.DataFrame:
    """Per arm, encodings from the worst to the best: hits of 20 beyond T by their place, and `near` up to it."""
    rows = [
        (arm, name, seed, round(times * trained), near if times <= 1 else min(20, 3 * place + seed % 2), trained)
        for arm, names in order.items()
        for trained in [256 if arm == arms.LONGER else 128]
        for (place, name), seed, times in itertools.product(enumerate(names), range(3), (*arms.GATE, *arms.FAR))
    ]
    frame = pd.DataFrame(rows, columns=["arm", "encoding", "seed", "length", "correct", "trained"])
    return frame.assign(samples=20, run="run")


def test_kendall_is_scipys_with_ties_and_its_interval_holds_it():
    draw = np.random.default_rng(0)
    for _ in range(20):
        first, second = draw.integers(0, 5, 10), draw.integers(0, 5, 10)
        tau, low, high = kendall(first, second)
        assert tau == pytest.approx(stats.kendalltau(first, second).statistic) and low < tau < high
    assert np.isnan(kendall([1, 1, 1, 1], [1, 2, 3, 4])[0]) and np.isnan(kendall([1, 2, 3], [1, 2, 3])[0])


def test_the_claim_can_be_decided_either_way_and_needs_every_arm():
    every = (arms.BENCHMARK, *arms.ARMS)
    same = {"robustness_counts": counts(dict.fromkeys(every, NAMES))}
    found = CHECKS["X-36"].judged(same)
    assert [each.outcome for each in found] == ["agrees"] * 5
    turned = {arm: NAMES if arm == arms.BENCHMARK else NAMES[::-1] for arm in every}
    assert [each.outcome for each in CHECKS["X-36"].judged({"robustness_counts": counts(turned)})] == ["disagrees"] * 5
    some = {"robustness_counts": counts({arm: NAMES for arm in every[:3]})}
    assert [each.outcome for each in CHECKS["X-36"].judged(some)] == ["agrees"] * 2 + ["undecided"] * 3


def test_every_arm_is_trained_and_asked_at_multiples_of_its_own_length(tmp_path):
    small = PROFILE.robustness.model_copy(
        update={"encodings": ("rope",), "seeds": (0,), "rates": {}, "prior_rates": {}}
    )
    one = PROFILE.model_copy(update={"workers": 1, "robustness": small})
    frame = arms.measure(one, tmp_path, tmp_path)["robustness_counts"]
    trained = one.passkey.recipe.length
    asked = frame.groupby("arm")[["trained", "length"]].agg({"trained": "first", "length": "max"})
    assert asked.loc[arms.LONGER].tolist() == [2 * trained, 32 * trained]
    assert (asked.drop(arms.LONGER) == [trained, 16 * trained]).all().all()
    assert frame["run"].nunique() == 4, "rates that are the recipe's train the benchmark's run"
    assert (frame["samples"] == 2).all() and len(frame) == 5 * (len(arms.GATE) + len(arms.FAR))
