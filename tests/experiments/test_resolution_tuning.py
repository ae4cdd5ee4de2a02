"""What was tried on pictures is on record, with as many trials a row, on a seed that does not count."""

from attention_priors import config
from attention_priors.experiments import resolution_tuning


def test_every_row_had_the_same_trials():
    tried, profile = resolution_tuning.tried(), config.profile("full").resolution
    assert set(tried["seed"]) == {resolution_tuning.SEED} and resolution_tuning.SEED not in profile.seeds
    rates = {factor * profile.recipe.rate for factor in resolution_tuning.FACTORS}
    for name in resolution_tuning.ROWS:
        own = tried[tried["encoding"] == name]
        assert set(own["rate"]) == rates and len(own) == 3, name
    assert set(tried["encoding"]) == set(resolution_tuning.ROWS)
    assert (tried["prior_rate"] == profile.recipe.prior_rate).all() and (tried["steps"] == profile.recipe.steps).all()


def test_a_trial_is_a_row_of_the_file(tmp_path):
    smoke = config.profile("smoke")
    row = resolution_tuning.trial(smoke, "nope-2d", 0.01, str(tmp_path))
    assert list(row) == list(resolution_tuning.tried().columns)
    assert row["rate"] == 0.01 and row["counted_64"] == row["stretched_64"]  # no place is told
