"""What was tried for the mixture of copies is on record, with as many trials a row, on a seed that does not count."""

from attention_priors import config
from attention_priors.experiments import arms, copying_tuning


def test_every_row_had_the_same_number_of_trials_at_the_recipe_of_the_profile():
    tried, recipe = copying_tuning.tried(), config.profile("cpu").copying.recipe
    seeds = {seed for name in ("cpu", "full") for seed in config.profile(name).copying.seeds}
    assert set(tried["seed"]) == {copying_tuning.SEED} and copying_tuning.SEED not in seeds
    assert dict(tried.groupby("encoding").size()) == dict.fromkeys(sorted(copying_tuning.ROWS), 3)
    for name, own in tried.groupby("encoding"):
        factors = copying_tuning.OF_PRIORS if name in copying_tuning.TRAINED_PRIORS else copying_tuning.FACTORS
        expected = {(rate * recipe.rate, prior * recipe.prior_rate) for rate, prior in factors}
        assert expected == set(zip(own["rate"], own["prior_rate"], strict=True)), "the file is of another recipe"


def test_rows_train_at_the_rates_of_their_best_trial_where_it_gains_a_hundredth_of_a_nat():
    tried, recipe = copying_tuning.tried(), config.profile("cpu").copying.recipe
    for settings in (config.profile(name).copying for name in ("cpu", "full")):
        for name, own in tried[tried["encoding"].isin(settings.encodings)].groupby("encoding"):
            usual = own[(own["rate"] == recipe.rate) & (own["prior_rate"] == recipe.prior_rate)].iloc[0]
            best = own.loc[own["excess"].idxmin()]
            taken = best if usual["excess"] - best["excess"] >= 0.01 else usual
            found = settings.rates.get(name, 1) * recipe.rate, settings.prior_rates.get(name, 1) * recipe.prior_rate
            assert found == (taken["rate"], taken["prior_rate"]), name
            spec = arms.copying_run(config.profile("cpu").model_copy(update={"copying": settings}), name, 0)
            assert (spec.recipe.rate, spec.recipe.prior_rate) == found


def test_a_trial_says_how_far_from_the_best_prediction_it_ends(tmp_path):
    smoke = config.profile("smoke")
    row = copying_tuning.trial(smoke, "nope", 2.0, 1.0, str(tmp_path))
    assert list(row) == list(copying_tuning.tried().columns)
    assert row["rate"] == 2 * smoke.copying.recipe.rate and row["excess"] > 0
    assert arms.copying_run(smoke, "nope", copying_tuning.SEED).seed == copying_tuning.SEED
