"""How the rates of recipe `passkey-small` were chosen: as many trials for every row of the main comparison.

    python -m attention_priors.experiments.tuning        write data/tuning/passkey_small.csv (about half an hour)

Every row has three trials on a seed that no profile uses: the recipe's rate, twice that, and half of it; a row that
trains a prior has a fifth of the prior's rate in place of the half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from .. import config, runtime, store
from ..config import Profile, Recipe
from ..evaluation import passkey_samples
from ..model import Transformer
from ..positions.encodings import encoding
from ..training.runs import Run, RunSpec
from . import arms
from .arms import passkey_run
from .grid import Job, run_all

PATH = config.ROOT / "data" / "tuning" / "passkey_small.csv"
FACTORS = {"rate": (1.0, 2.0, 0.5), "prior_rate": (1.0, 1.0, 1.0)}  # of the recipe, by trial
OF_PRIORS = {"rate": (1.0, 2.0, 1.0), "prior_rate": (1.0, 1.0, 0.2)}
SEED = 101
MULTIPLES = (4, 16)  # of the training length
SAMPLES = 20
Asked = Callable[[Transformer, RunSpec, int], float]  # share answered at a length


def tried() -> pd.DataFrame:
    """A row per trial: encoding, seed, rate, prior_rate, steps, most (steps that it could have had), answer_loss.

    `accuracy` is pooled over the lengths of the gate, `worst` the lowest of them; then accuracy at 4 and 16 times T.
    """
    return pd.read_csv(PATH)


def trials(recipe: Recipe, name: str) -> list[dict[str, float]]:
    """What each trial of a row changes in the recipe; a row whose prior learns tries the prior's rate too."""
    prior = encoding(name).prior
    learns = prior is not None and any(each.requires_grad for each in prior(2).parameters())
    factors = OF_PRIORS if learns else FACTORS
    return [
        {part: factor * getattr(recipe, part) for part, factor in zip(factors, each, strict=True)}
        for each in zip(*factors.values(), strict=True)
    ]


def grid(profile: Profile, runs: Path) -> pd.DataFrame:
    """Train every row of the main comparison at its settings, as many at a time as the profile has workers."""
    cells = [(name, changed) for name in profile.main for changed in trials(profile.passkey.recipe, name)]
    return table(profile, trial, cells, runs)


def table(profile: Profile, trial: Callable[..., dict[str, Any]], cells: Iterable[tuple], runs: Path) -> pd.DataFrame:
    """A row for each cell: what `trial` tells of the profile, the cell and the store."""
    jobs = [Job(" ".join(map(str, cell)), trial, (profile, *cell, str(runs))) for cell in cells]
    return pd.DataFrame(run_all(jobs, profile.workers, profile.threads, "tuning"))


def trial(profile: Profile, name: str, changed: dict[str, float], runs: str) -> dict[str, Any]:
    """One run on passkeys: how many steps it took, how well it ended, and what it retrieves."""
    usual = passkey_run(profile, name, SEED)
    return {"encoding": name, "seed": SEED, **outcome(usual, changed, runs, profile.device, passkeys)}


def passkeys(model: Transformer, spec: RunSpec, length: int) -> float:
    """Share of passkeys answered."""
    return sum(row["correct"] for row in passkey_samples(model, length, SAMPLES, spec.seed)) / SAMPLES


def outcome(usual: RunSpec, changed: dict[str, float], runs: str, device: str, asked: Asked) -> dict[str, Any]:
    """A run whose recipe is changed: what was changed, and what came of it at every length that is `asked`."""
    spec = arms.changed(usual, **changed)
    run = Run(spec, runs, runtime.device(device))
    if (record := ended(run)) is None:
        return changed
    model = run.model()
    near = [asked(model, spec, length) for length in spec.recipe.gate.lengths]
    row = {
        **changed,
        "steps": record["steps"],
        "most": spec.recipe.steps,
        "answer_loss": record["loss"][-1],
        "accuracy": sum(near) / len(near),
        "worst": min(near),
    }
    return row | {f"accuracy_{n}": asked(model, spec, n * spec.recipe.length) for n in MULTIPLES}


def ended(run: Any) -> dict[str, Any] | None:
    """The record of a run that is trained; None where its loss was not finite: a rate that is too high is a result."""
    try:
        return run.train()
    except FloatingPointError:
        return None


def write(table: pd.DataFrame, path: Path) -> None:
    """Trials as a file."""
    store.write_text(path, table.to_csv(index=False, lineterminator="\n", float_format="%.7g"))


if __name__ == "__main__":
    write(grid(config.profile("cpu"), config.CACHE / "runs"), PATH)
