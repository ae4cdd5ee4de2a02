"""What of the benchmark was not asked, is undefined or borrowed, in made-up answers."""

import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import answers as asking
from attention_priors.experiments import benchmark
from attention_priors.figures import FIGURES
from attention_priors.figures.encodings.benchmark import most_retrieving
from attention_priors.positions.encodings import encoding


def answers(profile):
    """Priors with BAM's name never fall; rotations are given up; all others fall at four times the training length."""
    settings, trained, give_up = profile.passkey, profile.passkey.recipe.length, profile.benchmark.give_up
    rows = []
    for name in profile.benchmark.encodings:
        row = encoding(name)
        for seed in profile.seeds_for(name):
            missed = 0
            asked = (*settings.evaluation.lengths, *settings.far.lengths)
            for length in (n for n in asked if n <= (row.longest or np.inf)):
                good = name.startswith("bam") or length <= trained * (1 if row.rotary else 4)
                missed = 0 if good else missed + 1
                rows.append(
                    {
                        "encoding": name,
                        "seed": seed,
                        "length": length,
                        "correct": 2 * int(good),
                        "samples": 2,
                        "trained": trained,
                    }
                )
                if 0 < give_up <= missed:
                    break
    return pd.DataFrame(rows)


def frames(profile):
    rows = answers(profile)
    return benchmark.by_length(rows), benchmark.reach(rows)


def test_what_was_not_asked_counts_as_nothing_and_what_is_undefined_does_not_count():
    profile = config.profile("full")
    by_length, reach = frames(profile)
    table = by_length.set_index(["encoding", "length"])
    last = max(profile.passkey.far.lengths)
    assert table.loc[("rope", last), "state"] == "given up" and table.loc[("rope", last), "mean"] == 0
    assert np.isnan(table.loc[("rope", last), "low"])
    assert table.loc[("bam-ssmax", last), "state"] == "asked" and table.loc[("bam-ssmax", last), "mean"] == 1
    rows = answers(profile)
    further = rows[(rows["encoding"] == "bam") & (rows["length"] == last)].assign(length=10 * last)
    long = benchmark.by_length(pd.concat([rows, further])).set_index(["encoding", "length"])
    assert long.loc[("learned", 10 * last), "state"] == "undefined"
    assert np.isnan(long.loc[("learned", 10 * last), "mean"]) and long.loc[("bam", 10 * last), "mean"] == 1
    left = "bam-ssmax", 10 * last  # it answered to the end of what it was asked: no zero, no dot
    assert long.loc[left, "state"] == "left out" and np.isnan(long.loc[left, "mean"])
    assert long.loc[("rope", 10 * last), "state"] == "given up" and long.loc[("rope", 10 * last), "mean"] == 0
    said = FIGURES["encodings_accuracy"].caption(long.reset_index())
    assert "empty: not asked, with a hit at the last length that was;" in said
    assert most_retrieving(long.reset_index())[:2] == most_retrieving(by_length)[:2], (
        "what not all are asked does not count"
    )
    tested = benchmark.reach(pd.concat([rows, further], ignore_index=True)).groupby("encoding")["longest_tested"].max()
    assert tested["bam"] == tested["rope"] == 10 * last and tested["bam-ssmax"] == last
    medians = reach.groupby("encoding")["reach"].median()
    assert medians["bam"] == last and medians["rope"] == 128 and medians["alibi"] == 512


def test_a_seed_that_gave_up_counts_as_nothing_beside_one_that_did_not():
    """Perfect prompts have an interval too: 6 of 6, and 4 of 6 where a third seed was not asked."""
    cells = [("nope", seed, 128, 2) for seed in range(3)] + [("nope", seed, 256, 2) for seed in range(2)]
    columns = ["encoding", "seed", "length", "correct"]
    made = benchmark.by_length(pd.DataFrame(cells, columns=columns).assign(samples=2, trained=128)).set_index("length")
    assert made.loc[128, "mean"] == made.loc[128, "high"] == 1
    assert made.loc[128, "low"] == pytest.approx(0.025 ** (1 / 6))
    assert list(made["asked"]) == [3, 2] and list(made["state"]) == ["asked", "asked"]
    assert made.loc[256, "mean"] == pytest.approx(2 / 3) and made.loc[256, "low"] == 0 and made.loc[256, "high"] == 1


def test_the_order_is_by_accuracy_beyond_the_training_length():
    by_length, _ = frames(config.profile("cpu"))
    names = most_retrieving(by_length)
    assert names[0].startswith("bam") and encoding(names[-1]).rotary is not None
    assert most_retrieving(by_length.iloc[::-1])[0].startswith("bam")


def test_extensions_are_answered_beside_the_runs_that_they_borrow(tmp_path, monkeypatch):
    profile = config.profile("smoke")
    hasty = profile.benchmark.model_copy(update={"give_up": 1})
    wanted = benchmark.wanted(profile.model_copy(update={"benchmark": hasty}))
    by_run = {spec.model.encoding: set(names) for spec, names in wanted.items()}
    assert by_run["rope"] == {"rope", "rope-yarn", "rope-leaky-rerope"} and by_run["goat"] == {"goat"}
    asked = []

    def samples(model, length, count, seed, form, local):
        asked.append((type(model.blocks[0].attention).__name__, model.config.encoding, length))
        return [{"depth": 0.0, "digits": 0, "correct": 0}]

    monkeypatch.setattr(asking, "passkey_samples", samples)
    spec = next(spec for spec in wanted if spec.model.encoding == "rope")
    rows = pd.DataFrame(asking.train_and_answer(spec, str(tmp_path), "cpu", wanted[spec]))
    assert asked == [
        ("Attention", "rope", 112),
        ("Attention", "rope-yarn", 112),
        ("RectifiedAttention", "rope-leaky-rerope", 112),
    ]
    assert set(rows["length"]) == {112}, "given up after one length without a hit"
    asked.clear()
    again = pd.DataFrame(asking.train_and_answer(spec, str(tmp_path), "cpu", wanted[spec]))
    assert not asked, "answers are kept"
    pd.testing.assert_frame_equal(again, rows)  # and their columns have one order
