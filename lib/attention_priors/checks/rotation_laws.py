"""One law for each way of turning queries and keys that notebook 06 teaches, as a part that can say yes and no.

Independent evidence: transformers' frequencies, mpmath, complex numbers in numpy, exact enumeration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, product

import mpmath
import numpy as np
import pandas as pd
import torch

from attention_priors import claims
from attention_priors.checks import rotation_oracles as oracles
from attention_priors.checks.evidence import Evidence, Part, compare
from attention_priors.positions import extensions, maps
from attention_priors.positions.compositions import BiasedRotary, GridRotary
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.positions.xpos import DampedRotary, xpos
from attention_priors.theory import rerope

POSITIONS = torch.tensor([0, 3, 10, 40, 500])
LAGS = (POSITIONS[:, None] - POSITIONS).numpy()


def drawn(heads: int, length: int, width: int = 8) -> torch.Tensor:
    """[1, heads, length, width]; the same for the same shape."""
    generator = torch.Generator().manual_seed(heads + length)
    return torch.randn(1, heads, length, width, dtype=torch.float64, generator=generator)


def phases(lags: np.ndarray, decay: bool = False) -> np.ndarray:
    """exponents [i, j, plane] of a spectrum of width 8 at the given lags."""
    spectrum = xpos(8)
    rate = 1j * np.array(spectrum.omega) - (np.array(spectrum.decay) if decay else 0)
    return np.asarray(lags)[..., None] * rate


def by_planes(q: torch.Tensor, k: torch.Tensor, exponents: np.ndarray) -> np.ndarray:
    """[i, j] scores of [i, width] queries and [j, width] keys by complex planes."""
    one, two = (oracles.planes(x.numpy()) for x in (q, k))
    return oracles.score(one[:, None], two[None], exponents)


def check_scaling(kind: str) -> Callable:
    """A checker: extension(spectrum, factor, trained) has transformers' frequencies and temperature."""

    def check(extension: Callable) -> Evidence:
        worst, defaults = 0.0, {"llama3": {"low_freq_factor": 1.0, "high_freq_factor": 4.0}}
        for d, factor, trained in product((64, 128), (2.0, 4.0, 32.0), (2048, 8192)):
            theirs, on_both = oracles.scaled(kind, d, factor, trained, **defaults.get(kind, {}))
            ours = extension(rope(d), factor, trained)
            worst = max(worst, float(np.abs(np.array(ours.omega) / theirs - 1).max()))
            worst = max(worst, abs(ours.temperature * on_both**2 - 1))
        return compare(worst, "<=", oracles.FLOAT32, detail="every plane against transformers, 12 settings")

    return check


