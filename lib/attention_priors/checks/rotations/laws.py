"""One law for each way of turning queries and keys that notebook 06 teaches.

Independent evidence: transformers' frequencies, mpmath, complex numbers in numpy, exact enumeration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import mpmath
import numpy as np
import pandas as pd
import torch
from scipy.special import softmax

from attention_priors.checks.rotations import oracles
from attention_priors.claims.law import Law, grid
from attention_priors.positions import extensions, maps
from attention_priors.positions.rotary import BiasedRotary, DampedRotary, GridRotary, Rotary, Spectrum, rope, xpos
from attention_priors.theory import rerope

POSITIONS = torch.tensor([0, 3, 10, 40, 500])
LAGS = (POSITIONS[:, None] - POSITIONS).numpy()
OMEGA = 10_000.0 ** (-np.arange(0, 8, 2) / 8)
DAMPING = -np.log((np.arange(0, 8, 2) / 8 + 0.4) / 1.4) / 512  # Sun et al. 2022
SETTINGS = grid(width=(64, 128), factor=(2.0, 4.0, 32.0), trained=(2048, 8192))
BASES = grid(width=(8, 128), factor=(2, 50, 100))
WINDOWS = grid(window=(0, 4, 9, 30))
PLACES = [
    {"place": k, "n": n, "longest": m, "draws": draws}
    for n, m in ((1, 5), (3, 7), (4, 10))
    for draws in (0, 2000)
    for k in range(1, n + 1)
]


def drawn(heads: int, length: int, width: int = 8) -> torch.Tensor:
    """[1, heads, length, width]; the same for the same shape."""
    generator = torch.Generator().manual_seed(heads + length)
    return torch.randn(1, heads, length, width, dtype=torch.float64, generator=generator)


def by_planes(q: torch.Tensor, k: torch.Tensor, exponents: np.ndarray) -> np.ndarray:
    """[i, j] scores of [i, width] queries and [j, width] keys by complex planes; exponents [i, j, plane]."""
    one, two = (oracles.planes(x.numpy()) for x in (q, k))
    return oracles.score(one[:, None], two[None], exponents)


def seen(extend: Callable[..., Spectrum], **more: float) -> Callable:
    """ln of the frequencies, and of the temperature of the logits, after an extension of the library."""

    def logs(width: int, factor: float, trained: int) -> np.ndarray:
        spectrum = extend(rope(width), factor, trained, **more)
        return np.log([*spectrum.omega, spectrum.temperature])

    return logs


def theirs(kind: str, **more: float) -> Callable:
    """The same of transformers, whose factor stands on cosine and sine of both sides."""

    def logs(width: int, factor: float, trained: int) -> np.ndarray:
        omega, on_both = oracles.scaled(kind, width, factor, trained, **more)
        return np.log([*omega, on_both**-2])

    return logs


def larger_base(width: int, factor: float) -> list[float]:
    """ln of RoPE's frequencies with base factor · 10000, in 30 digits."""
    with mpmath.workdps(30):
        return [float(-mpmath.mpf(2 * i) / width * mpmath.log(10_000 * factor)) for i in range(width // 2)]


def mapped(of_lag: Callable[[float, int], float]) -> Callable:
    """Attention outputs of 20 tokens in which each pair is turned by of_lag(lag, window), by complex planes."""

    def outputs(window: int) -> np.ndarray:
        q, k, v = (drawn(1, 20)[0, 0] + shift for shift in (0, 1, -1))
        lags = np.maximum(np.subtract.outer(np.arange(20), np.arange(20)), 0)
        turned = np.vectorize(lambda lag: of_lag(lag, window), otypes=[float])(lags)
        logits = by_planes(q, k, 1j * turned[..., None] * OMEGA) / math.sqrt(8)
        return softmax(np.where(np.tri(20, dtype=bool), logits, -np.inf), axis=1) @ v.numpy()

    return outputs


def two_rotations(factor: float) -> Callable:
    """The same by the two rotations of theory/rerope.py."""

    def outputs(window: int) -> np.ndarray:
        q, k, v = (drawn(1, 20) + shift for shift in (0, 1, -1))
        return rerope.attention(q, k, v, rope(8), window=window, factor=factor)[0, 0].numpy()

    return outputs


def biased(last: bool = True) -> np.ndarray:
    """q R k + q R b + a R k + a R b for 25 pairs, R(x, y) RoPE's score; the last term or not."""
    (q, k), (a, b) = (drawn(1, 5)[0, 0], drawn(1, 5)[0, 0] * 2), (x.float().double().expand(5, 8) for x in biases())
    pairs = [(q, k), (q, b), (a, k), *([(a, b)] if last else [])]
    return sum(by_planes(x, y, 1j * LAGS[..., None] * OMEGA) for x, y in pairs)


def biases() -> tuple[torch.Tensor, torch.Tensor]:
    return drawn(1, 1)[0, 0], drawn(1, 2)[0, :, 1]


def with_bias() -> np.ndarray:
    module = BiasedRotary(1, 1, Rotary(rope(8)))
    with torch.no_grad():
        for parameter, value in zip((module.a, module.b), biases(), strict=True):
            parameter.copy_(value)
        q, k = module(drawn(1, 5), drawn(1, 5) * 2, POSITIONS, POSITIONS)
    return (q @ k.mT)[0, 0].numpy()


def damped(sign: int = -1) -> np.ndarray:
    """Scores by planes e^{(iω ± ξ) lag}, 25 pairs."""
    return by_planes(drawn(1, 5)[0, 0], drawn(1, 5)[0, 0] * 2, LAGS[..., None] * (1j * OMEGA + sign * DAMPING))


def library_xpos(shift: int) -> np.ndarray:
    q, k = DampedRotary(xpos(8))(drawn(1, 5), drawn(1, 5) * 2, POSITIONS + shift, POSITIONS + shift)
    return (q @ k.mT)[0, 0].numpy()


def places(seed: int) -> np.ndarray:
    """Row and column of six tokens."""
    return np.random.default_rng(seed).integers(0, 50, (6, 2))


def by_axes(seed: int, order: tuple[int, int] = (0, 1)) -> np.ndarray:
    """g₁(lag of the rows) + g₂(lag of the columns) for 36 pairs, by complex planes: half of the head each."""
    q, k, grid = drawn(1, 6, 16)[0, 0], drawn(1, 6, 16)[0, 0] * 2, places(seed)
    lags = [np.subtract.outer(grid[:, axis], grid[:, axis])[..., None] for axis in order]
    return sum(
        by_planes(*half, 1j * lag * OMEGA) for *half, lag in zip(q.chunk(2, -1), k.chunk(2, -1), lags, strict=True)
    )


def library_grid(seed: int, shift: tuple[int, int]) -> np.ndarray:
    where = torch.from_numpy(places(seed) + shift)
    q, k = GridRotary(rope(8))(drawn(1, 6, 16), drawn(1, 6, 16) * 2, where, where)
    return (q @ k.mT)[0, 0].numpy()


def mean_place(place: int, n: int, longest: int, draws: int) -> float:
    """Over all subsets, or over so many draws of the library."""
    if not draws:
        return float(np.mean([subset[place - 1] for subset in combinations(range(longest), n)]))
    generator = torch.Generator().manual_seed(0)
    return float(np.mean([int(maps.randomised(n, longest, generator)[place - 1]) for _ in range(draws)]))


LAWS = {
    "position interpolation":
        Law("ω' = ω / f: every lag is seen as lag / f.",
            seen(lambda s, f, trained: extensions.interpolate(s, f)), theirs("linear"), SETTINGS,
            wrong=seen(lambda s, f, trained: extensions.interpolate(s, 1.01 * f)), tolerance=oracles.FLOAT32),
    "base expansion":
        Law("ω'_i = ω_i f^(-2i/d): RoPE with base f · 10000; the slowest plane slows by f^(1-2/d), less than by NTK.",
            lambda width, factor: np.log(extensions.rebase(rope(width), factor).omega).tolist(), larger_base, BASES,
            wrong=lambda width, factor: np.log(extensions.ntk(rope(width), factor).omega).tolist()),
    "YaRN":
        Law("32 turns or more stay, 1 or less is interpolated, a ramp between; logits over t = (0.1 ln f + 1)^-2.",
            seen(extensions.yarn), theirs("yarn"), SETTINGS, wrong=seen(extensions.yarn, fast=16.0),
            tolerance=oracles.FLOAT32),
    "Llama 3":
        Law("4 turns or more stay, 1 or less is interpolated, linear in the turns between.",
            seen(extensions.llama3), theirs("llama3", low_freq_factor=1.0, high_freq_factor=4.0), SETTINGS,
            wrong=seen(extensions.llama3, fast=8.0), tolerance=oracles.FLOAT32),
    "ReRoPE":
        Law("A pair turns by min(lag, w): one rotation up to the window, another, constant one beyond.",
            mapped(lambda lag, w: min(lag, w)), two_rotations(math.inf), WINDOWS,
            wrong=mapped(lambda lag, w: min(lag, w + 1))),
    "Leaky ReRoPE":
        Law("A pair turns by lag up to w and by w + (lag - w) / k beyond (here k = 4).",
            mapped(lambda lag, w: min(lag, w) + max(lag - w, 0) / 4), two_rotations(4.0), WINDOWS,
            wrong=mapped(lambda lag, w: min(lag, w) + max(lag - w, 0) / 5)),
    "RoPE with bias":
        Law("(q + a)ᵀ R (k + b) is RoPE's score and three terms more; aᵀ R b sees no content and is a relative prior.",
            biased, with_bias, [{"pairs": 25}], wrong=lambda: biased(last=False), tolerance=1e-6),
    "xPos":
        Law("Plane n of a pair is multiplied by e^((√-1 ω_n - ξ_n) lag), ξ_n = -ln ζ_n / 512: turned and damped.",
            damped, library_xpos, [{"shift": 0}, {"shift": 100_000}], wrong=lambda: damped(1), tolerance=1e-8),
    "2-D RoPE":
        Law("A score is g₁(lag of the rows) + g₂(lag of the columns), wherever the grid stands.",
            by_axes, library_grid, grid(seed=range(3), shift=((0, 0), (7, -3))),
            wrong=lambda seed: by_axes(seed, (1, 0)), tolerance=1e-8),
    "randomised positions":
        Law("The k-th of n positions drawn from L stands at k (L + 1) / (n + 1) - 1 on average: a stretched line.",
            lambda place, n, longest: place * (longest + 1) / (n + 1) - 1, mean_place, PLACES,
            wrong=lambda place, n, longest: place * longest / n - 1,
            tolerance=lambda longest, draws: 1.1 * longest / math.sqrt(draws) if draws else 1e-9),  # five deviations
}  # fmt: skip


def frame(*names: str) -> pd.DataFrame:
    """What a notebook shows of these laws (all, where none is named)."""
    rows = {}
    for name in names or LAWS:
        found = LAWS[name].decide("rotations/laws.py")
        rows[name] = {
            "law": LAWS[name].text,
            "holds": found.holds,
            "cases": len(found.trials),
            "largest difference": f"{found.decisive.gap:.3g}",
            "tolerance": f"{found.decisive.tolerance:.3g}",
        }
    return pd.DataFrame.from_dict(rows, orient="index")
