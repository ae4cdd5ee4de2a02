"""What of the benchmark was not asked, is undefined or borrowed."""

import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import answers as asking
from attention_priors.experiments import benchmark
from attention_priors.figures.encodings.benchmark import most_retrieving
from attention_priors.training.runs import Run
from figures.committed import frame


def test_what_was_not_asked_counts_as_nothing_and_what_is_undefined_does_not_count():
    rows = frame("encodings_counts")
    far = 10 * rows["length"].max()
    further = rows[(rows["encoding"] == "bam") & (rows["length"] == far // 10)].assign(length=far)
    rows = pd.concat([rows, further.assign(correct=further["samples"])], ignore_index=True)
    made = benchmark.by_length(rows)
    at = made[made["length"] == far].set_index("encoding")
    assert at.loc["bam", ["state", "mean"]].tolist() == ["asked", 1]
    assert at.loc["rope", ["state", "mean"]].tolist() == ["given up", 0] and np.isnan(at.loc["rope", "low"])
    assert at.loc["learned", "state"] == "undefined" and np.isnan(at.loc["learned", "mean"])
    # it answered to the end of what it was asked: no zero, no dot
    assert at.loc["bam-ssmax", "state"] == "left out" and np.isnan(at.loc["bam-ssmax", "mean"])
    first = most_retrieving(frame("encodings_by_length"))[:5]
    assert most_retrieving(made)[:5] == first, "what not all are asked does not count"
    tested = benchmark.reach(rows).groupby("encoding")["longest_tested"].max()
    assert tested["bam"] == tested["rope"] == far > tested["bam-ssmax"]


def test_a_seed_that_gave_up_counts_as_nothing_beside_one_that_did_not():
    """Perfect prompts have an interval too: 6 of 6, and 4 of 6 where a third seed was not asked."""
    cells = [("nope", seed, 128, 2) for seed in range(3)] + [("nope", seed, 256, 2) for seed in range(2)]
    columns = ["encoding", "seed", "length", "correct"]
    made = benchmark.by_length(pd.DataFrame(cells, columns=columns).assign(samples=2, trained=128)).set_index("length")
    assert made.loc[128, "mean"] == made.loc[128, "high"] == 1
    assert made.loc[128, "low"] == pytest.approx(0.025 ** (1 / 6))
    assert list(made["asked"]) == [3, 2] and list(made["state"]) == ["asked", "asked"]
    assert made.loc[256, "mean"] == pytest.approx(2 / 3) and made.loc[256, "low"] == 0 and made.loc[256, "high"] == 1


def test_parameters_are_those_beyond_nope_and_steps_those_of_the_run(tmp_path, monkeypatch):
    def record(run):
        own = run.spec.model.encoding == "t5"
        parts = {"embedding": 10, "transformer": 100, "prior": 7 * own, "prior_fixed": 0}
        return {"parameters": parts, "steps": 20 if own else 10}

    monkeypatch.setattr(Run, "record", record)
    told = frame("encodings_by_length"), frame("encodings_reach")
    made = benchmark.summary(*told, config.profile("full"), tmp_path).set_index("encoding")
    assert list(made.loc["t5", ["parameters", "steps"]]) == [7, 20] and made.loc["nope", "parameters"] == 0


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
