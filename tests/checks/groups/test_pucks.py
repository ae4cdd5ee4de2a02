"""OPG-19: the task is what the text says, and runs are seeded."""

import numpy as np
import pandas as pd
import torch

from attention_priors import runtime
from attention_priors.checks.groups import generators
from attention_priors.experiments import pucks


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


def test_the_smallest_lead_is_that_at_the_worst_length():
    """At 2 times the lead over RoPE is .1, at 4 times .5: the mean of both would hide the first."""
    rows = [(name, seed, at, 50, 100) for name in generators.ENCODINGS for seed in (0, 1) for at in (2, 4)]
    frame = pd.DataFrame(rows, columns=["encoding", "seed", "multiple", "correct", "samples"])
    frame.loc[frame["encoding"] == generators.OURS, "correct"] = [60, 100] * 2
    found = generators.ahead(frame, (2, 4))
    assert round(found.value, 6) == 0.1 and found.note.startswith("decided by") and "at 2 times" in found.note
    assert np.isnan(generators.ahead(frame[frame["encoding"] != "rope"].drop_duplicates("encoding"), (2, 4)).value)


def test_a_short_run_has_a_row_for_each_multiple_and_learns_something():
    rows = pucks.watch("nope", 0, 60)
    assert [row["multiple"] for row in rows] == list(pucks.MULTIPLES)
    assert rows[0]["correct"] / rows[0]["samples"] > 2 * pucks.CHANCE
    assert rows == pucks.watch("nope", 0, 60), "seeded"
