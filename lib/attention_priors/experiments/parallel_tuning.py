"""How the numbers of the ways to read further were tried: as many trials for each, on seeds that no profile uses.

    python -m attention_priors.experiments.parallel_tuning        write data/tuning/parallel.csv (some minutes)

Every way that has a number to choose has four trials, the first with the published value. They are asked the prompts of
`parallel_needles`; `parallel.methods` has for each rival of ParallelComp the value that did best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd

from .. import config
from ..config import Evaluation, Profile
from ..model import Transformer
from ..parallel.methods import METHODS, Method
from . import tuning
from .arms import passkey_run, trained
from .grid import Job, Rows, gather
from .parallel_needles import banded

PATH = config.ROOT / "data" / "tuning" / "parallel.csv"
ENCODING = "rope"
SEEDS = (101, 102)
MULTIPLES = (1, 4, 16)  # of the training length at which is asked
COUNTED = (4, 16)  # of them by which trials are compared
SAMPLES = 20


@dataclass(frozen=True)
class Number:
    """What a way has to choose: a setting of its row of METHODS, and the values that were tried, first the published
    one."""

    called: str
    setting: str
    values: tuple[float, ...]

    def method(self, way: str, value: float) -> Method:
        """The way with another value."""
        kind = type(self.values[0])
        return replace(METHODS[way], prepare=partial(METHODS[way].prepare, **{self.setting: kind(value)}))


OF_LENGTH = "factor over length / training length"
# By row of METHODS. Chunks and keys: a larger number attends to more keys, which the file says too.
NUMBERS = {
    "k3": Number("K, chunks that stay", "keep", (3, 1, 2, 5)),
    "k3-half": Number("B, share of a chunk's keys that stay", "share", (0.5, 0.125, 0.25, 0.75)),
    "k3-calibrated": Number("λ, weight above which a key goes", "threshold", (0.1, 0.025, 0.2, 0.4)),
    "streaming": Number("first tokens that stay", "sinks", (4, 1, 16, 32)),
    "pi": Number(OF_LENGTH, "number", (1.0, 0.25, 0.5, 2.0)),
    "dynamic-ntk": Number("α", "number", (2.0, 1.0, 4.0, 8.0)),
    "yarn": Number(OF_LENGTH, "number", (1.0, 0.5, 2.0, 4.0)),
    "rerope": Number("factor of lags beyond the window", "number", (math.inf, 4.0, 16.0, 64.0)),
    "snapkv": Number("width of the pool", "pool", (7, 1, 15, 31)),
}
OWN = ("k3", "k3-half", "k3-calibrated")  # ParallelComp, which keeps the published values


def tried() -> pd.DataFrame:
    """A row per trial: way, what is chosen and its value, seed, accuracy at 1, 4 and 16 times T, and the keys of the
    text that the question attends to at 16T."""
    return pd.read_csv(PATH)


def chosen(table: pd.DataFrame) -> pd.DataFrame:
    """A row per way: the published value and the best one, each with its mean accuracy over COUNTED and seeds, which
    of them the comparison has, and all trials.

    A value is better only if its mean is higher: among equals the earlier trial stays.
    """
    counted = table.assign(mean=table[[f"accuracy_{n}" for n in COUNTED]].mean(axis=1))
    rows = []
    for way, own in counted.groupby("way", sort=False):
        means = own.groupby("value", sort=False)["mean"].mean()
        published, best = means.index[0], means.index[means.to_numpy().argmax()]
        rows.append(
            {
                "way": METHODS[way].label,
                "chosen": own["number"].iloc[0],
                "published": f"{published:g}",
                "accuracy as published": means[published],
                "best": f"{best:g}",
                "accuracy at best": means[best],
                "in the comparison": f"{published if way in OWN else best:g}",
                "all trials": ", ".join(f"{value:g}: {mean:.2f}" for value, mean in means.items()),
            }
        )
    return pd.DataFrame(rows).set_index("way")


def grid(profile: Profile, runs: Path) -> pd.DataFrame:
    """All trials on a model of every seed, which is trained if the store lacks it."""
    jobs = [Job(f"trials of seed {seed}", trials, (profile, seed, str(runs))) for seed in SEEDS]
    return gather(jobs, profile, "tuning")


def trials(profile: Profile, seed: int, runs: str) -> Rows:
    """The trials of every way on one model."""
    spec = passkey_run(profile, ENCODING, seed)
    run, _ = trained(spec, runs, profile.device)
    model = run.model()
    return [row for way in NUMBERS for row in of_way(model, way, spec.recipe.length, seed)]


def of_way(model: Transformer, way: str, window: int, seed: int, samples: int = SAMPLES) -> Rows:
    """The trials of one way."""
    number, rows = NUMBERS[way], []
    asked = Evaluation(lengths=tuple(window * n for n in MULTIPLES), samples=samples)
    for value in number.values:
        found = pd.DataFrame(banded(model, number.method(way, value), asked, seed, window))
        counts = found.groupby("length")[["correct", "samples"]].sum()
        right = (counts["correct"] / counts["samples"]).tolist()
        last = found[found["length"] == max(asked.lengths)]
        keys = float((last["entries"] * last["samples"]).sum() / last["samples"].sum())
        accuracies = {f"accuracy_{n}": share for n, share in zip(MULTIPLES, right, strict=True)}
        about = {"way": way, "number": number.called, "value": value, "seed": seed}
        rows.append(about | accuracies | {"keys_16": round(keys, 1)})
    return rows


if __name__ == "__main__":
    tuning.write(grid(config.profile("cpu"), config.CACHE / "runs"), PATH)
