"""OPG-19: the task is what the text says, and its sentences can be decided either way."""

import pandas as pd
import pytest
import torch

from attention_priors import runtime
from attention_priors.checks import CHECKS
from attention_priors.checks.groups.generators import METRIC, OURS
from attention_priors.experiments import pucks


def world(ours=0.9, others=0.5, coupling=3.0):
    rows = [
        {
            "encoding": name,
            "seed": seed,
            "multiple": multiple,
            "samples": 1000,
            "correct": int(1000 * (ours if name == OURS else others)),
            "coupling": coupling + 0.01 * seed if name == OURS else 0.0,
            "decay": 0.0,
        }
        for name in pucks.ENCODINGS
        for seed in range(10)
        for multiple in pucks.MULTIPLES
    ]
    return {METRIC: pd.DataFrame(rows)}


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (world(), "agrees"),
        (world(0.5, 0.9), "disagrees"),
        (world(coupling=0.1), "disagrees"),
        (world(0.51, 0.5), "undecided"),
    ],
)
def test_outcomes(given, outcome):
    assert CHECKS["OPG-19"].verdict("theory", given).outcome == outcome


def test_a_lead_that_is_too_small_and_an_arm_that_is_missing_are_said():
    notes = [each.note for each in CHECKS["OPG-19"].judged(world(0.505, 0.5))]
    assert "smaller than 0.02, our margin" in notes[1]
    lacking = CHECKS["OPG-19"].judged({METRIC: world()[METRIC].query("encoding != 'alibi'")})
    assert [each.outcome for each in lacking] == ["undecided", "undecided", "agrees"]
    assert "alibi was not trained" in lacking[0].note


def test_the_exact_generator_answers_every_question_at_every_lag():
    """With RoPE's planes at rest, no decay and weights written by hand the defective head is the answer itself."""
    head = pucks.Watcher("group-defective").double()
    with torch.no_grad():
        head.rotary.log_omega.fill_(-60.0)
        head.rotary.damping.fill_(-60.0)
        head.rotary.coupling.fill_(1 / pucks.TRAINED)
        head.query.weight.zero_()
        head.key.weight.zero_()
        for axis in range(2):
            head.query.weight[axis, axis] = 1.0  # q = (u, 0)
            head.key.weight[axis, axis] = 1.0  # k = (x, v)
            head.key.weight[pucks.WIDTH // 2 + axis, 2 + axis] = 1.0
        for multiple in pucks.MULTIPLES:
            direction, seen, now, times, answer = pucks.questions(
                200, multiple * pucks.TRAINED, runtime.generator(0, "t")
            )
            assert torch.equal(head(direction.double(), seen.double(), now, times).argmax(-1), answer)


def test_a_short_run_has_a_row_for_each_multiple_and_learns_something():
    rows = pucks.watch("nope", 0, 60)
    assert [row["multiple"] for row in rows] == list(pucks.MULTIPLES)
    assert rows[0]["correct"] / rows[0]["samples"] > 2 * pucks.CHANCE
    assert rows == pucks.watch("nope", 0, 60), "seeded"
