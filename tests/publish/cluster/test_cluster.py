"""Runs that workers of a dask scheduler train: the files of a run trained here, whatever dies on the way."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from distributed.scheduler import KilledWorker
from safetensors.torch import load_file

from attention_priors import config, runtime
from attention_priors.commands.cluster import main, planned
from attention_priors.config import ModelConfig, Recipe
from attention_priors.experiments import EXPERIMENTS, unread
from attention_priors.publish.cluster import dispatch, worker
from attention_priors.store.notebooks import NOTEBOOKS
from attention_priors.tasks import passkey
from attention_priors.training.runs import Run, RunSpec

CPU = torch.device("cpu")
# A beat for every step that takes longer than this, so that short runs come back in parts.
PRELOAD = (
    "from attention_priors import runtime\nfrom attention_priors.publish.cluster import worker\n"
    "runtime.HEARTBEAT_SECONDS = 0"
)


def spec(seed: int, steps: int = 40, start: RunSpec | None = None, **changes: object) -> RunSpec:
    settings = {
        "name": "test",
        "optimizer": "adamw",
        "rate": 0.01,
        "prior_rate": 1.0,
        "steps": steps,
        "batch": 2,
        "length": 80,
        "warmup": 0,
        "final_rate": 0.1,
        "weight_decay": 0.1,
        "betas": (0.9, 0.95),
        "clip": 1.0,
        "text_weight": 0.1,
        "checkpoint_every": 4,
    } | changes
    sizes = {"width": 16, "layers": 2, "heads": 2, "hidden": 16}
    model = ModelConfig(vocabulary=len(passkey.VOCABULARY), encoding="bam-ssmax", **sizes)
    return RunSpec(task="passkey", model=model, recipe=Recipe(**settings), seed=seed, start=start)


def same(one: Run, other: Run) -> None:
    """Equal records but for where and how long, and equal weights."""
    apart = ("seconds", "processor")
    assert {k: v for k, v in one.record().items() if k not in apart} == {
        k: v for k, v in other.record().items() if k not in apart
    }
    first, second = (load_file(run.path / "model.safetensors") for run in (one, other))
    assert first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@contextmanager
def process(folder: Path, *arguments: str, **variables: str) -> Iterator[subprocess.Popen]:
    with open(folder / f"{arguments[0]}-{time.monotonic_ns()}.log", "w") as log:
        made = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            env=os.environ | variables,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
    try:
        yield made
    finally:
        made.kill()
        made.wait()


@contextmanager
def scheduler(folder: Path) -> Iterator[tuple[subprocess.Popen, str]]:
    """A scheduler of its own and its address."""
    file = folder / "scheduler.json"
    with process(
        folder, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)
    ) as made:
        until = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < until and made.poll() is None, "the scheduler never began"
            time.sleep(0.05)
        time.sleep(0.1)
        yield made, json.loads(file.read_text())["address"]


def at_work(folder: Path, address: str, name: str):
    """A worker with a store of its own."""
    (folder / "preload.py").write_text(PRELOAD)
    return process(
        folder,
        "worker",
        address,
        "--name",
        name,
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
        "--preload",
        str(folder / "preload.py"),
        "--local-directory",
        str(folder / f"scratch-{name}"),
        ATTENTION_PRIORS_CACHE=str(folder / name),
        OMP_NUM_THREADS="1",
    )


def kill_at_a_checkpoint(workers: dict[Path, subprocess.Popen], killed: list[Path]) -> None:
    """Kill the first worker that has written some checkpoints, in the middle of its run."""
    until = time.monotonic() + 120
    while time.monotonic() < until and not killed:
        for cache, made in workers.items():
            for path in cache.glob("runs/*/checkpoint.safetensors"):
                if worker.step_of(path) >= 12 and not killed:
                    made.send_signal(signal.SIGKILL)
                    killed.append(cache)
        time.sleep(0.01)


def test_a_worker_is_killed_and_its_run_goes_on_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders, killed = [], []
    monkeypatch.setattr(dispatch, "Order", lambda *given: orders.append(worker.Order(*given)) or orders[-1])
    runs, first = tmp_path / "runs", spec(0)
    specs = [spec(0, 20, first), first, spec(1)]
    with (
        scheduler(tmp_path) as (_, address),
        at_work(tmp_path, address, "one") as one,
        at_work(tmp_path, address, "two") as two,
    ):
        watch = threading.Thread(
            target=kill_at_a_checkpoint, args=({tmp_path / "one": one, tmp_path / "two": two}, killed)
        )
        watch.start()
        assert dispatch.dispatch(specs, address, runs, CPU, 1, seconds=0) == 3
        watch.join()
    assert killed, "a worker died on the way"
    assert any(order.step for order in orders), "runs went on from their checkpoints"
    for each in specs:
        here = Run(each, tmp_path / "here", CPU)
        here.train()
        same(Run(each, runs, CPU), here)
    assert {path.name for path in runs.glob("*/*")} == {"model.safetensors", "record.json"}
    assert dispatch.dispatch(specs, "tcp://127.0.0.1:1", runs, CPU, 1) == 0, "nothing is missing, so nobody is asked"


def test_a_scheduler_that_does_not_answer_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "ANSWER_SECONDS", 1.0)
    for address in ("tcp://127.0.0.1:1", "nowhere", "smoke://signals:1"):
        with pytest.raises(
            ValueError, match=rf"no scheduler answers at CLUSTER={address} .*leave CLUSTER out$"
        ) as caught:
            dispatch.dispatch([spec(0)], address, tmp_path, CPU, 1)
        assert "\n" not in str(caught.value)


def test_a_cluster_without_workers_and_one_that_dies_are_one_line(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(dispatch, "ANSWER_SECONDS", 2.0)
    monkeypatch.setattr(runtime, "HEARTBEAT_SECONDS", 0.2)
    with scheduler(tmp_path) as (made, address):
        with pytest.raises(ValueError, match=r"has no workers .*; 0 of 1 runs are in the store: .*goes on$"):
            dispatch.dispatch([spec(0)], address, tmp_path / "runs", CPU, 1, patience=0.5)
        threading.Timer(1.0, made.kill).start()
        with pytest.raises(ValueError, match=r"stopped answering.*; 0 of 1 runs are in the store: .*goes on$"):
            dispatch.dispatch([spec(0)], address, tmp_path / "runs", CPU, 1)


def test_runs_that_fail_do_not_stop_the_others(tmp_path: Path) -> None:
    """A rate that leads to infinity, what starts from it, and a run that is fine."""
    wild = spec(0, rate=1e30, clip=1e30)
    with scheduler(tmp_path) as (_, address), at_work(tmp_path, address, "one"):
        with pytest.raises(
            ValueError, match=r"2 of 3 runs failed, .*; the first, passkey/bam-ssmax/0: ValueError: the log-prior"
        ):
            dispatch.dispatch([spec(0, 20, wild), spec(1)], address, tmp_path / "runs", CPU, 1)
        assert Run(spec(1), tmp_path / "runs", CPU).finished


def test_a_failed_run_is_named_with_the_remedy() -> None:
    other = RuntimeError("Error during deserialization\nof the task graph")
    other.__cause__ = ModuleNotFoundError("No module named 'attention_priors.publish.cluster'")
    for error in (other, other.__cause__):
        assert "No module named 'attention_priors.publish.cluster'; start both from the .venv" in dispatch._reason(
            error
        )
    assert "too little memory" in dispatch._reason(KilledWorker("work", None, 3))
    assert dispatch._reason(ValueError("two\nlines")) == "ValueError: two lines"


def test_two_models_never_share_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    process = SimpleNamespace(state=SimpleNamespace(nthreads=2), local_directory="scratch")
    monkeypatch.setattr(worker.distributed, "get_worker", lambda: process)
    with pytest.raises(ValueError, match=r"a worker of 2 threads .* start workers with --nthreads 1"):
        worker.work(order(spec(0)))


def order(made: RunSpec, key: str = "", **changes: object) -> worker.Order:
    return worker.Order(made, key or made.key(), "cpu", 1, 0.0, **({"files": {}} | changes))


def test_a_later_checkpoint_of_the_worker_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "HEARTBEAT_SECONDS", 0)
    made = spec(0, 12)
    early = worker.follow(order(made), tmp_path, tmp_path).files
    worker.follow(order(made), tmp_path, tmp_path)
    path = tmp_path / made.key() / worker.CHECKPOINT
    assert worker.step_of(path) == 8
    worker._put(order(made, files=early, step=4), tmp_path)
    assert worker.step_of(path) == 8
    path.write_bytes(b"damaged")
    worker._put(order(made, files=early, step=4), tmp_path)
    assert worker.step_of(path) == 4


def test_other_code_and_a_missing_corpus_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"has another key here .*same commit"):
        worker.follow(order(spec(0), "0" * 16), tmp_path, tmp_path)
    monkeypatch.setattr(config, "CACHE", tmp_path)
    lacking = spec(0).model_copy(update={"corpus": "/nowhere/docstrings-258.npz"})
    with pytest.raises(ValueError, match=r"reads docstrings-258\.npz, which this worker lacks; copy it"):
        worker.follow(order(lacking), tmp_path, tmp_path)
    (tmp_path / "docstrings-258.npz").write_bytes(b"")
    assert worker._with_corpus(lacking, tmp_path).corpus == str(tmp_path / "docstrings-258.npz")


def test_every_planned_run_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """What notebooks measure is all that experiments train; corpora stay unread."""
    monkeypatch.setattr("attention_priors.experiments.experiment.corpus", lambda profile, cache: unread(profile))
    profile = config.profile("smoke")
    every = {run for each in EXPERIMENTS.values() for run in each.plan(profile, unread(profile)).values()}
    assert set(planned(profile, NOTEBOOKS)) == every
    assert set(planned(profile, ["how_to_read"])) == set()


def test_the_page_says_what_the_code_does(root: Path) -> None:
    text = (root / "lib/attention_priors/publish/site/pages/cluster.md").read_text()
    for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        compile(block, "cluster.md", "exec")
    minutes = {5: "five minutes", 10: "ten minutes"}
    assert minutes[dispatch.SLICE_SECONDS / 60] in text and minutes[dispatch.PATIENCE_SECONDS / 60] in text
    assert f"up to {dispatch.LARGEST_CORPUS // 2**20} MiB" in text


SBATCH = """#!/bin/sh
# A SLURM of one machine, whose queue is empty.
cp "$1" "$HERE/job.sh"
setsid sh "$HERE/job.sh" > "$HERE/job.log" 2>&1 < /dev/null &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
echo "$1" >> "$HERE/cancelled"
kill -- "-$1"
"""


def test_slurm_gives_workers_to_the_lines_of_the_page(root: Path, tmp_path: Path) -> None:
    """With a stand-in for SLURM's two commands, one job of one core, and a question in place of the training."""
    text = (root / "lib/attention_priors/publish/site/pages/cluster.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    for name, content in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)
    question = "import sys; from distributed import Client; print(Client(sys.argv[1][8:]).submit(sum, [2, 3]).result())"
    smaller = {
        "cores=16": "cores=1",
        "processes=16": "processes=1",
        "32GB": "1GB",
        "jobs=8": "jobs=1",
        '["make", "reproduce", "PROFILE=full", ': f"[{sys.executable!r}, '-c', {question!r}, ",
    }
    for old, new in smaller.items():
        assert block.count(old) == 1
        block = block.replace(old, new)
    (tmp_path / "lines.py").write_text(block)
    surroundings = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "HERE": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "lines.py"],
        cwd=tmp_path,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    job = (tmp_path / "job.sh").read_text()
    assert done.stdout.strip() == "5"
    assert "#SBATCH -p cpu" in job and "#SBATCH -t 08:00:00" in job and "OMP_NUM_THREADS=1" in job
    assert "--nthreads 1 " in job and (tmp_path / "cancelled").read_text().strip().isdigit()


def test_the_command_says_in_one_line_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tcp://127.0.0.1:1", "--profile", "smokee"]) == 1
    assert main(["tcp://127.0.0.1:1", "--profile", "smoke", "--only", "passkeyz"]) == 1
    shown = capsys.readouterr().err.splitlines()
    assert len([line for line in shown if line.startswith("error: ")]) == 2
    assert "nearest" in shown[0] and "passkeyz" in shown[-1]


@pytest.mark.parametrize("address", ["abc", "tcp://localhost", "http://x:80"])
def test_what_is_no_address_is_refused_before_anything_is_looked_for(address: str, capsys) -> None:
    assert main([address, "--profile", "smoke"]) == 1
    assert capsys.readouterr().err.startswith(f"error: CLUSTER = {address} is no address of a scheduler; give ")
