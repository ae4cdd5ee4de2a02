"""Randomised positions and no positions: who lags within training, and models that learned nothing."""

import numpy as np
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.algorithms.positions import ACCURACY, BEYOND, DRAWN, HARD, MODELS, TRAINED
from checks.committed import frame, frames, outcomes


@pytest.mark.parametrize(
    ("lags", "gain", "expected"),
    [
        ("plain", 0.3, "undecided"),
        ("plain", -0.3, "disagrees"),
        ("randomised", 0.3, "agrees"),
        ("randomised", -0.3, "undecided"),
        ("", 0.03, "undecided"),
    ],
)
def test_who_lags_within_training_is_a_lower_bound(lags, gain, expected):
    rows = frame(ACCURACY)
    drawn = rows["encoding"].str.contains(DRAWN)
    low = 0.7 - 0.01 * rows["seed"] * drawn
    within = np.where(drawn == (lags == "randomised"), low, 0.96) if lags else 0.96
    rows = rows.assign(accuracy=np.where(rows["part"] == TRAINED, within, 0.6 + (gain + 0.002 * rows["seed"]) * drawn))
    (found,) = CHECKS["PE-RAND-E"].judged({ACCURACY: rows})
    assert found.outcome == expected and (f"{lags} positions lag within training" in found.note) == bool(lags)
    assert ("our margin" in found.note) == (gain == 0.03)


@pytest.mark.parametrize(("above", "expected"), [(0.08, "agrees"), (0.15, "disagrees")])
def test_one_encoding_that_knows_the_parity_refutes_the_table(above, expected):
    rows = frame(ACCURACY)
    knows = (rows["task"] == HARD) & (rows["encoding"] == "rope") & (rows["part"] == BEYOND)
    given = {ACCURACY: rows.assign(accuracy=rows["accuracy"].mask(knows, rows["chance"] + above))}
    assert outcomes("PE-F5", given)[-1] == expected and "rope" in CHECKS["PE-F5"].judged(given)[-1].note


def test_masked_models_that_learned_nothing_decide_nothing():
    rows = frame(MODELS)
    nothing = (rows["kind"] == "masked") & (rows["quantity"] == "loss")
    found = outcomes("PE-NOPE", {MODELS: rows.assign(value=rows["value"].mask(nothing, rows["reference"] - 0.3))})
    before = outcomes("PE-NOPE", frames("PE-NOPE"))
    assert [old != new and new == "undecided" for old, new in zip(before, found, strict=True)] == [
        *(False, False, True, False, True, True)
    ]
