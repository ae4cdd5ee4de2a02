"""`attention_priors.load` opens a trained model by name or by path, and says in one line why it cannot."""

import json
import shutil

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import attention_priors
from attention_priors.store import manifest
from attention_priors.store.layout import Layout
from attention_priors.training.runs import Run
from training.small import spec


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    run = Run(spec(steps=1), tmp_path_factory.mktemp("runs"), torch.device("cpu"))
    run.train()
    return run.path / "model.safetensors"


@pytest.fixture
def shipped(trained, tmp_path, monkeypatch):
    """The model as a repository ships it."""
    layout = Layout(tmp_path / "results", "cpu")
    path = layout.models / "passkey" / "bam-ssmax" / "0.safetensors"
    path.parent.mkdir(parents=True)
    shutil.copy(trained, path)
    manifest.add(layout, [path])
    monkeypatch.setattr("attention_priors.store.shipped.ROOT", tmp_path)
    monkeypatch.delenv("ATTENTION_PRIORS_MODELS", raising=False)
    return path


def test_by_name_and_by_path(shipped):
    tokens = torch.arange(30)[None]
    one, two = attention_priors.load("passkey/bam-ssmax/0"), attention_priors.load(str(shipped))
    assert not one.training and one.config.encoding == "bam-ssmax"
    assert torch.equal(one(tokens), two(tokens))
    assert torch.equal(one.head.weight, load_file(shipped)["head.weight"])


def test_a_window_is_as_it_was_in_training(tmp_path):
    run, tokens = Run(spec("half-rope-window-bam", steps=1), tmp_path, torch.device("cpu")), torch.arange(30)[None]
    run.train()
    opened = attention_priors.load(str(run.path / "model.safetensors"))
    assert opened.trained == 80 and torch.equal(opened(tokens), run.model()(tokens))


def test_a_model_stored_in_half_precision_opens_in_single(shipped, tmp_path):
    with safe_open(shipped, "pt") as file:
        meta = file.metadata()
    half = tmp_path / "half.safetensors"
    save_file({name: value.half() for name, value in load_file(shipped).items()}, half, metadata=meta)
    model = attention_priors.load(str(half))
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_refuses_an_unknown_name_and_lists_the_known(shipped):
    with pytest.raises(ValueError, match=r"no trained model 'passkey/bam/0'; there are: passkey/bam-ssmax/0$"):
        attention_priors.load("passkey/bam/0")
    shipped.unlink()
    with pytest.raises(ValueError, match="there are: none yet"):
        attention_priors.load("passkey/bam-ssmax/0")


def test_models_of_a_clone_are_found_from_elsewhere(shipped, tmp_path, monkeypatch):
    monkeypatch.setattr("attention_priors.store.shipped.ROOT", tmp_path / "site-packages")
    with pytest.raises(ValueError, match=r"'passkey/bam-ssmax/0': this installation has no models; a clone"):
        attention_priors.load("passkey/bam-ssmax/0")
    assert attention_priors.load(str(shipped)).config.encoding == "bam-ssmax", "a path needs no folder"
    monkeypatch.setenv("ATTENTION_PRIORS_MODELS", str(tmp_path / "results" / "models"))
    assert attention_priors.load("passkey/bam-ssmax/0").config.encoding == "bam-ssmax"
    monkeypatch.setenv("ATTENTION_PRIORS_MODELS", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match=r"ATTENTION_PRIORS_MODELS = .*nowhere is no folder; .* give the path"):
        attention_priors.load("passkey/bam-ssmax/0")


def test_refuses_a_shipped_model_that_is_not_the_committed_one(shipped):
    tensors = load_file(shipped)
    with safe_open(shipped, "pt") as file:
        meta = file.metadata()
    tensors["head.weight"][0, 0] += 1
    save_file(tensors, shipped, metadata=meta)
    with pytest.raises(ValueError, match=r"0\.safetensors does not have the sum in sha256\.txt; restore both"):
        attention_priors.load("passkey/bam-ssmax/0")
    assert torch.equal(attention_priors.load(str(shipped)).head.weight, tensors["head.weight"]), "a path is one's own"


def test_refuses_what_is_no_model(shipped, tmp_path):
    data, tensors = shipped.read_bytes(), load_file(shipped)
    with safe_open(shipped, "pt") as file:
        meta = dict(file.metadata())
    path = tmp_path / "bad.safetensors"
    with pytest.raises(ValueError, match=r"no file .*absent\.safetensors"):
        attention_priors.load(str(tmp_path / "absent.safetensors"))
    unknown, other = json.loads(meta["spec"]), json.loads(meta["spec"])
    unknown["model"]["encoding"], other["model"]["width"] = "bamm", 17
    whole = load_file(shipped)
    del tensors["head.weight"]
    makers = {
        "cut": lambda: path.write_bytes(data[: len(data) // 2]),
        "empty": lambda: path.write_bytes(b""),
        "text": lambda: path.write_text("not a model at all, but a text"),
        "no description": lambda: save_file(whole, path),
        "half a description": lambda: save_file(whole, path, metadata=meta | {"spec": meta["spec"][:20]}),
        "another description": lambda: save_file(whole, path, metadata=meta | {"spec": json.dumps(other)}),
        "a tensor short": lambda: save_file(tensors, path, metadata=meta),
    }
    for name, make in makers.items():
        make()
        with pytest.raises(ValueError, match=r"bad\.safetensors is not a complete model .*copy or train") as caught:
            attention_priors.load(str(path))
        assert "\n" not in str(caught.value), name

    save_file(whole, path, metadata=meta | {"spec": json.dumps(unknown)})
    with pytest.raises(
        ValueError, match=r"'bamm', which is not registered here \(nearest: bam\); run the file"
    ) as caught:
        attention_priors.load(str(path))
    assert "\n" not in str(caught.value)


def test_the_package_has_nothing_else():
    with pytest.raises(AttributeError, match="has no attribute 'save'"):
        attention_priors.save  # noqa: B018
