"""Associative recall from end to end at the smallest size, and the load that is carried against values by hand."""

import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import recall
from attention_priors.figures import FIGURES, NotCompared

LOADS, LENGTHS = (4, 8, 16, 32, 64), (32, 64, 128, 512, 2048)


def world(carries, seeds=(0, 1)):
    """Encodings that answer texts of up to so many pairs, and all texts within T: a frame of answers."""
    rows = []
    for name, most in carries.items():
        for seed in seeds:
            for load in LOADS:
                for length in (n for n in LENGTHS if n >= 2 * load + min(load, 16)):
                    good = load <= most or length <= 128
                    rows.append(
                        {
                            "encoding": name,
                            "seed": seed,
                            "steps": 300,
                            "load": load,
                            "length": length,
                            "correct": 10 * good,
                            "queries": 10,
                            "samples": 5,
                            "run": "r",
                            "trained": 128,
                        }
                    )
    return pd.DataFrame(rows)


def test_the_load_is_read_where_shares_first_cross_one_half():
    assert recall.crossing([4, 8, 16], [0.4, 1.0, 1.0]) == 0
    assert recall.crossing([4, 8, 16], [1.0, 0.9, 0.5]) == 16
    assert recall.crossing([4, 8, 16], [1.0, 0.75, 0.25]) == pytest.approx(8 * 2**0.5)
    assert recall.crossing([4, 16, 64], [1.0, 0.0, 1.0]) == pytest.approx(8), "what comes after is not carried"


def test_a_run_passes_by_sixteen_pairs_within_t_alone():
    frame = world({"rope": 4, "bam": 64})
    dense = (frame["load"] == 32) & (frame["length"] == 128)
    frame.loc[dense, "correct"] = 0
    assert recall.learned(frame)["passed"].all()
    frame.loc[(frame["load"] == 16) & (frame["length"] == 64) & (frame["encoding"] == "rope"), "correct"] = 0
    gates = recall.learned(frame)
    assert dict(zip(gates["encoding"], gates["passed"], strict=True)) == {"rope": False, "bam": True}


def test_the_surface_and_the_load_carried_by_hand():
    frame = world({"rope": 8, "bam": 64})
    gates = recall.learned(frame)
    surface = recall.surface(frame, gates).set_index(["encoding", "load", "length"])
    assert len(surface) == 2 * 19 and surface.loc[("rope", 8, 512), "mean"] == 1
    row = surface.loc[("rope", 16, 512)]
    assert (row["mean"], row["seeds"], row["passed"], row["samples"]) == (0, 2, 2, 5) and row["low"] == 0 < row["high"]
    found = recall.carried(frame, gates).set_index(["encoding", "seed", "length"]).sort_index()
    assert found.loc[("rope", 0, 512), "carried"] == pytest.approx(8 * 2**0.5) and found["passed"].all()
    assert list(found.xs(("bam", 1))["carried"]) == [8, 16, 32, 64, 64] == list(found.xs(("bam", 1))["most"])


def test_the_figure_has_a_panel_each_and_names_who_missed_the_gate():
    frame = world({"rope": 4, "bam": 64, "nope": 16})
    made = recall.carried(frame, recall.learned(frame))
    made.loc[(made["encoding"] == "nope") & (made["seed"] == 1), "passed"] = False
    spec = FIGURES["recall_carried"]
    assert [ax.get_title() for ax in spec.draw(made).axes if ax.get_title()] == ["RoPE", "BAM", "NoPE"]
    said = spec.caption(made)
    assert (
        "BAM carries most, 64." in said and "deciding nothing: NoPE (seed 1)" in said and "Up to 64 are asked" in said
    )
    with pytest.raises(NotCompared, match="stands alone"):
        spec.draw(made[made["encoding"] == "bam"])


def test_a_smoke_profile_trains_and_answers_and_asks_nothing_twice(tmp_path, monkeypatch):
    smoke = config.profile("smoke")
    settings = smoke.recall.model_copy(update={"encodings": ("rope", "nope"), "seeds": (0,)})
    profile = smoke.model_copy(update={"recall": settings, "workers": 1})
    frames = recall.EXPERIMENT.measured(profile, tmp_path, tmp_path)
    answers = frames["recall_answers"]
    assert len(answers) == 2 * len(settings.cells) and (answers["correct"] <= answers["queries"]).all()
    assert set(recall.EXPERIMENT.derived(frames)) == {"recall_gate", "recall_surface", "recall_carried"}
    monkeypatch.setattr(recall, "recalled", None)
    assert recall.EXPERIMENT.measured(profile, tmp_path, tmp_path)["recall_answers"].equals(answers)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"loads": (65,)}, "loads = 65"),
        ({"loads": (4, 8)}, "do not ask 16 pairs at the training length 128"),
        ({"encodings": ("rope-local",)}, "rope-local has no weights of its own"),
        ({"encodings": ("learned",)}, "learned has no weights of its own, or ends before"),
    ],
)
def test_settings_that_ask_what_there_is_not_are_refused(changes, said):
    values = config.profile("smoke").recall.model_dump()
    with pytest.raises(ValueError, match=said):
        recall.Settings(**values | {"evaluation": {"lengths": (128, 65536), "samples": 1}} | changes)
