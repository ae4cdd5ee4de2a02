"""What was tried for the recipe is on record, with as many trials a row, on a seed that does not count."""

import pytest

from attention_priors import config
from attention_priors.experiments import tuning
from attention_priors.experiments.arms import passkey_run


@pytest.mark.parametrize("name", ["cpu", "full"])
def test_every_row_of_the_main_comparison_had_the_same_number_of_trials(name: str) -> None:
    tried, profile = tuning.tried(), config.profile(name)
    assert not set(tried["seed"]) & {*profile.seeds, *profile.main_seeds}
    assert dict(tried.groupby("encoding").size()) == dict.fromkeys(profile.main, 3)
    recipe = profile.passkey.recipe
    for row in profile.main:
        settings = {tuple(each.values()) for each in tuning.trials(recipe, row)}
        own = tried[tried["encoding"] == row]
        assert settings == set(zip(own["rate"], own["prior_rate"], strict=True)), "the file is of another recipe"
        assert (recipe.rate, recipe.prior_rate) in settings
    assert (tried["most"].dropna() == recipe.steps).all()


def test_a_trial_changes_the_rates_alone(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(tuning, "run_all", lambda jobs, *_: [job.function(*job.arguments) for job in jobs])
    original = tuning.Run

    def noting(spec, *rest):
        seen.append(spec)
        return original(spec, *rest)

    monkeypatch.setattr(tuning, "Run", noting)
    profile = config.profile("smoke").model_copy(update={"main": ("nope", "bam")})
    table = tuning.grid(profile, tmp_path)
    usual = passkey_run(profile, "nope", tuning.SEED).recipe
    assert [spec.recipe.rate for spec in seen] == [0.004, 0.008, 0.002, 0.004, 0.008, 0.004]
    assert [spec.recipe.prior_rate for spec in seen] == [5.0, 5.0, 5.0, 5.0, 5.0, 1.0]
    same = {"rate": usual.rate, "prior_rate": usual.prior_rate}
    assert all(spec.recipe.model_copy(update=same) == usual for spec in seen)
    assert list(table.columns) == list(tuning.tried().columns)
    assert set(table["steps"]) == {6} and table["answer_loss"].iloc[0] == pytest.approx(4.4, abs=1)
