"""Jobs side by side: the same results as one after another, named failures, and nothing left behind."""

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import pytest
import torch

from attention_priors import config, runtime, store
from attention_priors.experiments.grid import Job, _left, run_all, whole_machine


@pytest.fixture(autouse=True)
def settings_of_this_process():
    """`run_all` with one worker configures the process that it runs in."""
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_num_threads(before[0])
    torch.use_deterministic_algorithms(before[1])


@pytest.fixture(autouse=True, scope="module")
def places(tmp_path_factory: pytest.TempPathFactory):
    """Places of these tests' own: what else computes on this machine would wait for theirs, and they for its."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "CACHE", tmp_path_factory.mktemp("places"))
        yield


# Functions of the library or the standard library: a worker process imports them by name.
JOBS = [Job(f"stream {n}", runtime.seed_for, (n, "a")) for n in range(5)] + [Job("sum", math.fsum, ([0.1] * 10,))]


@pytest.fixture(scope="module")
def pair() -> list:
    return run_all([*JOBS, Job("threads", torch.get_num_threads, ())], 2, 1, "test")


def test_two_workers_give_what_one_gives(pair: list) -> None:
    assert run_all([*JOBS, Job("threads", torch.get_num_threads, ())], 1, 1, "test") == pair
    assert pair == [*(runtime.seed_for(n, "a") for n in range(5)), 1.0, 1], "in the order of the jobs, on one thread"


def test_work_that_is_one_job_has_all_places_and_all_their_threads(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(config, "CACHE", tmp_path)
    profile = config.profile("cpu").model_copy(update={"workers": 3, "threads": 1})
    torch.set_num_threads(1)

    def free() -> list[bool]:
        found = []
        for name in ("queue", "place-0", "place-1", "place-2"):
            with store.locked(tmp_path / "turns", name, wait=False) as got:
                found.append(got)
        return found

    with pytest.raises(KeyError), whole_machine(profile):
        assert free() == [True, False, False, False] and torch.get_num_threads() == 3
        raise KeyError
    assert free() == [True] * 4 and torch.get_num_threads() == 1


def test_no_jobs_no_work() -> None:
    assert run_all([], 2, 1, "test") == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_names_its_job_and_ends_the_others(workers: int) -> None:
    jobs = [Job("passkey/rope/1", math.sqrt, (-1.0,)), Job("passkey/bam/0", time.sleep, (600,))]
    with pytest.raises(RuntimeError, match=r"^passkey/rope/1: ValueError: "):
        run_all(jobs, workers, 1, "test")
    until = time.monotonic() + 20
    while multiprocessing.active_children():
        assert time.monotonic() < until, "a worker went on after the failure"
        time.sleep(0.05)


NAP = "import time; begun = time.monotonic(); time.sleep(0.5); print(begun, time.monotonic())"


def test_notebooks_side_by_side_share_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve naps by twice two workers: never more than two at a time."""
    monkeypatch.setattr(config, "CACHE", tmp_path)
    jobs = [Job(str(number), subprocess.check_output, ([sys.executable, "-c", NAP],)) for number in range(6)]
    with ThreadPoolExecutor(2) as notebooks:
        answers = [*chain.from_iterable(notebooks.map(lambda label: run_all(jobs, 2, 1, label), ["one", "other"]))]
    naps = [tuple(map(float, answer.split())) for answer in answers]
    assert len(naps) == 12
    assert max(sum(begun <= moment < ended for begun, ended in naps) for moment, _ in naps) <= 2


PARENT = """
import os, pathlib, signal, sys, time
from attention_priors import config
from attention_priors.experiments.grid import Job, run_all


def work(number):
    open(os.path.join(sys.argv[1], f"worker-{os.getpid()}"), "w").close()
    time.sleep(600)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    config.CACHE = pathlib.Path(sys.argv[1])  # places of its own, like those of `places`
    run_all([Job(str(number), work, (number,)) for number in range(2)], 2, 1, "test")
"""


def alive(process: int) -> bool:
    """Runs, and is not merely waiting for someone to read its exit status."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(how: signal.Signals, tmp_path: Path) -> None:
    """The parent is killed, or interrupted, while both workers are in the middle of a job."""
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    said = tmp_path / "said"
    with said.open("w") as written:
        parent = subprocess.Popen([sys.executable, str(script), str(tmp_path)], stdout=written, stderr=written)
    workers: list[int] = []
    try:
        until = time.monotonic() + 300
        while len(workers) < 2:
            assert time.monotonic() < until and parent.poll() is None, (
                f"{len(workers)} of 2 workers began: {said.read_text()}"
            )
            time.sleep(0.1)
            workers = [int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")]
        assert all(map(alive, workers))
        parent.send_signal(how)
        parent.wait(timeout=120)
        until = time.monotonic() + 20  # they look once a second; a busy machine may take longer
        while any(map(alive, workers)):
            assert time.monotonic() < until, "a worker outlived its parent"
            time.sleep(0.05)
    finally:
        parent.kill()
        for worker in filter(alive, workers):
            os.kill(worker, signal.SIGKILL)


def test_what_is_left_goes_by_the_seconds_that_jobs_are_known_to_take() -> None:
    assert _left(20.0, 100.0, 80.0) == ", about 80 s left" and _left(20.0, 100.0, 0.0) == ", about 0 s left"
    assert _left(20.0, 3.0, 3.0) == _left(15.0, 900.1, 900.1 - 1e-13) == "", "nothing is done, nothing is known"
