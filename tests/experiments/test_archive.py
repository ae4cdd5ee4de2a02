"""What is committed of runs: records by name and key, an index for each profile, the weights that ship."""

import pytest
import torch
from safetensors.torch import load_file, save_file

from attention_priors import config, store
from attention_priors.experiments import archive
from attention_priors.experiments.arms import passkey_run
from attention_priors.store.layout import Layout
from attention_priors.training.runs import Run


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """A store whose runs are all finished, and passkey runs of two encodings that ship and of one that does not."""
    monkeypatch.setattr(config, "CACHE", tmp_path / "cache")

    def record(run):
        run.path.mkdir(parents=True, exist_ok=True)
        weights = {"matrix": torch.full((2, 2), int(run.key[:4], 16) / 7), "vector": torch.full((2,), 1 / 3)}
        save_file(weights, run.path / "model.safetensors", {"spec": run.key})
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
    return {path.relative_to(layout.runs).as_posix() for path in layout.runs.rglob("*.xz")}


def test_records_models_and_an_index(trained, tmp_path):
    profile, named = trained
    layout = Layout(tmp_path / "results", "smoke")
    written = archive.archive(named, tmp_path / "store", layout, "cpu")
    keys = {name: Run(spec, tmp_path / "store", torch.device("cpu")).key for name, spec in named.items()}
    assert store.read_json(layout.own / "runs.json") == keys
    assert records(layout) == {f"{name}.{key[:8]}.xz" for name, key in keys.items()}
    assert "sandwich" not in archive.KEPT
    models = {layout.models / f"{name}.safetensors": name for name in ("passkey/bam/0", "passkey/bam-ssmax/0")}
    shipped = {path for path in layout.models.rglob("*") if path.is_file()}
    assert shipped == set(models), "the first seed ships, of the encodings that are kept"
    for path, name in models.items():
        weights = load_file(path)
        assert weights["matrix"].dtype == torch.half and weights["vector"][0] == torch.tensor(1 / 3)
        assert weights["matrix"][0, 0] == torch.tensor(int(keys[name][:4], 16) / 7).half()
    assert set(written) == {*models, layout.own / "runs.json", *(layout.run(*item) for item in keys.items())}
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
    old, kept, forgotten = mine.run(name, "a" * 16), mine.run(name, "c" * 16), mine.run(gone, "b" * 16)
    for path in (old, kept, forgotten):
        store.write_bytes(path, archive.packed({}))
    touched = archive.archive({name: spec}, tmp_path / "store", mine, "cpu")
    key = store.read_json(mine.own / "runs.json")
    assert key.keys() == {name}, "a run that the profile does not plan leaves the index"
    assert records(mine) == {path.relative_to(mine.runs).as_posix() for path in (kept, mine.run(name, key[name]))}
    assert {old, forgotten} <= set(touched)


def test_the_default_profile_alone_ships_models_and_of_two_tasks(trained, tmp_path):
    _, named = trained
    mine, theirs = Layout(tmp_path / "results", "cpu"), Layout(tmp_path / "results", "full")
    spec = passkey_run(config.profile("smoke"), "alibi", 0)
    copies = spec.model_copy(update={"task": "algorithms/copy"})
    archive.archive(named, tmp_path / "store", theirs, "cpu")
    assert not theirs.models.exists()
    archive.archive(named | {copies.name: copies}, tmp_path / "store", mine, "cpu")
    shipped = {path.relative_to(mine.models).as_posix() for path in mine.models.rglob("*.*")}
    assert shipped == {"passkey/bam/0.safetensors", "passkey/bam-ssmax/0.safetensors"}


def test_a_file_renamed_by_hand_is_one_line_with_the_remedy(tmp_path):
    layout, key = Layout(tmp_path, "cpu"), "0123456789abcdef"
    store.write_bytes(layout.run("passkey/bam/0", key), archive.packed({"f" * 16: {archive.RECORD: {}}}))
    with pytest.raises(ValueError, match=r"0\.01234567\.xz holds no run 0123.*, but ffff.*renamed by hand; restore it"):
        archive.record(layout, "passkey/bam/0", key)
