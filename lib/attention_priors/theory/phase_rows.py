"""The numbers behind the figures of notebook 14, as rows: one dictionary per point."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from attention_priors.positions.buckets import T5Buckets, bucket_starts
from attention_priors.positions.sandwich import Sandwich
from attention_priors.theory import generalised_gaussian as gaussian
from attention_priors.theory import phase
from attention_priors.theory.bands import band
from attention_priors.theory.inference import log_sum_exp

Rows = list[dict[str, float | str]]
Vector = NDArray[np.float64]
SANDWICH_HEADS = 12  # of the code that the survey lists
EULER = float(np.exp(np.euler_gamma))


def power(r1: float, r2: float = 1.0) -> gaussian.LogPrior:
    """KERPLE's logarithm, -r1 ln(1 + r2 d)."""
    return lambda lags: -r1 * np.log1p(r2 * np.asarray(lags, dtype=np.float64))


@torch.no_grad()
def sandwich(head: int) -> gaussian.LogPrior:
    """Head `head` of 12."""
    prior = Sandwich(SANDWICH_HEADS)
    return lambda lags: prior.log_prior(torch.as_tensor(np.asarray(lags), dtype=torch.int64))[head - 1].double().numpy()


@torch.no_grad()
def t5(lags: Vector) -> Vector:
    """T5's buckets fitted to -1.5 ln(1 + d) at the start of each: steep up to lag 113, then flat."""
    prior = T5Buckets(1)
    prior.values.copy_(-1.5 * torch.tensor(bucket_starts(), dtype=torch.float32).log1p())
    return prior.log_prior(torch.as_tensor(np.asarray(lags), dtype=torch.int64))[0].double().numpy()


def family() -> dict[str, gaussian.LogPrior]:
    """One or two members of each family that lie on different sides of the border."""
    return {
        "ALiBi, m = 1/2": gaussian.laplace(1 / 2),
        "ALiBi, m = 1/256": gaussian.laplace(1 / 256),
        "GGD, β = 1/2": gaussian.printed(1.0, 0.5),
        "GGD, β = 1/10": gaussian.printed(1.0, 0.1),
        "KERPLE-log, r₁ = 2": power(2.0),
        "KERPLE-log, r₁ = 1/2": power(0.5),
        "Sandwich, head 3": sandwich(3),
        "Sandwich, head 12": sandwich(12),
        "T5, fitted": t5,
        "GGD, β = -1/2": gaussian.coded(0.0, -0.5),
        "uniform": gaussian.laplace(0.0),
    }


def exponent_rows(farthest: int) -> Rows:
    """ρ(d) by octave for each prior of `family`."""
    rows: Rows = []
    lags = np.arange(2 * farthest, dtype=np.float64)
    for name, log_prior in family().items():
        for lag, exponent in zip(*phase.octave_exponents(log_prior(lags)), strict=True):
            rows.append({"prior": name, "lag": float(lag), "exponent": float(exponent)})
    return rows


def plane_rows(window: int, length: int, steps: int) -> Rows:
    """Tail mass P(lag > window) over `length` keys on a grid of parameters of the two families with two parameters."""
    lags, rows = np.arange(length, dtype=np.float64), []
    log_lags = np.log(np.maximum(lags, 1e-5))  # BAM's epsilon at lag 0
    for shape in np.linspace(-1.0, 1.5, steps):
        for scale in np.geomspace(0.1, 1e4, steps):
            table = -np.exp(np.clip(shape * (log_lags - np.log(scale)), None, 20))
            rows.append(_tail("GGD", shape, scale, table, window))
    for r1 in np.linspace(0.05, 2.5, steps):
        for r2 in np.geomspace(1e-3, 1e2, steps):
            rows.append(_tail("KERPLE-log", r1, r2, -r1 * np.log1p(r2 * lags), window))
    return rows


def _tail(name: str, x: float, y: float, table: Vector, window: int) -> dict[str, float | str]:
    weights = np.exp(table - table.max())
    tail = float(weights[window + 1 :].sum() / weights.sum())
    return {"family": name, "x": float(x), "y": float(y), "tail": tail, "window": window, "length": len(table)}


def limit_rows(lengths: Iterable[int], window: int) -> Rows:
    """P(lag > window) by context length for KERPLE's logarithm on both sides of r1 = 1, and the limit."""
    lengths, rows = tuple(lengths), []
    for r1 in (0.5, 0.9, 1.0, 1.1, 1.5, 2.0):
        tails = gaussian.tails(power(r1), lengths, [window])[:, 0]
        limit = phase.power_tail(r1, 1.0, window)
        rows += [
            {"r1": r1, "keys": keys, "tail": float(tail), "window": window, "limit": limit}
            for keys, tail in zip(lengths, tails, strict=True)
        ]
    return rows


def content_rows(length: int, omega: float) -> Rows:
    """P(lag > D) by window D, with the least and the largest value that content of range omega can give it."""
    chosen = {"ALiBi, m = 1/16": gaussian.laplace(1 / 16), "KERPLE-log, r₁ = 1.5": power(1.5),
              "uniform": gaussian.laplace(0.0)}  # fmt: skip
    windows = sorted({round(d) for d in np.geomspace(1, length / 2, 40)})
    rows: Rows = []
    for name, log_prior in chosen.items():
        for window, tail in zip(windows, gaussian.tails(log_prior, [length], windows)[0], strict=True):
            low, high = band(min(tail, 1.0), omega)
            rows.append({"prior": name, "window": window, "tail": float(tail), "low": float(low), "high": float(high),
                         "omega": omega, "keys": length})  # fmt: skip
    return rows


def margin_rows(length: int, points: int = 40) -> Rows:
    """Lead that a key needs for half of the weight: by its lag in a context of `length`, and at the far end by length.

    What SSMax supplies is s x lead x ln n: rows of series "SSMax, s x lead = ..".
    """
    chosen = {name: prior for name, prior in family().items() if "Sandwich" not in name and "T5" not in name}
    places = sorted({round(d) for d in np.geomspace(1, length - 1, points)})
    rows: Rows = []
    for name, log_prior in chosen.items():
        table = log_prior(np.arange(length, dtype=np.float64))
        total = log_sum_exp(table)
        for lag in places:
            rows.append(_margin("by lag", name, lag, phase.required_margin(table[lag], total)))
        totals = np.logaddexp.accumulate(table)
        for lag in places:
            rows.append(_margin("at the far end", name, lag + 1, phase.required_margin(table[lag], totals[lag])))
    for product in (1.0, 2.0):
        name = f"SSMax, s × lead = {product:g}"
        rows += [_margin("at the far end", name, lag + 1, product * np.log(lag + 1)) for lag in places]
    return rows


def _margin(panel: str, series: str, x: int, margin: float) -> dict[str, float | str]:
    return {"panel": panel, "series": series, "x": x, "margin": float(margin)}
