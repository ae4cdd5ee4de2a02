"""The numbers behind the pictures of one-parameter groups: phase portraits, spirals, growing and rounded factors."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from attention_priors.theory import groups
from attention_priors.theory.groups import Block

Vector = NDArray[np.float64]
# kind -> its generator and the readout c, b whose score c^T e^{dX} b is drawn
KINDS: dict[str, tuple[list[Block], Vector, Vector]] = {
    "decay": ([Block(-0.35), Block(-0.12)], np.array([1.0, 0.0]), np.array([1.0, 1.0])),
    "rotation": ([Block(0.0, 0.6)], np.array([1.0, 0.0]), np.array([1.0, 0.0])),
    "damped rotation": ([Block(-0.12, 0.6)], np.array([1.0, 0.0]), np.array([1.0, 0.0])),
    "shear": ([Block(0.0, size=2)], np.array([-0.1, 0.0]), np.array([0.0, 1.0])),
    "damped shear": ([Block(-0.35, size=2)], np.array([1.0, 0.0]), np.array([0.0, 1.0])),
    "doubled rotation": ([Block(0.0, 0.6, 2)], np.array([0.1, 0, 0, 0]), np.array([0.0, 0, 1, 0])),
}


def portrait_rows(paths: int, last: float, steps: int) -> list[dict]:
    """Trajectories e^{tX} x of every kind in its first plane, and a score c^T e^{dX} b by lag.

    Rows {kind, path, t, x, y}: paths 1 .. are trajectories, path 0 is the score (x the lag, y the score). The doubled
    rotation starts in its second plane; the picture is the first one, which the second drives.
    """
    rows = []
    for kind, (blocks, readout, start) in KINDS.items():
        generator = groups.direct_sum(blocks)
        t = np.linspace(0.0, last, steps)
        flow = groups.exponential(generator, t)
        for path in range(paths):
            angle = 2 * math.pi * (path + 0.5) / paths
            begin = np.zeros(len(generator))
            begin[-2:] = (1 if path % 2 else 0.55) * np.array([math.cos(angle), math.sin(angle)])
            rows += [
                {"kind": kind, "path": path + 1, "t": float(s), "x": float(point[0]), "y": float(point[1])}
                for s, point in zip(t, flow @ begin, strict=True)
            ]
        scores = np.einsum("a,dab,b->d", readout, flow, start)
        score = ({"t": float(s), "x": float(s), "y": float(v)} for s, v in zip(t, scores, strict=True))
        rows += [{"kind": kind, "path": 0, **row} for row in score]
    return rows


def hand_rows(omegas: Iterable[float], rates: Iterable[float], last: int, parts: int = 8) -> list[dict]:
    """F(t) q and G(t) k from q = k = (1, 0) for every pair, at the `parts`-th parts of whole times.

    Rows {omega, rate, factor, t, x, y}.
    """
    rows, t, omegas = [], np.arange(parts * last + 1) / parts, tuple(omegas)
    for rate in rates:
        for omega in omegas:
            generator = Block(rate, omega).generator()
            for name, factor in (("F(t) q", groups.query_factor), ("G(t) k", groups.key_factor)):
                rows += [
                    {"omega": omega, "rate": rate, "factor": name, "t": float(s), "x": float(x), "y": float(y)}
                    for s, (x, y) in zip(t, factor(generator, t)[:, :, 0], strict=True)
                ]
    return rows


def rounded_scores(rate: float, omega: float, positions: ArrayLike, lag: int, dtype: torch.dtype, block: int) -> Vector:
    """A(lag)'s first entry from factors stored in `dtype`, for queries at the given positions.

    `block` = 0: the factors e^{tX^T} and e^{-sX} at absolute positions. Otherwise at positions relative to the first
    query of the query's block of that many, as chunked implementations keep them. Products accumulate in float64.
    """
    x, t = Block(rate, omega).generator(), np.asarray(positions, dtype=np.float64)
    centre = t - t % block if block else np.zeros_like(t)
    queries, keys = (
        torch.as_tensor(factor(x, when)[:, :, 0]).to(dtype).double()
        for factor, when in ((groups.query_factor, t - centre), (groups.key_factor, t - lag - centre))
    )
    return (queries * keys).sum(-1).numpy()


def rounding_rows(rate: float, omega: float, last: int, lag: int, block: int) -> list[dict]:
    """Relative error of a damped rotation's score, the largest over positions up to `last` at which no factor
    overflows. Rows {dtype, factors, error, overflows from}, the last empty where nothing overflows."""
    rows, positions = [], np.arange(lag, last + 1)
    exact = float(Block(rate, omega).group(lag)[0, 0])
    for name, dtype in (("fp16", torch.float16), ("bf16", torch.bfloat16), ("fp32", torch.float32)):
        for factors, size in (("absolute", 0), (f"by block of {block}", block)):
            with np.errstate(over="ignore", invalid="ignore"):
                found = rounded_scores(rate, omega, positions, lag, dtype, size)
            finite = np.isfinite(found)
            broken = "" if finite.all() else int(positions[np.argmin(finite)])
            error = float(np.abs(found[finite] / exact - 1).max())
            rows.append({"dtype": name, "factors": factors, "error": error, "overflows from": broken})
    return rows


def growth_rows(decays: Iterable[float], last: int, block: int) -> list[dict]:
    """Size e^{|λ|s} of G(s) by position, e^λ = decay; counted from 0, and from the first position of the block of the
    key. Rows {decay, factors, position, log10 size}."""
    rows, positions = [], np.unique(np.linspace(0, last, 513).round())
    for decay in decays:
        if not 0 < decay < 1:
            raise ValueError(f"decay = {decay}: the share that remains per position lies between 0 and 1")
        for factors, ahead in (("absolute", positions), ("by block", positions % block)):
            rows += [
                {"decay": decay, "factors": factors, "position": int(p), "log10 size": float(-a * math.log10(decay))}
                for p, a in zip(positions, ahead, strict=True)
            ]
    return rows
