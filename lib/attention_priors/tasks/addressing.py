"""Addressing: which symbol stood k from the end of the text? What needs a position, and no content at all.

    input    x_1 ... x_n  [k_1] ... [k_8]       random symbols, then queries, each address k a token of its own
    target                x_{n+1-k_1} ...       at each query, the k-th last symbol of the text

A query stands one place further on than the one before it, so that its symbol is k + its own number back. No word of
the text tells a symbol from its neighbours: an additive prior, which does not see the query, cannot point at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from .. import runtime
from ..config import Gate

SYMBOLS = 32
QUERIES = 8
CHANCE = 1 / SYMBOLS


def vocabulary(reach: int) -> int:
    """Tokens of the task whose addresses are 1 .. reach: symbols, then addresses."""
    return SYMBOLS + reach


def shortest(reach: int) -> int:
    """The fewest tokens, queries included, of a text that holds every address."""
    return reach + QUERIES


@dataclass(frozen=True)
class Questions:
    """Texts with their queries and answers."""

    tokens: Int[Tensor, "texts length"]  # the last eight are the queries
    answers: Int[Tensor, "texts queries"]
    addresses: Int[Tensor, "texts queries"]

    def part(self, start: int, stop: int) -> Questions:
        """Some of the texts."""
        return Questions(self.tokens[start:stop], self.answers[start:stop], self.addresses[start:stop])


def questions(
    length: int, addresses: Int[Tensor, "texts queries"], reach: int, generator: torch.Generator
) -> Questions:
    """Random texts of `length` tokens that end in queries for these addresses.

    ValueError for a text that cannot hold every address, and for an address that is none.
    """
    if length < shortest(reach):
        raise ValueError(
            f"length = {length}, but {QUERIES} queries for addresses up to {reach} need at least "
            f"{shortest(reach)} tokens; use a longer text"
        )
    if addresses.ndim != 2 or not len(addresses) or addresses.shape[1] != QUERIES:
        raise ValueError(f"addresses have shape {list(addresses.shape)}, but [texts, {QUERIES}] with a text is needed")
    if not bool(((addresses >= 1) & (addresses <= reach)).all()):
        low, high = int(addresses.min()), int(addresses.max())
        raise ValueError(f"addresses from {low} to {high}, but they are numbered 1 to {reach}; leave the others out")
    text = torch.randint(SYMBOLS, (len(addresses), length - QUERIES), generator=generator)
    answers = text.gather(1, text.shape[1] - addresses)
    return Questions(torch.cat([text, SYMBOLS - 1 + addresses], 1), answers, addresses)


def spread(texts: int, reach: int, generator: torch.Generator) -> Int[Tensor, "texts queries"]:
    """Addresses for training: uniform in their logarithm, so that near ones are frequent and all are seen."""
    drawn = torch.rand(texts, QUERIES, generator=generator, dtype=torch.float64)
    return ((reach + 1) ** drawn).long().clamp(1, reach)


def even(texts: int, reach: int, generator: torch.Generator) -> Int[Tensor, "texts queries"]:
    """Addresses for questions: all equally often, up to one, in random order; of fewer questions, some of all."""
    rounds = -(-texts * QUERIES // reach)
    drawn = torch.cat([torch.randperm(reach, generator=generator) for _ in range(rounds)])
    return drawn[: texts * QUERIES].view(texts, QUERIES) + 1


@torch.inference_mode()
def right(model: nn.Module, asked: Questions, **how: Any) -> Tensor:
    """Which queries a model answers: bool [texts, queries]; `how`: the model's keywords."""
    device = next(model.parameters()).device
    return model(asked.tokens.to(device), last=QUERIES, **how).argmax(-1).cpu() == asked.answers


class AddressingBatches:
    """Texts of one length a step, drawn from `recipe.varied` on; step and seed determine them.

    A source of training batches for the task "addressing": tokens, what to predict at every place, where the queries
    are, no documents. The vocabulary says how far addresses reach. ValueError for a recipe whose texts cannot hold
    them, and for one that cuts texts or leaves keys out, which addressing has not.
    """

    version = 1  # raise it when the same seed and step would give another batch

    def __init__(self, spec: Any) -> None:
        self.spec, self.reach = spec, spec.model.vocabulary - SYMBOLS
        if self.reach < 1:
            raise ValueError(f"vocabulary = {spec.model.vocabulary}, but {SYMBOLS} symbols and an address need more")
        varied = spec.recipe.varied
        self.shortest = spec.recipe.length if varied is None else varied.shortest
        if self.shortest < shortest(self.reach):
            raise ValueError(
                f"texts of {self.shortest} tokens, but {QUERIES} queries for addresses up to {self.reach} "
                f"need {shortest(self.reach)}; give the recipe a longer one"
            )
        if varied is not None and (varied.cut or varied.keyless):
            raise ValueError(
                f"cut = {varied.cut} and keyless = {varied.keyless} are for passkeys; give 0 for addresses"
            )

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor, None]:
        recipe = self.spec.recipe
        generator = runtime.generator(self.spec.seed, f"addressing/{step}")
        length = int(torch.randint(self.shortest, recipe.length + 1, (), generator=generator))
        asked = questions(length, spread(recipe.batch, self.reach, generator), self.reach, generator)
        queries = torch.zeros_like(asked.tokens, dtype=torch.bool)
        queries[:, -QUERIES:] = True
        targets = torch.cat([asked.tokens[:, 1 : -QUERIES + 1], asked.answers], 1)
        return asked.tokens, targets, queries, None

    def accuracy(self, model: nn.Module, gate: Gate) -> float:
        """Share of held-out queries answered, over the gate's lengths; their stream is used nowhere else."""
        found = []
        for length in gate.lengths:
            generator = runtime.generator(self.spec.seed, f"addressing/gate/{length}")
            asked = questions(length, even(gate.samples, self.reach, generator), self.reach, generator)
            found.append(right(model, asked).double().mean())
        return float(torch.stack(found).mean())
