"""RULER's needle tasks and variable tracking as rows of one table, and the text of their prompts (Hsieh et al. 2024).

| name                | haystack                              | keys  | values  | keys, values, queries |
|---------------------|---------------------------------------|-------|---------|-----------------------|
| `single-1`          | one noise line, again and again       | words | numbers | 1, 1, 1               |
| `single-2`          | prose                                 | words | numbers | 1, 1, 1               |
| `single-3`          | prose                                 | words | uuids   | 1, 1, 1               |
| `multikey-1`        | prose                                 | words | numbers | 4, 1, 1               |
| `multikey-2`        | needles of other keys, nothing else   | words | numbers | 1, 1, 1               |
| `multikey-3`        | needles of other keys, nothing else   | uuids | uuids   | 1, 1, 1               |
| `multivalue`        | prose                                 | words | numbers | 1, 4, 1               |
| `multiquery`        | prose                                 | words | numbers | 4, 1, 4               |
| `variable-tracking` | one noise line, again and again       |       |         | 1 chain of 4 hops     |

A needle is "One of the special magic numbers for KEY is: VALUE."; description and question are this project's wording.
LESSONS are easier rows to begin with, which RULER does not have: their needles go on with "Remember VALUE!".
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from .needle_source import Draws, Widest

Haystack = Literal["noise", "prose", "needles"]
Kind = Literal["words", "numbers", "uuids"]
Pieces = tuple[str, ...]  # of text, encoded one by one

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
SEPARATORS = {"noise": "\n", "prose": " ", "needles": "\n"}  # before each sentence of a haystack
DEPTHS = 40  # of needles in prose: 0 % to 100 % in equal steps, rounded to whole percents


@dataclass(frozen=True)
class Content:
    """The parts of one prompt without its filler."""

    description: Pieces
    needles: tuple[Pieces, ...]  # in reading order
    question: Pieces
    answers: tuple[str, ...]  # all of them required
    holders: tuple[int, ...]  # the needle that states each answer


@dataclass(frozen=True)
class Retrieval:
    """Needles of `keys` keys with `values` values each; the question asks for all values of `queries` keys.

    In the haystack of needles each other line is a needle too, of another key and value.
    """

    name: str
    haystack: Haystack
    key: Kind
    value: Kind
    keys: int = 1
    values: int = 1
    queries: int = 1
    echo: bool = False  # a needle says its value again: the short copy teaches the heads that the long one needs

    def __post_init__(self) -> None:
        if self.haystack not in SEPARATORS:
            raise ValueError(f"{self.name}: haystack {self.haystack!r}; choose from {', '.join(SEPARATORS)}")
        for kind in (self.key, self.value):
            if kind not in ("words", "numbers", "uuids"):
                raise ValueError(f"{self.name}: no needle is made of {kind!r}; choose words, numbers or uuids")
        if self.values < 1 or not 1 <= self.queries <= self.keys:
            raise ValueError(
                f"{self.name}: {self.queries} of {self.keys} keys are asked for, with {self.values} values each; "
                "need 1 <= queries <= keys and values >= 1"
            )
        if self.haystack == "prose" and self.keys * self.values > DEPTHS:
            raise ValueError(
                f"{self.name}: {self.keys} keys of {self.values} values are too many needles for prose, "
                f"which has {DEPTHS} depths; use fewer, or noise"
            )

    def content(self, draws: Draws | Widest) -> Content:
        """Needles in random order; answers key by key as asked, the values of a key in reading order."""
        keys = [draws.fresh(self.key) for _ in range(self.keys)]
        values = [draws.fresh(self.value) for _ in range(self.keys * self.values)]
        order = draws.order(len(values))  # value number n belongs to key number n // self.values
        asked = draws.order(self.keys)[: self.queries]
        holders = tuple(place for key in asked for place, n in enumerate(order) if n // self.values == key)
        return Content(
            self._description(),
            tuple(self.needle(keys[n // self.values], values[n]) for n in order),
            self._question([keys[key] for key in asked]),
            tuple(values[order[place]] for place in holders),
            holders,
        )

    def needle(self, key: str, value: str) -> Pieces:
        start = f"{SEPARATORS[self.haystack]}One of the special magic {self.value} for"
        said = (start, f" {key}", " is:", f" {value}", ".")
        return (*said, " Remember", f" {value}", "!") if self.echo else said

    def distractor(self, draws: Draws) -> Pieces:
        """A needle whose key is none of the content's and whose value is new."""
        return self.needle(draws.other(self.key), draws.fresh(self.value))

    def _description(self) -> Pieces:
        if self.queries * self.values == 1:
            return (f"A special magic {self.value[:-1]} is hidden in this text. Keep it in mind.",)
        return (f"Special magic {self.value} are hidden in this text. Keep them in mind.",)

    def _question(self, asked: list[str]) -> Pieces:
        keys = [f" {asked[0]}"]
        for place, key in enumerate(asked[1:], 2):
            keys += [", and" if place == len(asked) else ",", f" {key}"]
        one = self.queries * self.values == 1
        name, verb = (self.value[:-1], "is") if one else (self.value, "are")
        which, answer = f"\nWhich special magic {name} does the text give for", f"? The special magic {name} for"
        return (which, *keys, answer, *keys, f" in this text {verb}:")


