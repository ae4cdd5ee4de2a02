"""Does a row fall short by its rate? Trials of text, addresses and passkeys, as many for every row.

    python -m attention_priors.experiments.rates        write data/tuning/rates.csv (about half an hour)

Each row has the three trials that `tuning` gives the main comparison, on its seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from .. import config, runtime
from ..config import Profile
from ..training.runs import Run, RunSpec
from . import arms, division, tuning
from .arms import corpus, language_run, passkey_run
from .documents import Reader, gate
from .goat_tuning import addresses

PATH = config.ROOT / "data" / "tuning" / "rates.csv"
LANGUAGE, ADDRESSES, PASSKEYS = "language", "addresses", "passkeys"
ROWS = {
    LANGUAGE: ("nope", "sinusoidal", "rope", "alibi", "bam", "bam-ssmax", "kerple-power", "kerple-log", "sandwich",
               "t5"),
    ADDRESSES: ("rope", "bam", "kerple-power", "rope-bam", "half-rope", "half-rope-window", "half-rope-window-bam",
                "rope-kerple-power"),
    PASSKEYS: ("rope-bam", "rope-kerple-power"),  # the main comparison's trials are in `tuning`
}  # fmt: skip
ASKED = {ADDRESSES: addresses, PASSKEYS: tuning.passkeys}


def tried() -> pd.DataFrame:
    """A row per trial: task, encoding, seed, rate, prior_rate, steps, most (steps that it could have had).

    Addresses and passkeys: as `tuning.tried` has it. Language: the `loss` of the last tokens of long documents at the
    training length, `loss_4` and `loss_16` at multiples of it, and what a swap of neighbours costs (`swap`).
    """
    return pd.read_csv(PATH)


def usual(profile: Profile, task: str, name: str, cache: Path) -> RunSpec:
    """The run of a row with the recipe as it is, on the seed of trials."""
    if task == LANGUAGE:
        return language_run(profile, name, tuning.SEED, *corpus(profile, cache))
    return (division.spec if task == ADDRESSES else passkey_run)(profile, name, tuning.SEED)


def grid(profile: Profile, runs: Path, cache: Path) -> pd.DataFrame:
    """Train every row at its settings, as many at a time as the profile has workers."""
    cells = [
        (task, spec, each)
        for task, names in ROWS.items()
        for name in names
        for spec in [usual(profile, task, name, cache)]
        for each in tuning.trials(spec.recipe, name)
    ]
    return tuning.table(profile, trial, cells, runs)


def trial(profile: Profile, task: str, spec: RunSpec, changed: dict[str, float], runs: str) -> dict[str, Any]:
    """One run: how many steps it took, and what it answers or loses."""
    about = {"task": task, "encoding": spec.model.encoding, "seed": spec.seed}
    if task == LANGUAGE:
        return about | losses(profile, spec, changed, runs)
    return about | tuning.outcome(spec, changed, runs, profile.device, ASKED[task])


def losses(profile: Profile, spec: RunSpec, changed: dict[str, float], runs: str) -> dict[str, Any]:
    """A language model whose recipe is changed: its loss at the training length and beyond, and the gate's swap."""
    spec = arms.changed(spec, **changed)
    run = Run(spec, runs, runtime.device(profile.device))
    if (record := tuning.ended(run)) is None:
        return changed
    reader, length = Reader(run, spec.model.encoding, profile), spec.recipe.length
    multiples = [n for n in (1, *tuning.MULTIPLES) if n * length <= max(profile.language.lengths)]
    asked = reader(profile.language.domains[0], tuple(n * length for n in multiples))
    rows = pd.DataFrame(asked).groupby("length")["loss"].mean()
    told = {"loss" if n == 1 else f"loss_{n}": rows[n * length] for n in multiples}
    return {
        **changed,
        "steps": record["steps"],
        "most": spec.recipe.steps,
        **told,
        "swap": gate(reader, profile)["swap"],
    }


if __name__ == "__main__":
    tuning.write(grid(config.profile("cpu"), config.CACHE / "runs", config.CACHE / "corpora"), PATH)
