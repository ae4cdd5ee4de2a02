"""A task of a benchmark and one of its prompts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ...store.registry import nearest

Item = TypeVar("Item")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Known(dict[str, Item]):
    """Rows by name. ValueError with the nearest name for one that there is not."""

    def __init__(self, what: str, rows: Mapping[str, Item]) -> None:
        super().__init__(rows)
        self.what = what

    def __missing__(self, name: str) -> Item:
        raise ValueError(f"unknown {self.what} {name!r}{nearest(name, self)}; all: {', '.join(self)}")


@dataclass(frozen=True)
class Row:
    """One prompt: a text, what is asked about it, every right answer, and the choices where there are any."""

    id: str
    context: str
    input: str
    answers: tuple[str, ...]
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """`ask` is our wording of the question, which follows the text: {input} is the row's own, {options} its choices.

    `label`: the task's name in the tables of papers. `answer`: tokens of the longest answer. `metric`: a row of
    `metrics.METRICS`. `keep`: chunks that ParallelComp keeps (appendix C). `chat`: whether a chat template is put
    around the question; LongBench's evaluation leaves it out where the text is made of examples or of code.
    `first_line`: the rest of an answer does not count (LongBench's evaluation of tasks with examples).
    """

    name: str
    label: str
    ask: str
    answer: int
    metric: str
    keep: int = 3
    chat: bool = True
    first_line: bool = False

    def question(self, row: Row) -> str:
        """What is asked after the text."""
        options = "\n".join(f"{letter}. {each}" for letter, each in zip(LETTERS, row.options, strict=False))
        return self.ask.format(input=row.input, options=options)

    def counted(self, answer: str) -> str:
        """The part of an answer that is scored."""
        return answer.lstrip("\n").partition("\n")[0] if self.first_line else answer


def table(*tasks: Task) -> dict[str, Task]:
    """Tasks by name."""
    return {task.name: task for task in tasks}


class Fields:
    """Reads the fields of one line of a file; ValueError in one line that names the line, the field and the remedy."""

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, Mapping):
            raise ValueError(f"{where} is {type(values).__name__}, not an object; give one JSON object a line")
        self.values, self.where = values, where

    def text(self, name: str, empty: bool = True) -> str:
        """A text; numbers and lists of them as JSON writes them, nothing for null."""
        value = self._of(name)
        text = "" if value is None else str(value)
        if not text and not empty:
            raise ValueError(f"{self.where}: {name} is empty; give a row with a text")
        return text

    def texts(self, name: str, empty: bool = False) -> tuple[str, ...]:
        """A list of texts or numbers; one alone is a list of one."""
        value = self._of(name)
        listed = value if isinstance(value, list) else [] if value is None else [value]
        found = tuple(str(each) for each in listed)
        if not found and not empty:
            raise ValueError(f"{self.where}: {name} = {value}, but a score needs a right answer; give at least one")
        return found

    def _of(self, name: str) -> Any:
        if name not in self.values:
            raise ValueError(
                f"{self.where} has no field {name!r} (it has {', '.join(self.values) or 'none'}); give "
                "the file as the benchmark publishes it"
            )
        return self.values[name]
