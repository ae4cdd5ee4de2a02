"""What the theory of priors says of the whole benchmark: tail mass against measured accuracy (notebook 10, X-11)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from .. import runtime
from ..config import Profile
from ..model import Attention, Transformer
from ..positions.encodings import encoding
from ..positions.mass import tail_mass
from ..training import Run
from .arms import passkey_run

MULTIPLE = 16  # of the training length
COLUMNS = ["encoding", "seed", "length", "trained", "tail", "accuracy", "reach"]


@torch.no_grad()
def log_prior(attention: Attention, length: int) -> torch.Tensor:
    """b_h(lag) of the last of `length` queries, times the factor of its row where that scales the prior: [heads lags].

    0 for a model without a prior. A key-only prior is read at the keys' own places.
    """
    places = torch.arange(length)
    table = torch.zeros(attention.heads, length, dtype=torch.float64)
    if attention.prior is not None:
        relative, of_keys = attention.prior.split()
        for prior in relative:
            table += prior.log_prior(places).double()
        for prior in of_keys:
            table += prior.log_prior(places, length).double().flip(-1)  # by lag: the last key first
    if attention.scales_prior and (scale := attention.scale(torch.tensor([length]))) is not None:
        table *= scale.double()
    return table


def tail_of(model: Transformer, length: int, window: int) -> float:
    """The largest P(lag > window) of all heads at the last of `length` queries, under the priors alone."""
    return max(float(tail_mass(log_prior(block.attention, length), window).max()) for block in model.blocks)


def tails(profile: Profile, runs: Path, counts: pd.DataFrame, reached: pd.DataFrame) -> pd.DataFrame:
    """A row per seed of every trained encoding that has a prior or nothing: tail mass beyond T, and what was measured.

    Both at 16 T, or at the longest length below it that was asked; a seed that was not asked there counts as 0.
    """
    trained = profile.passkey.recipe.length
    length = int(counts["length"][counts["length"] <= MULTIPLE * trained].max())
    shares = (counts["correct"] / counts["samples"]).set_axis(counts.set_index(["encoding", "seed", "length"]).index)
    reach = reached.set_index(["encoding", "seed"])["reach"]
    rows = []
    for name in profile.benchmark.encodings:
        row = encoding(name)
        if row.rotary or row.absolute or row.trained_as:
            continue
        for seed in profile.seeds_for(name):
            model = Run(passkey_run(profile, name, seed), runs, runtime.device(profile.device)).model().cpu()
            rows.append((name, seed, length, trained, tail_of(model, length, trained),
                         float(shares.get((name, seed, length), 0.0)), int(reach[name, seed])))  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def correlation(frame: pd.DataFrame, measured: str) -> tuple[float, float, float, int]:
    """Spearman's rank correlation of tail mass with a column, over encodings (means over seeds): (ρ, low, high, n).

    The 95 % interval is that of Bonett and Wright (2000): tanh(atanh ρ ± 1.96 √((1 + ρ²/2) / (n - 3))). Without spread
    or with fewer than four encodings nothing is known: NaN, and the interval is [-1, 1].
    """
    means = frame.groupby("encoding")[["tail", measured]].mean()
    rho = float(means["tail"].rank().corr(means[measured].rank())) if means.nunique().min() > 1 else math.nan
    n = len(means)
    if math.isnan(rho) or n < 4:
        return rho, -1.0, 1.0, n
    centre = np.arctanh(np.clip(rho, -1 + 1e-9, 1 - 1e-9))
    half = 1.96 * math.sqrt((1 + rho**2 / 2) / (n - 3))
    return rho, float(np.tanh(centre - half)), float(np.tanh(centre + half)), n
