"""A mixture of two copies and noise: a text whose next symbol is its first, the one before the last, or any.

    x_{i+1} = x_0  with probability .35,  x_{i-1}  with .35,  any symbol, all alike,  with .30      for i >= 1

x_0 and x_1 are drawn from all symbols alike. Query i stands at x_i, so that the two copies are at the first key and at
lag 1: a lag of 0, "copy the last symbol", would need no attention. Goat's Fig. 1 is drawn on such a mixture, whose
shares are not printed; these are ours.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from .. import runtime

SYMBOLS = 32
FIRST, PREVIOUS = 0.35, 0.35
NOISE = 1 - FIRST - PREVIOUS
SHORTEST = 3  # symbols of a text that has something to predict
NEAR = 0.05  # nats above the best prediction within which a model has learned the mixture; ours


def texts(count: int, length: int, generator: torch.Generator) -> Int[Tensor, "count length"]:
    """Texts of `length` symbols. ValueError for texts without a symbol to predict."""
    if count < 1 or length < SHORTEST:
        raise ValueError(f"count = {count}, length = {length}, but at least 1 text of {SHORTEST} symbols is needed")
    drawn = torch.rand(count, length, generator=generator, dtype=torch.float64)
    made = torch.randint(SYMBOLS, (count, length), generator=generator)
    for i in range(1, length - 1):
        first, previous = drawn[:, i + 1] < FIRST, drawn[:, i + 1] >= 1 - PREVIOUS
        made[:, i + 1] = torch.where(first, made[:, 0], torch.where(previous, made[:, i - 1], made[:, i + 1]))
    return made


def answers(tokens: Int[Tensor, "texts length"]) -> tuple[Int[Tensor, "texts length"], Tensor]:
    """What to predict at every place, and where there is something to predict: from the second to the last but one."""
    where = torch.zeros_like(tokens, dtype=torch.bool)
    where[:, 1:-1] = True
    return torch.roll(tokens, -1, 1), where


def bayes(tokens: Int[Tensor, "texts length"]) -> Float[Tensor, "texts predicted"]:
    """-ln p(x_{i+1} | x_0, x_{i-1}) of every symbol to predict, in nats: what no model can beat in the mean."""
    first, previous, found = tokens[:, :1], tokens[:, :-2], tokens[:, 2:]
    share = NOISE / SYMBOLS + FIRST * (found == first) + PREVIOUS * (found == previous)
    return -share.double().log()


def expected(length: int, *, first: bool = True, previous: bool = True) -> float:
    """The mean of the best NLL (nats a symbol) of one who knows x_0, x_{i-1}, both or neither, over texts of `length`.

    e_i = P(x_i = x_0) follows e_{i+1} = FIRST + PREVIOUS e_{i-1} + NOISE / SYMBOLS, e_0 = 1, e_1 = 1 / SYMBOLS, and
    given x_0 all symbols other than x_0 are alike.
    """
    same = [1.0, 1 / SYMBOLS]
    rest = NOISE / SYMBOLS
    total = 0.0
    for i in range(1, length - 1):
        same.append(FIRST + PREVIOUS * same[i - 1] + rest)
        both = same[i - 1]
        if first and previous:
            total += both * _entropy(FIRST + PREVIOUS + rest) + (1 - both) * _entropy(FIRST + rest, PREVIOUS + rest)
        elif first:
            total += _entropy(same[i + 1])
        elif previous:  # x_0 is x_{i-1} with probability `both`, else any of the others
            total += _entropy(PREVIOUS + rest + FIRST * both)
        else:
            total += math.log(SYMBOLS)
    return total / (length - 2)


def _entropy(*shares: float) -> float:
    """Of a symbol that takes some values with these probabilities and all others alike."""
    left, others = 1 - sum(shares), SYMBOLS - len(shares)
    return -sum(p * math.log(p) for p in shares) - left * math.log(left / others)


class CopyingBatches:
    """Texts of the recipe's length; step and seed determine them.

    A source of training batches for the task "copying": tokens, what to predict at every place, where, no documents.
    """

    version = 1  # raise it when the same seed and step would give another batch

    def __init__(self, spec: Any) -> None:
        if spec.model.vocabulary != SYMBOLS:
            raise ValueError(f"vocabulary = {spec.model.vocabulary}, but the task has {SYMBOLS} symbols; give as many")
        if spec.recipe.length < SHORTEST:
            raise ValueError(f"length = {spec.recipe.length}, but a text has at least {SHORTEST} symbols")
        self.spec = spec

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor, None]:
        recipe = self.spec.recipe
        tokens = texts(recipe.batch, recipe.length, runtime.generator(self.spec.seed, f"copying/{step}"))
        return tokens, *answers(tokens), None
