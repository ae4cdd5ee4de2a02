"""What a finished run's model is asked, once; the answer lies beside the run and is committed with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from .. import store
from ..training.runs import Run

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Question:
    """`name`: begins the name of the answer's file. `version`: raise it when the same model would answer otherwise."""

    name: str
    version: int = 1

    def put(self, run: Run, given: Any, ask: Callable[[], Answer]) -> Answer:
        """What `ask()` gives, or gave before. `given`: all that it depends on beside the weights, as plain data."""
        key = store.key(self.name, self.version, given)
        return store.kept_json(run.path / f"{self.name}-{key}.json", ask)
