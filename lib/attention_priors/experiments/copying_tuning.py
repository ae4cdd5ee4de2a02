"""Does a row miss the mixture of copies by the rate? As many trials for every row, at the recipe of profile cpu.

    python -m attention_priors.experiments.copying_tuning        write data/tuning/copying.csv (some minutes)

As in `tuning`, but that a row that trains a prior has an eighth of the prior's rate in place of the half.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from .. import config, runtime
from ..config import Profile
from ..training.runs import Run
from . import arms, copying, tuning

PATH = config.ROOT / "data" / "tuning" / "copying.csv"
TRAINED_PRIORS = ("goat-eight", "bam")
ROWS = (*TRAINED_PRIORS, "alibi", "rope", "nope")
FACTORS = ((1.0, 1.0), (2.0, 1.0), (0.5, 1.0))  # of the rate and of the prior's rate
OF_PRIORS = ((1.0, 1.0), (2.0, 1.0), (1.0, 0.125))
SEED = 101
TEXTS = 200


def tried() -> pd.DataFrame:
    """A row per trial: encoding, seed, rate, prior_rate, and nats above the best prediction at the training length."""
    return pd.read_csv(PATH)


def grid(profile: Profile, runs: Path) -> pd.DataFrame:
    """Train every row at its settings, as many at a time as the profile has workers."""
    cells = [(name, *each) for name in ROWS for each in (OF_PRIORS if name in TRAINED_PRIORS else FACTORS)]
    return tuning.table(profile, trial, cells, runs)


def trial(profile: Profile, name: str, rate: float, prior: float, runs: str) -> dict[str, Any]:
    """One run and how far from the best prediction it ends."""
    usual, recipe = arms.copying_run(profile, name, SEED), profile.copying.recipe
    rates = {"rate": rate * recipe.rate, "prior_rate": prior * recipe.prior_rate}
    run = Run(arms.changed(usual, **rates), runs, runtime.device("cpu"))
    row = {"encoding": name, "seed": SEED, **rates}
    if tuning.ended(run) is None:
        return row
    found = copying.look(run.model(), recipe.length, (recipe.length,), TEXTS, SEED)
    return row | {"excess": found["losses"][0]["excess"]}


if __name__ == "__main__":
    tuning.write(grid(config.profile("cpu"), config.CACHE / "runs"), PATH)
