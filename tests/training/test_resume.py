"""A run killed at any moment ends where an uninterrupted one does; nothing half-written is taken for a result."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.optim.optimizer import register_optimizer_step_post_hook

from attention_priors import store
from attention_priors.config import Gate, Varied
from attention_priors.corpora import packing
from attention_priors.training import runs as training
from attention_priors.training.runs import Run, RunSpec
from training.small import spec

STEPS, EVERY, LENGTH = 7, 2, 80
CPU = torch.device("cpu")


def small(encoding: str = "bam-ssmax", **changes: object) -> RunSpec:
    return spec(encoding, 3, steps=STEPS, **changes)


def finished(folder: Path, made: RunSpec) -> tuple[bytes, dict]:
    """The trained model's file and the record without what differs from run to run."""
    run = Run(made, folder, CPU)
    record = run.train()
    assert store.read_json(run.path / "record.json") == record
    assert sorted(path.name for path in run.path.iterdir() if ".partial" not in path.name) == [
        "model.safetensors",
        "record.json",
    ]
    return (run.path / "model.safetensors").read_bytes(), {k: v for k, v in record.items() if k != "seconds"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    torch.set_num_threads(1)
    return finished(tmp_path_factory.mktemp("whole"), small())


KILLED = """
import os, signal, sys
import torch
from attention_priors.training import runs as training
from attention_priors.training.runs import Run, RunSpec

folder, moment, text = sys.argv[1:]
torch.set_num_threads(1)
run = Run(RunSpec.model_validate_json(text), folder, torch.device("cpu"))  # its key is that of the code unchanged
original = {"loss_of": training.loss_of, "fsync": os.fsync, "replace": os.replace}
calls = 0


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def loss_of(*arguments):
    global calls
    calls += 1
    if calls == int(moment.partition(" ")[2]):
        die()
    return original["loss_of"](*arguments)


def fsync(handle):
    global calls
    calls += 1
    if calls == 2:  # the second checkpoint, cut in half
        os.ftruncate(handle, os.fstat(handle).st_size // 2)
        die()
    original["fsync"](handle)


def replace(source, target):
    if str(target).endswith("record.json"):
        die()
    original["replace"](source, target)


if moment.startswith("step"):
    training.loss_of = loss_of
elif moment == "during a checkpoint":
    os.fsync = fsync
else:
    os.replace = replace
run.train()
"""


@pytest.mark.parametrize("moment", ["step", "during a checkpoint", "between model and record"])
def test_killed_and_started_again(moment, tmp_path, whole):
    if moment == "step":  # another one every time: whichever it was, it stands in the folder's name on failure
        moment = f"step {random.SystemRandom().randint(2, STEPS)}"
    made = small()
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), moment, made.model_dump_json()], check=False)
    assert done.returncode == -signal.SIGKILL, moment
    run = Run(made, tmp_path, CPU)
    assert not run.finished and not (run.path / "record.json").exists()
    if moment == "during a checkpoint":
        assert [path for path in run.path.iterdir() if ".partial" in path.name]
    assert finished(tmp_path, made) == whole, moment


def test_the_record_of_a_resumed_run_has_the_time_of_all_its_parts(tmp_path, monkeypatch):
    made = small()
    run = Run(made, tmp_path, CPU)
    with monkeypatch.context() as patched:
        patched.setattr(training, "learned", lambda model: 1 / 0)  # after the last checkpoint, before the record
        ticks = iter(range(0, 10**6, 1000))
        patched.setattr(training.time, "monotonic", lambda: next(ticks))  # each look at the clock is 1,000 s later
        with pytest.raises(ZeroDivisionError):
            run.train()
    spent = load_file(run.path / "checkpoint.safetensors")["source.seconds"].item()
    assert spent >= 1000 and Run(made, tmp_path, CPU).train()["seconds"] >= spent


def test_a_gated_run_resumes_with_the_turns_that_it_has_had(tmp_path):
    how = {
        "varied": Varied(shortest=77, cut=0.5, keyless=0.2),
        "cooldown": 2,
        "gate": Gate(lengths=(LENGTH,), samples=2, accuracy=0.5, every=1),
    }
    made = small(**how)
    expected = finished(tmp_path / "whole", made)
    assert expected[1]["gate"] == [[step, 0.0] for step in range(1, STEPS - 2 + 1)]
    interrupt(Run(made, tmp_path / "parts", CPU), 5)
    assert finished(tmp_path / "parts", made) == expected


class Interrupted(BaseException):
    """Ctrl-C, at a known place."""


