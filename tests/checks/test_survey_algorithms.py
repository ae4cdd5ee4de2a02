"""The judges of randomised positions and of no positions on made-up models."""

import itertools

import pandas as pd
import pytest

from attention_priors.checks import CHECKS, belonging, survey_algorithms

TASKS = ("copy", "reverse", "parity", "bucket-sort")
ENCODINGS = ("sinusoidal", "sinusoidal-randomised-128", "rope", "rope-randomised-128")
CLAIMS = ("PE-RAND-E", "PE-F5", "PE-NOPE")
JITTER = (-0.002, 0.0, 0.002)


def frames(answers=survey_algorithms.chance_helps, minds=survey_algorithms.mask_tells, seeds=3, spread=1.0):
    """Metrics of models that answer by the rules of a world, each seed a little differently."""
    rows, models = [], []
    for seed in range(seeds):
        noise = spread * JITTER[seed]
        for task, name, part in itertools.product(TASKS, (*ENCODINGS, "untrained"), ("trained", "beyond")):
            chance = 0.2 if task == "bucket-sort" else 0.5
            value = chance if name == "untrained" else answers(task, name, part) + noise * ("-randomised" in name)
            rows.append({"task": task, "encoding": name, "seed": seed, "part": part, "accuracy": value,
                         "chance": chance})  # fmt: skip
        for kind, name in itertools.product(("causal", "masked"), ("nope", "rope")):
            common = {"kind": kind, "encoding": name, "seed": seed}
            for quantity, layer in (("loss", None), ("reordering", None), *(("probe", layer) for layer in range(3))):
                reference = 5.8 if quantity == "loss" else 0.0
                value = minds(kind, name, quantity, layer if layer is not None else -1) + reference
                value *= 1 + noise * (name == "nope")
                models.append(common | {"quantity": quantity, "layer": layer, "value": value, "reference": reference})
    return {"algorithms_accuracy": pd.DataFrame(rows), "nope_models": pd.DataFrame(models)}


def outcome(claim, made):
    return CHECKS[claim].judge(made).outcome


def outcomes(claim, made):
    return [found.outcome for found in survey_algorithms.SENTENCES[claim](made)]


def test_owners():
    assert set(survey_algorithms.CHECKS) == set(CLAIMS)
    assert set(CLAIMS) <= set(belonging("needles"))


@pytest.mark.parametrize("claim", CLAIMS)
def test_worlds_where_it_holds_and_where_it_fails_and_the_flip(claim):
    holds = frames()
    fails = frames(survey_algorithms.chance_hurts, survey_algorithms.mask_is_silent)
    assert (outcome(claim, holds), outcome(claim, fails)) == ("agrees", "disagrees")
    check = CHECKS[claim]
    assert outcome(claim, check.flip(holds)) == "disagrees" and outcome(claim, check.flip(fails)) == "agrees"
    assert check.opposite.startswith("agrees: ") and "disagrees: " in check.opposite
    assert holds[check.metrics[0]].equals(frames()[check.metrics[0]]), "flip changed its input"


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_cannot_be_told(claim):
    assert outcome(claim, frames(seeds=1)) == "undecided"  # one seed has no spread
    assert outcome(claim, frames(spread=100)) != "agrees"  # seeds differ


@pytest.mark.parametrize("gain, expected", [(0.2, "agrees"), (0.03, "agrees"), (0.0, "disagrees"), (-0.2, "disagrees")])
def test_the_size_of_the_gain(gain, expected):
    def answers(task, name, part):
        return 0.95 if part == "trained" else 0.6 + gain * ("-randomised" in name)

    assert outcome("PE-RAND-E", frames(answers)) == expected
    found = survey_algorithms.randomised(frames(answers))[0]
    assert found.measured == pytest.approx(gain, abs=1e-6) and "4 tasks and 2 encodings" in found.text


def test_a_gain_of_one_encoding_that_the_other_loses_is_none():
    def answers(task, name, part):
        change = {"rope-randomised-128": 0.2, "sinusoidal-randomised-128": -0.2}.get(name, 0.0)
        return 0.95 if part == "trained" else 0.6 + change

    assert outcome("PE-RAND-E", frames(answers)) == "disagrees"


