"""RULER's figures and table on made-up answers, at every profile's shape."""

import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import needles
from attention_priors.figures import NotCompared, ruler
from attention_priors.figures.curves import over_seeds
from attention_priors.figures.methods import METHODS, label, named


def answers(profile, tasks_asked=()):
    """BAM and its like answer everything but uuids, all others up to twice the training length; nobody tracks."""
    settings, rows = profile.needles, []
    trained = settings.lessons[-1].recipe.length
    for task in tasks_asked or settings.tasks:
        for name in (*settings.encodings, needles.UNTRAINED):
            for seed in profile.seeds:
                missed = 0
                for length in settings.evaluation.lengths:
                    good = name.startswith("bam") or (length <= 2 * trained and name != needles.UNTRAINED)
                    good = good and task not in ("single-3", "multikey-3", "variable-tracking")
                    asked = missed < settings.evaluation.give_up
                    missed = 0 if good else missed + 1
                    required, samples = needles.required(task), settings.evaluation.samples
                    rows.append(
                        {
                            "task": task,
                            "encoding": name,
                            "seed": seed,
                            "length": length,
                            "asked": asked,
                            "right": required * samples * int(good),
                            "required": required,
                            "samples": samples,
                            "trained": trained,
                            "steps": 500,
                            "run": "r",
                        }
                    )
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def cpu():
    return config.profile("cpu")


def test_the_average_has_a_row_for_each_encoding_and_the_control():
    full = config.profile("full")
    fig = ruler.draw_average(needles.averages(answers(full)))
    found = [tick.get_text() for tick in fig.axes[0].get_yticklabels()]
    wanted = [name for ssmax in (False, True) for name in named(ssmax, METHODS) if name in full.needles.encodings]
    assert [name for name in found if name in set(map(label, wanted))] == [*map(label, wanted)]
    assert sorted(found) == sorted([*map(label, full.needles.encodings), "Untrained"])
    assert {text.get_text() for text in fig.axes[0].texts} == {"without SSMax", "with SSMax", "control"}


def test_an_encoding_of_which_no_seed_passed_is_hollow_and_one_alone_is_not_drawn():
    made = needles.averages(answers(config.profile("full"), ("single-1",)))
    fig = ruler.draw_average(made.assign(passed=made["encoding"] != "rope"))
    marks = [line for line in fig.axes[0].get_lines() if line.get_label() == "_mean"]
    hollow = [line.get_markerfacecolor() == "white" for line in marks]
    names = [tick.get_text() for tick in fig.axes[0].get_yticklabels()]
    assert [name for name, empty in zip(names, hollow, strict=True) if empty] == ["RoPE"]
    with pytest.raises(NotCompared, match="ruler_average: bam stands alone"):
        ruler.draw_average(made[made["encoding"].isin(["bam", "untrained"])])


def test_the_caption_counts_who_learned(cpu):
    text = ruler.caption_average(needles.averages(answers(cpu)))
    last = max(cpu.needles.evaluation.lengths)
    assert f"asked to {last:,} ({last // 128}×)" in text and "seeds 0, 1, 2" in text
    assert "passed the gate on all of these tasks: all;" in text


def test_the_table_has_a_row_per_task_and_encoding_with_intervals(cpu):
    made = ruler.build_tasks(needles.scores(answers(cpu)))
    assert len(made) == len(cpu.needles.tasks) * (len(cpu.needles.encodings) + 1)
    assert set(made["passed the gate"]) == {"", len(cpu.seeds)}
    assert not made.duplicated(["task", "encoding"]).any()
    heads = [column for column in made.columns if "×" in column]
    assert heads[0] == "96 (0.75×)" and len(heads) == len(cpu.needles.evaluation.lengths)
    row = made[(made["task"] == "Single 1") & (made["encoding"] == "BAM SSMax")].iloc[0]
    low = 0.025 ** (1 / (len(cpu.seeds) * cpu.needles.evaluation.samples))
    assert row[heads[0]] == f"1.00 [{low:.2f}, 1.00]"
    assert made[made["encoding"] == "Untrained"][heads[-1]].eq("0, not asked").all()
    some = answers(cpu)
    one = (some["encoding"] == "bam") & (some["seed"] == 0) & (some["length"] == 256) & (some["task"] == "single-1")
    partly = ruler.build_tasks(needles.scores(some.assign(asked=some["asked"] & ~one)))
    told = partly["not all seeds asked at"]
    assert set(told) == {"", "256"} and partly[told == "256"]["encoding"].tolist() == ["BAM"]


def test_one_seed_has_no_band(cpu):
    rows = needles.averages(answers(cpu.model_copy(update={"seeds": (0,)})))
    made = over_seeds(rows[rows["encoding"] == "bam-ssmax"], "score", ruler.ends)
    assert made["low"].isna().all() and np.isfinite(made["mean"]).all()
