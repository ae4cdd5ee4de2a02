"""Figures and tables of the ablations on made-up answers at every profile's arms: names, legibility, captions."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from attention_priors import config
from attention_priors.experiments import ablations as experiment
from attention_priors.figures import ablations, style


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def falling(arm, multiple, seed):
    """Misses grow with the length, faster for arms other than BAM SSMax; seeds differ."""
    limit = 40 if arm.name.startswith("bam-ssmax") or arm.name.endswith("extended") else 6 + 3 * seed
    return 1.0 if multiple <= limit else 0.4 if multiple <= 2 * limit else 0.0


def frame(profile, studies, rule=falling):
    rows = []
    for arm in experiment.arms(profile, studies):
        spec, missed = arm.spec, 0
        about = {"study": arm.study, "arm": arm.name, "encoding": arm.encoding, "seed": spec.seed,
                 "trained": spec.recipe.length, "started": spec.start.recipe.length if spec.start else 0,
                 "width": spec.model.width, "layers": spec.model.layers,
                 "parameters": spec.model.width**2 * spec.model.layers, "run": "k"}  # fmt: skip
        for wanted, length in ((each, n) for each in arm.evaluations for n in each.lengths):
            asked = not 0 < wanted.give_up <= missed
            multiple = length / profile.passkey.recipe.length
            correct = round(wanted.samples * rule(arm, multiple, spec.seed)) if asked else 0
            missed = 0 if correct else missed + 1
            rows.append(about | {"length": length, "correct": correct, "samples": wanted.samples, "asked": int(asked)})
    return pd.DataFrame(rows)


def metrics(profile, rule=falling):
    return {"ablation_priors": frame(profile, experiment.PRIORS, rule),
            "ablation_training": frame(profile, experiment.TRAINING, rule)}  # fmt: skip


@pytest.mark.parametrize("name", ["smoke", "cpu", "full", "paper"])
def test_every_figure_is_legible_and_its_caption_whole(name, whole):
    made = metrics(config.profile(name))
    for spec in ablations.FIGURES.values():
        figure = spec.draw(made[spec.metrics])
        figure.draw_without_rendering()
        texts = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
        assert min(text.get_fontsize() for text in texts) >= style.SMALLEST
        for ax in figure.axes:
            drawn = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
            looks = {(line.get_color(), line.get_marker(), str(line._dash_pattern)) for line in drawn}
            assert len(looks) == len(drawn), "no two lines look alike"
            grey = {(line.get_marker(), str(line._dash_pattern)) for line in drawn}
            assert len(grey) == len(drawn), "and none does in grey"
        whole(spec, made[spec.metrics])


@pytest.mark.parametrize("name", ["smoke", "cpu", "full"])
def test_no_arm_is_left_out(name):
    for rows in metrics(config.profile(name)).values():
        for study, own in rows.groupby("study"):
            named = [arm for group in ablations.panels(own).values() for arm in group]
            assert sorted(named) == sorted(set(own["arm"])), study
        assert len(ablations.table(rows)) == rows.groupby(["study", "arm"]).ngroups
        assert "nan" not in ablations.table(rows).to_string()


def test_an_arm_without_a_name_is_refused():
    rows = metrics(config.profile("smoke"))["ablation_priors"].query("study == 'start'").assign(arm="new")
    with pytest.raises(ValueError, match="study start has arms without a name: new; add them to PANELS"):
        ablations.panels(rows)


def test_lines_are_means_over_all_seeds_and_end_where_nobody_was_asked():
    rows = pd.DataFrame({
        "length": [128, 256, 512] * 2, "seed": [0] * 3 + [1] * 3, "samples": 20,
        "correct": [20, 10, 0, 20, 0, 0], "asked": [1, 1, 0, 1, 0, 0],
    })  # fmt: skip
    made = ablations.curve(rows)
    assert made["length"].tolist() == [128, 256] and made["mean"].tolist() == [1.0, 0.25]
    assert (made["low"] <= made["mean"]).all() and (made["mean"] <= made["high"]).all()
    one = ablations.curve(rows[rows["seed"] == 0])
    assert one["low"].isna().all(), "one seed has no interval"


def test_the_caption_gives_means_intervals_and_what_was_not_asked():
    profile = config.profile("cpu")
    made = metrics(profile, lambda arm, multiple, seed: float(multiple <= 1 or arm.name != "alibi-ssmax"))
    caption = ablations.FIGURES["ablation_subset"].caption(made["ablation_priors"])
    assert "θα, θβ 1.00 [0." in caption and "ALiBi 0.00 [0.00, 0." in caption
    assert "Lines end where no seed was asked" in caption
    everywhere = metrics(profile, lambda *_: 1.0)["ablation_priors"]
    assert "Lines end" not in ablations.FIGURES["ablation_subset"].caption(everywhere)


def test_the_caption_says_which_seeds_have_not_learned_their_own_length():
    caption, profile = ablations.FIGURES["ablation_length"].caption, config.profile("full")
    longest = f"bam-ssmax-{max(profile.ablations.multiples)}T"
    made = metrics(profile, lambda arm, multiple, seed: 0.4 if arm.name == longest and seed == 2 else 0.9)
    rows = made["ablation_training"]
    trained, seeds = rows["trained"][rows["arm"] == longest].iloc[0], rows["seed"][rows["arm"] == longest].nunique()
    said = f"Below 0.8 at their own training length: {trained} (1 of {seeds} seeds)."
    assert said in caption(rows)
    assert "Below 0.8" not in caption(metrics(profile, lambda *_: 0.9)["ablation_training"])
    versions = ablations.FIGURES["ablation_version"].caption
    two = metrics(profile, lambda arm, *_: 0.1 if arm.name == "bam-misread" else 1.0)["ablation_priors"]
    assert "without: D, misread (" in versions(two) and "with SSMax: D, misread (" not in versions(two)


def test_the_caption_says_where_a_study_has_one_arm():
    rows = metrics(config.profile("smoke"))["ablation_priors"].query("study == 'sign'")
    caption, said = ablations.FIGURES["ablation_sign"].caption, "this arm alone"
    assert said not in caption(rows) and said in caption(rows[rows["arm"] == "bam-ssmax"])


def test_reach_and_means_in_the_table():
    profile = config.profile("cpu")
    made = ablations.table(metrics(profile, lambda arm, multiple, seed: float(multiple <= 4))["ablation_priors"])
    assert made["reach (tokens)"].str.startswith(f"{4 * profile.passkey.recipe.length:,} ").all()
    assert made["at 4×"].eq("1.00").all() and made["at 32×"].eq("0.00").all()


def test_sizes_stand_in_order_before_and_after():
    rows = metrics(config.profile("cpu"))["ablation_training"].query("study == 'size'")
    before, after = ablations.panels(rows).values()
    assert list(before.values()) == list(after.values()) and len(before) == rows["parameters"].nunique()
    assert all(arm.endswith("-extended") for arm in after) and np.all([not arm.endswith("-extended") for arm in before])


def test_the_caption_of_the_versions_names_those_that_are_drawn():
    words = ablations.FIGURES["ablation_version"].caption
    few, all_ = (metrics(config.profile(name))["ablation_priors"] for name in ("cpu", "full"))
    assert "D: a prior for each layer" in words(few) and "A: one prior" not in words(few)
    assert "A: one prior" in words(all_)
