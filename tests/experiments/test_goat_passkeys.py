"""Goat and its rivals on passkeys: what is trained, and where priors put their mass."""

import pandas as pd
import pytest
import torch

from attention_priors import config
from attention_priors.experiments import goat_passkeys
from attention_priors.experiments.arms import stretched
from attention_priors.positions.priors import Laplace, Uniform
from attention_priors.positions.spectral import Sink

PROFILE = config.profile("smoke")


def test_all_rows_have_the_same_heads_and_the_recipe_of_the_passkeys():
    for name in ("smoke", "cpu", "full", "gpu", "paper"):
        profile = config.profile(name)
        settings, specs = profile.goat_passkey, list(goat_passkeys.wanted(profile))
        recipe = stretched(profile.passkey.recipe, settings.multiple)
        for spec in specs:
            factor = settings.rates.get(spec.model.encoding, 1.0)
            assert spec.recipe == recipe.model_copy(update={"rate": factor * recipe.rate})
        assert all(each.endswith("-undivided") for each in settings.rates), "rivals have one rate"
        assert {(spec.model.width, spec.model.heads) for spec in specs} == {(settings.size.width, settings.size.heads)}
        assert set(recipe.gate.lengths) <= set(settings.evaluation.lengths)


def test_a_rate_is_that_of_a_row():
    values = PROFILE.goat_passkey.model_dump()
    rated = goat_passkeys.Settings(**values | {"rates": {"rope-undivided": 0.5}})
    profile = PROFILE.model_copy(update={"goat_passkey": rated})
    usual = PROFILE.passkey.recipe.rate
    assert goat_passkeys.run(profile, "rope-undivided", 0).recipe.rate == usual / 2
    assert goat_passkeys.run(profile, "rope", 0).recipe.rate == usual
    with pytest.raises(ValueError, match="rates: nope, which encodings lacks"):
        goat_passkeys.Settings(**values | {"rates": {"nope": 0.5}})


def test_some_rows_have_further_seeds():
    values = PROFILE.goat_passkey.model_dump()
    more = goat_passkeys.Settings(**values | {"more": {"encodings": ["rope"], "seeds": [0, 8]}})
    made = goat_passkeys.wanted(PROFILE.model_copy(update={"goat_passkey": more}))
    assert [spec.seed for spec in made if spec.model.encoding == "rope"] == [*more.seeds, 8]
    assert {spec.seed for spec in made if spec.model.encoding != "rope"} == set(more.seeds)
    with pytest.raises(ValueError, match=r"more\.encodings has \['bam'\], which encodings lacks; add them there"):
        goat_passkeys.Settings(**values | {"more": {"encodings": ["bam"], "seeds": [8]}})


def test_every_model_is_asked_at_every_length_and_its_priors_are_read(tmp_path):
    settings = PROFILE.goat_passkey.model_copy(update={"encodings": ("goat-code", "rope"), "seeds": (0,)})
    one = PROFILE.model_copy(update={"goat_passkey": settings, "workers": 1})
    found = goat_passkeys.EXPERIMENT.measured(one, tmp_path, tmp_path)
    counts, heads = found["goat_passkey_counts"], found["goat_passkey_heads"]
    lengths = [*settings.evaluation.lengths, *settings.far.lengths]
    assert counts.groupby("encoding")["length"].apply(list).tolist() == [lengths] * 2
    assert (counts["samples"] == 2).all() and (counts["early"] == 1).all() and (counts["trained"] == 128).all()
    assert (counts["steps"] == counts["steps"].iloc[0]).all()
    assert set(heads["encoding"]) == {"goat-code"} and len(heads) == settings.size.layers * settings.size.heads
    assert (heads["length"] == 64).all()
    again = goat_passkeys.EXPERIMENT.measured(one, tmp_path, tmp_path)
    pd.testing.assert_frame_equal(again["goat_passkey_heads"], heads)


def test_the_uniform_prior_has_half_ahead_and_what_is_near_by_hand():
    found = goat_passkeys.mass(Uniform(2), 8)
    assert found["ahead"].tolist() == pytest.approx([7 / 16] * 2) and found["ahead_uniform"].tolist() == [7 / 16] * 2
    nearest = sum(1 / (i + 1) for i in range(8)) / 8  # lag 0 alone, of i + 1 keys
    assert found["recent"].tolist() == pytest.approx([nearest] * 2)
    assert found["recent_uniform"].tolist() == pytest.approx([nearest] * 2)


def test_a_slope_on_the_keys_looks_ahead_without_a_mask_and_back_with_one():
    """s j is ALiBi's recency under the mask (Goat, Proposition F.6), and favours the last key without one."""
    keyed, alibi = goat_passkeys.mass(Sink(torch.tensor([0.0, 0.5])), 32), goat_passkeys.mass(Laplace([0.5]), 32)
    assert float(keyed["ahead"][0]) == pytest.approx(31 / 64) and float(keyed["ahead"][1]) > 0.8
    assert float(alibi["recent"][0]) == pytest.approx(float(keyed["recent"][1]), rel=1e-6)
    assert float(keyed["recent"][1]) > float(keyed["recent_uniform"][1]) and float(alibi["ahead"][0]) < 0.5
