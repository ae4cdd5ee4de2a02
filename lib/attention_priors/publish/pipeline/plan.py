"""The notebooks of one command: which, with what parameters, and which of them still have to run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attention_priors import config
from attention_priors.publish.pipeline import progress, stamps
from attention_priors.publish.pipeline.order import needs, order
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import file_name


class Plan:
    """`only` (none: all notebooks) and what they need, under a profile; `given` are SEED and DEVICE where asked for.

    `beside` notebooks run at a time.

    ValueError for a profile or notebook that is unknown, missing or damaged.
    """

    def __init__(
        self,
        profile: str,
        results: Path,
        only: Iterable[str],
        given: dict[str, Any],
        force: bool = False,
        beside: int = 1,
    ):
        self.profile = config.profile(profile)
        self.layout = Layout(results.resolve(), self.profile.name)
        self.sources = stamps.NOTEBOOK_FOLDER
        self.given, self.force, self.beside = given, force, beside
        self.names = order(only)
        for name in self.names:
            stamps.read(self.sources / file_name(name))
        self.keys = stamps.Keys(self.profile, given, self.sources, self.layout)
        self.known = progress.estimates(self.layout, self.profile)

    def current(self, name: str) -> bool:
        return stamps.current(self.layout, name, self.keys[name])

    def waiting(self) -> list[str]:
        """What still has to run."""
        return [name for name in self.names if self.force or not self.current(name)]

    def touched(self) -> list[str]:
        """What still has to run, and what reads what it measures: that is known only when it has."""
        found = set(self.waiting())
        for name in self.names:
            if found & set(needs(name)):
                found.add(name)
        return [name for name in self.names if name in found]

    def summary(self) -> str:
        waiting = self.waiting()
        fresh = len(self.names) - len(waiting)
        if not waiting:
            return f"profile {self.profile.name}: all {fresh} notebook(s) up to date (FORCE=1 runs them again)"
        done = f" ({fresh} up to date)" if fresh else ""
        takes = progress.total(waiting, self.known, self.beside)
        return f"profile {self.profile.name}: {len(waiting)} notebook(s) to run{done}, {takes}"
