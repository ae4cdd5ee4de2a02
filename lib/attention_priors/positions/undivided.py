"""Logits without the factor 1 / sqrt(d) of scaled dot-product attention."""

from __future__ import annotations

import math

from .rotary import KeyAt, Keys, Queries, QueryAt, Rotation


class Undivided(Rotation):
    """q -> sqrt(d) q, so that attention, which divides by sqrt(d), has the logits <q_i, k_j>: sqrt(d) times too large.

    Goat's public code gives the baselines of its passkeys and needles such queries, and its own encoding not (issue of
    temperature; Vaswani et al. 2017, section 3.2.1, say why one divides). `inner` turns q and k first; None leaves them
    as they are.
    """

    def __init__(self, width: int, inner: Rotation | None = None) -> None:
        """Of a head of `width` components. ValueError below 1."""
        super().__init__()
        if width < 1:
            raise ValueError(f"width = {width}, but a head has at least 1 component")
        self.factor, self.inner = math.sqrt(width), inner

    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """sqrt(d) q and k."""
        if self.inner is not None:
            q, k = self.inner(q, k, q_positions, k_positions)
        return q * self.factor, k
