"""A reader's encoding trained by the recipe of a profile and asked as the committed ones were, within some minutes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ... import runtime
from ...config import Profile
from ...experiments.answers import Answers
from ...experiments.arms import passkey_run
from ...experiments.grid import Job, run_all
from ...experiments.tails import masses
from ...positions.encodings import encoding
from ...training.runs import Run, RunSpec
from .source import Own, Wrong, last_line, read

TRAINING = 0.8  # share of the minutes after which nothing is trained any more

Rows = list[dict[str, Any]]


class OutOfTime(Exception):
    """The minutes are spent; training goes on from its checkpoint."""


@dataclass
class Seed:
    """What is known of one seed, or of all of them."""

    counts: Rows = field(default_factory=list)  # per length: correct, samples
    masses: Rows = field(default_factory=list)  # near and far mass of the trained priors
    records: Rows = field(default_factory=list)  # of the trained run
    waiting: list[str] = field(default_factory=list)  # what is left to do
    wrong: str = ""  # what ended it


def spec_of(own: Own, name: str, profile: Profile, seed: int) -> RunSpec:
    """The run of a seed. Its key holds the file's code, which lies outside of this package."""
    return passkey_run(profile, name, seed).model_copy(update={"inputs": (own.digest,)})


def asked(own: Own, name: str, profile: Profile, runs: Path, until: float, minutes: float, expected: float) -> Seed:
    """All seeds together: trained where the store lacks them, and asked, until the time `until` at most.

    A part of `minutes` is kept for asking. `expected`: seconds of a seed, for the time that is told to be left.
    """
    specs = [spec_of(own, name, profile, seed) for seed in profile.seeds]
    stop = until - 60 * minutes * (1 - TRAINING)
    jobs = [Job(spec.name, one, (str(own.path.resolve()), name, spec, str(runs), profile, stop, until))
            for spec in specs]  # fmt: skip
    where = runtime.device(profile.device)
    left = [expected / 4 if Run(spec, runs, where).finished else expected for spec in specs]
    found = run_all(jobs, profile.workers, profile.threads, name, left)
    if wrong := next((seed.wrong for seed in found if seed.wrong), ""):
        raise Wrong(wrong)
    whole = Seed()
    for seed in found:
        for part in ("counts", "masses", "records", "waiting"):
            getattr(whole, part).extend(getattr(seed, part))
    return whole


def one(path: str, name: str, spec: RunSpec, runs: str, profile: Profile, stop: float, until: float) -> Seed:
    """In a worker, which knows nothing of the file yet: one seed, trained until `stop` and asked until `until`."""
    found = Seed()
    try:
        own = read(path)
        run = Run(spec, runs, runtime.device(profile.device))
        found.records.append(run.train(_watched(stop)))
    except OutOfTime as where:
        found.waiting.append(str(where))
        return found
    except (Wrong, OSError) as error:
        found.wrong = runtime.said(error)
        return found
    except Exception as error:
        said = runtime.said(error).partition(";")[0]
        remedy = "training drove the parameters out of the domain of the code; keep them in it, as with scale.exp()"
        found.wrong = str(own.wrong(f"{spec.name}: {said}: {remedy}", last_line(error, own.path)))
        return found
    _ask(found, run, name, profile, until)
    if encoding(name).prior:
        length, trained = max(samples(profile)), spec.recipe.length
        near, far = masses(run.model().cpu(), length, trained)
        found.masses.append({"encoding": name, "seed": spec.seed, "length": length, "trained": trained, "near": near,
                             "far": far})  # fmt: skip
    return found


def _watched(stop: float) -> Callable[[str], None]:
    """Heartbeat lines of a training run. The first one after `stop` ends it."""

    def say(line: str) -> None:
        if time.time() > stop:
            raise OutOfTime(line)
        runtime.say(f"[encoding] {line}")

    return say


def samples(profile: Profile) -> dict[int, int]:
    """Prompts of a seed by length, as the profile's encodings were asked."""
    settings = profile.passkey
    return {length: each.samples for each in (settings.evaluation, settings.far) for length in each.lengths}


def _ask(found: Seed, run: Run, name: str, profile: Profile, until: float) -> None:
    """Answers at every length; those that would take beyond `until` are left for the next time."""
    answers, longest = Answers(run, name, "plain"), encoding(name).longest
    spent = before = 0.0
    for length, count in samples(profile).items():
        if longest and length > longest:
            break
        work = float(length) ** 2 * count
        if found.waiting or time.time() + spent * work / max(before, 1.0) > until:
            found.waiting.append(f"{run.spec.name}, {count} prompts of {length:,} tokens")
            continue
        began = time.time()
        rows = answers(length, count)
        spent, before = time.time() - began, work
        found.counts.append({"encoding": name, "seed": run.spec.seed, "length": length, "samples": len(rows),
                             "correct": sum(row["correct"] for row in rows),
                             "trained": run.spec.recipe.length, "run": run.key})  # fmt: skip
