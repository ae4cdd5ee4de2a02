"""Does Goat fail by the rate? Trials on passkeys and on addresses.

    python -m attention_priors.experiments.goat_tuning        write data/tuning/goat.csv (some minutes)

As many as every row has in `tuning`, where the rivals' stand, and on the same seed that no profile uses. RoPE without
1/√d has them too, and one more: logits that nobody divided are another model, which learns at lower rates if at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from .. import config
from ..config import Profile
from ..model import Transformer
from ..training.runs import RunSpec
from . import goat_offsets, goat_passkeys, tuning
from .answers import addressed

PATH = config.ROOT / "data" / "tuning" / "goat.csv"
PASSKEYS, ADDRESSES = "passkeys", "addresses"
ROWS = {
    PASSKEYS: ("goat-composite", "rope-undivided"),
    ADDRESSES: ("goat-composite",),
}
LOWER = {"rope-undivided": (0.25,)}  # further factors of the rate
TEXTS = 48  # of addresses at each length


def tried() -> pd.DataFrame:
    """A row per trial: the task, then as `tuning.tried` has it."""
    return pd.read_csv(PATH)


def trials(profile: Profile, task: str, name: str) -> list[dict[str, float]]:
    """What each trial of a row changes in the recipe."""
    recipe = (goat_passkeys if task == PASSKEYS else goat_offsets).run(profile, name, tuning.SEED).recipe
    made = tuning.trials(recipe, name)
    return made + [made[0] | {"rate": factor * recipe.rate} for factor in LOWER.get(name, ())]


def grid(profile: Profile, runs: Path) -> pd.DataFrame:
    """Train every row at its settings, as many at a time as the profile has workers."""
    cells = [
        (task, name, each) for task, names in ROWS.items() for name in names for each in trials(profile, task, name)
    ]
    return tuning.table(profile, trial, cells, runs)


def trial(profile: Profile, task: str, name: str, changed: dict[str, float], runs: str) -> dict[str, Any]:
    """One run: how many steps it took, how well it ended, and what it answers."""
    experiment, asked = (goat_passkeys, tuning.passkeys) if task == PASSKEYS else (goat_offsets, addresses)
    found = tuning.outcome(experiment.run(profile, name, tuning.SEED), changed, runs, profile.device, asked)
    return {"task": task, "encoding": name, "seed": tuning.SEED, **found}


def addresses(model: Transformer, spec: RunSpec, length: int) -> float:
    """Share of addresses answered."""
    return float(addressed(model, spec, length, TEXTS, "tuning")[1].double().mean())


if __name__ == "__main__":
    tuning.write(grid(config.profile("cpu"), config.CACHE / "runs"), PATH)
