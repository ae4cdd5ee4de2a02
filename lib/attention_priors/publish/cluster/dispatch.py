"""Sending runs to a dask scheduler and putting what comes back into the store of this machine."""

from __future__ import annotations

import contextlib
import queue
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path

import torch
from distributed import Client, Future
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from ... import runtime
from ...training.runs import RunSpec
from ...training.vision import opened
from .worker import CHECKPOINT, FINISHED, Order, Part, read, step_of, work, write

SLICE_SECONDS = 300.0  # after which a checkpoint comes back: what is lost with a worker is less than that
ANSWER_SECONDS = 10.0  # for the scheduler
PATIENCE_SECONDS = 600.0  # for the first worker, or for another one when all are gone
LARGEST_CORPUS = 256 * 2**20  # bytes that are sent to every worker; a larger file has to be copied
GONE = (CancelledError, CommClosedError, TimeoutError, OSError)  # what a future says when its scheduler is gone


def waiting(specs: Iterable[RunSpec], runs: Path, device: torch.device) -> dict[str, RunSpec]:
    """What the store lacks by key: the runs, and before each the ones that it starts from.

    A run that was restored counts as there, but not where another one starts from its weights.
    """
    found: dict[str, RunSpec] = {}
    for spec in specs:
        missing: list[tuple[str, RunSpec]] = []
        each: RunSpec | None = spec
        while each is not None:
            run = opened(each, runs, device)
            if run.finished or (run.restored and each is spec):
                break
            missing.append((run.key, each))
            each = each.start
        found |= {key: each for key, each in reversed(missing) if key not in found}
    return found


def dispatch(
    specs: Iterable[RunSpec],
    address: str,
    runs: Path,
    device: torch.device,
    threads: int,
    *,
    seconds: float = SLICE_SECONDS,
    patience: float = PATIENCE_SECONDS,
) -> int:
    """Train on the workers of the scheduler at `address` what the store `runs` lacks; returns how many runs that were.

    Every `seconds` a run comes back with its checkpoint and goes out again. A worker that dies costs what its run did
    since then: the run goes to another worker. ValueError where no scheduler answers, where it or all workers are gone
    for `patience` seconds, and where runs failed, after all others are finished. What came back stays in the store.
    """
    wanted = waiting(specs, runs, device)
    if not wanted:
        return 0
    with _connected(address) as client:
        _send_corpora(client, wanted.values())
        sent = _Work(client, address, wanted, runs, device.type, threads, seconds, patience)
        try:
            sent.follow()
        except GONE as error:
            if getattr(error, "filename", None):  # a file of this machine
                raise
            raise sent.lost(f"stopped answering ({type(error).__name__})") from None
    if sent.failed:
        raise ValueError(
            f"{len(sent.failed)} of {len(wanted)} runs failed, the others are in the store; the first, {sent.failed[0]}"
        )
    return len(wanted)


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Client]:
    """A client that takes results by way of the scheduler: workers need not be reachable from here."""
    try:
        client = Client(address, timeout=ANSWER_SECONDS, set_as_default=False, direct_to_workers=False)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"no scheduler answers at CLUSTER={address} ({' '.join(str(error).split())[:100]}); start one "
            "(dask scheduler) and workers (dask worker), or leave CLUSTER out"
        ) from None
    try:
        yield client
    finally:
        with contextlib.suppress(*GONE):
            client.close(timeout=ANSWER_SECONDS)


def _send_corpora(client: Client, specs: Iterable[RunSpec]) -> None:
    """Put the packed texts on every worker, those that come later too. Large ones have to be there already."""
    for name in sorted({spec.corpus for spec in specs if spec.corpus is not None}):
        if Path(name).stat().st_size <= LARGEST_CORPUS:
            client.upload_file(name, load=False)


