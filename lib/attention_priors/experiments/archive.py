"""The small part of the store that is committed: a record per run, and the weights of some models."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from .. import runtime, store
from ..training import Run, RunSpec


def archive(specs: Iterable[RunSpec], runs: Path, results: Path, device: str, models: Iterable[RunSpec] = ()) -> None:
    """Copy each run's record to <results>/runs/<task>/<encoding>/<seed>.json and the named models beside in models/.

    `results` is the folder of one profile. `attention_priors.load("<task>/<encoding>/<seed>")` opens the models.
    """
    where = runtime.device(device)
    for spec in specs:
        store.write_json(results / "runs" / f"{spec.name}.json", Run(spec, runs, where).record())
    for spec in models:
        target = results / "models" / f"{spec.name}.safetensors"
        store.write_bytes(target, (Run(spec, runs, where).path / "model.safetensors").read_bytes())


def records(results: Path) -> pd.DataFrame:
    """The committed records of a profile: one row per run with its key, cost, parameters and last loss."""
    rows = []
    for path in sorted((results / "runs").rglob("*.json")):
        record = store.read_json(path)
        spec = record["spec"]
        rows.append({"task": spec["task"], "encoding": spec["model"]["encoding"], "seed": spec["seed"],
                     "key": record["key"], "seconds": record["seconds"], "loss": record["loss"][-1],
                     **{f"parameters_{part}": n for part, n in record["parameters"].items()}})  # fmt: skip
    return pd.DataFrame(rows)
