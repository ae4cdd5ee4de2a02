"""How the rate of recipe `passkey-small` was chosen: the same rates for several encodings, on seeds of their own.

    python -m attention_priors.experiments.tuning        write data/tuning/passkey_small.csv (about half an hour)

The notebook passkeys shows the file. Nothing else reads it, and no seed of it is among the seeds of a profile.
"""

from __future__ import annotations

import io
import itertools
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from .. import config, runtime, store
from ..config import Profile
from ..evaluation import passkey_samples
from ..training import Run
from .arms import passkey_run
from .grid import Job, run_all

PATH = config.ROOT / "data" / "tuning" / "passkey_small.csv"
ENCODINGS = ("nope", "nope-ssmax", "rope", "alibi", "sandwich", "bam-ssmax")
RATES = (0.002, 0.004, 0.008, 0.016)
SEEDS = (101, 102)
MULTIPLES = (1, 4, 16)  # of the training length
SAMPLES = 20


def tried() -> pd.DataFrame:
    """A row per run: encoding, seed, rate, target, cooldown, steps, answer_loss, accuracy at 1, 4 and 16 times T."""
    return pd.read_csv(PATH)


def grid(profile: Profile, runs: Path) -> pd.DataFrame:
    """Train every encoding at every rate and seed with the profile's recipe, two at a time."""
    cells = list(itertools.product(ENCODINGS, RATES, SEEDS))
    jobs = [Job(f"{name} at {rate}, seed {seed}", trial, (profile, name, rate, seed, str(runs)))
            for name, rate, seed in cells]  # fmt: skip
    return pd.DataFrame(run_all(jobs, profile.workers, profile.threads, "tuning"))


def trial(profile: Profile, name: str, rate: float, seed: int, runs: str) -> dict[str, Any]:
    """One run at one rate: how many steps it took, how well it ended, and what it retrieves."""
    usual = passkey_run(profile, name, seed)
    spec = usual.model_copy(update={"recipe": usual.recipe.model_copy(update={"rate": rate})})
    run = Run(spec, runs, runtime.device(profile.device))
    record = run.train()
    row = {"encoding": name, "seed": seed, "rate": rate, "target": spec.recipe.target, "cooldown": spec.recipe.cooldown,
           "steps": record["steps"], "answer_loss": record["loss"][-1]}  # fmt: skip
    for multiple in MULTIPLES:
        answers = passkey_samples(run.model(), multiple * spec.recipe.length, SAMPLES, seed)
        row[f"accuracy_{multiple}"] = sum(answer["correct"] for answer in answers) / SAMPLES
    return row


def main() -> int:
    """Write the table."""
    profile = config.profile("cpu")
    buffer = io.StringIO()
    grid(profile, config.CACHE / "runs").to_csv(buffer, index=False, lineterminator="\n")
    store.write_text(PATH, buffer.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
