"""A reader's encoding trained by the recipe of a profile and asked as the committed ones were."""

from __future__ import annotations

import math
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

Rows = list[dict[str, Any]]


@dataclass
class Seed:
    """What is known of one seed, or of all of them."""

    counts: Rows = field(default_factory=list)  # per length: correct, samples
    masses: Rows = field(default_factory=list)  # near and far mass of the trained priors
    records: Rows = field(default_factory=list)  # of the trained run
    wrong: str = ""  # what ended it


def spec_of(own: Own, name: str, profile: Profile, seed: int) -> RunSpec:
    """The run of a seed. Its key holds the file's code, which lies outside of this package."""
    return passkey_run(profile, name, seed).model_copy(update={"inputs": (own.digest,)})


def asked(own: Own, name: str, profile: Profile, runs: Path, expected: float) -> Seed:
    """All seeds together: trained where the store lacks them, and asked.

    `expected`: seconds of a seed, for the time that is told to be left.
    """
    specs = [spec_of(own, name, profile, seed) for seed in profile.seeds]
    jobs = [Job(spec.name, one, (str(own.path.resolve()), name, spec, str(runs), profile)) for spec in specs]
    where = runtime.device(profile.device)
    left = [expected / 4 if Run(spec, runs, where).finished else expected for spec in specs]
    found = run_all(jobs, profile.workers, profile.threads, name, left)
    if wrong := next((seed.wrong for seed in found if seed.wrong), ""):
        raise Wrong(wrong)
    return Seed(*([row for seed in found for row in getattr(seed, part)] for part in ("counts", "masses", "records")))


def one(path: str, name: str, spec: RunSpec, runs: str, profile: Profile) -> Seed:
    """In a worker, which knows nothing of the file yet: one seed, trained and asked at every length."""
    found = Seed()
    try:
        own = read(path)
        run = Run(spec, runs, runtime.device(profile.device))
        found.records.append(run.train(lambda line: runtime.say(f"[encoding] {line}")))
    except (Wrong, OSError) as error:
        found.wrong = runtime.said(error)
        return found
    except Exception as error:
        said = runtime.said(error).partition(";")[0]
        remedy = "training drove the parameters out of the domain of the code; keep them in it, as with scale.exp()"
        found.wrong = str(own.wrong(f"{spec.name}: {said}: {remedy}", last_line(error, own.path)))
        return found
    answers, common = Answers(run, name, "plain"), {"encoding": name, "seed": spec.seed, "trained": spec.recipe.length}
    for length, count in samples(profile).items():
        if length <= (encoding(name).longest or math.inf):
            hits = [row["correct"] for row in answers(length, count)]
            found.counts.append(common | {"length": length, "samples": len(hits), "correct": sum(hits), "run": run.key})
    if encoding(name).prior:
        length = max(samples(profile))
        near, far = masses(run.model().cpu(), length, spec.recipe.length)
        found.masses.append(common | {"length": length, "near": near, "far": far})
    return found


def samples(profile: Profile) -> dict[int, int]:
    """Prompts of a seed by length, as the profile's encodings were asked."""
    settings = profile.passkey
    return {length: each.samples for each in (settings.evaluation, settings.far) for length in each.lengths}
