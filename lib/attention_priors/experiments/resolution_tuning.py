"""Does a way to tell places fail at a resolution by the rate? As many trials for every row.

    python -m attention_priors.experiments.resolution_tuning        write data/tuning/resolution.csv (half an hour)

Every row has three trials on a seed that no profile uses: the recipe's rate, half of it and twice that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from .. import config, runtime
from ..config import Profile
from ..training.vision import ImageRun
from . import arms, resolution, tuning

PATH = config.ROOT / "data" / "tuning" / "resolution.csv"
ROWS = ("goat-2d", "learned-2d", "rope-2d", "sinusoidal-2d", "nope-2d")
FACTORS = (1.0, 0.5, 2.0)
SEED = 100
TIMES = (2, 3)  # the side of training at which a finer picture is asked


def tried() -> pd.DataFrame:
    """A row per trial: encoding, seed, rate, prior_rate, steps, last loss, accuracy at the side of training, then at
    sides 64 and 96, with places counted in patches and stretched."""
    return pd.read_csv(PATH)


def grid(profile: Profile, runs: Path) -> pd.DataFrame:
    """Train every row at its rates, as many at a time as the profile has workers."""
    cells = [(name, factor * profile.resolution.recipe.rate) for factor in FACTORS for name in ROWS]
    return tuning.table(profile, trial, cells, runs)


def trial(profile: Profile, name: str, rate: float, runs: str) -> dict[str, Any]:
    """One run and what it sees."""
    settings = profile.resolution
    sides = tuple(settings.side * n for n in (1, *TIMES))
    usual = resolution.spec(profile, name, SEED, class_token=False)
    spec = arms.changed(usual, rate=rate)
    row = {"encoding": name, "seed": SEED, "rate": rate, "prior_rate": spec.recipe.prior_rate}
    run = ImageRun(spec, runs, runtime.device(profile.device))
    if (record := tuning.ended(run)) is None:
        return row
    asked = settings.model_copy(update={"sides": sides})
    found = {
        (each["places"], each["side"]): each["correct"] / each["samples"]
        for each in resolution.answers(run.model(), spec, asked)
    }
    row |= {
        "steps": record["steps"],
        "loss": round(record["loss"][-1], 6),
        f"accuracy_{sides[0]}": found[resolution.COUNTED, sides[0]],
    }
    ways = {"counted": resolution.COUNTED, "stretched": resolution.STRETCHED}
    return row | {f"{called}_{side}": found[way, side] for side in sides[1:] for called, way in ways.items()}


if __name__ == "__main__":
    tuning.write(grid(config.profile("full"), config.CACHE / "runs"), PATH)