def check_base(extension: Callable) -> Evidence:
    worst = 0.0
    with mpmath.workdps(30):
        for d, factor in product((8, 128), (2, 50, 100)):
            exact = [float((mpmath.mpf(10_000) * factor) ** (-mpmath.mpf(2 * i) / d)) for i in range(d // 2)]
            worst = max(worst, float(np.abs(np.array(extension(rope(d), factor).omega) / exact - 1).max()))
    return compare(worst, "<=", 1e-12, detail="against RoPE with the larger base, 30 digits")


def check_map(factor: float) -> Callable:
    """A checker: map(lag, window) on every pair by complex planes equals the two rotations of theory/rerope.py."""

    def check(of_lag: Callable) -> Evidence:
        q, k, v, worst = drawn(1, 20), drawn(1, 20) + 1, drawn(1, 20) - 1, 0.0
        seen = np.tril(np.ones((20, 20), dtype=bool))
        for window in (0, 4, 9, 30):
            lags = np.maximum(np.subtract.outer(np.arange(20), np.arange(20)), 0)
            mapped = np.vectorize(lambda lag, w=window: of_lag(lag, w), otypes=[float])(lags)
            logits = np.where(seen, by_planes(q[0, 0], k[0, 0], phases(mapped)) / math.sqrt(8), -np.inf)
            weights = np.exp(logits - logits.max(1, keepdims=True))
            out = weights / weights.sum(1, keepdims=True) @ v[0, 0].numpy()
            ours = rerope.attention(q, k, v, rope(8), window=window, factor=factor)[0, 0].numpy()
            worst = max(worst, float(np.abs(ours - out).max()))
        return compare(worst, "<=", 1e-12, detail="attention outputs, 20 tokens, windows 0, 4, 9, 30")

    return check


def check_terms(terms: Callable) -> Evidence:
    """terms(q, k, a, b, R), R(x, y) the plain RoPE score of a pair: their sum is the score with biases."""
    module = BiasedRotary(1, 1, Rotary(rope(8)))
    with torch.no_grad():
        module.a.copy_(drawn(1, 1)[0, 0])
        module.b.copy_(drawn(1, 2)[0, :, 1])
    q, k = drawn(1, 5), drawn(1, 5) * 2
    turned = module(q, k, POSITIONS, POSITIONS)
    a, b = (x.detach().double().expand(5, 8) for x in (module.a, module.b))
    stated = sum(terms(q[0, 0], k[0, 0], a, b, lambda x, y: by_planes(x, y, phases(LAGS))))
    found = (turned[0] @ turned[1].mT)[0, 0].detach().numpy()
    return compare(float(np.abs(stated - found).max()), "<=", 1e-6, detail="25 pairs; the biases are float32")


def check_damping(exponent: Callable) -> Evidence:
    """exponent(lag, ω, ξ) per plane against the library's xPos, near and 100,000 positions on."""
    spectrum, q, k, worst = xpos(8), drawn(1, 5), drawn(1, 5) * 2, 0.0
    planes = [exponent(LAGS, w, x) for w, x in zip(spectrum.omega, spectrum.decay, strict=True)]
    stated = by_planes(q[0, 0], k[0, 0], np.stack(planes, axis=-1))
    for shift in (0, 100_000):
        turned = DampedRotary(spectrum)(q, k, POSITIONS + shift, POSITIONS + shift)
        worst = max(worst, float(np.abs((turned[0] @ turned[1].mT)[0, 0].numpy() - stated).max()))
    return compare(worst, "<=", 1e-8, detail="25 pairs, two places")


def check_invariance(move: Callable) -> Evidence:
    q, k, draw, worst = drawn(1, 6, 16), drawn(1, 6, 16) * 2, np.random.default_rng(0), 0.0
    module = GridRotary(rope(8))
    for _ in range(5):
        grid = draw.integers(0, 50, (6, 2))
        here, there = (torch.from_numpy(np.asarray(p)) for p in (grid, move(grid)))
        first, second = ((lambda t: t[0] @ t[1].mT)(module(q, k, p, p)) for p in (here, there))
        worst = max(worst, float((first - second).abs().max()))
    return compare(worst, "<=", 1e-10, detail="36 pairs on 5 grids")


def check_places(mean: Callable) -> Evidence:
    """mean(place, n, L), place = 1 .. n: exactly over all subsets, and over draws of the library within 5 errors."""
    worst, generator = 0.0, torch.Generator().manual_seed(0)
    for n, longest in ((1, 5), (3, 7), (4, 10)):
        subsets = np.array(list(combinations(range(longest), n)))
        stated = np.array([mean(place, n, longest) for place in range(1, n + 1)])
        worst = max(worst, float(np.abs(subsets.mean(0) - stated).max()))
        sample = np.array([maps.randomised(n, longest, generator).tolist() for _ in range(2000)])
        errors = sample.std(0) / math.sqrt(len(sample))
        worst = max(worst, float((np.abs(sample.mean(0) - stated) / errors / 5 > 1).any()))
    return compare(worst, "<=", 1e-12, detail="all subsets of three sizes, and 2000 draws of each")


def _four(q, k, a, b, score):
    return score(q, k), score(q, b), score(a, k), score(a, b)


LAWS: dict[str, Part] = {
    "position interpolation": Part(
        "ω' = ω / f: every lag is seen as lag / f.", lambda s, f, trained: extensions.interpolate(s, f),
        check_scaling("linear"), lambda s, f, trained: extensions.interpolate(s, 1.01 * f)),
    "base expansion": Part(
        "ω'_i = ω_i f^(-2i/d): RoPE with base f · 10000; the slowest plane slows by f^(1-2/d), less than by NTK.",
        extensions.rebase, check_base, extensions.ntk),
    "YaRN": Part(
        "32 turns or more stay, 1 or less is interpolated, a ramp between; logits over t = (0.1 ln f + 1)^-2.",
        extensions.yarn, check_scaling("yarn"), lambda s, f, trained: extensions.yarn(s, f, trained, fast=16.0)),
    "Llama 3": Part(
        "4 turns or more stay, 1 or less is interpolated, linear in the turns between.", extensions.llama3,
        check_scaling("llama3"), lambda s, f, trained: extensions.llama3(s, f, trained, fast=8.0)),
    "ReRoPE": Part(
        "A pair turns by min(lag, w): one rotation up to the window, another, constant one beyond.",
        lambda lag, w: min(lag, w), check_map(math.inf), lambda lag, w: min(lag, w + 1)),
    "Leaky ReRoPE": Part(
        "A pair turns by lag up to w and by w + (lag - w) / k beyond (here k = 4).",
        lambda lag, w: min(lag, w) + max(lag - w, 0) / 4, check_map(4.0),
        lambda lag, w: min(lag, w) + max(lag - w, 0) / 5),
    "RoPE with bias": Part(
        "(q + a)ᵀ R (k + b) is RoPE's score and three terms more; aᵀ R b sees no content and is a relative prior.",
        _four, check_terms, lambda *pair: _four(*pair)[:3]),
    "xPos": Part(
        "Plane i of a pair is multiplied by e^((iω - ξ) lag): turned, and damped by the lag.",
        lambda lag, w, xi: (1j * w - xi) * lag, check_damping, lambda lag, w, xi: (1j * w + xi) * lag),
    "2-D RoPE": Part(
        "Moving the whole grid changes no score (turning it by 90 degrees does).",
        lambda grid: grid + np.array([7, -3]), check_invariance, lambda grid: grid[:, ::-1] * [1, -1]),
    "randomised positions": Part(
        "The k-th of n positions drawn from L stands at k (L + 1) / (n + 1) - 1 on average: a stretched line.",
        lambda k, n, longest: k * (longest + 1) / (n + 1) - 1, check_places, lambda k, n, longest: k * longest / n - 1),
}  # fmt: skip


def frame(*names: str) -> pd.DataFrame:
    """What a notebook shows of these laws (all, where none is named)."""
    rows = {name: (LAWS[name].text, LAWS[name].judge()) for name in names or LAWS}
    return pd.DataFrame(
        {
            "law": {name: text for name, (text, _) in rows.items()},
            "holds": {name: found.holds for name, (_, found) in rows.items()},
            "largest difference": {name: claims.show(found.measured) for name, (_, found) in rows.items()},
            "tolerance": {name: claims.show(found.expected) for name, (_, found) in rows.items()},
            "against": {name: found.detail for name, (_, found) in rows.items()},
        }
    )
