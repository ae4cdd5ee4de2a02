"""The numbers behind the field guide's own figures and table, as rows: one dictionary per point."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from attention_priors.positions import mass
from attention_priors.positions.buckets import T5Buckets, bucket_starts
from attention_priors.positions.kerple import KerpleLog, KerplePower
from attention_priors.positions.priors import GeneralizedGaussian, Laplace, RelativePrior, Uniform
from attention_priors.positions.rotary import Spectrum, rope
from attention_priors.positions.sandwich import Sandwich
from attention_priors.positions.spectral import Fourier
from attention_priors.positions.xpos import xpos

Rows = list[dict[str, float | str]]
SANDWICH_HEADS = 12  # of the code that the survey lists
PAIRS, TURN_WIDTH = (0, 1, 2, 3), 8
BASE = 10_000.0


def examples() -> dict[str, list[tuple[str, RelativePrior]]]:
    """Three settings of every additive prior of the survey, BAM and Goat; those of one family share a picture."""
    t5 = T5Buckets(3)
    starts = torch.tensor(bucket_starts(), dtype=torch.float32)
    with torch.no_grad():  # what training may leave: a slope in ln d, a far-sighted head, a head that skips neighbours
        t5.values.copy_(torch.stack([-1.5 * starts.log1p(), -0.25 * starts.log1p(), -4.0 / (1 + starts)]))
    modes = (2 * math.pi / 16, 2 * math.pi / 128, 2 * math.pi / 1024)
    waves = Fourier(modes, torch.tensor([[0.0, 0, 1], [0, 1.5, 1.5], [1, 1, 1]]), torch.zeros(3, 3))
    slopes, gaussians = (1 / 4, 1 / 16, 1 / 256), ((1.0, 16.0), (0.5, 4.0), (0.25, 1.0))
    below, powers = (-0.25, -0.5, -1.0), ((0.25, 0.5), (0.05, 1.0), (1e-4, 2.0))
    logs = ((2.0, 1.0), (1.0, 1.0), (0.5, 1.0))
    return {
        "Uniform (NoPE)": [("", Uniform(1))],
        "ALiBi": [(f"m = 1/{1 / m:.0f}", Laplace([m])) for m in slopes],
        "GGD, β > 0": [(f"β = {b:g}, α = {a:g}", _gaussian(a, b)) for b, a in gaussians],
        "GGD, β < 0": [(f"β = {b:g}, α = 16", _gaussian(16.0, b)) for b in below],
        "KERPLE, power": [(f"r₁ = {a:g}, r₂ = {b:g}", KerplePower([a], [b])) for a, b in powers],
        "KERPLE, log": [(f"r₁ = {a:g}, r₂ = {b:g}", KerpleLog([a], [b])) for a, b in logs],
        "T5 buckets": [(name, _Head(t5, head)) for head, name in enumerate(("steep", "flat", "far"))],
        "Sandwich": [(f"head {h} of 12", _Head(Sandwich(SANDWICH_HEADS), h - 1)) for h in (3, 6, 12)],
        "Fourier (Goat)": [(name, _Head(waves, head)) for head, name in enumerate(("1 mode", "2 modes", "3 modes"))],
    }


class _Head(RelativePrior):
    """One head of a prior."""

    def __init__(self, prior: RelativePrior, head: int) -> None:
        super().__init__()
        self.prior, self.head, self.heads = prior, head, 1

    def log_prior(self, lags: torch.Tensor) -> torch.Tensor:
        return self.prior.log_prior(lags)[self.head : self.head + 1]


def _gaussian(alpha: float, beta: float) -> GeneralizedGaussian:
    return GeneralizedGaussian([-beta * math.log(alpha)], [beta])


@torch.no_grad()
def _table(prior: RelativePrior, keys: int) -> torch.Tensor:
    return prior.log_prior(torch.arange(keys)).double()


def page_rows(keys: int, points: int = 120) -> Rows:
    """keys x π(d) for every setting of `examples`, at lags spread evenly over ln(1 + d): 1 is the uniform share."""
    lags = np.unique(np.geomspace(1, keys, points).round().astype(int)) - 1
    return [
        {"family": family, "setting": setting, "lag": int(lag), "share": float(keys * weights[lag])}
        for family, settings in examples().items()
        for setting, prior in settings
        for weights in [mass.normalised(_table(prior, keys))[0].numpy()]
        for lag in lags
    ]


def statistics_rows(keys: int, windows: Iterable[int]) -> Rows:
    """Normaliser relative to lag 0 (or the largest weight), tail masses, mean lag and 99 % window of every setting."""
    rows: Rows = []
    for family, settings in examples().items():
        for setting, prior in settings:
            table = _table(prior, keys)
            row = {"family": family, "setting": setting, "keys": keys}
            row["normaliser"] = float((table - table.max()).exp().sum())
            row |= {f"tail {window}": float(mass.tail_mass(table, window)) for window in windows}
            rows.append({**row, "mean lag": float(mass.mean_lag(table)), "window": int(mass.window_for(table, 0.01))})
    return rows


def printed_t5_bucket(d: int) -> int:
    """min(31, floor(16 ln(d/16) / (128/16))) for d >= 16: T5's bucket as the survey prints it, which is wrong."""
    return min(31, math.floor(math.log(d / 16) / (128 / 16) * 16))


