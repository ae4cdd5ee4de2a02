"""The small part of the store that is committed: records and answers of all runs, and the weights of some models.

Answers are what evaluations keep beside a run: a line per prompt, document or head. From records and answers all
metrics, figures, tables and verdicts follow, without a model: on a machine whose store is empty, `restore` puts back
what is committed, and nothing is trained again but what is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .. import config, runtime, store
from ..store import manifest
from ..store.layout import APART, DEFAULT, Layout
from ..training import checkpoints
from ..training.runs import RESTORED, SEALED, Run, RunSpec, same_weights
from ..training.vision import opened
from . import EXPERIMENTS
from . import runs as planned
from .arms import corpus, unread

Kept = dict[str, dict[str, Any]]  # by key and file name of the store

# Models that ship, the first seed of each task and encoding, of the default profile (and of the tests').
KEPT, TASKS = ("bam-ssmax", "bam", "kerple-power", "alibi", "rope", "nope"), ("passkey", "language")
ANSWERS = "answers"  # folder of a profile
INDEX = "runs.json"  # of a profile: the key of each of its runs
RECORD, WEIGHTS = "record.json", "model.safetensors"  # files of a run in the store


def archive(named: Mapping[str, RunSpec], runs: Path, layout: Layout, device: str) -> list[Path]:
    """Copy records and models of some runs of the store `runs` into the results; returns what was written or removed.

    Each record goes with what the model answered to `layout.run(name, key)`, and name and key into the index of the
    profile, from which names go that the profile does not plan any more. Records that no profile's index lists are
    removed. The first seed of each of KEPT and TASKS goes in half precision to models/<name>.safetensors, which
    `attention_priors.load` opens.
    """
    where, index = runtime.device(device), layout.own / INDEX
    found = {name: opened(spec, runs, where) for name, spec in named.items()}
    with store.locked(config.CACHE / "locks", "archive"):
        touched = [index]
        for name, run in found.items():
            touched.append(layout.run(name, run.key))
            store.write_bytes(touched[-1], packed(_answered(name, run, layout)))
        profile = config.profile(layout.profile)
        known = store.read_json(index) if index.exists() else {}
        known = {name: known[name] for name in planned(profile, unread(profile)) if name in known}
        store.write_json(index, known | {name: run.key for name, run in found.items()})
        for path in _unlisted(layout):
            path.unlink()
            touched.append(path)
        for run in _shipped(found, layout):
            path = layout.models / f"{run.spec.name}.safetensors"
            if not path.exists() and not (run.path / WEIGHTS).exists():  # restored without them
                run.model()
            if (run.path / WEIGHTS).exists():
                store.write_bytes(path, checkpoints.halved(run.path / WEIGHTS))
            touched.append(path)
    return touched


def archive_answers(folder: Path | None, layout: Layout) -> list[Path]:
    """Copy answers that belong to no run, such as those of a pretrained model, into the profile's results."""
    if folder is None:
        return []
    path = layout.own / ANSWERS / f"{folder.name}.xz"
    kept = {each.name: store.read_json(each) for each in sorted(folder.glob("*.json"))}
    store.write_bytes(path, packed((unpacked(path) if path.exists() else {}) | kept))
    return [path]


def restore_answers(profile: config.Profile, runs: Path, layout: Layout) -> None:
    """Put back what `archive_answers` copied, where the store lacks it."""
    for experiment in EXPERIMENTS.values():
        folder = experiment.answers(profile, runs) if experiment.answers else None
        path = layout.own / ANSWERS / f"{folder.name}.xz" if folder else None
        if path is None or not path.exists():
            continue
        manifest.expect(path)
        for name, answer in unpacked(path).items():
            if not (folder / name).exists():
                store.write_json(folder / name, answer)


def keep(profile: config.Profile, runs: Path, layout: Layout) -> int:
    """Archive the runs of a profile that the store holds, also those whose notebook has not ended; how many."""
    where = runtime.device(profile.device)
    every = planned(profile, corpus(profile, config.CACHE / "corpora"))
    done = {name: spec for name, spec in every.items() if opened(spec, runs, where).finished}
    if done:
        manifest.add(layout, archive(done, runs, layout, profile.device))
    return len(done)


