"""`make bless` on one small run: as its record says, as earlier code trains it, or neither."""

from pathlib import Path

import pytest
import torch

from attention_priors import config, store
from attention_priors.commands import bless
from attention_priors.experiments import archive
from attention_priors.experiments.arms import passkey_run
from attention_priors.store.layout import Layout
from attention_priors.training import blessed
from attention_priors.training.runs import Run, RunSpec

SMOKE = config.profile("smoke")
SPEC = passkey_run(SMOKE, "rope", 0)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Run(SPEC, tmp_path_factory.mktemp("runs"), torch.device("cpu")).train()


@pytest.fixture
def results(made, tmp_path, monkeypatch):
    """Results with one record, and a list of blessed code of its own; a function that alters the record."""
    monkeypatch.setattr(bless, "runs", lambda *_: {SPEC.name: SPEC})
    monkeypatch.setattr(bless, "corpus", lambda *_: None)
    monkeypatch.setattr(blessed.changed, "__defaults__", (tmp_path / "blessed.json",))
    monkeypatch.setattr(blessed.add, "__defaults__", (tmp_path / "blessed.json",))
    monkeypatch.setattr(blessed.read, "__defaults__", (tmp_path / "blessed.json",))
    layout = Layout(tmp_path / "results", "smoke")

    def write(**changes):
        record = made | changes
        store.write_json(layout.own / archive.INDEX, {SPEC.name: made["key"]})
        store.write_bytes(layout.run(SPEC.name, made["key"]), archive.packed({made["key"]: {archive.RECORD: record}}))
        return ["--results", str(layout.results)]

    return write


def test_the_same_weights_are_blessed_and_then_nothing_is_due(results, capsys, monkeypatch):
    where = results()
    assert bless.main(where) == 0 and "passkey: the same weights" in capsys.readouterr().out
    assert bless.main(where) == 0 and "nothing to bless" in capsys.readouterr().out
    monkeypatch.setattr(RunSpec, "fingerprint", "edited")
    assert bless.main(where) == 0 and "the same weights" in capsys.readouterr().out
    assert blessed.read()["passkey"]["fingerprints"][-1] == "edited"


def test_the_run_with_the_least_work_is_trained_whatever_its_record_took(results, made, monkeypatch):
    folder, other = Path(results()[1]), SPEC.model_copy(update={"seed": 1})
    records = {SPEC.name: made | {"steps": 9, "seconds": 1.0}, other.name: made | {"steps": 3, "seconds": 99.0}}
    monkeypatch.setattr(bless, "runs", lambda *_: {SPEC.name: SPEC, other.name: other})
    monkeypatch.setattr(archive, "record", lambda layout, name, key: records[name])
    store.write_json(folder / "smoke" / archive.INDEX, dict.fromkeys(records, made["key"]))
    assert bless.cheapest(folder) == {"passkey": (other, records[other.name])}


@pytest.mark.parametrize("before", ["the same", "another", "none"])
def test_where_digits_differ_earlier_code_decides(results, made, before, capsys, monkeypatch):
    found = {"the same": made, "another": made | {"loss": [9.0]}, "none": None}[before]
    monkeypatch.setattr(bless, "trained_before", lambda *_: found)
    status, said = bless.main(results(loss=[1.0])), capsys.readouterr().out
    assert status == (0 if before == "the same" else 1)
    assert {"the same": "the same weights", "another": "raise TRAINING_VERSION", "none": "git"}[before] in said
    assert bool(blessed.read()) == (before == "the same")