@dataclass
class _Work:
    """The runs of one command: waiting for others, on the cluster, or done."""

    client: Client
    address: str
    wanted: dict[str, RunSpec]
    runs: Path
    device: str
    threads: int
    seconds: float
    patience: float

    def __post_init__(self) -> None:
        self.open = dict(self.wanted)  # neither sent nor failed
        self.starts = {key: spec.start.key(self.device) for key, spec in self.wanted.items() if spec.start is not None}
        self.sent: dict[Future, str] = {}
        self.back: queue.Queue[Future] = queue.Queue()
        self.failed: list[str] = []
        self.done, self.began, self.alone_since = 0, time.monotonic(), time.monotonic()

    def follow(self) -> None:
        """Until every run is done or has failed."""
        said = self.began
        self._send_ready()
        while self.sent:
            with contextlib.suppress(queue.Empty):
                self._take(self.back.get(timeout=1.0))
                self._send_ready()
            if self.client.status != "running":
                raise self.lost("stopped answering")
            if time.monotonic() - said >= runtime.HEARTBEAT_SECONDS:
                said = time.monotonic()
                runtime.say(self._line(self._workers()))

    def lost(self, what: str) -> ValueError:
        """The cluster is gone; what came back is not."""
        return ValueError(
            f"CLUSTER={self.address} {what}; {self.done} of {len(self.wanted)} runs are in the store: "
            "start it again and give the same command, which goes on"
        )

    def _workers(self) -> int:
        """How many there are; ValueError where there has been none for too long."""
        found = len(self.client.scheduler_info()["workers"])
        if found:
            self.alone_since = time.monotonic()
        elif time.monotonic() - self.alone_since > self.patience:
            raise self.lost(f"has no workers (for example: dask worker {self.address} --nthreads 1)")
        return found

    def _send_ready(self) -> None:
        """Send what waits for no other run. What starts from a run that failed, fails with it."""
        for key, spec in list(self.open.items()):
            start = self.starts.get(key)
            if start in self.open or start in self.sent.values():
                continue
            del self.open[key]
            if start in self.wanted and not (self.runs / start / FINISHED[-1]).is_file():
                self.failed.append(f"{spec.name}: the run that it starts from failed")
                continue
            self._send(key, spec)

    def _send(self, key: str, spec: RunSpec) -> None:
        checkpoint = self.runs / key / CHECKPOINT
        step = step_of(checkpoint)
        names = [f"{key}/{CHECKPOINT}"] if step else []
        if key in self.starts:
            names += [f"{self.starts[key]}/{name}" for name in FINISHED]
        order = Order(spec, key, self.device, self.threads, self.seconds, read(self.runs, names), step)
        # What was begun goes first, so that runs are finished one after another and not all at the end.
        future = self.client.submit(work, order, key=f"{spec.name}-{uuid.uuid4().hex}", priority=int(step > 0))
        self.sent[future] = key
        future.add_done_callback(self.back.put)

    def _take(self, future: Future) -> None:
        key = self.sent.pop(future)
        spec = self.wanted[key]
        if future.status == "cancelled":
            raise self.lost("stopped answering")
        if future.status == "error":
            self.failed.append(f"{spec.name}: {_reason(future.exception())}")
            return
        part: Part = future.result()
        write(self.runs, part.files)
        if part.finished:
            (self.runs / key / CHECKPOINT).unlink(missing_ok=True)
            self.done += 1
        else:
            self._send(key, spec)

    def _line(self, workers: int) -> str:
        spent = time.monotonic() - self.began
        left = f", about {spent / self.done * len(self.sent | self.open):.0f} s left" if self.done else ""
        alone = "" if workers else f"; start one: dask worker {self.address} --nthreads 1"
        return f"[cluster] {self.done}/{len(self.wanted)} runs, {workers} workers, after {spent:.0f} s{left}{alone}"


def _reason(error: BaseException) -> str:
    """One line for a run that failed."""
    if isinstance(error, KilledWorker):
        return "several workers died while they trained it (too little memory, other code?); see their logs"
    missing = error if isinstance(error, ModuleNotFoundError) else error.__cause__
    if isinstance(missing, ModuleNotFoundError):
        return f"scheduler or worker: {missing}; start both from the .venv of a clone of this commit (make env)"
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
