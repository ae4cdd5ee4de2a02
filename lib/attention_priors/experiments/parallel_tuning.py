"""How the numbers of the ways to read further were tried: as many trials for each, on seeds that no profile uses.

    python -m attention_priors.experiments.parallel_tuning        write data/tuning/parallel.csv (some minutes)

Every way that has a number to choose has four trials, the first with what it has in `parallel.methods`. They are asked
the prompts of `parallel_needles`. The notebook reading_in_parallel shows the file. Nothing else reads it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from .. import config
from ..config import Evaluation, Profile
from ..model import Transformer
from ..parallel import condense
from ..parallel.baselines import Direct, Streaming, extended
from ..parallel.chunks import Options
from ..parallel.methods import KEEP, METHODS, Method, Open, options
from ..parallel.ours import Ours
from ..positions.extensions import dynamic_ntk, interpolate, yarn
from ..positions.rotary import Spectrum
from . import tuning
from .arms import passkey_run, trained
from .grid import Job, run_all
from .parallel_needles import banded

PATH = config.ROOT / "data" / "tuning" / "parallel.csv"
ENCODING = "rope"
SEEDS = (101, 102)
MULTIPLES = (1, 4, 16)  # of the training length at which is asked
COUNTED = (4, 16)  # of them by which trials are compared
SAMPLES = 20


@dataclass(frozen=True)
class Number:
    """What a way has to choose: `prepare(model, window, value)` reads with a value of it. The first is today's."""

    called: str
    values: tuple[float, ...]
    prepare: Callable[[Transformer, int, float], Open]


def _set(name: str, setting: str, kind: type = float) -> Callable[[Transformer, int, float], Open]:
    """A row of METHODS with another value of one of its settings."""
    return lambda model, window, value: METHODS[name].prepare(model, window, **{setting: kind(value)})


def _stretched(
    model: Transformer, window: int, value: float, name: str, by: Callable[[Spectrum, int, int, float], Spectrum]
) -> Open:
    """RoPE extended by a function of the current length, the training length and the value."""
    made = extended(model, name, window)
    for block in made.blocks:
        block.attention.rotary.stretch = lambda spectrum, length, start: by(spectrum, length, start, value)
    return lambda given: Direct(made, given.tokens)


def _interpolated(spectrum: Spectrum, length: int, start: int, value: float) -> Spectrum:
    return interpolate(spectrum, max(1.0, value * length / start))


def _by_yarn(spectrum: Spectrum, length: int, start: int, value: float) -> Spectrum:
    return yarn(spectrum, max(1.0, value * length / start), start)


def _by_ntk(spectrum: Spectrum, length: int, start: int, value: float) -> Spectrum:
    return dynamic_ntk(spectrum, value, length, start)


def _leaky(model: Transformer, window: int, value: float) -> Open:
    made = extended(model, "rerope", window)
    for block in made.blocks:
        block.attention.rotary.factor = value
    return lambda given: Direct(made, given.tokens)


def _streaming(model: Transformer, window: int, value: float) -> Open:
    return lambda given: Streaming(model, given.tokens, window, int(value))


def _pooled(model: Transformer, window: int, value: float) -> Open:
    reader = Ours(model)

    def open_(given: Any) -> Any:
        how = Options(window=None, budget=KEEP * options(window, given, share=0.5).budget, pool=int(value))
        return condense(reader, given.tokens, given.question, how)

    return open_


