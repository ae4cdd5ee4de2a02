"""Does an outcome rest on its seeds? Claims that models were held against are decided again with other seeds.

Seeds are left out of, or repeated in, the rows that were measured, from which every metric is derived again.

- Without each seed of a decided claim (leave-one-out, as for the jackknife: Tukey 1958). Intervals of fewer seeds are
  wider, so that an outcome near its bound becomes undecided; one that turns into its opposite was the work of one seed.
- With every seed of an undecided claim twice: what as many more seeds would decide if they said the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import pandas as pd

from .. import claims, experiments
from ..checks import CHECKS
from ..store.layout import Layout
from .report import Report

FEWEST = 5  # seeds of an outcome: of three, two are left, whose t interval decides next to nothing
DECIDED = ("agrees", "disagrees")

Read = Callable[[str], pd.DataFrame]


def rederived(read: Read, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Read:
    """What `read` gives for a metric after a change of the rows behind it; the same frame where none has a seed."""
    derived = experiments.derived()

    @functools.cache
    def changed(metric: str) -> pd.DataFrame:
        if metric in derived:
            source, derive = derived[metric]
            names = experiments.sources(source)
            rows = [changed(name) for name in names]
            same = all(own is read(name) for own, name in zip(rows, names, strict=True))
            return read(metric) if same else derive(*rows)
        frame = read(metric)
        return change(frame) if "seed" in frame.columns else frame

    return changed


def leave_one_out(layout: Layout, fewest: int = FEWEST) -> pd.DataFrame:
    """A row per claim of the profile whose outcome rests on `fewest` seeds or more, by id.

    `kept`: without how many of them, one at a time, the outcome is the same; `undecided` and `opposite`: without which
    it is not; `fixed`: those without which nothing changes, since what decides was measured over all of them at once.
    NotMeasured where a metric is missing.
    """
    read = functools.cache(Report(layout, "verdicts").source)

    @functools.cache
    def without(seed: int) -> Read:
        return rederived(read, lambda frame: frame[frame["seed"] != seed].reset_index(drop=True))

    rows = []
    for name, verdict in claims.read(layout.own / "claims.json").items():
        seeds = tuple(verdict.seeds or ())
        if verdict.outcome not in DECIDED or len(seeds) < fewest or name not in CHECKS:
            continue
        check, found = CHECKS[name], {}
        for seed in seeds:
            again = check.verdict(verdict.profile, {metric: without(seed)(metric) for metric in check.metrics})
            outcome = again.outcome if again.outcome in DECIDED else "undecided"
            found[seed] = "fixed" if seed in (again.seeds or ()) else outcome
        left = {
            each: [seed for seed, outcome in found.items() if outcome == each]
            for each in ("fixed", "undecided", *DECIDED)
        }
        kept, (other,) = verdict.outcome, (each for each in DECIDED if each != verdict.outcome)
        lists = left["undecided"], left[other], left["fixed"]
        rows.append((name, kept, len(seeds), len(left[kept]), *lists))
    columns = ["id", "outcome", "seeds", "kept", "undecided", "opposite", "fixed"]
    return pd.DataFrame(rows, columns=columns).set_index("id")


def twice_the_seeds(layout: Layout) -> pd.DataFrame:
    """A row per undecided claim of the profile that rests on seeds, by id: how many, and what twice as many would say.

    Every seed stands there twice, so the mean stays and the interval narrows. NotMeasured where a metric is missing.
    """

    def twice(frame: pd.DataFrame) -> pd.DataFrame:
        again = frame.assign(seed=frame["seed"] + frame["seed"].max() + 1)
        return pd.concat([frame, again], ignore_index=True)

    changed, rows = rederived(functools.cache(Report(layout, "verdicts").source), twice), []
    for name, verdict in claims.read(layout.own / "claims.json").items():
        if verdict.outcome == "undecided" and verdict.seeds and name in CHECKS:
            check = CHECKS[name]
            again = check.verdict(verdict.profile, {metric: changed(metric) for metric in check.metrics})
            rows.append((name, len(verdict.seeds), again.outcome))
    return pd.DataFrame(rows, columns=["id", "seeds", "with twice as many"]).set_index("id")
