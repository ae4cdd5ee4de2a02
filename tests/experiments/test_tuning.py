"""What was tried for the recipe is on record, apart from the seeds that count."""

import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import tuning
from attention_priors.experiments.arms import passkey_run


def test_the_chosen_rate_was_among_those_tried_and_no_seed_counts_twice():
    tried = tuning.tried()
    assert list(tried.columns[:7]) == ["encoding", "seed", "rate", "target", "cooldown", "steps", "answer_loss"]
    for name in ("cpu", "full"):
        profile = config.profile(name)
        assert not set(tried["seed"]) & {*profile.seeds, *profile.bam_seeds} and not set(tuning.SEEDS) & set(
            profile.seeds
        )
        recipe = profile.passkey.recipe
        assert ((tried["rate"] == recipe.rate) & (tried["target"] == recipe.target)).any()
        assert recipe.rate in tuning.RATES


def test_a_trial_changes_the_rate_alone(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(tuning, "RATES", (0.001, 0.002))
    monkeypatch.setattr(tuning, "ENCODINGS", ("nope",))
    monkeypatch.setattr(tuning, "SEEDS", (101,))
    monkeypatch.setattr(tuning, "run_all", lambda jobs, *_: [job.function(*job.arguments) for job in jobs])
    original = tuning.Run

    def noting(spec, *rest):
        seen.append(spec)
        return original(spec, *rest)

    monkeypatch.setattr(tuning, "Run", noting)
    profile = config.profile("smoke")
    table = tuning.grid(profile, tmp_path)
    usual = passkey_run(profile, "nope", 101)
    assert [spec.recipe.rate for spec in seen] == [0.001, 0.002]
    assert all(spec.recipe.model_copy(update={"rate": usual.recipe.rate}) == usual.recipe for spec in seen)
    assert isinstance(table, pd.DataFrame) and list(table.columns) == list(tuning.tried().columns)
    assert list(table["steps"]) == [6, 6] and table["answer_loss"].iloc[0] == pytest.approx(4.4, abs=1)
