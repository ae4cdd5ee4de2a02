"""The numbers of the notebook fused_kernel that no clock enters: errors, skipped tiles, as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from ..attention import skipping
from ..attention.bench import interpreted
from ..positions.priors import GeneralizedGaussian, Laplace, alibi_slopes
from ..theory.low_precision import CARRIERS, rounded, weights
from .grid import Rows


def errors(length: int, seeds: Iterable[int], dtype: torch.dtype = torch.bfloat16) -> Rows:
    """Relative error against float64 of the interpreted kernels and of plain PyTorch at the same rounded inputs."""
    rows: Rows = []
    calls = [_call(length, seed, dtype) for seed in seeds]
    ways = {"plain": [_gradients(call, _plain) for call in calls]}
    if interpreted.AVAILABLE:
        ways["kernel"] = interpreted.run(calls)
    for index, (seed, call) in enumerate(zip(seeds, calls, strict=True)):
        true = _gradients({name: x.double() if hasattr(x, "double") else x for name, x in call.items()}, _plain)
        for way, found in ways.items():
            for name, value in true.items():
                error = float((found[index][name].double() - value).norm() / value.norm())
                rows.append({"way": way, "result": name, "seed": seed, "error": error})
    return rows


def _call(length: int, seed: int, dtype: torch.dtype) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    made = {name: torch.randn(1, 2, length, 16, generator=generator).to(dtype) for name in ("q", "k", "v", "up")}
    prior = GeneralizedGaussian([-1.0, 0.0], [0.4, 0.9], [0.4, -0.3], trainable=GeneralizedGaussian.NAMES)
    return made | {"prior": prior}


def _plain(q: Tensor, k: Tensor, v: Tensor, prior: GeneralizedGaussian) -> Tensor:
    """What one writes without this package: scores, bias and weights are matrices of the inputs' dtype."""
    lags = torch.arange(q.shape[2])[:, None] - torch.arange(k.shape[2])
    bias = prior.log_prior(lags.flatten()).unflatten(1, lags.shape).to(q.dtype)
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + bias
    return scores.masked_fill(lags < 0, -torch.inf).softmax(-1) @ v


def _gradients(call: dict[str, Any], attend: Callable[..., Tensor]) -> dict[str, Tensor]:
    prior = call["prior"]
    leaves = {name: call[name].detach().requires_grad_() for name in ("q", "k", "v")}
    out = attend(**leaves, prior=prior)
    leaves |= dict(prior.named_parameters())
    gradients = torch.autograd.grad((out * call["up"]).sum(), list(leaves.values()))
    return {"out": out.detach(), **dict(zip(leaves, gradients, strict=True))}


def low_precision(lengths: Iterable[int], seeds: Iterable[int], width: int = 64) -> Rows:
    """Total variation to the exact weights by carrier, length, way of carrying and seed of the content.

    "content": only queries and keys are rounded, the yardstick. The other ways start from rounded content, so that what
    they show is the prior's part.
    """
    rows: Rows = []
    for length in lengths:
        for seed in seeds:
            generator = torch.Generator().manual_seed(seed)
            q = torch.randn(width, dtype=torch.float64, generator=generator) * width**-0.5
            k = torch.randn(length, width, dtype=torch.float64, generator=generator)
            for name, (make, size) in CARRIERS.items():
                features = make(length, size)
                for how in ("content", "product", "split", "added"):
                    content = (q, k) if how == "content" else (rounded(q), rounded(k))
                    exact = weights(features, content, "exact")
                    distance = float((weights(features, content, how) - exact).abs().sum() / 2)
                    rows.append({"carrier": name, "keys": length, "how": how, "seed": seed, "variation": distance})
    return rows


def tiles_kept(lengths: Iterable[int], contents: Iterable[float], tolerance: float, tile: int = 128) -> Rows:
    """Share of the causal tiles that the bound keeps, averaged over heads, by length and range S of the content."""
    priors = {
        "ALiBi, 8 heads": Laplace(alibi_slopes(8)),
        "GGD, scale 1, shape 1/2": GeneralizedGaussian([0.0], [0.5]),
        "GGD, scale 16, shape 1/4": GeneralizedGaussian([-0.6931], [0.25]),
    }
    rows: Rows = []
    for length in lengths:
        diagonals = torch.arange(-(-length // tile))
        nearest = (diagonals * tile - tile + 1).clamp(min=0)  # lag of a tile on each diagonal
        per_diagonal = diagonals.flip(0) + 1
        for name, prior in priors.items():
            with torch.no_grad():
                table = prior.log_prior(torch.arange(length))
            for content in contents:
                windows = skipping.window(table, content, tolerance)
                kept = (nearest < windows[:, None]).double() @ per_diagonal.double() / per_diagonal.sum()
                about = {"prior": name, "keys": length, "content": content}
                rows.append(about | {"kept": float(kept.mean()), "window": int(windows.max())})
    return rows
