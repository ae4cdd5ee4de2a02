"""Compositions on text and on a needle: whose gate decides, and what was not trained."""

import pytest

from attention_priors.experiments.elsewhere import NEEDLES, NEEDS, TEXT, scores
from attention_priors.figures import TABLES, NotCompared
from figures.committed import frame


def test_seeds_that_missed_the_gate_of_a_task_count_in_that_task_alone():
    models, texts, answers, gates = map(frame, NEEDS)
    assert gates.query("encoding == 'rope' and task in @NEEDLES")["passed"].any()
    without = gates.assign(passed=gates["passed"] & (gates["encoding"] != "rope"))
    found = scores(models, texts, answers, without).query("encoding == 'rope'").set_index("task")
    assert found.loc[list(NEEDLES), "value"].isna().all() and found.loc[list(NEEDLES), "passed"].eq(0).all()
    assert found.loc[TEXT, "value"].notna().all() and found["seeds"].gt(0).all()


def test_the_table_says_what_was_not_trained_and_who_missed_the_gate():
    table, there = TABLES["division_elsewhere"], frame("division_elsewhere")
    rope = there["encoding"] == "rope"
    there = there[~rope | (there["task"] == TEXT)].assign(passed=lambda rows: rows["passed"].where(rope, 0))
    made = table.build(there).set_index("encoding")
    assert (
        "not trained" in set(made.loc["RoPE"]) and made.drop("RoPE").stack().str.startswith("gate missed (0 of").any()
    )
    with pytest.raises(NotCompared):
        table.build(there[there["encoding"] == "rope"])