def interrupt(run: Run, done: int) -> set[int]:
    """Train until `done` steps are behind the run, stop in the middle of the next; the steps that were trained."""
    trained: set[int] = set()

    def stop(*_: object) -> None:
        trained.add(len(run._history))
        if len(run._history) >= done:
            raise Interrupted

    hook = register_optimizer_step_post_hook(stop)
    try:
        with pytest.raises(Interrupted):
            run.train()
    finally:
        hook.remove()
    return trained


@pytest.mark.parametrize(
    ("encoding", "optimizer"), [("bam-shared-ssmax", "adamw"), ("sinusoidal", "radam"), ("bam-location-ssmax", "muon")]
)
def test_interrupted_at_every_step(encoding, optimizer, tmp_path):
    """One run that is stopped in each of its steps in turn, resumed each time from its last checkpoint."""
    made = small(encoding, optimizer=optimizer)
    wanted = finished(tmp_path / "whole", made)
    for done in range(1, STEPS):
        trained = interrupt(Run(made, tmp_path / "parts", CPU), done)
        assert min(trained) >= done - EVERY, "what a checkpoint holds is not trained again"
    assert finished(tmp_path / "parts", made) == wanted


def test_a_finished_run_is_not_trained_again(tmp_path, monkeypatch):
    finished(tmp_path, small())
    run = Run(small(), tmp_path, CPU)  # before `fit` changes, and with it the key of every run
    before = {path: path.stat().st_mtime_ns for path in run.path.iterdir()}
    monkeypatch.setattr("attention_priors.training.runs.fit", lambda *_: pytest.fail("trained again"))
    assert run.train() == run.record()
    assert {path: path.stat().st_mtime_ns for path in run.path.iterdir()} == before


@pytest.mark.parametrize("name", ["model.safetensors", "record.json"])
@pytest.mark.parametrize("keep", [0, 5, 0.5, -1])
def test_a_truncated_result_is_made_again(name, keep, tmp_path, whole):
    finished(tmp_path, small())
    path = Run(small(), tmp_path, CPU).path / name
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if keep == 0.5 else keep] if keep != -1 else data[:-3])
    assert not Run(small(), tmp_path, CPU).finished
    assert finished(tmp_path, small()) == whole


@pytest.mark.parametrize("keep", [0, 100, -1])
def test_a_truncated_checkpoint_is_dropped(keep, tmp_path, whole):
    run = Run(small(), tmp_path, CPU)
    interrupt(run, EVERY + 1)
    path = run.path / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    assert finished(tmp_path, small()) == whole


def test_an_unfinished_run_gives_no_model(tmp_path):
    with pytest.raises(ValueError, match=r"run passkey/bam-ssmax/3 \([0-9a-f]{16}\) is not finished; run its notebook"):
        Run(small(), tmp_path, CPU).model()


def test_the_stored_model_is_the_trained_one(tmp_path, whole):
    finished(tmp_path, small())
    run = Run(small(), tmp_path, CPU)
    model, record = run.model(), run.record()
    assert not model.training
    stored = load_file(run.path / "model.safetensors")
    assert all(torch.equal(value, stored[name]) for name, value in model.state_dict().items())
    prior = model.blocks[0].attention.prior
    assert record["learned"][0]["theta_beta"] == pytest.approx(prior.theta_beta.tolist(), abs=1e-6)
    assert record["name"] == "passkey/bam-ssmax/3" and record["key"] == run.key and len(record["loss"]) == STEPS
    assert str(tmp_path) not in str(record)


@pytest.fixture
def corpus(tmp_path):
    """A packed corpus of random documents, as `packing.pack` would write it."""
    import numpy as np

    drawn = np.random.default_rng(0)
    sizes = drawn.integers(20, 90, size=30)
    tokens = drawn.integers(0, 40, size=sizes.sum()).astype(np.uint16)
    meta = {"format": packing.FORMAT, "corpus": "drawn", "vocabulary": 40, "parts": [["train", "drawn"]]}
    path = tmp_path / "corpus.npz"
    packing.PackedCorpus(tokens, np.cumsum([0, *sizes]), np.zeros(30, dtype=np.uint8), meta).write(path)
    return path


def test_a_language_run_finds_its_place_in_the_corpus(tmp_path, corpus):
    """Stopped after its fourth step and resumed: the same windows in the same order."""
    model = small().model.model_copy(update={"vocabulary": 40})
    made = small().model_copy(update={"task": "language", "corpus": str(corpus), "inputs": ("0",), "model": model})
    wanted = finished(tmp_path / "whole", made)
    interrupt(Run(made, tmp_path / "parts", CPU), EVERY + 1)
    assert finished(tmp_path / "parts", made) == wanted


def test_a_full_disk_leaves_a_run_that_resumes(tmp_path, whole, monkeypatch):
    calls = []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="the disk is full, and the file is as it was; free some space"):
        Run(small(), tmp_path, CPU).train()
    assert finished(tmp_path, small()) == whole
