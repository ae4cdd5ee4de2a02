"""Rotations of a trained model, changed for contexts longer than it was trained on.

`extension.extend` puts them into a model; by themselves they do not know the training length, and say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .rotary import KeyAt, Keys, Queries, QueryAt, Rotation, Spectrum
from .xpos import DampedRotary

Stretch = Callable[[Spectrum, int, int], Spectrum]  # (spectrum, current length, trained length)


class ExtendedRotary(Rotation):
    """The rotation by stretch(spectrum, n, T) for a context of n tokens, T = `trained`, temperature included."""

    def __init__(self, spectrum: Spectrum, stretch: Stretch) -> None:
        super().__init__()
        self.spectrum, self.stretch = spectrum, stretch
        self.trained: int | None = None

    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """q and k rotated for the current length, which is the last position + 1: keys are cached unrotated."""
        length = int(k_positions.max()) + 1
        spectrum = self.stretch(self.spectrum, length, known(self.trained))
        return DampedRotary(spectrum).to(q.device)(q, k, q_positions, k_positions)


class RectifiedRotary(Rotation):
    """ReRoPE and Leaky ReRoPE (Su 2023): beyond a window of T/2 lags grow 1 / `factor` as fast; infinite: not at all.

    No pair of rotations does that; `extension.RectifiedAttention` computes the scores (theory.rerope).
    """

    def __init__(self, spectrum: Spectrum, factor: float = math.inf) -> None:
        super().__init__()
        if not factor >= 1:
            raise ValueError(f"factor = {factor}, but it must be at least 1")
        self.spectrum, self.factor = spectrum, factor
        self.trained: int | None = None

    @property
    def window(self) -> int:
        """Half of the training length: lags up to it are as in training."""
        return known(self.trained) // 2

    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """Refused: see the class."""
        raise ValueError("ReRoPE is no rotation of q and k; open the model with attention_priors.extension.extend")


def known(trained: int | None) -> int:
    """The training length; ValueError where nobody has given it."""
    if trained is None:
        raise ValueError("the length the model was trained on is not known; use attention_priors.extension.extend")
    return trained
