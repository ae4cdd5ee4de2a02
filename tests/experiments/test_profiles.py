"""What every profile asks, those that need a GPU as well: plans are made, nothing is trained, no corpus is read."""

import pytest

from attention_priors import config
from attention_priors.experiments import EXPERIMENTS, ablations, readings, runs, unread
from attention_priors.experiments import algorithms as strings
from attention_priors.positions.encodings import ENCODINGS, encoding
from attention_priors.positions.grids import GRIDS
from attention_priors.tasks import algorithms

NAMES = ("smoke", "cpu", "full", "gpu", "paper")
STUDIES = (*ablations.PRIORS, *ablations.TRAINING)


@pytest.fixture(params=NAMES)
def profile(request: pytest.FixtureRequest) -> config.Profile:
    return config.profile(request.param)


def test_every_run_has_a_name_of_its_own(profile: config.Profile) -> None:
    named = runs(profile, unread(profile))
    assert len(set(named.values())) == len(named) > 0


def test_every_study_of_the_ablations_has_arms(profile: config.Profile) -> None:
    arms = ablations.arms(profile, STUDIES)
    assert {arm.study for arm in arms} == set(STUDIES) and {arm.encoding for arm in arms} <= set(ENCODINGS)
    assert len({(arm.study, arm.name, arm.spec.seed) for arm in arms}) == len(arms)
    assert profile.passkey.size in profile.ablations.sizes, "its run is the passkey experiment's"
    assert profile.ablations.multiples[0] == 1
    assert set(profile.ablations.misread) <= {*profile.ablations.version, *profile.ablations.start}


def test_language_models_are_read_as_their_parts_say(profile: config.Profile) -> None:
    own, plan = profile.readings, readings.wanted(profile, unread(profile))
    read = {entry for entries in plan.values() for entry in entries}
    for part, listed in (("extensions", own.extensions), ("tuned", own.tuned), ("small", own.small)):
        assert {name for kind, name in read if kind == part} == set(listed), part
    assert set(profile.language.encodings) <= {name for kind, name in read if kind == "benchmark"}
    assert max(readings.lengths(profile, "benchmark", 1)) == max(profile.language.lengths)
    assert {encoding(name).trained_as for name in own.extensions} <= set(profile.language.encodings)


def test_strings_are_asked_within_training_and_beyond(profile: config.Profile) -> None:
    settings, trained = profile.algorithms, profile.algorithms.recipe.length
    assert max(settings.lengths) >= 2.5 * trained and min(settings.lengths) <= trained
    assert set(settings.tasks) == set(algorithms.TASKS)
    plain = {name.partition("-randomised")[0] for name in settings.encodings if "-randomised" in name}
    assert "sinusoidal" in plain <= set(settings.encodings), "each beside its plain form"
    assert len(strings.asked(profile)) == len(settings.tasks) * len(settings.encodings) * len(profile.seeds)


def test_genomes_compare_goat_with_rope_and_leave_room_for_content(profile: config.Profile) -> None:
    settings = profile.genomes
    assert {"goat-composite", "rope"} <= set(settings.encodings)
    width = settings.size.width // settings.size.heads
    assert encoding("goat-composite").rotary(width, settings.size.rope_base).content >= width // 2


def test_chunks_are_read_at_16_times_the_training_length(profile: config.Profile) -> None:
    if profile.name == "smoke":
        pytest.skip("smoke reads no further than it trains")
    settings = profile.parallel_needles
    assert 16 * profile.passkey.recipe.length in settings.evaluation.lengths
    assert {"plain", "last-window", "rerope", "k3"} <= set(settings.methods)


def test_grids_have_the_claims_rows_and_train_alike(profile: config.Profile) -> None:
    asked = profile.model_copy(update={"without": ()})
    settings, plan = asked.resolution, EXPERIMENTS["resolution"].plan(asked, unread(asked))
    assert {"learned-2d", "goat-2d"} <= set(settings.encodings) <= set(GRIDS)
    assert len(plan) == len(settings.encodings) * len(settings.class_token) * len(settings.seeds)
    assert len({(spec.recipe, spec.images, spec.model.side) for spec in plan.values()}) == 1