@dataclass(frozen=True)
class Tracking:
    """Chains `VAR A = 12345`, `VAR B = VAR A`, ... of `hops` copies; the question asks for all variables of the first.

    The statements of a chain keep their order; those of other chains, which distract, stand between them.
    """

    name: str
    hops: int = 4
    chains: int = 1
    haystack: ClassVar[Haystack] = "noise"

    def __post_init__(self) -> None:
        if self.hops < 1 or self.chains < 1:
            raise ValueError(f"{self.name}: {self.chains} chains of {self.hops} hops; need at least 1 of each")

    def content(self, draws: Draws | Widest) -> Content:
        """Answers in the order of their assignment."""
        length = self.hops + 1
        amounts = [draws.fresh("amounts") for _ in range(self.chains)]
        names = [[draws.fresh("variables") for _ in range(length)] for _ in range(self.chains)]
        done = [0] * self.chains
        needles, holders = [], []
        for chain in (index // length for index in draws.order(self.chains * length)):
            link, done[chain] = done[chain], done[chain] + 1
            source = (" =", f" {amounts[chain]}") if link == 0 else (" = VAR", f" {names[chain][link - 1]}")
            if chain == 0:
                holders.append(len(needles))
            needles.append((f"{SEPARATORS[self.haystack]}VAR", f" {names[chain][link]}", *source))
        value = f" {amounts[0]}"
        again = f"? The {length} variables with the value"
        question = ("\nWhich variables have the value", value, again, value, " are:")
        return Content(
            ("Variables are assigned in this text. Keep track of them.",),
            tuple(needles),
            question,
            tuple(names[0]),
            tuple(holders),
        )


Task = Retrieval | Tracking
TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Retrieval("single-1", "noise", "words", "numbers"),
        Retrieval("single-2", "prose", "words", "numbers"),
        Retrieval("single-3", "prose", "words", "uuids"),
        Retrieval("multikey-1", "prose", "words", "numbers", keys=4),
        Retrieval("multikey-2", "needles", "words", "numbers"),
        Retrieval("multikey-3", "needles", "uuids", "uuids"),
        Retrieval("multivalue", "prose", "words", "numbers", values=4),
        Retrieval("multiquery", "prose", "words", "numbers", keys=4, queries=4),
        Tracking("variable-tracking"),
    )
}
LESSONS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Retrieval("echo-1", "noise", "words", "numbers", echo=True),
        Retrieval("echo-2", "prose", "words", "numbers", echo=True),
    )
}


def find(task: str | Task) -> Task:
    """A row of the tables by its name; a row of one's own is returned as it is. ValueError for any other name."""
    if isinstance(task, Task):
        return task
    known = {**TASKS, **LESSONS}
    if task not in known:
        near = difflib.get_close_matches(task, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"unknown task {task!r}: {hint}choose from {', '.join(known)}")
    return known[task]
