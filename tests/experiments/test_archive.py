"""What is committed of runs: records by name and key, an index for each profile, the weights that ship."""

import pytest
import torch

from attention_priors import config, store
from attention_priors.experiments import archive, runs, unread
from attention_priors.experiments.arms import passkey_run
from attention_priors.layout import Layout
from attention_priors.training import Run


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """A store whose runs are all finished, and passkey runs of two encodings that ship and of one that does not."""
    monkeypatch.setattr(config, "CACHE", tmp_path / "cache")

    def record(run):
        run.path.mkdir(parents=True, exist_ok=True)
        (run.path / "model.safetensors").write_bytes(f"weights of {run.key}".encode())
        return {"name": run.spec.name, "key": run.key}

    monkeypatch.setattr(Run, "record", record)
    profile = config.profile("smoke")
    named = {
        spec.name: spec
        for name in ("sandwich", "bam", "bam-ssmax")
        for spec in (passkey_run(profile, name, 1), passkey_run(profile, name, 0))
    }
    return profile, named


def records(layout):
    return {path.relative_to(layout.runs).as_posix() for path in layout.runs.rglob("*.json")}


def test_records_models_and_an_index(trained, tmp_path):
    profile, named = trained
    layout = Layout(tmp_path / "results", "smoke")
    written = archive.archive(named, tmp_path / "store", layout, "cpu")
    keys = {name: Run(spec, tmp_path / "store", torch.device("cpu")).key for name, spec in named.items()}
    assert store.read_json(layout.own / "runs.json") == keys
    assert records(layout) == {f"{name}.{key[:8]}.json" for name, key in keys.items()}
    assert "sandwich" not in archive.KEPT
    models = {layout.models / f"{name}.safetensors": name for name in ("passkey/bam/0", "passkey/bam-ssmax/0")}
    shipped = {path for path in layout.models.rglob("*") if path.is_file()}
    assert shipped == set(models), "the first seed ships, of the encodings that are kept"
    for path, name in models.items():
        assert path.read_bytes().decode() == f"weights of {keys[name]}"
    assert set(written) == {*models, layout.own / "runs.json", *(layout.record(*item) for item in keys.items())}
    other = passkey_run(profile, "alibi", 0)
    archive.archive({other.name: other}, tmp_path / "store", layout, "cpu")
    assert set(store.read_json(layout.own / "runs.json")) == {*keys, other.name}, "what another notebook left stays"


def test_a_record_goes_when_no_profile_lists_it(trained, tmp_path):
    _, named = trained
    mine, theirs = Layout(tmp_path / "results", "cpu"), Layout(tmp_path / "results", "full")
    (name, spec), *_ = named.items()
    gone = "passkey/an-encoding-of-old/0"
    store.write_json(mine.own / "runs.json", {name: "a" * 16, gone: "b" * 16})
    store.write_json(theirs.own / "runs.json", {name: "c" * 16})
    old, kept, forgotten = mine.record(name, "a" * 16), mine.record(name, "c" * 16), mine.record(gone, "b" * 16)
    for path in (old, kept, forgotten):
        store.write_json(path, {})
    touched = archive.archive({name: spec}, tmp_path / "store", mine, "cpu")
    key = store.read_json(mine.own / "runs.json")
    assert key.keys() == {name}, "a run that the profile does not plan leaves the index"
    assert records(mine) == {path.relative_to(mine.runs).as_posix() for path in (kept, mine.record(name, key[name]))}
    assert {old, forgotten} <= set(touched)


def test_no_profile_replaces_the_weights_of_another(trained, tmp_path):
    _, named = trained
    mine, theirs = Layout(tmp_path / "results", "cpu"), Layout(tmp_path / "results", "full")
    keys = {name: Run(spec, tmp_path / "store", torch.device("cpu")).key for name, spec in named.items()}
    shared, other, new, alone = "passkey/bam/0", "passkey/bam-ssmax/0", "passkey/rope/0", "passkey/alibi/0"
    rope, alibi = (passkey_run(config.profile("smoke"), name, 0) for name in ("rope", "alibi"))
    copies = alibi.model_copy(update={"task": "algorithms/copy"})
    store.write_json(mine.own / "runs.json", {shared: keys[shared], other: "b" * 16})
    store.write_bytes(mine.models / f"{other}.safetensors", b"of the default profile")
    archive.archive(named | {new: rope, alone: alibi, copies.name: copies}, tmp_path / "store", theirs, "cpu")
    shipped = {path.relative_to(theirs.models).as_posix(): path.read_bytes() for path in theirs.models.rglob("*.*")}
    assert shipped.pop(f"{other}.safetensors") == b"of the default profile"
    assert set(shipped) == {f"{shared}.safetensors", f"full/{other}.safetensors", f"full/{new}.safetensors"}, (
        "alone under another profile ships what most ask for, and no study's models"
    )
    archive.archive(named, tmp_path / "store", mine, "cpu")
    assert (mine.models / f"{other}.safetensors").read_bytes().decode() == f"weights of {keys[other]}"


def test_every_run_of_a_profile_has_a_name_of_its_own():
    for name in ("smoke", "cpu", "full", "gpu", "paper"):
        profile = config.profile(name)
        named = runs(profile, unread(profile))
        assert len(set(named.values())) == len(named)
