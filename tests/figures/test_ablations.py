"""Figures and tables of the ablations: every arm has a name, and captions speak of what is drawn."""

import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import ablations as experiment
from attention_priors.figures import NotCompared, ablations
from figures.committed import frame


@pytest.mark.parametrize("name", ["smoke", "cpu", "gpu", "paper"])
def test_no_arm_is_left_out(name):
    arms = pd.DataFrame(
        {
            "study": arm.study,
            "arm": arm.name,
            "encoding": arm.encoding,
            "trained": arm.spec.recipe.length,
            "started": arm.spec.start.recipe.length if arm.spec.start else 0,
            "width": arm.spec.model.width,
            "layers": arm.spec.model.layers,
            "parameters": arm.spec.model.width**2 * arm.spec.model.layers,
        }
        for arm in experiment.arms(config.profile(name), (*experiment.PRIORS, *experiment.TRAINING))
    )
    for study, own in arms.groupby("study"):
        named = [arm for group in ablations.STUDIES[study].named(own).values() for arm in group]
        assert sorted(named) == sorted(set(own["arm"])), study


def test_an_arm_without_a_name_is_refused():
    rows = frame("ablation_priors").query("study == 'start'").assign(arm="new")
    with pytest.raises(ValueError, match="study start has arms without a name: new; add them to its panels in"):
        ablations.START.named(rows)


def test_means_are_over_all_seeds_and_end_where_nobody_was_asked():
    rows = pd.DataFrame(
        {
            "length": [128, 256, 512] * 2,
            "seed": [0] * 3 + [1] * 3,
            "samples": 20,
            "correct": [20, 10, 0, 20, 0, 0],
            "asked": [1, 1, 0, 1, 0, 0],
        }
    )
    made = ablations.arm_mean(rows)
    assert made.index.tolist() == [128, 256] and made["mean"].tolist() == [1.0, 0.25]
    assert (made["low"] <= made["mean"]).all() and (made["mean"] <= made["high"]).all()
    one = ablations.arm_mean(rows[rows["seed"] == 0])
    assert one["low"].isna().all(), "one seed has no interval"


def test_the_caption_says_what_was_not_asked_and_who_has_not_learned_its_own_length():
    there = frame("ablation_training")
    length = there[there["study"] == "length"].assign(asked=1, correct=lambda rows: rows["samples"])
    caption = ablations.LENGTH_FIGURE.caption
    assert "Empty" not in caption(length) and "Below 0.8" not in caption(length)
    trained, seeds = length["trained"].max(), length.query("trained == trained.max()")["seed"].nunique()
    fails = (length["trained"] == trained) & (length["seed"] == 2)
    said = f"Below 0.8 at their own training length: {trained} (1 of {seeds} seeds)."
    assert said in caption(length.assign(correct=length["correct"].mask(fails, 0)))


def test_sizes_stand_in_order_before_and_after():
    rows = frame("ablation_training").query("study == 'size'")
    before, after = ablations.SIZE.named(rows).values()
    assert list(before.values()) == list(after.values()) and len(before) == rows["parameters"].nunique()
    assert all(arm.endswith("-extended") for arm in after) and np.all([not arm.endswith("-extended") for arm in before])


def test_the_caption_of_the_versions_names_those_that_are_drawn():
    words = ablations.VERSION_FIGURE.caption
    all_ = frame("ablation_priors")
    few = all_[~all_["arm"].str.startswith("bam-code")]
    assert "D: a prior for each layer" in words(few) and "A: one prior" not in words(few)
    assert "A: one prior" in words(all_)


def test_a_location_that_nobody_trains_is_left_out():
    heads = frame("ablation_heads")
    with pytest.raises(NotCompared, match="nobody trains bam-location-ssmax under this profile"):
        ablations.locations(heads[heads["encoding"] != "bam-location-ssmax"])
