"""Sinusoidal positions drawn from a longer range than the context (Ruoss et al. 2023)."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .absolute import Sinusoidal
from .maps import randomised


class RandomisedSinusoidal(nn.Module):
    """e(s_p) for a random ordered subset s_0 < s_1 < ... of 0 .. longest - 1 (Ruoss et al. 2023, sec. 3).

    e is `Sinusoidal`; at length = longest the subset is everything and the encoding is e. In training every call draws
    a new subset, whose number is part of the state; in evaluation the subset is fixed by the length.
    """

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        if longest < 1:
            raise ValueError(f"longest = {longest}, but at least 1 position is needed")
        self.longest = longest
        self.embedding = Sinusoidal(width)
        self.register_buffer("drawn", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("seed", torch.tensor([torch.initial_seed() % 2**31]))

    def forward(self, positions: Int[Tensor, "*batch length"]) -> Float[Tensor, "*batch length width"]:
        """[..., length] integer positions -> [..., length, width]. ValueError for more than `longest` positions."""
        length = int(positions.max()) + 1
        if length > self.longest:
            raise ValueError(f"{length} positions, but {self.longest} can be drawn; train with a larger `longest`")
        if self.training:
            self.drawn += 1
        number = int(self.drawn) if self.training else 0
        generator = torch.Generator().manual_seed(int(self.seed) * 2**31 + number)
        return self.embedding(randomised(length, self.longest, generator).to(positions.device)[positions])
