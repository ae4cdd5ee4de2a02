"""Plain language modelling: windows of a packed corpus."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import runtime
from ..corpora import packing


class WindowBatches:
    """Windows of the packed corpus, attention kept within documents; each window once an epoch, in random order."""

    version = 1  # raise it when the same seed and step would give another batch

    def __init__(self, spec: Any) -> None:
        self.spec, self.corpus = spec, packing.PackedCorpus.read(spec.corpus)
        self.step, self.windows = -1, iter(())

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Every token is an answer."""
        recipe = self.spec.recipe
        if step != self.step + 1 or step == 0:
            generator = runtime.generator(self.spec.seed, "language")
            self.windows = packing.batches(self.corpus, recipe.length, recipe.batch, generator, skip=step)
        self.step = step
        tokens, ids = next(self.windows)
        return tokens[:, :-1], tokens[:, 1:], torch.ones(recipe.batch, recipe.length, dtype=torch.bool), ids
