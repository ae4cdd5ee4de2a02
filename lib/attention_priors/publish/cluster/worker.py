"""What a worker does with a run: train it for a while in its own store, and hand back the files."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import distributed
from safetensors import safe_open

from ... import config, runtime, store
from ...training import checkpoints
from ...training.runs import RunSpec
from ...training.vision import opened

CHECKPOINT = "checkpoint.safetensors"
FINISHED = ("model.safetensors", "record.json")  # in the order of writing: a record says that the run is finished

Files = dict[str, bytes]  # by path below the store


@dataclass(frozen=True)
class Order:
    """A run to be trained: its key, the class of device that is part of it, and what is there of it already.

    `files` hold its checkpoint of `step`, and the finished run that it starts from.
    """

    spec: RunSpec
    key: str
    device: str
    threads: int
    seconds: float
    files: Files
    step: int = 0


@dataclass(frozen=True)
class Part:
    """What comes back after an order's time: the finished run, or its last checkpoint."""

    finished: bool
    files: Files


class _Paused(Exception):
    """The order's time is over."""


def work(order: Order) -> Part:
    """Follow an order in the worker's store.

    ValueError where the worker runs several orders in one process, where its code gives the run another key, and where
    it lacks a corpus.
    """
    process = distributed.get_worker()
    if process.state.nthreads != 1:
        raise ValueError(
            f"a worker of {process.state.nthreads} threads would train several models in one process; "
            "start workers with --nthreads 1 (and --nworkers for each core)"
        )
    return follow(order, config.CACHE / "runs", Path(process.local_directory))


def follow(order: Order, runs: Path, uploaded: Path) -> Part:
    """Train in the store `runs`; corpora are where they are on the sender's machine, in the cache, or `uploaded`."""
    device = runtime.device(order.device)
    run = opened(_with_corpus(order.spec, uploaded), runs, device)
    if run.key != order.key:
        raise ValueError(
            f"{order.spec.name} has another key here ({run.key}, not {order.key}): give all machines the "
            "same commit and start the workers again"
        )
    runtime.configure(order.threads)
    _put(order, runs)
    checkpoint = run.path / CHECKPOINT
    try:
        run.train(_Clock(checkpoint, order.seconds))
    except _Paused:
        return Part(False, read(runs, [f"{run.key}/{CHECKPOINT}"]))
    return Part(True, read(runs, [f"{run.key}/{name}" for name in FINISHED]))


def step_of(checkpoint: Path) -> int:
    """The steps behind a checkpoint; 0 where there is none."""
    if not checkpoints.readable(checkpoint):
        return 0
    with safe_open(checkpoint, "pt") as file:
        return int(file.metadata()["step"])


def read(runs: Path, names: list[str]) -> Files:
    """Files of the store by their paths below it."""
    return {name: (runs / name).read_bytes() for name in names}


def write(runs: Path, files: Mapping[str, bytes]) -> None:
    """Put files into the store, each at once; records last."""
    for name in sorted(files, key=lambda name: name.endswith(FINISHED[-1])):
        store.write_bytes(runs / name, files[name])


class _Clock:
    """A heartbeat that ends the training after so many seconds, at the first beat that sees a new checkpoint.

    What the checkpoint does not hold, at most the time between two beats, is trained again.
    """

    def __init__(self, checkpoint: Path, seconds: float) -> None:
        self.checkpoint, self.end, self.step = checkpoint, time.monotonic() + seconds, step_of(checkpoint)

    def __call__(self, line: str) -> None:
        before, self.step = self.step, step_of(self.checkpoint)
        if time.monotonic() > self.end and self.step > before:
            raise _Paused


def _put(order: Order, runs: Path) -> None:
    """The order's files, unless this machine went further: a worker that died may have left a later checkpoint."""
    own = f"{order.key}/{CHECKPOINT}"
    behind = step_of(runs / own) < order.step
    write(runs, {name: data for name, data in order.files.items() if name != own or behind})


def _with_corpus(spec: RunSpec, uploaded: Path) -> RunSpec:
    if spec.corpus is None:
        return spec
    given = Path(spec.corpus)
    for path in (given, config.CACHE / "corpora" / given.name, uploaded / given.name):
        if path.is_file():
            return spec.model_copy(update={"corpus": str(path)})
    raise ValueError(
        f"{spec.name} reads {given.name}, which this worker lacks; copy it to .cache/corpora on each machine"
    )
