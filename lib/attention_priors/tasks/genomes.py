"""Language modelling of a genome: windows of its training part."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import runtime
from ..corpora import genome


class GenomeBatches:
    """Windows that begin anywhere in a stretch of the training part, each base given those before it.

    The run's first input is the genome's name. Windows are drawn anew for each step, from seed and step alone.
    ValueError where no stretch is longer than a window.
    """

    version = 1  # raise it when the same seed and step would give another batch

    def __init__(self, spec: Any) -> None:
        self.spec, self.genome = spec, genome.find(spec.inputs[0])
        length = spec.recipe.length
        ranges = [(start, count - length) for start, count in self.genome.part("train") if count > length]
        if not ranges:
            raise ValueError(
                f"windows of {length} bases and the one after, but no stretch of genome "
                f"{self.genome.name!r} has as many to train on; use a shorter length"
            )
        self.first, counts = (np.array(column) for column in zip(*ranges, strict=True))
        self.ends = np.cumsum(counts)

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor, None]:
        """Every base is an answer."""
        recipe = self.spec.recipe
        generator = runtime.generator(self.spec.seed, f"genome/{step}")
        drawn = torch.randint(int(self.ends[-1]), (recipe.batch,), generator=generator).numpy()
        stretch = np.searchsorted(self.ends, drawn, "right")
        starts = self.first[stretch] + drawn - np.concatenate([[0], self.ends])[stretch]
        windows = np.stack([self.genome.bases(int(start), recipe.length + 1) for start in starts])
        tokens = torch.from_numpy(windows.astype(np.int64))
        return tokens[:, :-1], tokens[:, 1:], torch.ones(recipe.batch, recipe.length, dtype=torch.bool), None
