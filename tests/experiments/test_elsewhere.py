"""Compositions on text and on a needle: which rows stand in the table, and whose gate decides."""

import math

import pandas as pd
import pytest

from attention_priors.experiments.elsewhere import NEEDLES, TEXT, scores
from attention_priors.figures import TABLES, NotCompared

TABLE = TABLES["division_elsewhere"]


def texts(name, losses, passed=True, times=1):
    return [
        {
            "encoding": name,
            "times": times,
            "seed": seed,
            "trained_on": known,
            "length": 64 * multiple,
            "trained": 64,
            "loss": loss + 0.1 * multiple + (not known),
            "passed": passed,
        }
        for seed, loss in enumerate(losses)
        for multiple in (1, 8)
        for known in (True, False)
    ]


def needles(name, right, passed=True, task=NEEDLES[0]):
    answers = [
        {
            "encoding": name,
            "task": task,
            "seed": seed,
            "length": 240 * multiple,
            "trained": 240,
            "right": hits if multiple > 1 else 20,
            "required": 1,
            "samples": 20,
        }
        for seed, hits in enumerate(right)
        for multiple in (0.9, 1, 16)
    ]
    gates = [{"task": task, "encoding": name, "seed": seed, "passed": passed} for seed in range(len(right))]
    return answers, gates


def table(names, language, *asked):
    answers, gates = (pd.DataFrame([row for each in asked for row in each[i]]) for i in (0, 1))
    return scores(pd.DataFrame({"encoding": names}), pd.DataFrame(language), answers, gates)


def found(frame, name, task, multiple):
    return frame.set_index(["encoding", "task", "multiple"]).loc[(name, task, multiple)]


FRAME = table(
    ["rope", "rope-bam", "half-rope"],
    [
        *texts("rope", [1.0, 1.2]),
        *texts("rope", [0.5], times=3),
        *texts("rope-bam", [2.0], passed=False),
        *texts("t5", [1.0]),
    ],
    needles("rope", [10, 20]),
    needles("rope-bam", [7], passed=False, task=NEEDLES[1]),
)


def test_text_is_the_loss_at_equal_tokens_on_text_of_the_kind_trained_on():
    row = found(FRAME, "rope", TEXT, 8.0)
    assert row["value"] == pytest.approx(1.9) and row["low"] < 1.9 < row["high"] and row["passed"] == 2
    assert "t5" not in set(FRAME["encoding"]), "no row of the division"


def test_a_needle_is_the_share_answered_from_the_training_length_on():
    assert set(FRAME.query("task == @NEEDLES[0]")["multiple"]) == {1.0, 16.0}
    row = found(FRAME, "rope", NEEDLES[0], 16.0)
    assert row["value"] == pytest.approx(0.75) and row["low"] < 0.5 and row["high"] == 1.0


def test_seeds_that_missed_the_gate_count_nowhere():
    for task, multiple in ((TEXT, 8.0), (NEEDLES[1], 16.0)):
        row = found(FRAME, "rope-bam", task, multiple)
        assert math.isnan(row["value"]) and (row["seeds"], row["passed"]) == (1, 0)


def test_the_table_says_what_was_not_trained_and_who_missed_the_gate():
    made = TABLE.build(TABLE.check(FRAME)).set_index("encoding")
    assert made.shape == (2, 7), "an encoding with neither task has no row"
    rope, other = made.iloc[0], made.iloc[1]
    assert rope["text, nats, at 8×"].startswith("1.90 [") and rope["needle in prose, at 16×"] == "not trained"
    assert other["text, nats, at 1×"] == "gate missed (0 of 1 seeds passed)"
    with pytest.raises(NotCompared):
        TABLE.build(FRAME[FRAME["encoding"] == "rope"])
