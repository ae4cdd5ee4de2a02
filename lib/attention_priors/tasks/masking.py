"""Masked tokens: a share of a text's tokens is hidden, and an encoder says what they were (Devlin et al. 2019)."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from .. import runtime
from .windows import WindowBatches

SHARE = 0.3  # of the tokens, twice that of Devlin et al.: more to learn from a step (Wettig et al. 2023)


def masked(
    tokens: Int[Tensor, "batch length"], mask: int, generator: torch.Generator
) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]:
    """(tokens with `mask` at the hidden places, where those are): round(SHARE x length) in each row, at least one."""
    count = max(1, round(SHARE * tokens.shape[1]))
    places = torch.rand(tokens.shape, generator=generator).argsort(1)[:, :count]
    where = torch.zeros(tokens.shape, dtype=torch.bool).scatter_(1, places, True)
    return tokens.masked_fill(where, mask), where


class MaskedBatches:
    """Windows of the packed corpus with hidden tokens, attention kept within documents; step and seed determine them.

    A source of training batches for the task "masked": each window once an epoch, in random order, other tokens hidden
    each time. The mask is the last id of the model, one more than the corpus has.
    """

    version = 1  # raise it when the same seed and step would give another batch

    def __init__(self, spec: Any) -> None:
        self.spec, self.windows = spec, WindowBatches(spec)  # those that a causal model is trained on
        self.mask, known = spec.model.vocabulary - 1, self.windows.corpus.meta["vocabulary"]
        if self.mask != known:
            raise ValueError(f"the model has {self.mask + 1} ids; {known} of the corpus and a mask make {known + 1}")

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        tokens, _, _, ids = self.windows(step)
        hidden, where = masked(tokens, self.mask, runtime.generator(self.spec.seed, f"masked/{step}"))
        return hidden, tokens, where, ids
