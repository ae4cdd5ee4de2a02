"""Perplexity beside retrieval: who stands in the table, with which seeds, and what decides."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.experiments.misleading import both


def texts(name, losses, passed=True, times=1, multiples=(1, 4)):
    return [
        {
            "encoding": name,
            "times": times,
            "seed": seed,
            "trained_on": known,
            "length": 64 * m,
            "trained": 64,
            "loss": loss + 0.1 * m + (not known),
            "passed": passed,
        }
        for seed, loss in enumerate(losses)
        for m in multiples
        for known in (True, False)
    ]


def answers(name, correct, multiples=(1, 2, 4), form="plain"):
    return [
        {
            "form": form,
            "encoding": name,
            "seed": seed,
            "length": 128 * m,
            "trained": 128,
            "correct": 50 if m == 1 and right >= 0 else max(right, 0),
            "samples": 50,
        }
        for seed, right in enumerate(correct)
        for m in multiples
    ]


def table(language, passkeys):
    return both(pd.DataFrame(language), pd.DataFrame(passkeys)).set_index(["encoding", "multiple"])


def test_a_row_for_what_both_tasks_have():
    found = table(texts("rope", [1.0, 1.2]) + texts("t5", [1.0]), answers("rope", [10, 20]) + answers("bam", [50]))
    assert list(found.index) == [("rope", 4.0)], "2 T was asked of passkeys alone, and at T nothing is longer"
    row = found.loc[("rope", 4.0)]
    assert row["perplexity"] == pytest.approx(np.exp(1.5)) and row["low"] < row["perplexity"] < row["high"]
    assert row["accuracy"] == pytest.approx(0.3) and row["prompts"] == 50 and row["decides"]


def test_gates_of_either_task_decide_who_counts():
    language = texts("rope", [1.0, 1.2]) + texts("nope", [2.0], passed=False) + texts("alibi", [1.0])
    language += texts("nope", [1.5], times=3)
    passkeys = answers("rope", [10, -1]) + answers("nope", [50]) + answers("alibi", [-1])
    found = table(language, passkeys).xs(4.0, level="multiple")
    assert found["decides"].to_dict() == {"rope": True, "nope": False, "alibi": False}
    assert found.loc["rope", "accuracy"] == pytest.approx(0.2), "the seed that has not learned to retrieve is left out"
    assert found.loc["nope", "perplexity"] == pytest.approx(np.exp(2.4)), "losses of equal tokens compare"
    assert not found.loc["nope", "learned"] and found.loc["nope", "retrieves"] and not found.loc["alibi", "retrieves"]
