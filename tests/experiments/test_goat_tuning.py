"""What was tried for Goat and its rivals is on record, with as many trials a row, on a seed that does not count."""

import pytest

from attention_priors import config
from attention_priors.experiments import goat_tuning, tuning

PROFILE = config.profile("cpu")


def test_every_row_had_the_same_number_of_trials_at_the_recipes_of_the_profile():
    tried = goat_tuning.tried()
    seeds = {*PROFILE.goat_passkey.seeds, *PROFILE.goat_offsets.seeds, *config.profile("full").goat_passkey.seeds}
    assert set(tried["seed"]) == {tuning.SEED} and tuning.SEED not in seeds
    expected = {
        (task, name): 3 + len(goat_tuning.LOWER.get(name, ()))
        for task, names in goat_tuning.ROWS.items()
        for name in names
    }
    assert dict(tried.groupby(["task", "encoding"]).size()) == expected
    for (task, name), own in tried.groupby(["task", "encoding"]):
        settings = {tuple(each.values()) for each in goat_tuning.trials(PROFILE, task, name)}
        assert settings == set(zip(own["rate"], own["prior_rate"], strict=True)), "the file is of another recipe"


def test_a_row_whose_prior_learns_tries_the_rate_of_the_prior():
    rates = {
        name: [each["prior_rate"] for each in goat_tuning.trials(PROFILE, goat_tuning.PASSKEYS, name)]
        for name in ("goat-code", "alibi", "rope")
    }
    assert rates == {"goat-code": [5.0, 5.0, 1.0], "alibi": [5.0] * 3, "rope": [5.0] * 3}


def test_a_trial_of_either_task_says_how_it_ended(tmp_path):
    smoke = config.profile("smoke")
    for task in (goat_tuning.PASSKEYS, goat_tuning.ADDRESSES):
        row = goat_tuning.trial(smoke, task, "goat-composite", {"rate": 0.01, "prior_rate": 1.0}, str(tmp_path))
        assert list(row) == list(goat_tuning.tried().columns)
        assert row["task"] == task and row["rate"] == 0.01 and row["steps"] == 6
        assert 0 <= row["worst"] <= row["accuracy"] <= 1
    assert row["answer_loss"] == pytest.approx(4.5, abs=1)
