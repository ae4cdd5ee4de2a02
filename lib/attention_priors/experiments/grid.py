"""Jobs side by side in worker processes, each with a fixed number of threads, so that results do not depend on how many
run at once."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from .. import config, runtime, store

Rows = list[dict[str, Any]]
Tables = dict[str, Rows]  # by frame

POLL_SECONDS = 0.05
LATE = ("torch._dynamo",)  # what torch imports, for seconds, when the first optimizer is made


@dataclass(frozen=True)
class Job:
    """A call of a module-level function with plain arguments."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def run_all(
    jobs: Sequence[Job], workers: int, threads: int, label: str, seconds: Sequence[float] | None = None
) -> list[Any]:
    """The results in the order of the jobs. The first failure is raised with its job's name; finished work is kept.

    `seconds`: what each is known to take, by which the time that is left is told; None: all take as long.

    Notebooks that run side by side share the `workers`: so many jobs run at a time in all of them together, because
    two processes on one core do less in a second than one.
    """
    if not jobs:
        return []
    if workers == 1:
        runtime.configure(threads)
        return [_named(job) for job in runtime.progress(jobs, label)]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*sorted({job.function.__module__ for job in jobs}), *LATE])  # once for all pools
    with ProcessPoolExecutor(min(workers, len(jobs)), context, _prepare, (threads,)) as pool:
        futures = [pool.submit(_in_turn, job, config.CACHE / "turns", workers) for job in jobs]
        try:
            _watch(dict(zip(futures, seconds or [1.0] * len(jobs), strict=True)), label)
        except BaseException:
            processes = list((pool._processes or {}).values())  # before the shutdown, which forgets them
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            raise
        return [future.result() for future in futures]


def per_run(function: Callable[..., Any], specs: Iterable[Any], runs: Path, *more: Any) -> list[Job]:
    """A job for each run, in a store of runs: `function(spec, runs, *more)`."""
    return [Job(spec.name, function, (spec, str(runs), *more)) for spec in specs]


def gather(jobs: Sequence[Job], profile: config.Profile, label: str) -> pd.DataFrame:
    """The rows that jobs give, in their order, as one table."""
    found = run_all(jobs, profile.workers, profile.threads, label)
    return pd.DataFrame([row for rows in found for row in rows])


def gather_tables(jobs: Sequence[Job], profile: config.Profile, label: str) -> dict[str, pd.DataFrame]:
    """The same of jobs that give `Tables`: a table for each frame."""
    found = run_all(jobs, profile.workers, profile.threads, label)
    names = dict.fromkeys(name for tables in found for name in tables)
    return {name: pd.DataFrame([row for tables in found for row in tables.get(name, ())]) for name in names}


def _named(job: Job) -> Any:
    try:
        return job.function(*job.arguments)
    except Exception as error:
        raise RuntimeError(f"{job.name}: {type(error).__name__}: {error}") from error


def _in_turn(job: Job, folder: Path, places: int) -> Any:
    with _turn(folder, places):
        return _named(job)


@contextmanager
def _turn(folder: Path, places: int) -> Iterator[None]:
    """Hold one of the machine's `places`, first come, first served; a process that dies gives its place back."""
    with ExitStack() as queue:
        queue.enter_context(store.locked(folder, "queue"))
        for number in itertools.cycle(range(places)):
            with store.locked(folder, f"place-{number}", wait=False) as free:
                if free:
                    queue.close()
                    yield
                    return
            time.sleep(POLL_SECONDS)


@contextmanager
def whole_machine(profile: config.Profile) -> Iterator[None]:
    """Hold all of the machine's places and compute on all of their threads: for work that is one job.

    Waits until the jobs that run end; those that come later wait for it.
    """
    before, folder = torch.get_num_threads(), config.CACHE / "turns"
    with ExitStack() as held:
        with store.locked(folder, "queue"):
            for number in range(profile.workers):
                held.enter_context(store.locked(folder, f"place-{number}"))
        torch.set_num_threads(profile.threads * profile.workers)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def _prepare(threads: int) -> None:
    runtime.configure(threads)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    """End with the parent even when it was killed: no worker is left behind."""
    multiprocessing.parent_process().join()
    os._exit(1)


def _watch(futures: Mapping[Future, float], label: str) -> None:
    began, pending = time.monotonic(), set(futures)
    bar = None
    if not runtime.headless():
        from tqdm.auto import tqdm

        bar = tqdm(total=len(futures), desc=label)
    while pending:
        done, pending = wait(pending, runtime.HEARTBEAT_SECONDS, FIRST_COMPLETED)
        for future in done:
            future.result()
        if bar is not None:
            bar.update(len(done))
            continue
        spent, finished = time.monotonic() - began, len(futures) - len(pending)
        left = _left(spent, sum(futures.values()), sum(futures[future] for future in pending))
        runtime.say(f"[{label}] {finished}/{len(futures)} after {spent:.0f} s{left}")
    if bar is not None:
        bar.close()


def _left(spent: float, total: float, waiting: float) -> str:
    """The end of a heartbeat: what is left after `spent` seconds, `waiting` of `total` known ones not being done.

    Nothing, until a twentieth is done: sums of the same numbers in another order differ by rounding.
    """
    done = total - waiting
    return f", about {spent / done * waiting:.0f} s left" if done >= total / 20 > 0 else ""
