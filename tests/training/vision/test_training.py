"""Runs of models that see: cached, resumable, recorded, and keyed by what they depend on."""

import pytest
import torch
from safetensors.torch import load_file

from attention_priors import store
from attention_priors.training.vision import ImageRun, ImageSpec, VisionConfig, opened
from attention_priors.training.vision import training as trained
from training.small import RECIPE

CPU = torch.device("cpu")


def spec(name: str = "goat-2d", **changes) -> ImageSpec:
    recipe = RECIPE.model_copy(update={"optimizer": "muon", "prior_rate": 5.0, "batch": 4, "length": 9})
    model = VisionConfig(encoding=name, vocabulary=10, width=32, layers=2, heads=2, hidden=32, side=12, patch=4)
    given = {"task": "resolution", "model": model, "recipe": recipe, "seed": 103, "images": "glyphs"}
    return ImageSpec(**given | changes)


def test_a_run_is_trained_once_and_learns(tmp_path):
    run = opened(spec(), tmp_path, CPU)
    record = run.train()
    assert isinstance(run, ImageRun) and run.finished and store.read_json(run.path / "record.json") == record
    assert record["steps"] == 6 and record["name"] == "resolution/goat-2d/103" and record["spec"]["images"] == "glyphs"
    assert record["parameters"]["prior"] == 2 * 2 * 2 * 4, "layers, heads, α and β, waves"
    assert {*record["learned"][0]} == {"alpha", "beta"} and any(map(any, record["learned"][0]["alpha"]))
    assert not list(run.path.glob("checkpoint*"))
    before = (run.path / "model.safetensors").stat().st_mtime_ns
    assert opened(spec(), tmp_path, CPU).train() == record
    assert (run.path / "model.safetensors").stat().st_mtime_ns == before
    assert not run.model().training


def test_an_interrupted_run_ends_where_a_whole_one_does(tmp_path, monkeypatch):
    whole = ImageRun(spec(), tmp_path / "whole", CPU)
    expected = whole.train()
    parts, call = ImageRun(spec(), tmp_path / "parts", CPU), trained.Batches.__call__

    def stop(self, step):
        if step == 5:
            raise KeyboardInterrupt
        return call(self, step)

    with monkeypatch.context() as patched:
        patched.setattr(trained.Batches, "__call__", stop)
        with pytest.raises(KeyboardInterrupt):
            parts.train()
    assert not parts.finished and (parts.path / "checkpoint.safetensors").exists()
    asked = []
    with monkeypatch.context() as patched:
        patched.setattr(trained.Batches, "__call__", lambda self, step: asked.append(step) or call(self, step))
        record = parts.train()
    assert asked == [4, 5], "it goes on from the checkpoint"
    assert {**record, "seconds": 0} == {**expected, "seconds": 0}
    ours, theirs = (load_file(run.path / "model.safetensors") for run in (parts, whole))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_keys_follow_what_a_run_depends_on():
    recipe, model = spec().recipe, spec().model
    specs = [
        spec(),
        spec("rope-2d"),
        spec("goat-2d-split"),
        spec(seed=104),
        spec(images="digits:none.csv"),
        spec(recipe=recipe.model_copy(update={"steps": 7})),
        spec(model=model.model_copy(update={"class_token": True})),
    ]
    keys = [each.key() for each in specs]
    assert len(set(keys)) == len(keys) and spec().key() == keys[0]


def test_pictures_that_do_not_fit_the_model(tmp_path):
    model = spec().model.model_copy(update={"vocabulary": 3})
    with pytest.raises(ValueError, match=r"^glyphs has 10 classes and 1 channels, the model 3 and 1; give `vocab"):
        opened(spec(model=model), tmp_path, CPU).train()
