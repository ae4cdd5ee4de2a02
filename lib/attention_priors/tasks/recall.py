"""Associative recall of many pairs (MQAR; Arora et al. 2023, "Zoology"): which value stood behind this key?

    input    z z k_1 v_1 z k_2 v_2 z z z ... k_l v_l z   k_a k_b ...     l pairs among noise z, then queries
    target                                               v_a v_b ...     at each query the value of its key

The load l is the number of pairs. Keys and values of a text are drawn without replacement, pairs stand anywhere among
the noise, and at most 16 of the keys are asked, each once, in random order: those that are not are distractors. One
who finds values and reads no key has 1/l of the answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from .. import runtime
from ..config import Gate

KEYS, VALUES, NOISE = 64, 64, 32  # tokens of each kind, numbered in this order
VOCABULARY = KEYS + VALUES + NOISE
QUERIES = 16  # of one text, at most
LEAST = 1  # pair of a training text


def asked(load: int) -> int:
    """Queries of a text with so many pairs."""
    return min(load, QUERIES)


def shortest(load: int) -> int:
    """The fewest tokens, queries included, of a text with so many pairs."""
    return 2 * load + asked(load)


def largest(length: int) -> int:
    """The most pairs that a text of so many tokens holds."""
    return min(VALUES, max(length // 3, (length - QUERIES) // 2))


@dataclass(frozen=True)
class Texts:
    """Texts with their queries and answers."""

    tokens: Int[Tensor, "texts length"]  # the last `asked(load)` are the queries
    answers: Int[Tensor, "texts queries"]
    places: Int[Tensor, "texts queries"]  # where the value of each asked key stands

    def part(self, start: int, stop: int) -> Texts:
        """Some of the texts."""
        return Texts(self.tokens[start:stop], self.answers[start:stop], self.places[start:stop])


def texts(length: int, load: int, count: int, generator: torch.Generator) -> Texts:
    """`count` texts of `length` tokens with `load` pairs each, queries included.

    ValueError for a load that there are no values for, a text that cannot hold its pairs, and no texts at all.
    """
    if not 1 <= load <= VALUES or count < 1:
        raise ValueError(f"load = {load}, count = {count}, but 1 to {VALUES} pairs and at least 1 text are needed")
    if length < shortest(load):
        raise ValueError(
            f"length = {length}, but {load} pairs and their queries take {shortest(load)} tokens; use a "
            "longer text or fewer pairs"
        )
    queries = asked(load)
    keys = _without_replacement(count, KEYS, load, generator)
    values = KEYS + _without_replacement(count, VALUES, load, generator)
    tokens = KEYS + VALUES + torch.randint(NOISE, (count, length), generator=generator)
    # Which of the `length - queries - load` items, noise or pair, are pairs; each pair before moves the next by one.
    items = _without_replacement(count, length - queries - load, load, generator).sort(1).values
    places = items + torch.arange(load) + 1
    tokens.scatter_(1, places - 1, keys)
    tokens.scatter_(1, places, values)
    chosen = _without_replacement(count, load, queries, generator)
    tokens[:, length - queries :] = keys.gather(1, chosen)
    return Texts(tokens, values.gather(1, chosen), places.gather(1, chosen))


def decode(tokens: Int[Tensor, " length"]) -> str:
    """A text in words: keys as k0, k1, ..., values as v0, v1, ..., noise as z."""
    words = [f"k{key}" for key in range(KEYS)] + [f"v{value}" for value in range(VALUES)]
    return " ".join(words[token] if token < len(words) else "z" for token in tokens.tolist())


def _without_replacement(rows: int, of: int, count: int, generator: torch.Generator) -> Int[Tensor, "rows count"]:
    """In each row `count` different numbers below `of`, in random order."""
    return torch.rand(rows, of, generator=generator, dtype=torch.float64).argsort(1)[:, :count]


@torch.inference_mode()
def right(model: nn.Module, drawn: Texts, **how: Any) -> Bool[Tensor, "texts queries"]:
    """Which queries a model answers; `how`: the model's keywords."""
    device = next(model.parameters()).device
    return model(drawn.tokens.to(device), last=drawn.answers.shape[1], **how).argmax(-1).cpu() == drawn.answers


class RecallBatches:
    """Texts of one length and one load a step, both drawn anew; step and seed determine them.

    Lengths from `recipe.varied` on, and loads from 1 to the most that a length holds, are uniform in their logarithm:
    few near pairs, which are learned first, stay frequent; no place and no load can be learned by heart. A source of
    training batches for the task "recall": tokens, what to predict at every place, where the queries are, no documents.
    ValueError for texts too short to hold pairs, and for a recipe that cuts texts or leaves keys out.
    """

    version = 1  # raise it when the same seed and step would give another batch

    def __init__(self, spec: Any) -> None:
        self.spec, varied = spec, spec.recipe.varied
        self.shortest = spec.recipe.length if varied is None else varied.shortest
        if self.shortest < shortest(LEAST):
            raise ValueError(
                f"texts of {self.shortest} tokens, but {LEAST} pairs and their queries take "
                f"{shortest(LEAST)}; give the recipe a longer shortest text"
            )
        if varied is not None and (varied.cut or varied.keyless):
            raise ValueError(f"cut = {varied.cut} and keyless = {varied.keyless} are for passkeys; give 0 for recall")

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor, None]:
        recipe = self.spec.recipe
        generator = runtime.generator(self.spec.seed, f"recall/{step}")
        shares = torch.rand(2, generator=generator, dtype=torch.float64).tolist()
        length = int(self.shortest * ((recipe.length + 1) / self.shortest) ** shares[0])
        load = int((largest(length) + 1) ** shares[1])
        drawn = texts(length, load, recipe.batch, generator)
        queries = torch.zeros_like(drawn.tokens, dtype=torch.bool)
        queries[:, -asked(load) :] = True
        targets = torch.cat([drawn.tokens[:, 1 : length - asked(load) + 1], drawn.answers], 1)
        return drawn.tokens, targets, queries, None

    def accuracy(self, model: nn.Module, gate: Gate) -> float:
        """Share of held-out queries answered, over the gate's lengths, each with all that it holds up to 16 pairs."""
        found = []
        for length in gate.lengths:
            generator = runtime.generator(self.spec.seed, f"recall/gate/{length}")
            drawn = texts(length, min(QUERIES, largest(length)), gate.samples, generator)
            found.append(right(model, drawn).double().mean())
        return float(torch.stack(found).mean())