def restore(profile: config.Profile, runs: Path, layout: Layout, sealed: bool = False) -> int:
    """Put committed records and answers of a profile's runs into the store `runs`; how many runs.

    Those that the store has trained stay as they are. A run counts only under today's key: where its settings, data or
    versions have changed, it is trained. Weights are made when a model is asked for; `sealed`: none are made, so that
    nothing but what was answered can be read. ValueError for a file that is damaged or not the committed one.
    """
    where, index = runtime.device(profile.device), layout.own / INDEX
    known, count = store.read_json(index) if index.exists() else {}, 0
    for name, spec in planned(profile, corpus(profile, config.CACHE / "corpora")).items() if known else ():
        run = opened(spec, runs, where)
        path = layout.run(name, run.key)
        if known.get(name) != run.key or run.finished or run.restored:
            continue
        if path.exists():
            manifest.expect(path)
        kept = _committed(layout, name, run.key)
        _put(run, kept, SEALED if sealed else "")
        count += 1
    restore_answers(profile, runs, layout)
    return count


def packed(kept: Kept) -> bytes:
    """Answers as they are committed: JSON, compressed."""
    return store.packed(store.canonical(kept))


def unpacked(path: Path) -> Kept:
    """The answers of a committed file: key of the run -> name of the file in the store -> what it holds.

    The record of the run, and those of the runs that it started from, are among them. `DamagedFile` where it is none.
    """
    return json.loads(store.read_text(path))


def record(layout: Layout, name: str, key: str) -> dict[str, Any]:
    """The committed record of a run. FileNotFoundError where there is none; other errors as `_committed`."""
    return _committed(layout, name, key)[key][RECORD]


def _committed(layout: Layout, name: str, key: str) -> Kept:
    """What is committed of a run. `DamagedFile` where the file is damaged, ValueError where it holds another run than
    its name says."""
    path = layout.run(name, key)
    kept = unpacked(path)
    if key not in kept:
        raise ValueError(
            f"{path} holds no run {key}, but {', '.join(kept) or 'none'}: it was renamed by hand; restore "
            "it (git checkout)"
        )
    return kept


def _answered(name: str, run: Run, layout: Layout) -> Kept:
    """What is to be committed of a run: record, the store's answers, and those committed before of the same weights."""
    path, found = layout.run(name, run.key), {each.name: store.read_json(each) for each in run.answers()}
    before = unpacked(path).get(run.key, {}) if path.exists() else {}
    if before and same_weights(before[RECORD], run.record()):
        found = before | found
    kept, each = {run.key: found | {RECORD: run.record()}}, run.spec.start
    while each is not None:
        start = opened(each, run.path.parent, run.device)
        kept[start.key] = {RECORD: start.record()}
        each = each.start
    return kept


def _put(run: Run, kept: Kept, mark: str) -> None:
    """Write answers into the store, of each run its record last: without it a run is not there."""
    for key, files in kept.items():
        folder = run.path.parent / key
        if (folder / RECORD).exists():
            continue
        for file in sorted(files, key=lambda file: file == RECORD):
            if file == RECORD:
                store.write_text(folder / RESTORED, mark)
            store.write_json(folder / file, files[file])


def _unlisted(layout: Layout) -> list[Path]:
    """Records and answers of runs that no profile's index lists."""
    listed = {
        layout.run(name, key)
        for index in {layout.own / INDEX, *layout.shared.glob(f"*/{INDEX}")}
        for name, key in store.read_json(index).items()
    }
    return sorted(set(layout.runs.rglob("*.xz")) - listed)


def _shipped(found: Mapping[str, Run], layout: Layout) -> Iterator[Run]:
    """Of each of TASKS and KEPT the run with the first seed, under a name of its own."""
    kinds = set()
    for name, run in sorted(found.items(), key=lambda item: item[1].spec.seed):
        kind = run.spec.task, run.spec.model.encoding
        wanted = layout.profile in (DEFAULT, APART) and kind[0] in TASKS and kind[1] in KEPT
        if wanted and name == run.spec.name and kind not in kinds:
            kinds.add(kind)
            yield run
