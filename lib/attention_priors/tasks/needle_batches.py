"""Needle prompts to train on: mixtures of tasks, with prose and words of an offline corpus."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .. import runtime, store
from ..config import Gate
from ..corpora import packing
from . import needles
from .needle_source import Source, corpus_prose
from .needle_text import find
from .needle_tokens import Words

SENTENCES = 4000  # of prose: about sixty thousand tokens before they repeat


@functools.lru_cache(maxsize=4)
def read(path: str, vocabulary: int) -> tuple[Source, Words]:
    """Prose of a packed corpus as `needles` takes it, and the tokenizer, whose words are the prose's most frequent.

    Training and questions use the same prose: what a model has to look up are needles, and other text, of which the
    tokenizer knows fewer words, would change more than the length. ValueError for a corpus that is not there, and for
    a vocabulary that is too small.
    """
    prose = corpus_prose(packing.PackedCorpus.read(path), "train", limit=SENTENCES)
    words = Words(prose, vocabulary)
    return Source(words, prose), words


def ingredients(corpus: str, tasks: Sequence[str]) -> str:
    """Hash of all that prompts are drawn from: the corpus (its hash), the rows of the tasks and how they are drawn."""
    return store.key(corpus, [repr(find(task)) for task in tasks], NeedleBatches.version)


class NeedleBatches:
    """Prompts of a mixture of tasks; step and seed determine them.

    A source of training batches for the tasks "needles" and "needles-lesson". The run's inputs are the hash of its
    `ingredients` and the tasks of the mixture, each as often as its weight says.
    """

    version = 1  # raise it when the same seed and step would give another batch

    def __init__(self, spec: Any) -> None:
        self.spec, self.tasks = spec, spec.inputs[1:]
        self.source, _ = read(spec.corpus, spec.model.vocabulary)

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor, None]:
        """No documents."""
        recipe = self.spec.recipe
        generator = runtime.generator(self.spec.seed, f"{self.spec.task}/{step}")
        how = (self.source, self.tasks, recipe.varied)
        tokens, answer = needles.training_batch(recipe.length, recipe.batch, generator, *how)
        return tokens[:, :-1], tokens[:, 1:], answer, None

    @torch.inference_mode()
    def accuracy(self, model: nn.Module, gate: Gate) -> float:
        """Share of the required answers of held-out prompts, over tasks and the gate's lengths.

        Their stream is used nowhere else.
        """
        right = []
        for task, length in itertools.product(dict.fromkeys(self.tasks), gate.lengths):
            generator = runtime.generator(self.spec.seed, f"{self.spec.task}/gate/{task}/{length}")
            drawn = needles.prompts(task, length + 1, gate.samples, generator, self.source)
            tokens = drawn.tokens.to(next(model.parameters()).device)
            guess = model(tokens[:, :-1], last=drawn.longest).argmax(-1)
            right.append(needles.matches(guess, drawn).double().mean().item())
        return sum(right) / len(right)
