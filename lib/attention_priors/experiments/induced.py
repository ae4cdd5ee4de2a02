"""What a trained prior says by itself, apart from content: of which experiments ask the same."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from ..positions.priors import Prior


def induced(prior: Prior | None, heads: int, length: int) -> Float[Tensor, "heads length length"]:
    """π(i, j): the prior's own softmax over the keys that each query sees; uniform where there is none."""
    relative, of_keys = sides(prior, heads, length)
    lags = torch.arange(length)[:, None] - torch.arange(length)
    logits = relative[:, lags.clamp(min=0)] + of_keys[:, None]
    return logits.masked_fill(lags < 0, -torch.inf).softmax(-1)


def sides(prior: Prior | None, heads: int, length: int) -> tuple[Tensor, Tensor]:
    """κ over the lags 0 .. length - 1 and u over as many keys, both [heads, length] in float64; 0 where there is none.

    A line can stand in either, s j = s i - s (i - j): it is taken out of u, by least squares, and put into κ. Each is
    less its mean, which changes no row.
    """
    places, found = torch.arange(length), []
    for part in (prior and prior.table(places), prior and prior.of_keys(places, length)):
        part = torch.zeros(heads, length) if part is None else part.detach()
        found.append((part.double() - part.double().mean(-1, keepdim=True)).cpu())
    centred = places.double() - places.double().mean()
    line = (found[1] @ centred / (centred @ centred))[:, None] * centred
    return found[0] - line, found[1] - line