@pytest.mark.parametrize("lags, world, expected", [
    ("plain", survey_algorithms.chance_helps, "undecided"), ("plain", survey_algorithms.chance_hurts, "disagrees"),
    ("randomised", survey_algorithms.chance_helps, "agrees"),
    ("randomised", survey_algorithms.chance_hurts, "undecided"),
])  # fmt: skip
def test_who_lags_within_training_is_a_lower_bound(lags, world, expected):
    def answers(task, name, part):
        if part == "trained" and ("-randomised" in name) == (lags == "randomised"):
            return 0.7
        return world(task, name, part)

    found = survey_algorithms.randomised(frames(answers))[0]
    assert found.outcome == expected and ((f"{lags} positions lag" in found.text) == (expected == "undecided"))


@pytest.mark.parametrize("task", survey_algorithms.GAINING)
def test_the_table_needs_every_task(task):
    def answers(which, name, part):
        flat = which == task and part == "beyond"
        return 0.55 if flat else survey_algorithms.chance_helps(which, name, part)

    made = frames(answers)
    assert outcome("PE-F5", made) == "disagrees" and outcome("PE-RAND-E", made) == "agrees"
    wrong = [s.text for s in survey_algorithms.table_of_tasks(made) if s.outcome == "disagrees"]
    assert len(wrong) == 1 and task in wrong[0]


@pytest.mark.parametrize(
    "level, expected", [(0.5, "agrees"), (0.59, "agrees"), (0.62, "disagrees"), (1.0, "disagrees")]
)
def test_one_encoding_that_knows_the_parity_refutes_the_table(level, expected):
    def answers(task, name, part):
        knows = task == "parity" and name == "rope"
        return level if knows else survey_algorithms.chance_helps(task, name, part)

    found = survey_algorithms.table_of_tasks(frames(answers))[-1]
    assert found.outcome == expected and (level == 0.5 or "deciding: rope," in found.text)


def changed(**values):
    """The world in which the claim on NoPE holds, but for some values."""

    def minds(kind, name, quantity, layer):
        return values.get(f"{kind}_{name}_{quantity}", survey_algorithms.mask_tells(kind, name, quantity, layer))

    return frames(minds=minds)


@pytest.mark.parametrize("values, wrong", [
    ({"causal_nope_loss": -1.6}, 0), ({"causal_nope_loss": -1.0}, 1), ({"masked_nope_loss": -1.2}, 2),
    ({"causal_nope_probe": 0.01}, 3), ({"masked_nope_probe": 0.1}, 4), ({"masked_nope_reordering": 0.1}, 5),
])  # fmt: skip
def test_every_sentence_on_no_positions_can_fail_alone(values, wrong):
    made = changed(**values)
    assert [o == "disagrees" for o in outcomes("PE-NOPE", made)] == [number == wrong for number in range(6)]
    assert outcome("PE-NOPE", made) == "disagrees"


def test_models_that_learned_nothing_decide_nothing():
    small = {f"{kind}_{name}_loss": -0.3 for kind in ("causal", "masked") for name in ("nope", "rope")}
    assert outcome("PE-NOPE", changed(**small)) == "undecided"
    assert outcomes("PE-NOPE", changed(masked_rope_loss=-0.3)).count("undecided") == 2  # the masked ones


def test_the_tables_of_sentences():
    shown = pd.concat([CHECKS[name].frame(frames()) for name in CLAIMS])
    assert set(shown["outcome"]) == {"agrees"} and len(shown) == 11
    count = len(CHECKS["PE-NOPE"].frame(frames()))
    assert CHECKS["PE-NOPE"].summary(frames()) == f"{count} of {count} sentences agree"


def test_verdicts_are_scaled_reproductions():
    for name in CLAIMS:
        verdict = CHECKS[name].verdict("cpu", frames())
        assert (verdict.verdict, verdict.outcome, verdict.seeds) == ("scaled reproduction", "agrees", [0, 1, 2])
        assert CHECKS[name].verdict("cpu", frames(seeds=1)).verdict == "inconclusive"
