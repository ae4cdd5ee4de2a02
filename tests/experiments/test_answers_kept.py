"""What models answered is committed beside their records, and taken from there in place of training."""

import pytest
import torch
from safetensors.torch import load_file

from attention_priors import config, store
from attention_priors.commands import reproduce, train
from attention_priors.config import ModelConfig
from attention_priors.experiments import archive
from attention_priors.publish.cluster import dispatch
from attention_priors.store import manifest
from attention_priors.store.layout import Layout
from attention_priors.tasks import passkey
from attention_priors.training.runs import RESTORED, Run, RunSpec
from training.small import RECIPE

CPU = torch.device("cpu")


def spec(encoding: str = "bam", **changes: object) -> RunSpec:
    model = ModelConfig(vocabulary=len(passkey.VOCABULARY), width=16, layers=1, heads=2, hidden=16, encoding=encoding)
    return RunSpec(**{"task": "passkey", "model": model, "recipe": RECIPE, "seed": 3} | changes)


FIRST = spec()
LATER = spec("kerple-log", start=spec("kerple-log"))  # starts from a run that no profile names
PLANNED = {FIRST.name: FIRST, "extension/kerple-log/3": LATER}
ANSWERS = [{"depth": 0.1, "correct": True}, {"depth": 1 / 3, "correct": False}]


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Results that hold two runs with an answer each, and the store that they came from."""
    torch.set_num_threads(1)
    monkeypatch.setattr(config, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(archive, "planned", lambda *_: PLANNED)
    monkeypatch.setattr(archive, "corpus", lambda *_: None)
    layout, runs = Layout(tmp_path / "results", "cpu"), tmp_path / "store"
    for each in PLANNED.values():
        run = Run(each, runs, CPU)
        run.train()
        store.write_json(run.path / "passkey-of-today.json", ANSWERS)
    assert archive.keep(config.profile("cpu"), runs, layout) == 2
    return layout, runs


def restored(layout, runs) -> int:
    return archive.restore(config.profile("cpu"), runs, layout)


def forbid(monkeypatch) -> None:
    monkeypatch.setattr(Run, "_train", lambda *_: pytest.fail("trained"))


def test_answers_come_back_without_training(kept, tmp_path, monkeypatch):
    layout, before = kept
    runs = tmp_path / "empty"
    assert restored(layout, runs) == 2 and restored(layout, runs) == 0, "once"
    forbid(monkeypatch)
    for each in PLANNED.values():
        run = Run(each, runs, CPU)
        assert run.train() == Run(each, before, CPU).record()
        assert store.kept_json(run.path / "passkey-of-today.json", lambda: pytest.fail("asked again")) == ANSWERS
    assert Run(LATER.start, runs, CPU).record()["steps"] == RECIPE.steps, "records of what a run started from are there"


def test_results_made_from_answers_are_those_that_were_committed(kept, tmp_path):
    layout, _ = kept
    runs, again = tmp_path / "empty", Layout(tmp_path / "again", "cpu")
    restored(layout, runs)
    archive.archive(PLANNED, runs, again, "cpu")

    def content(folder):
        found = (path for kind in ("*.json", "*.xz", "*.safetensors") for path in folder.rglob(kind))
        return {path.relative_to(folder): path.read_bytes() for path in found}

    assert content(again.runs) == content(layout.runs) and content(again.models) == content(layout.models)
    assert len(content(again.runs)) == 2 and len(content(again.models)) == 1


def test_weights_are_trained_when_they_are_asked_for(kept, tmp_path, monkeypatch):
    layout, before = kept
    runs = tmp_path / "empty"
    restored(layout, runs)
    assert not Run(FIRST, runs, CPU).finished and not Run(LATER, runs, CPU).finished, "weights that ship are rounded"
    later = Run(LATER, runs, CPU)
    weights = load_file(Run(LATER, before, CPU).path / "model.safetensors")
    assert all(torch.equal(value, weights[name]) for name, value in later.model().state_dict().items())
    assert later.finished and not (later.path / RESTORED).exists() and later.answers(), "the same weights: answers stay"
    forbid(monkeypatch)
    later.model()


def test_answers_of_other_weights_are_dropped(kept, tmp_path):
    """As on another processor, where the last digits of a loss differ."""
    layout, _ = kept
    runs = tmp_path / "empty"
    restored(layout, runs)
    later = Run(LATER, runs, CPU)
    store.write_json(later.path / "record.json", later.record() | {"loss": [0.5]})
    later.model()
    assert later.answers() == [] and later.record()["loss"] != [0.5]


def test_committed_answers_stay_when_a_store_has_fewer_unless_its_weights_are_others(kept, tmp_path):
    layout, runs = kept
    run, name = Run(FIRST, runs, CPU), FIRST.name
    path = layout.run(name, run.key)
    (run.path / "passkey-of-today.json").unlink()
    store.write_json(run.path / "passkey-of-tomorrow.json", ANSWERS[:1])
    archive.archive({name: FIRST}, runs, layout, "cpu")
    assert set(archive.unpacked(path)[run.key]) == {"passkey-of-today.json", "passkey-of-tomorrow.json", "record.json"}
    store.write_json(run.path / "record.json", run.record() | {"learned": []})
    archive.archive({name: FIRST}, runs, layout, "cpu")
    assert set(archive.unpacked(path)[run.key]) == {"passkey-of-tomorrow.json", "record.json"}


def test_a_run_of_other_code_or_settings_is_not_taken(kept, tmp_path, monkeypatch):
    layout, _ = kept
    changed = spec(recipe=RECIPE.model_copy(update={"rate": 0.02}))
    monkeypatch.setattr(archive, "planned", lambda *_: {FIRST.name: changed})
    assert restored(layout, tmp_path / "empty") == 0
    assert not Run(changed, tmp_path / "empty", CPU).restored


def test_what_the_store_has_trained_stays_as_it_is(kept):
    layout, runs = kept
    for each in PLANNED.values():
        (Run(each, runs, CPU).path / "passkey-of-today.json").unlink()
    assert restored(layout, runs) == 0 and not Run(FIRST, runs, CPU).answers()


@pytest.mark.parametrize("damage", ["cut", "other"])
def test_damaged_answers_are_refused_by_name(kept, tmp_path, damage):
    layout, _ = kept
    path = layout.run(FIRST.name, Run(FIRST, tmp_path, CPU).key)
    data = path.read_bytes()
    path.write_bytes(data[:-9] if damage == "cut" else archive.packed({}))
    with pytest.raises(ValueError, match=rf"{path.name} does not have the sum in sha256.txt; restore both"):
        restored(layout, tmp_path / "empty")
    if damage == "cut":
        manifest.add(layout, [path])
        with pytest.raises(store.DamagedFile, match=f"{path.name} is damaged .* restore it"):
            restored(layout, tmp_path / "empty")
    assert not Run(FIRST, tmp_path / "empty", CPU).restored


def test_killed_while_answers_are_put_back_it_goes_on(kept, tmp_path, monkeypatch):
    """The record comes last: without it a run counts as missing."""
    layout, _ = kept
    runs, write = tmp_path / "empty", store.write_json

    def killed(path, value):
        if path.name == "record.json":
            raise KeyboardInterrupt
        write(path, value)

    monkeypatch.setattr(store, "write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        restored(layout, runs)
    monkeypatch.setattr(store, "write_json", write)
    assert not any(Run(each, runs, CPU).restored for each in PLANNED.values())
    assert restored(layout, runs) == 2


def test_a_cluster_trains_what_others_start_from(kept, tmp_path):
    layout, _ = kept
    runs = tmp_path / "empty"
    restored(layout, runs)
    assert dispatch.waiting([FIRST, LATER], runs, CPU) == {}
    other = spec("kerple-log", start=LATER.start, seed=4)
    wanted = [Run(each, runs, CPU).key for each in (LATER.start, other)]
    assert list(dispatch.waiting([other], runs, CPU)) == wanted


def test_the_commands_keep_and_take(tmp_path, monkeypatch, capsys):
    """Runs of smoke that an empty store lacks, and answers that are not committed."""
    monkeypatch.setattr(config, "CACHE", tmp_path / "cache")
    own = ["--profile", "smoke", "--results", str(tmp_path / "results")]
    assert train.main(["--keep", *own]) == 0
    assert "0 run(s) of profile smoke kept in results/runs" in capsys.readouterr().out
    assert reproduce.main(["--answers", "--rules", str(tmp_path / "rules.mk"), "--only", "how_to_read", *own]) == 0
    assert "0 run(s) taken from results/runs with what they answered" in capsys.readouterr().out