OF_LENGTH = "factor over length / training length"
# By row of METHODS. Chunks and keys: a larger number attends to more keys, which the file says too.
NUMBERS = {
    "k3": Number("K, chunks that stay", (3, 1, 2, 5), _set("k3", "keep", int)),
    "k3-half": Number("B, share of a chunk's keys that stay", (0.5, 0.125, 0.25, 0.75), _set("k3-half", "share")),
    "k3-calibrated": Number("λ, weight above which a key goes", (0.1, 0.025, 0.2, 0.4),
                            _set("k3-calibrated", "threshold")),
    "streaming": Number("first tokens that stay", (4, 1, 16, 32), _streaming),
    "pi": Number(OF_LENGTH, (1, 0.25, 0.5, 2), partial(_stretched, name="pi", by=_interpolated)),
    "dynamic-ntk": Number("α", (2, 1, 4, 8), partial(_stretched, name="dynamic-ntk", by=_by_ntk)),
    "yarn": Number(OF_LENGTH, (1, 0.5, 2, 4), partial(_stretched, name="yarn", by=_by_yarn)),
    "rerope": Number("factor of lags beyond the window", (math.inf, 4, 16, 64), _leaky),
    "snapkv": Number("width of the pool", (7, 1, 15, 31), _pooled),
}  # fmt: skip


def tried(path: Path = PATH) -> pd.DataFrame:
    """A row per trial: way, what is chosen and its value, seed, accuracy at 1, 4 and 16 times T, and the keys of the
    text that the question attends to at 16T."""
    return pd.read_csv(path)


def chosen(table: pd.DataFrame) -> pd.DataFrame:
    """A row per way: today's value and the best one, each with its mean accuracy over COUNTED and seeds, and all.

    A value is better only if its mean is higher: among equals the earlier trial stays.
    """
    counted = table.assign(mean=table[[f"accuracy_{n}" for n in COUNTED]].mean(axis=1))
    rows = []
    for way, own in counted.groupby("way", sort=False):
        means = own.groupby("value", sort=False)["mean"].mean()
        today, best = means.index[0], means.index[means.to_numpy().argmax()]
        rows.append({"way": METHODS[way].label, "chosen": own["number"].iloc[0], "today": f"{today:g}",
                     "accuracy today": means[today], "best": f"{best:g}", "accuracy at best": means[best],
                     "all trials": ", ".join(f"{value:g}: {mean:.2f}" for value, mean in means.items())})  # fmt: skip
    return pd.DataFrame(rows).set_index("way")


def grid(profile: Profile, runs: Path) -> pd.DataFrame:
    """All trials on a model of every seed, which is trained if the store lacks it."""
    jobs = [Job(f"trials of seed {seed}", trials, (profile, seed, str(runs))) for seed in SEEDS]
    return pd.DataFrame([row for rows in run_all(jobs, profile.workers, profile.threads, "tuning") for row in rows])


def trials(profile: Profile, seed: int, runs: str) -> list[dict[str, Any]]:
    """The trials of every way on one model."""
    spec = passkey_run(profile, ENCODING, seed)
    run, _ = trained(spec, runs, profile.device)
    model = run.model()
    return [row for way in NUMBERS for row in of_way(model, way, spec.recipe.length, seed)]


def of_way(model: Transformer, way: str, window: int, seed: int, samples: int = SAMPLES) -> list[dict[str, Any]]:
    """The trials of one way."""
    number, rows = NUMBERS[way], []
    asked = Evaluation(lengths=tuple(window * n for n in MULTIPLES), samples=samples)
    for value in number.values:
        how: Method = replace(METHODS[way], prepare=partial(number.prepare, value=value))
        found = pd.DataFrame(banded(model, how, asked, seed, window))
        counts = found.groupby("length")[["correct", "samples"]].sum()
        right = (counts["correct"] / counts["samples"]).tolist()
        last = found[found["length"] == max(asked.lengths)]
        keys = float((last["entries"] * last["samples"]).sum() / last["samples"].sum())
        rows.append({"way": way, "number": number.called, "value": value, "seed": seed,
                     **{f"accuracy_{n}": share for n, share in zip(MULTIPLES, right, strict=True)},
                     "keys_16": round(keys, 1)})  # fmt: skip
    return rows


def main() -> int:
    """Write the table."""
    tuning.write(grid(config.profile("cpu"), config.CACHE / "runs"), PATH)
    return 0


if __name__ == "__main__":
    sys.exit(main())
