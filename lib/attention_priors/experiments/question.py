"""What a finished run's model is asked, once; the answer lies beside the run and is committed with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from .. import store
from ..model import Transformer
from ..positions.encodings import encoding
from ..training.extension import extend
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


class Opened:
    """A finished run's model as it is read under one name; it is opened when the first question needs it.

    `local`: the context of a row that reads its own weights with less; `extension`: the settings of one that extends
    the weights of another.
    """

    def __init__(self, run: Run, name: str) -> None:
        self.run, self.name = run, name
        row = encoding(name)
        self.local = run.spec.recipe.length if row.local else None
        self.extends = name != run.spec.model.encoding and not row.local
        self.extension = row.settings if self.extends else None

    @cached_property
    def model(self) -> Transformer:
        model = self.run.model()
        return extend(model, self.name, self.run.spec.recipe.length) if self.extends else model
