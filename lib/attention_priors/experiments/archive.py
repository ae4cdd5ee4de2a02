"""The small part of the store that is committed: a record per run, and the weights of some models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from .. import runtime, store
from ..training import Run, RunSpec

KEPT = ("bam-ssmax", "alibi-ssmax", "rope-ssmax", "nope-ssmax")  # models that ship, one seed each


def archive(specs: Iterable[RunSpec], runs: Path, results: Path, device: str) -> pd.DataFrame:
    """Copy each run's record to <results>/runs/<task>/<encoding>/<seed>.json, and the first seed of KEPT to models/.

    `results` is the folder of one profile. `attention_priors.load("<task>/<encoding>/<seed>")` opens the models.
    Records of runs that the profile no longer has are removed. Returns the `records` frame.
    """
    where, shipped = runtime.device(device), set()
    specs = list(specs)
    for folder in {name.partition("/")[0] for name in (spec.name for spec in specs)}:
        names = {f"{spec.name}.json" for spec in specs}
        for path in (results / "runs" / folder).rglob("*.json"):
            if path.relative_to(results / "runs").as_posix() not in names:
                path.unlink()
    for spec in sorted(specs, key=lambda spec: spec.seed):
        run = Run(spec, runs, where)
        store.write_json(results / "runs" / f"{spec.name}.json", run.record())
        kind = (spec.task, spec.model.encoding)
        if spec.model.encoding in KEPT and kind not in shipped:
            shipped.add(kind)
            target = results / "models" / f"{spec.name}.safetensors"
            store.write_bytes(target, (run.path / "model.safetensors").read_bytes())
    return records(results)


def keep(named: Mapping[str, RunSpec], runs: Path, results: Path, device: str) -> None:
    """Copy the record of each run to <results>/runs/<name>.json, where `RunSpec.name` would not tell runs apart.

    A name is <experiment>/<study>/<arm>/<seed>; records of other arms and seeds of these studies are removed.
    """
    where = runtime.device(device)
    paths = {results / "runs" / f"{name}.json": spec for name, spec in named.items()}
    for folder in {path.parents[1] for path in paths}:
        for path in set(folder.rglob("*.json")) - paths.keys():
            path.unlink()
    for path, spec in paths.items():
        store.write_json(path, Run(spec, runs, where).record())


def records(results: Path) -> pd.DataFrame:
    """The committed records of a profile: one row per run with its key, cost, parameters and last loss.

    `task` is the folder below runs/: the run's task, or the experiment that `keep` has named.
    """
    rows = []
    for path in sorted((results / "runs").rglob("*.json")):
        record = store.read_json(path)
        spec = record["spec"]
        task = path.relative_to(results / "runs").parts[0]
        rows.append({"task": task, "encoding": spec["model"]["encoding"], "seed": spec["seed"],
                     "key": record["key"], "seconds": record["seconds"], "loss": record["loss"][-1],
                     **{f"parameters_{part}": n for part, n in record["parameters"].items()}})  # fmt: skip
    return pd.DataFrame(rows)
