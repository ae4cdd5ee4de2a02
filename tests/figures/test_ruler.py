"""RULER's figures and table on made-up answers, at every profile's shape."""

import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import needles
from attention_priors.figures.methods import label
from attention_priors.figures.ruler import average, tasks
from attention_priors.positions.encodings import encoding
from attention_priors.tasks.needle_text import TASKS


def answers(profile):
    """BAM and its like answer everything but uuids, all others up to twice the training length; nobody tracks."""
    settings, rows = profile.needles, []
    trained = settings.lessons[-1].recipe.length
    for task in TASKS:
        for name in (*settings.encodings, needles.UNTRAINED):
            for seed in profile.seeds:
                missed = 0
                for length in settings.evaluation.lengths:
                    good = name.startswith("bam") or (length <= 2 * trained and name != needles.UNTRAINED)
                    good = good and task not in ("single-3", "multikey-3", "variable-tracking")
                    asked = missed < settings.evaluation.give_up
                    missed = 0 if good else missed + 1
                    required, samples = needles.required(task), settings.evaluation.samples
                    rows.append({"task": task, "encoding": name, "seed": seed, "length": length, "asked": asked,
                                 "right": required * samples * int(good), "required": required, "samples": samples,
                                 "trained": trained, "run": "r"})  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize("name", ["smoke", "cpu", "full", "gpu", "paper"])
def test_figures_are_legible_and_captions_say_what_is_there(name, legible):
    profile = config.profile(name)
    made = answers(profile)
    scores, means = needles.scores(made), needles.averages(made)
    legible(tasks.draw(scores))
    legible(average.draw(means))
    assert len(tasks.build(scores))
    for text in (tasks.caption(scores), average.caption(means), tasks.caption_table(scores)):
        assert str(profile.needles.lessons[-1].recipe.length) in text and "nan" not in text


@pytest.fixture(scope="module")
def cpu():
    return config.profile("cpu")


def test_the_heat_map_has_a_panel_per_task_and_a_cell_per_encoding_and_length(cpu):
    fig = tasks.draw(needles.scores(answers(cpu)))
    panels = [ax for ax in fig.axes if ax.get_title()]
    assert [ax.get_title() for ax in panels] == [tasks.TITLES[task] for task in TASKS]
    names, lengths = [*cpu.needles.encodings, needles.UNTRAINED], cpu.needles.evaluation.lengths
    assert [text.get_text() for text in panels[0].get_yticklabels()] == [label(name) for name in names]
    for ax in panels:
        assert len(ax.texts) == len(names) * len(lengths)
    cells = [text.get_text() for text in panels[0].texts]
    ours = names.index("bam-ssmax") * len(lengths)
    assert cells[ours : ours + len(lengths)] == ["1.00"] * len(lengths)
    assert cells[-len(lengths) :] == [".00"] * 2 + [tasks.NOT_ASKED] * (len(lengths) - 2), "given up after two"


def test_the_average_is_drawn_once_for_each_encoding_and_the_control_in_both_panels():
    full = config.profile("full")
    fig = average.draw(needles.averages(answers(full)))
    found = [[text.get_text() for text in ax.texts] for ax in fig.axes]
    for shown, ssmax in zip(found, (False, True), strict=True):
        wanted = {label(name) for name in full.needles.encodings if encoding(name).ssmax == ssmax}
        assert set(shown) == wanted | {"Untrained"}


def test_a_form_that_nothing_was_trained_in_has_no_panel():
    made = needles.averages(answers(config.profile("full")))
    (ax,) = average.draw(made[made["encoding"].str.endswith("-ssmax") | (made["encoding"] == "untrained")]).axes
    assert ax.get_title() == "with SSMax" and ax.get_ylabel()


def test_captions_name_the_best_and_the_tasks_that_nobody_learned(cpu):
    made = answers(cpu)
    text = tasks.caption(needles.scores(made))
    assert "No encoding scores 0.5 at 200 tokens on Single 3, MultiKey 3, Variable tracking." in text
    assert "scores 0.25 on MultiKey 1, MultiValue and MultiQuery" in text
    better = made.assign(right=made["required"] * made["samples"])
    assert "No encoding scores" not in tasks.caption(needles.scores(better))
    text = average.caption(needles.averages(made))
    last = max(cpu.needles.evaluation.lengths)
    assert f"at {last:,} ({last // 200}×): BAM" in text and "(0.75)" in text  # six of eight tasks
    assert "seeds 0, 1, 2" in text


def test_the_table_has_a_row_per_task_and_encoding_with_intervals(cpu):
    made = tasks.build(needles.scores(answers(cpu)))
    assert len(made) == len(TASKS) * (len(cpu.needles.encodings) + 1)
    assert not made.duplicated(["task", "encoding"]).any()
    heads = [column for column in made.columns if "×" in column]
    assert heads[0] == "200 (1×)" and len(heads) == len(cpu.needles.evaluation.lengths)
    row = made[(made["task"] == "Single 1") & (made["encoding"] == "BAM SSMax")].iloc[0]
    low = 0.025 ** (1 / (len(cpu.seeds) * cpu.needles.evaluation.samples))
    assert row[heads[0]] == f"1.00 [{low:.2f}, 1.00]"
    assert made[made["encoding"] == "Untrained"][heads[-1]].eq("0, not asked").all()


def test_one_seed_has_no_band(cpu):
    rows = needles.averages(answers(cpu.model_copy(update={"seeds": (0,)})))
    made = average.scores(rows[rows["encoding"] == "bam-ssmax"])
    assert made["low"].isna().all() and np.isfinite(made["mean"]).all()
