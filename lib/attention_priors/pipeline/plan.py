"""The notebooks of one command: which, with what parameters, and which of them still have to run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attention_priors import config
from attention_priors.pipeline import progress, stamps
from attention_priors.pipeline.order import order


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
        self.results = results.resolve()
        self.sources = stamps.NOTEBOOK_FOLDER
        self.given, self.force, self.beside = given, force, beside
        self.names = order(only)
        self.keys = {name: stamps.key(name, self.profile, given, self.sources) for name in self.names}
        self.known = progress.estimates(self.results, self.profile)

    @property
    def folder(self) -> Path:
        """Where everything of this profile lies."""
        return self.results / self.profile.name

    @property
    def shown(self) -> str:
        """The same for people: no path of this machine."""
        return f"{self.results.name}/{self.profile.name}"

    def current(self, name: str) -> bool:
        return stamps.current(self.results, self.profile.name, name, self.keys[name])

    def waiting(self) -> list[str]:
        """What still has to run."""
        return [name for name in self.names if self.force or not self.current(name)]

    def summary(self) -> str:
        waiting = self.waiting()
        fresh = len(self.names) - len(waiting)
        if not waiting:
            return f"profile {self.profile.name}: all {fresh} notebook(s) up to date (FORCE=1 runs them again)"
        done = f" ({fresh} up to date)" if fresh else ""
        takes = progress.total(waiting, self.known, self.beside)
        return f"profile {self.profile.name}: {len(waiting)} notebook(s) to run{done}, {takes}"

    def listing(self) -> str:
        waiting = self.waiting()
        rows = [f"  {name:<28} {'to run' if name in waiting else 'up to date'}" for name in self.names]
        return "\n".join([self.summary(), *rows])
