"""Trials of text, addresses and passkeys: as many for every row, on a seed that does not count."""

import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import rates, tuning

SECTIONS = {rates.LANGUAGE: "language", rates.ADDRESSES: "division", rates.PASSKEYS: "passkey"}
ALL = [(task, name) for task, names in rates.ROWS.items() for name in names]


def test_a_trial_changes_the_rates_alone_and_every_task_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "run_all", lambda jobs, *_: [job.function(*job.arguments) for job in jobs])
    monkeypatch.setattr(rates, "ROWS", {task: names[:1] for task, names in rates.ROWS.items()})
    profile = config.profile("smoke")
    table = rates.grid(profile, tmp_path / "runs", tmp_path / "corpora").set_index(["task", "rate"])
    for task, (name,) in rates.ROWS.items():
        recipe = rates.usual(profile, task, name, tmp_path / "corpora").recipe
        own = table.loc[task]
        assert list(own.index) == [each["rate"] for each in tuning.trials(recipe, name)]
        assert (own["most"] == recipe.steps).all() and (own["seed"] == tuning.SEED).all()
        read = ["loss", "loss_4", "swap"] if task == rates.LANGUAGE else ["accuracy", "worst", "accuracy_16"]
        assert own[read].notna().all(axis=None) and own["loss"].notna().all() == (task == rates.LANGUAGE)


@pytest.mark.parametrize("name", ["cpu", "full"])
def test_every_row_had_the_same_number_of_trials_of_todays_recipe(name):
    profile, tried = config.profile(name), rates.tried()
    assert not set(tried["seed"]) & {*profile.seeds, *profile.main_seeds}
    assert list(dict.fromkeys(zip(tried["task"], tried["encoding"], strict=True))) == ALL
    for (task, row), own in tried.groupby(["task", "encoding"]):
        recipe = getattr(profile, SECTIONS[task]).recipe
        settings = {tuple(each.values()) for each in tuning.trials(recipe, row)}
        assert settings == set(zip(own["rate"], own["prior_rate"], strict=True)), "the file is of another recipe"
        assert (own["most"].dropna() == recipe.steps).all()


def test_the_trials_are_of_rows_that_are_compared():
    full = config.profile("full")
    compared = {task: (full.language if task == rates.LANGUAGE else full.division).encodings for task in rates.ROWS}
    assert all(name in compared[task] for task, name in ALL)
    assert pd.Series(ALL).is_unique


def test_the_priors_rate_on_addresses_was_tried_and_costs_no_row_anything_within_the_training_length():
    settings = config.profile("full").division
    tried = rates.tried()
    own = tried[(tried["task"] == rates.ADDRESSES) & (tried["rate"] == settings.recipe.rate)]
    table = own.pivot(index="encoding", columns="prior_rate", values="accuracy")
    gained = (table[settings.prior_rate] - table[settings.recipe.prior_rate]).dropna()
    assert {"bam", "rope-bam", "rope-kerple-power"} <= set(gained.index) and gained.min() > -0.02
