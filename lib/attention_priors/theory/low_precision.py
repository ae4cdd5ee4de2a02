"""What bfloat16 does to a log-prior that rides in the scalar product of queries and keys, and to one that is added."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from attention_priors.positions.spectral import Fourier

Features = tuple[Float[Tensor, " rank"], Float[Tensor, "keys rank"]]  # of the last query, of all keys


def rounded(x: Tensor) -> Tensor:
    """To bfloat16 and back: 8 significant bits, integers exact up to 256."""
    return x.to(torch.bfloat16).double()


def key_slope(keys: int, slope: float) -> Features:
    """m j as one coordinate of the keys: ALiBi's row up to a constant."""
    j = torch.arange(keys, dtype=torch.float64)
    return torch.tensor([slope], dtype=torch.float64), j[:, None]


def jordan(keys: int, slope: float) -> Features:
    """-m (i - j) = <(-m i, m), (1, j)>: a Jordan block of size 2."""
    j = torch.arange(keys, dtype=torch.float64)
    query = torch.tensor([-slope * (keys - 1), slope], dtype=torch.float64)
    return query, torch.stack([torch.ones_like(j), j], -1)


def fourier(keys: int, amplitude: float, modes: int = 4) -> Features:
    """Cosines of periods 16, 64, 256, .. and of amplitude `amplitude` each, as (cos, sin) pairs."""
    omega = 2 * torch.pi / 16 * 0.25 ** torch.arange(modes, dtype=torch.float64)
    alpha = torch.full((1, modes), amplitude, dtype=torch.float64)
    prior = Fourier(omega.tolist(), alpha, torch.zeros_like(alpha)).double()
    positions = torch.arange(keys)
    query, key = prior.features(positions)
    return query[0, -1].detach(), key[0].detach()


CARRIERS: dict[str, tuple[Callable[[int, float], Features], float]] = {
    "key slope": (key_slope, 0.25),
    "Jordan block": (jordan, 0.25),
    "Fourier": (fourier, 5.0),
}


def weights(features: Features, content: tuple[Tensor, Tensor], how: str) -> Float[Tensor, " keys"]:
    """Weights of the last query. `how`: "exact"; "content", queries and keys in bfloat16 and the prior exact; and with
    these also the prior: "product", its coordinates in bfloat16; "split", each as a sum of three bfloat16 numbers;
    "added", the bias in float32. Sums are exact: only the inputs are rounded, as by a tensor core."""
    query, keys = features
    q, k = content
    prior = keys @ query
    if how == "exact":
        return (k @ q + prior).softmax(-1)
    ways = {
        "content": lambda: prior,
        "product": lambda: rounded(keys) @ rounded(query),
        "split": lambda: sum(x @ y for x in parts(keys) for y in parts(query)),
        "added": lambda: prior.float().double(),
    }
    if how not in ways:
        raise ValueError(f"how = {how!r}; choose exact, {', '.join(ways)}")
    prior = ways[how]()
    return (rounded(k) @ rounded(q) + prior).softmax(-1)


def parts(x: Tensor, count: int = 3) -> list[Tensor]:
    """x as a sum of bfloat16 numbers, each what the ones before leave over."""
    found = []
    for _ in range(count):
        found.append(rounded(x))
        x = x - found[-1]
    return found
