"""The small part of the store that is committed: a record per run, and the weights of some models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from .. import config, runtime, store
from ..layout import APART, DEFAULT, Layout
from ..training import Run, RunSpec
from ..vision import opened
from . import runs as planned
from .arms import unread

KEPT = ("bam-ssmax", "bam", "kerple-power", "alibi", "rope", "nope")  # models that ship, one seed each
INDEX = "runs.json"  # of a profile: the key of each of its runs


def archive(named: Mapping[str, RunSpec], runs: Path, layout: Layout, device: str) -> list[Path]:
    """Copy records and models of some runs of the store `runs` into the results; returns what was written or removed.

    Each record goes to `layout.record(name, key)`, and name and key into the index of the profile, from which names go
    that the profile does not plan any more. Records that no profile's index lists are removed. The first seed of KEPT,
    by task, goes to models/<name>.safetensors, or models/<profile>/<name>.safetensors where the default profile has
    other weights or none under that name; `attention_priors.load` opens both.
    """
    where, index = runtime.device(device), layout.own / INDEX
    found = {name: opened(spec, runs, where) for name, spec in named.items()}
    with store.locked(config.CACHE / "locks", "archive"):
        touched = [index]
        for name, run in found.items():
            touched.append(layout.record(name, run.key))
            store.write_json(touched[-1], run.record())
        profile = config.profile(layout.profile)
        known = store.read_json(index) if index.exists() else {}
        known = {name: known[name] for name in planned(profile, unread(profile)) if name in known}
        store.write_json(index, known | {name: run.key for name, run in found.items()})
        for path in _unlisted(layout):
            path.unlink()
            touched.append(path)
        for run in _shipped(found):
            touched.append(_weights(run, layout))
            store.write_bytes(touched[-1], (run.path / "model.safetensors").read_bytes())
    return touched


def _unlisted(layout: Layout) -> list[Path]:
    """Records of runs that no profile's index lists."""
    listed = {layout.record(name, key) for index in {layout.own / INDEX, *layout.shared.glob(f"*/{INDEX}")}
              for name, key in store.read_json(index).items()}  # fmt: skip
    return sorted(set(layout.runs.rglob("*.json")) - listed)


def _weights(run: Run, layout: Layout) -> Path:
    """Where the weights of a run ship: no profile replaces those of another."""
    index = Layout(layout.results, DEFAULT).own / INDEX
    same = index.exists() and store.read_json(index).get(run.spec.name) == run.key
    apart = "" if same or layout.profile in (DEFAULT, APART) else layout.profile
    return layout.models / apart / f"{run.spec.name}.safetensors"


def _shipped(found: Mapping[str, Run]) -> Iterator[Run]:
    """Of each task and encoding of KEPT the run with the first seed, under a name of its own."""
    kinds = set()
    for name, run in sorted(found.items(), key=lambda item: item[1].spec.seed):
        kind = (run.spec.task, run.spec.model.encoding)
        if kind[1] in KEPT and name == run.spec.name and kind not in kinds:
            kinds.add(kind)
            yield run
