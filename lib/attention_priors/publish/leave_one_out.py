"""Does an outcome rest on one seed? Claims that models decided are decided again without each of their seeds.

Left out of the rows that were measured, from which every metric is derived again: leave-one-out, as for the jackknife
(Tukey 1958). Intervals of fewer seeds are wider, so that an outcome near its bound becomes undecided; one that turns
into its opposite was the work of a single seed.
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


def without_seeds(read: Callable[[str], pd.DataFrame]) -> Callable[[str, int], pd.DataFrame]:
    """What `read` gives for a metric, without a seed; the same frame where no row behind it has a seed."""
    derived = experiments.derived()

    @functools.cache
    def left(metric: str, seed: int) -> pd.DataFrame:
        if metric in derived:
            source, derive = derived[metric]
            names = experiments.sources(source)
            rows = [left(name, seed) for name in names]
            same = all(own is read(name) for own, name in zip(rows, names, strict=True))
            return read(metric) if same else derive(*rows)
        frame = read(metric)
        return frame[frame["seed"] != seed].reset_index(drop=True) if "seed" in frame.columns else frame

    return left


def leave_one_out(layout: Layout, fewest: int = FEWEST) -> pd.DataFrame:
    """A row per claim of the profile whose outcome rests on `fewest` seeds or more, by id.

    `kept`: without how many of them, one at a time, the outcome is the same; `undecided` and `opposite`: without which
    it is not; `fixed`: those without which nothing changes, since what decides was measured over all of them at once.
    NotMeasured where a metric is missing.
    """
    report = Report(layout, "verdicts")
    left = without_seeds(functools.cache(report.source))
    rows = []
    for name, verdict in claims.read(layout.own / "claims.json").items():
        seeds = tuple(verdict.seeds or ())
        if verdict.outcome not in DECIDED or len(seeds) < fewest or name not in CHECKS:
            continue
        check, found = CHECKS[name], {}
        for seed in seeds:
            again = check.verdict(verdict.profile, {metric: left(metric, seed) for metric in check.metrics})
            outcome = again.outcome if again.outcome in DECIDED else "undecided"
            found[seed] = "fixed" if seed in (again.seeds or ()) else outcome
        without = {
            each: [seed for seed, outcome in found.items() if outcome == each]
            for each in ("fixed", "undecided", *DECIDED)
        }
        kept, (other,) = verdict.outcome, (each for each in DECIDED if each != verdict.outcome)
        lists = without["undecided"], without[other], without["fixed"]
        rows.append((name, kept, len(seeds), len(without[kept]), *lists))
    columns = ["id", "outcome", "seeds", "kept", "undecided", "opposite", "fixed"]
    return pd.DataFrame(rows, columns=columns).set_index("id")
