"""Needle prompts to train on: mixtures of tasks, with prose and words of an offline corpus."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from .. import runtime, store
from ..text import packing
from . import needles
from .needle_source import Source, corpus_prose
from .needle_text import Retrieval, Tracking, find
from .needle_tokens import Words
from .needle_words import KINDS

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
    """Hash of all that prompts are drawn from: the corpus (its hash), the rows of the tasks, the code behind them.

    A run's fingerprint follows no tables, and tasks and kinds of strings are rows of tables.
    """
    rows = [repr(find(task)) for task in tasks]
    return store.key(corpus, rows, store.fingerprint(Retrieval, Tracking, *KINDS.values()))


class NeedleBatches:
    """Prompts of a mixture of tasks; step and seed determine them.

    A source of training batches for the tasks "needles" and "needles-lesson". The run's inputs are the hash of its
    `ingredients` and the tasks of the mixture, each as often as its weight says.
    """

    def __init__(self, spec: Any) -> None:
        self.spec, self.tasks = spec, spec.inputs[1:]
        self.source, _ = read(spec.corpus, spec.model.vocabulary)

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor, None]:
        """No documents."""
        recipe = self.spec.recipe
        generator = runtime.generator(self.spec.seed, f"{self.spec.task}/{step}")
        tokens, answer = needles.training_batch(recipe.length, recipe.batch, generator, self.source, self.tasks)
        return tokens[:, :-1], tokens[:, 1:], answer, None
