"""Randomised positions and no positions, on made-up models."""

import itertools

import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.algorithms import positions
from attention_priors.checks.algorithms.positions import BEYOND, GAINING, HARD, TRAINED

TASKS = ("copy", "reverse", "parity", "bucket-sort")
ENCODINGS = ("sinusoidal", "sinusoidal-randomised-128", "rope", "rope-randomised-128")
JITTER = (-0.002, 0.0, 0.002)


def helps(task, name, part):
    """Everything is learned, randomised positions alone go further, nobody knows the parity."""
    if task == HARD:
        return 0.5
    return 0.95 if part == TRAINED else 0.9 if "-randomised" in name else 0.55


def hurts(task, name, part):
    return 0.95 if part == TRAINED or "-randomised" not in name else 0.55


def mask_tells(kind, name, quantity, layer):
    """Without an encoding a causal model is slightly worse and knows positions, a masked one learns nothing."""
    if quantity == "probe":
        return 0.1 * layer if kind == "causal" else -0.01
    if quantity == "reordering":
        return 1e-6 if (kind, name) == ("masked", "nope") else 1.0
    return -1.5 if name != "nope" else -1.4 if kind == "causal" else -0.1


def mask_is_silent(kind, name, quantity, layer):
    if quantity == "probe":
        return -0.01 if kind == "causal" else 0.5
    return 1.0 if quantity == "reordering" else -1.5 - 0.5 * (name == "nope")


def frames(answers=helps, minds=mask_tells, seeds=3, spread=1.0):
    """Metrics of models that answer by the rules of a world, each seed a little differently."""
    rows, models = [], []
    for seed in range(seeds):
        noise = spread * JITTER[seed]
        for task, name, part in itertools.product(TASKS, (*ENCODINGS, "untrained"), (TRAINED, BEYOND)):
            chance = 0.2 if task == "bucket-sort" else 0.5
            value = chance if name == "untrained" else answers(task, name, part) + noise * ("-randomised" in name)
            rows.append((task, name, seed, part, value, chance))
        for kind, name in itertools.product(("causal", "masked"), ("nope", "rope")):
            for quantity, layer in (("loss", None), ("reordering", None), *(("probe", layer) for layer in range(3))):
                reference = 5.8 if quantity == "loss" else 0.0
                value = minds(kind, name, quantity, layer if layer is not None else -1) + reference
                models.append((kind, name, seed, quantity, layer, value * (1 + noise * (name == "nope")), reference))
    return {
        "algorithms_accuracy": pd.DataFrame(rows, columns=["task", "encoding", "seed", "part", "accuracy", "chance"]),
        "nope_models": pd.DataFrame(
            models, columns=["kind", "encoding", "seed", "quantity", "layer", "value", "reference"]
        ),
    }


def outcome(claim, made):
    return CHECKS[claim].verdict("full", made).outcome


def outcomes(claim, made):
    return [each.outcome for each in CHECKS[claim].judged(made)]


@pytest.mark.parametrize("claim", positions.CHECKS)
def test_worlds_where_it_holds_and_where_it_fails(claim):
    assert (outcome(claim, frames()), outcome(claim, frames(hurts, mask_is_silent))) == ("agrees", "disagrees")


@pytest.mark.parametrize("claim", positions.CHECKS)
def test_what_cannot_be_told(claim):
    assert outcome(claim, frames(seeds=1)) == "undecided"  # one seed has no spread
    assert outcome(claim, frames(spread=100)) != "agrees"  # seeds differ


@pytest.mark.parametrize(("gain", "expected"), [(0.2, "agrees"), (0.03, "undecided"), (-0.2, "disagrees")])
def test_the_size_of_the_gain(gain, expected):
    made = frames(lambda task, name, part: 0.95 if part == TRAINED else 0.6 + gain * ("-randomised" in name))
    (found,) = CHECKS["PE-RAND-E"].judged(made)
    assert found.outcome == expected and found.estimate.value == pytest.approx(gain, abs=1e-6)
    assert "4 tasks, 2 encodings" in found.note and ("our margin" in found.note) == (gain == 0.03)


@pytest.mark.parametrize(
    ("lags", "world", "expected"),
    [
        ("plain", helps, "undecided"),
        ("plain", hurts, "disagrees"),
        ("randomised", helps, "agrees"),
        ("randomised", hurts, "undecided"),
    ],
)
def test_who_lags_within_training_is_a_lower_bound(lags, world, expected):
    def answers(task, name, part):
        low = part == TRAINED and ("-randomised" in name) == (lags == "randomised")
        return 0.7 if low else world(task, name, part)

    (found,) = CHECKS["PE-RAND-E"].judged(frames(answers))
    assert found.outcome == expected and f"{lags} positions lag within training" in found.note


@pytest.mark.parametrize("task", GAINING)
def test_the_table_needs_every_task(task):
    made = frames(
        lambda which, name, part: 0.3 if which == task and part == BEYOND and "-" in name else helps(which, name, part)
    )
    assert outcomes("PE-F5", made)[GAINING.index(task)] == "disagrees" and outcome("PE-F5", made) == "disagrees"


@pytest.mark.parametrize(("level", "expected"), [(0.5, "agrees"), (0.58, "agrees"), (0.65, "disagrees")])
def test_one_encoding_that_knows_the_parity_refutes_the_table(level, expected):
    made = frames(lambda task, name, part: level if (task, name) == (HARD, "rope") else helps(task, name, part))
    found = CHECKS["PE-F5"].judged(made)[-1]
    assert found.outcome == expected and (level == 0.5 or "decided by rope" in found.note)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (("causal", "nope", "loss", -1.6), 0),
        (("causal", "nope", "loss", -1.0), 1),
        (("masked", "nope", "loss", -1.2), 2),
        (("causal", "nope", "probe", 0.01), 3),
        (("masked", "nope", "probe", 0.1), 4),
        (("masked", "nope", "reordering", 0.1), 5),
    ],
)
def test_every_sentence_on_no_positions_can_fail_alone(change, wrong):
    def minds(kind, name, quantity, layer):
        return change[3] if (kind, name, quantity) == change[:3] else mask_tells(kind, name, quantity, layer)

    found = outcomes("PE-NOPE", frames(minds=minds))
    assert [each == "disagrees" for each in found] == [number == wrong for number in range(6)]


def test_models_that_learned_nothing_decide_nothing():
    def minds(kind, name, quantity, layer):
        return -0.3 if quantity == "loss" and kind == "masked" else mask_tells(kind, name, quantity, layer)

    assert outcomes("PE-NOPE", frames(minds=minds)) == ["agrees"] * 2 + ["undecided", "agrees"] + ["undecided"] * 2
