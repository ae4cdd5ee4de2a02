"""Which difference the seeds and prompts of the benchmark can show, from the spread over seeds that was measured."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..theory.power import detectable
from .experiment import Experiment
from .gate import hits_at, passing

MULTIPLES = (4, 16, 64)  # of the training length
SEEDS, PROMPTS = (3, 5), (20, 50)
DRAWS = 1000  # experiments simulated
COLUMNS = ["multiple", "length", "trained", "encodings", "of", "spread", "seeds", "prompts", "difference"]


def spreads(counts: pd.DataFrame, length: int) -> pd.Series:
    """The standard deviation over seeds of the accuracy of models, by encoding with two seeds or more that passed.

    What so few prompts add to it, the mean of p (1 - p) / n, is taken off; 0 where the seeds differ by no more.
    """
    kept, found = passing(counts), {}
    asked = counts.loc[counts["length"] == length, "samples"].max()
    for name, own in kept.groupby("encoding", sort=False):
        shares = hits_at(own, length).to_numpy() / asked
        if len(shares) > 1:
            own = shares.var(ddof=1) - (shares * (1 - shares)).mean() / (asked - 1)
            found[name] = float(np.sqrt(max(0.0, own)))
    return pd.Series(found, dtype=float)


def shown(counts: pd.DataFrame) -> pd.DataFrame:
    """A row per length of MULTIPLES, spread (the median over encodings and the largest), seeds and prompts: the
    smallest difference that is found four times in five, NaN where none is or no encoding passed."""
    trained, rows = int(counts["trained"].iloc[0]), []
    for multiple in MULTIPLES:
        if multiple * trained not in set(counts["length"]):
            continue
        found = spreads(counts, multiple * trained)
        for of, spread in (("median", found.median()), ("largest", found.max())):
            rows += [
                (
                    multiple,
                    multiple * trained,
                    trained,
                    len(found),
                    of,
                    spread,
                    seeds,
                    prompts,
                    detectable(spread, seeds, prompts, DRAWS) if len(found) else np.nan,
                )
                for seeds in SEEDS
                for prompts in PROMPTS
            ]
    return pd.DataFrame(rows, columns=COLUMNS)


EXPERIMENT = Experiment(
    name="power",
    sections=("benchmark", "passkey"),
    needs=("encodings_counts",),
    derive={"power_measured": ("encodings_counts", shown)},
)