def bucket_rows(farthest: int) -> Rows:
    """T5's bucket by lag: as T5's code computes it and as the survey prints it."""
    lags = np.arange(farthest + 1)
    computed = np.searchsorted(bucket_starts(), lags, side="right") - 1
    printed = [d if d < 16 else printed_t5_bucket(d) for d in lags]
    curves = {"code": computed, "printed formula": printed}
    return [{"curve": name, "lag": int(d), "bucket": float(values[d])} for name, values in curves.items() for d in lags]


def sandwich_rows(keys: int, width: int = 128, points: int = 400) -> Rows:
    """The sum of cosines, its means over octaves [d, 2d) at their mean logarithm, and the logarithm."""
    single = Sandwich(8, width)  # the eighth of eight heads is divided by 8
    total = 8 * _table(_Head(single, 7), 2 * keys).numpy()[0]
    lags = np.unique(np.geomspace(2, keys, points).round().astype(int))
    running = np.concatenate([[0.0], np.cumsum(total)])
    means = (running[2 * lags] - running[lags]) / lags
    centres = np.exp([np.log(np.arange(d, 2 * d)).mean() for d in lags])
    logarithm = width / 2 * (1 - (np.log(lags) + np.euler_gamma) / np.log(BASE))
    curves = {"sum": (lags, total[lags]), "octave mean": (centres, means), "logarithm": (lags, logarithm)}
    return [
        {"curve": name, "lag": float(d), "value": float(value)}
        for name, (places, values) in curves.items()
        for d, value in zip(places, values, strict=True)
    ]


def turn_rows(positions: int) -> Rows:
    """Where RoPE puts the unit vector (1, 0) of each pair at positions 0, 1, ..: angle position x omega."""
    omega = rope(TURN_WIDTH).omega
    return [
        {"pair": pair, "omega": omega[pair], "position": m, "x": math.cos(m * omega[pair]),
         "y": math.sin(m * omega[pair])}
        for pair in PAIRS
        for m in range(positions)
    ]  # fmt: skip


def similarity(spectrum: Spectrum, lags: NDArray[np.int64]) -> NDArray[np.float64]:
    """Σ_i exp(-ξ_i d) cos(ω_i d) / planes: the score of equal vectors, 1 at lag 0 (RoPE; with decay ξ xPos)."""
    decay = np.array(spectrum.decay or (0.0,) * len(spectrum.omega))
    waves = np.exp(-np.outer(lags, decay)) * np.cos(np.outer(lags, spectrum.omega))
    return waves.mean(1)


def decay_rows(farthest: int, width: int = 64, points: int = 500) -> Rows:
    """Score of equal vectors by lag: RoPE, xPos at its released scale of 512, and xPos with ζ for every token."""
    lags = np.unique(np.concatenate([np.arange(64), np.geomspace(64, farthest, points).round()]).astype(int))
    curves = {"RoPE": rope(width), "xPos, scale 512": xpos(width), "xPos, scale 1": xpos(width, scale=1.0)}
    return [
        {"curve": name, "lag": int(d), "score": float(score)}
        for name, spectrum in curves.items()
        for d, score in zip(lags, similarity(spectrum, lags), strict=True)
    ]
