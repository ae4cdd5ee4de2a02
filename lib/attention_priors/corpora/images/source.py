"""What every source of pictures offers."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor

Images = Float[Tensor, "count channels side side"]
Labels = Int[Tensor, " count"]


class Pictures(ABC):
    """Square pictures with values from 0 to 1, drawn at whatever resolution is asked for."""

    version = 1  # raise it when the same seed would give other pictures
    classes: int
    channels: int = 1

    @abstractmethod
    def training(self, count: int, side: int, generator: torch.Generator) -> tuple[Images, Labels]:
        """Pictures to learn from."""

    @abstractmethod
    def test(self, count: int, side: int, seed: int) -> tuple[Images, Labels]:
        """Held-out pictures. The same seed gives the same ones at every resolution."""
