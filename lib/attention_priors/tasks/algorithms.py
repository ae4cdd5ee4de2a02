"""Algorithmic tasks on strings of any length, set to an encoder (Delétang et al. 2023; Ruoss et al. 2023).

    input    x_1 ... x_n  ∅  ...  ∅      the string, then an empty slot for each symbol of the answer
    target                y_1 ... y_m    one symbol at each slot, all at once

    copy         y_i = x_i                     2 symbols, m = n   (their "duplicate string" says x twice)
    reverse      y_i = x_{n + 1 - i}           2 symbols, m = n
    parity       y_1 = (x_1 + ... + x_n) mod 2  2 symbols, m = 1
    bucket-sort  y = x in ascending order      5 symbols, m = n

Symbols are independent and uniform. Chance is one over their number: parity is even or odd with equal probability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from .. import runtime

EMPTY = 5  # the token of an empty slot; symbols are 0 .. 4
VOCABULARY = 6


@dataclass(frozen=True)
class Task:
    """One task: how many symbols its strings have, and the answer [batch, m] to strings [batch, n]."""

    symbols: int
    answer: Callable[[Int[Tensor, "batch n"]], Int[Tensor, "batch m"]]

    @property
    def chance(self) -> float:
        """The share of right symbols of a guesser that has not read the string."""
        return 1 / self.symbols


def _copy(x: Tensor) -> Tensor:
    return x.clone()


def _reverse(x: Tensor) -> Tensor:
    return x.flip(1)


def _parity(x: Tensor) -> Tensor:
    return x.sum(1, keepdim=True) % 2


def _bucket_sort(x: Tensor) -> Tensor:
    return x.sort(1).values


TASKS = {"copy": Task(2, _copy), "reverse": Task(2, _reverse), "parity": Task(2, _parity),
         "bucket-sort": Task(5, _bucket_sort)}  # fmt: skip


def find(name: str) -> Task:
    """The task `name`. ValueError for a name that is not in TASKS."""
    if name not in TASKS:
        raise ValueError(f"unknown algorithmic task {name!r}; choose one of {', '.join(TASKS)}")
    return TASKS[name]


def strings(
    name: str, length: int, count: int, generator: torch.Generator
) -> tuple[Int[Tensor, "count read"], Int[Tensor, "count answered"]]:
    """`count` random strings of `length` symbols with their empty slots, [count, n + m], and answers [count, m]."""
    task = find(name)
    if length < 1 or count < 1:
        raise ValueError(f"length = {length}, count = {count}, but strings need at least one of either")
    x = torch.randint(task.symbols, (count, length), generator=generator)
    answer = task.answer(x)
    return torch.cat([x, torch.full_like(answer, EMPTY)], 1), answer


class AlgorithmBatches:
    """Strings of one random length a step, uniform in 1 .. recipe.length; step and seed determine them.

    A source of training batches for tasks called "algorithms/<name>": tokens, what to predict at every place (the
    string's own symbols before the slots), where the slots are, no documents.
    """

    version = 1  # raise it when the same seed and step would give another batch

    def __init__(self, spec: Any) -> None:
        self.spec, self.name = spec, spec.task.removeprefix("algorithms/")
        find(self.name)

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor, None]:
        recipe = self.spec.recipe
        generator = runtime.generator(self.spec.seed, f"{self.spec.task}/{step}")
        length = int(torch.randint(1, recipe.length + 1, (), generator=generator))
        tokens, answer = strings(self.name, length, recipe.batch, generator)
        slots = torch.zeros_like(tokens, dtype=torch.bool)
        slots[:, length:] = True
        return tokens, torch.cat([tokens[:, :length], answer], 1), slots, None
