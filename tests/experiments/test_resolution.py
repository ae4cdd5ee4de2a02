"""The experiment on resolution: what is asked, what the answers are, what a learned prior is."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from attention_priors import config
from attention_priors.experiments import EXPERIMENTS, resolution, unread
from attention_priors.experiments.resolution import BARE, COUNTED, STRETCHED
from attention_priors.positions.grids import GridFourier
from attention_priors.training.vision import VisionModel

PROFILE = config.profile("smoke")


def small(**changes) -> config.Profile:
    """The smoke profile with two rows and one seed."""
    given = {"encodings": ("nope-2d", "goat-2d"), "seeds": (103,), "class_token": (False,)} | changes
    settings = PROFILE.resolution.model_copy(update=given)
    return PROFILE.model_copy(update={"resolution": settings, "workers": 1})


def test_it_measures_what_it_declares(tmp_path: Path) -> None:
    profile = small()
    frames = EXPERIMENTS["resolution"].measured(profile, tmp_path, tmp_path)
    answers, priors = frames["resolution_answers"], frames["resolution_priors"]
    sides = profile.resolution.sides
    assert len(answers) == len(sides) * (2 + 3 + 1), "two ways, a third with a prior, the control"
    assert (answers["samples"] == profile.resolution.samples).all() and answers["correct"].between(0, 4).all()
    assert len(priors) == 2 * 2 * 15 * 15 and priors.groupby(["layer", "head"])["value"].max().eq(0).all()
    locality = EXPERIMENTS["resolution"].derived(frames)["resolution_locality"]
    assert len(locality) == 4 and locality["uniform"].nunique() == 1


def test_the_same_pictures_are_asked_of_all_and_stretching_leaves_the_resolution_of_training(tmp_path: Path) -> None:
    spec = resolution.spec(small(), "goat-2d", 103, False)
    torch.manual_seed(1)
    model = VisionModel(spec.model).eval()
    for each in model.modules():
        if isinstance(each, GridFourier):
            each.alpha.data.normal_(std=3.0)
    settings = small(samples=40).resolution
    found = pd.DataFrame(resolution.answers(model, spec, settings)).set_index(["places", "side"])["correct"]
    assert found[COUNTED, 32] == found[STRETCHED, 32]
    kept = [each.clone() for each in model.parameters()]
    with resolution.at_zero(model):
        bare = pd.DataFrame(resolution.answers(model, spec, settings)).set_index(["places", "side"])["correct"]
    assert (bare[COUNTED] == found[BARE]).all()
    assert all(torch.equal(a, b) for a, b in zip(kept, model.parameters(), strict=True))


def test_the_share_near_the_query_by_hand() -> None:
    flat = np.zeros((5, 5))  # a grid of 3 x 3
    near, uniform = resolution.near_mass(flat)
    within = [sum(np.hypot(a - c, b - d) <= 2 for c in range(3) for d in range(3)) for a in range(3) for b in range(3)]
    assert near == uniform == pytest.approx(np.mean(within) / 9)
    peak = np.full((5, 5), -50.0)
    peak[2, 2] = 0.0
    assert resolution.near_mass(peak)[0] == pytest.approx(1.0)
    far = np.zeros((1, 13))
    far[0, :3] = far[0, -3:] = 60.0  # κ is high at lags of four or more
    assert resolution.near_mass(far)[0] < 0.2 < resolution.near_mass(far)[1]


def test_priors_are_those_of_the_model() -> None:
    spec = resolution.spec(small(), "goat-2d", 103, False)
    model = VisionModel(spec.model)
    own = model.blocks[1].attention.prior
    own.alpha.data.normal_()
    rows = pd.DataFrame(resolution.priors(model))
    rows = rows[(rows["layer"] == 2) & (rows["head"] == 1)].set_index(["down", "across"])["value"]
    lag = own.log_prior(torch.tensor([[3.0, -2.0], [0.0, 5.0]], dtype=torch.float64))[0].tolist()
    assert rows[3, -2] - rows[0, 5] == pytest.approx(lag[0] - lag[1], abs=2e-4)
    assert resolution.priors(VisionModel(resolution.spec(small(), "nope-2d", 103, False).model)) == []


def test_digits_are_asked_as_drawings_are(tmp_path: Path) -> None:
    settings = PROFILE.digits.model_copy(update={"encodings": ("nope-2d", "goat-2d"), "seeds": (103,)})
    profile = PROFILE.model_copy(update={"digits": settings, "workers": 1})
    frames = EXPERIMENTS["digits"].measured(profile, tmp_path, tmp_path)
    answers = frames["digits_answers"]
    assert list(frames) == ["digits_answers"] and set(answers["trained"]) == {28}
    assert len(answers) == len(settings.sides) * (2 + 3 + 1), "two ways, a third with a prior, the control"
    plan = EXPERIMENTS["digits"].plan(profile, unread(profile))
    assert list(plan) == ["digits/nope-2d/103", "digits/goat-2d/103"]
    assert {spec.images for spec in plan.values()} == {"digits"}
