"""The gate of the passkey task, by hand."""

import pandas as pd
import pytest

from attention_priors.experiments.gate import gated, passing


def frame(**hits):
    """Hits of 50 by run ("name_seed") at 96, 112, 128 and beyond: 256."""
    lengths = (96, 112, 128, 256)
    rows = [
        (*run.split("_"), length, right, 50, 128)
        for run, each in hits.items()
        for length, right in zip(lengths, each, strict=False)
    ]
    made = pd.DataFrame(rows, columns=["encoding", "seed", "length", "correct", "samples", "trained"])
    return made.astype({"seed": int})


def test_a_run_passes_at_95_of_100_pooled_and_90_at_the_worst_length():
    found = gated(frame(good_0=(50, 48, 45, 0), table_0=(15, 0, 50, 0), low_0=(47, 47, 47, 50), dip_0=(50, 50, 44, 50)))
    assert found["passed"].tolist() == [True, False, False, False]
    assert found["pooled"].tolist() == pytest.approx([143 / 150, 65 / 150, 141 / 150, 144 / 150])
    assert found["worst"].tolist() == [0.9, 0.0, 0.94, 0.88] and found["worst_at"].tolist() == [128, 112, 96, 128]
    assert (found["samples"] == 150).all() and (found["trained"] == 128).all()


def test_forms_are_gated_apart_and_steps_are_kept():
    plain = frame(a_0=(50, 50, 50, 1), a_1=(50, 50, 50, 1)).assign(form="plain", steps=300)
    hard = frame(a_0=(50, 50, 9, 1)).assign(form="hard", steps=900)
    both = pd.concat([plain, hard])
    assert gated(both)[["form", "seed", "passed", "steps"]].values.tolist() == [
        ["plain", 0, True, 300],
        ["plain", 1, True, 300],
        ["hard", 0, False, 900],
    ]
    assert passing(both).equals(plain)


def test_each_is_gated_at_its_own_training_length():
    both = pd.concat([frame(a_0=(50, 50, 50, 0)), frame(b_0=(50, 50, 50, 0)).assign(trained=256)])
    assert gated(both)[["trained", "passed"]].values.tolist() == [[128, True], [256, False]]


def test_another_share_may_be_asked_for():
    some = frame(a_0=(44, 43, 41, 0), b_0=(50, 38, 50, 0), c_0=(42, 42, 42, 0))
    assert not gated(some)["passed"].any()
    assert gated(some.assign(gate=0.85))["passed"].tolist() == [True, False, False], "b: 0.76 < 0.80; c: 0.84 pooled"


def test_what_passes_keeps_its_rows_beyond_the_training_length():
    kept = passing(frame(a_0=(50, 50, 50, 7), a_1=(50, 50, 20, 50)))
    assert kept["seed"].unique().tolist() == [0] and kept["length"].max() == 256
    assert "form" not in kept
    assert passing(kept.iloc[:0]).empty and passing(kept.iloc[:0]).columns.equals(kept.columns)


def test_a_run_that_was_not_asked_at_its_lengths_is_one_line():
    with pytest.raises(ValueError, match=r"^a/0 \(plain\) was asked at no length up to 128, .*; ask it there$"):
        gated(frame(a_0=(50, 50, 50, 7)).query("length > 128"))
    some = frame(a_0=(50, 50, 50, 7), b_0=(50, 50, 50, 7)).query("encoding == 'b' or length != 112")
    with pytest.raises(ValueError, match=r"^a/0 \(plain\) was not asked at \[112\], as its rivals were; ask it there$"):
        gated(some)
    assert not gated(frame(a_0=(0,), b_0=(50, 50, 50)))["passed"][0]  # given up: it fails by what it answered
