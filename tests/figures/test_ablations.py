"""Figures and tables of the ablations on made-up answers at every profile's arms: names, legibility, captions."""

import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import ablations as experiment
from attention_priors.figures import NotCompared, ablations


def falling(arm, multiple, seed):
    """Misses grow with the length, faster for arms other than BAM SSMax; seeds differ."""
    limit = 40 if arm.name.startswith("bam-ssmax") or arm.name.endswith("extended") else 6 + 3 * seed
    return 1.0 if multiple <= limit else 0.4 if multiple <= 2 * limit else 0.0


def frame(profile, studies, rule=falling):
    rows = []
    for arm in experiment.arms(profile, studies):
        spec, missed = arm.spec, 0
        about = {
            "study": arm.study,
            "arm": arm.name,
            "encoding": arm.encoding,
            "seed": spec.seed,
            "trained": spec.recipe.length,
            "started": spec.start.recipe.length if spec.start else 0,
            "width": spec.model.width,
            "layers": spec.model.layers,
            "parameters": spec.model.width**2 * spec.model.layers,
            "run": "k",
        }
        for wanted, tokens in ((each, n) for each in arm.evaluations for n in each.lengths):
            asked = not 0 < wanted.give_up <= missed
            multiple = tokens / profile.passkey.recipe.length
            correct = round(wanted.samples * rule(arm, multiple, spec.seed)) if asked else 0
            missed = 0 if correct else missed + 1
            rows.append(about | {"length": tokens, "correct": correct, "samples": wanted.samples, "asked": int(asked)})
    return pd.DataFrame(rows)


def metrics(profile, rule=falling):
    return {
        "ablation_priors": frame(profile, experiment.PRIORS, rule),
        "ablation_training": frame(profile, experiment.TRAINING, rule),
    }


@pytest.mark.parametrize("name", ["smoke", "cpu", "full"])
def test_no_arm_is_left_out(name):
    for rows in metrics(config.profile(name)).values():
        for name, own in rows.groupby("study"):
            named = [arm for group in ablations.STUDIES[name].named(own).values() for arm in group]
            assert sorted(named) == sorted(set(own["arm"])), name
        assert len(ablations.build(rows)) == rows.groupby(["study", "arm"]).ngroups
        assert "nan" not in ablations.build(rows).to_string()


def test_an_arm_without_a_name_is_refused():
    rows = metrics(config.profile("smoke"))["ablation_priors"].query("study == 'start'").assign(arm="new")
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


def test_the_caption_gives_means_intervals_and_what_was_not_asked():
    profile = config.profile("full")
    made = metrics(profile, lambda arm, multiple, seed: float(multiple <= 1 or arm.name != "alibi-ssmax"))
    rows = made["ablation_priors"]
    few = rows.assign(correct=2 * (rows["correct"] > 0), samples=2)  # so that intervals are wider than they are rounded
    caption = ablations.SUBSET_FIGURE.caption(few)
    assert "θα, θβ 1.00 [0." in caption and "ALiBi 0.00 [0.00, 0." in caption
    assert "Empty: no seed was asked so far" in caption
    everywhere = metrics(profile, lambda *_: 1.0)["ablation_priors"]
    assert "Empty" not in ablations.SUBSET_FIGURE.caption(everywhere)


def test_the_caption_says_which_seeds_have_not_learned_their_own_length():
    caption, profile = ablations.LENGTH_FIGURE.caption, config.profile("full")
    longest = f"bam-ssmax-{max(profile.ablations.multiples)}T"
    made = metrics(profile, lambda arm, multiple, seed: 0.4 if arm.name == longest and seed == 2 else 0.9)
    rows = made["ablation_training"]
    trained, seeds = rows["trained"][rows["arm"] == longest].iloc[0], rows["seed"][rows["arm"] == longest].nunique()
    said = f"Below 0.8 at their own training length: {trained} (1 of {seeds} seeds)."
    assert said in caption(rows)
    assert "Below 0.8" not in caption(metrics(profile, lambda *_: 0.9)["ablation_training"])
    versions = ablations.VERSION_FIGURE.caption
    two = metrics(profile, lambda arm, *_: 0.1 if arm.name == "bam-misread" else 1.0)["ablation_priors"]
    assert "without: D, misread (" in versions(two) and "with SSMax: D, misread (" not in versions(two)


def test_reach_and_means_in_the_table():
    profile = config.profile("full")
    made = ablations.build(metrics(profile, lambda arm, multiple, seed: float(multiple <= 4))["ablation_priors"])
    assert made["reach (tokens)"].str.startswith(f"{4 * profile.passkey.recipe.length:,} ").all()
    assert made["at 4×"].eq("1.00").all() and made["at 16×"].eq("0.00").all()


def test_sizes_stand_in_order_before_and_after():
    rows = metrics(config.profile("full"))["ablation_training"].query("study == 'size'")
    before, after = ablations.SIZE.named(rows).values()
    assert list(before.values()) == list(after.values()) and len(before) == rows["parameters"].nunique()
    assert all(arm.endswith("-extended") for arm in after) and np.all([not arm.endswith("-extended") for arm in before])


def test_the_caption_of_the_versions_names_those_that_are_drawn():
    words = ablations.VERSION_FIGURE.caption
    all_ = metrics(config.profile("full"))["ablation_priors"]
    few = all_[~all_["arm"].str.startswith("bam-code")]
    assert "D: a prior for each layer" in words(few) and "A: one prior" not in words(few)
    assert "A: one prior" in words(all_)


def test_what_the_heads_of_the_ablations_learned_is_said_or_left_out():
    names = ["bam-ssmax", "bam-ssmax", "bam-location-ssmax"]
    rows = pd.DataFrame(
        {
            "encoding": names,
            "seed": 0,
            "mu": [0.0, 0.0, -0.5],
            "beta": [-0.5, 0.4, 0.1],
            "recent_mass": [0.1, 0.3, 0.5],
            "passkey_mass": [0.1, 0.3, 1 / 30],
            "passkey_lift": [3.0, 9.0, 1.0],
        }
    )
    assert ablations.locations(rows)["share of heads with μ < 0"].tolist() == [1.0]
    with pytest.raises(NotCompared, match="nobody trains bam-location-ssmax under this profile"):
        ablations.locations(rows[:2])
    found = ablations.attention(rows).set_index("encoding").loc["BAM SSMax"]
    assert found.tolist() == [1, 0.2, 9.0, 3.0]
    assert "over its even share, at most 30.0." in ablations.caption_attention(rows)
    losses = pd.DataFrame(
        {
            "encoding": "bam-ssmax",
            "length": [128, 256],
            "trained": 128,
            "trained_on": True,
            "loss": [2.0, 9.0],
            "seed": 0,
            "passed": True,
        }
    )
    assert ablations.losses(losses)["loss on documents at T (nats)"].tolist() == [2.0]
    assert ablations.losses(losses)["passed the gate"].tolist() == ["1 of 1"]
