"""The small part of the store that is committed: records and answers of all runs, and the weights of some models.

Answers are what evaluations keep beside a run: a line per prompt, document or head. From records and answers all
metrics, figures, tables and verdicts follow, without a model: on a machine whose store is empty, `restore` puts back
what is committed, and nothing is trained again but what is missing.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .. import config, manifest, runtime, store
from ..layout import APART, DEFAULT, Layout
from ..training import RESTORED, SEALED, Run, RunSpec, same_weights
from ..vision import opened
from . import runs as planned
from .arms import corpus, unread

Kept = dict[str, dict[str, Any]]  # by key and file name of the store

KEPT = ("bam-ssmax", "bam", "kerple-power", "alibi", "rope", "nope")  # models that ship, one seed each
ELSEWHERE = ("bam-ssmax", "bam", "rope")  # of these, what ships of another profile than the default one
STUDIES = ("algorithms", "causal", "masked")  # tasks of an hour, whose models are soon trained again
INDEX = "runs.json"  # of a profile: the key of each of its runs
RECORD, WEIGHTS = "record.json", "model.safetensors"  # files of a run in the store


@store.settled()
def archive(named: Mapping[str, RunSpec], runs: Path, layout: Layout, device: str) -> list[Path]:
    """Copy records and models of some runs of the store `runs` into the results; returns what was written or removed.

    Each record goes to `layout.record(name, key)`, what the model answered to `layout.answers(name, key)`, and name and
    key into the index of the profile, from which names go that the profile does not plan any more. Records that no
    profile's index lists are removed. The first seed of KEPT,
    by task, goes to models/<name>.safetensors, or models/<profile>/<name>.safetensors where the default profile has
    other weights or none under that name, and then only those of ELSEWHERE; `attention_priors.load` opens both. No
    model of STUDIES ships.
    """
    where, index = runtime.device(device), layout.own / INDEX
    found = {name: opened(spec, runs, where) for name, spec in named.items()}
    with store.locked(config.CACHE / "locks", "archive"):
        touched = [index]
        for name, run in found.items():
            if answered := _answered(name, run, layout):
                touched.append(layout.answers(name, run.key))
                store.write_bytes(touched[-1], packed(answered))
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
            path = _weights(run, layout)
            if path.is_relative_to(layout.models / layout.profile) and run.spec.model.encoding not in ELSEWHERE:
                continue
            if not (run.path / WEIGHTS).exists():  # restored without them
                run.model()
            touched.append(path)
            store.write_bytes(path, (run.path / WEIGHTS).read_bytes())
    return touched


@store.settled()
def keep(profile: config.Profile, runs: Path, layout: Layout) -> int:
    """Archive the runs of a profile that the store holds, also those whose notebook has not ended; how many."""
    where = runtime.device(profile.device)
    every = planned(profile, corpus(profile, config.CACHE / "corpora"))
    done = {name: spec for name, spec in every.items() if opened(spec, runs, where).finished}
    if done:
        manifest.add(layout, archive(done, runs, layout, profile.device))
    return len(done)


@store.settled()
def restore(profile: config.Profile, runs: Path, layout: Layout, sealed: bool = False) -> int:
    """Put committed records, answers and weights of a profile's runs into the store `runs`; how many runs.

    Those that the store has trained stay as they are. A run counts only under today's key: where its code, settings or
    data have changed, it is trained. `sealed`: no weights, and none are made, so that nothing but what was answered can
    be read. ValueError for a file that is damaged or not the committed one.
    """
    where, index = runtime.device(profile.device), layout.own / INDEX
    known, count = store.read_json(index) if index.exists() else {}, 0
    for name, spec in planned(profile, corpus(profile, config.CACHE / "corpora")).items() if known else ():
        run = opened(spec, runs, where)
        path = layout.answers(name, run.key)
        if known.get(name) != run.key or not path.exists() or run.finished or run.restored:
            continue
        manifest.expect(path)
        _put(run, unpacked(path), SEALED if sealed else "")
        weights = _weights(run, layout)
        if run.spec.name == name and weights.exists() and not sealed:
            manifest.expect(weights)
            store.write_bytes(run.path / WEIGHTS, weights.read_bytes())
        count += 1
    return count


def packed(kept: Kept) -> bytes:
    """Answers as they are committed: JSON, compressed."""
    return lzma.compress(store.canonical(kept).encode(), preset=9)


def unpacked(path: Path) -> Kept:
    """The answers of a committed file: key of the run -> name of the file in the store -> what it holds.

    The record of the run, and those of the runs that it started from, are among them. `DamagedFile` where it is none.
    """
    try:
        return json.loads(lzma.decompress(path.read_bytes()))
    except (lzma.LZMAError, ValueError) as error:
        raise store.DamagedFile(f"{path} holds no answers ({error}); restore it (git checkout)") from None


def _answered(name: str, run: Run, layout: Layout) -> Kept:
    """What is to be committed of a run's answers: the store's, and those committed before of the same weights."""
    path, found = layout.answers(name, run.key), {each.name: store.read_json(each) for each in run.answers()}
    before = unpacked(path).get(run.key, {}) if path.exists() else {}
    if before and same_weights(before[RECORD], run.record()):
        found = before | found
    found.pop(RECORD, None)
    if not found:
        return {}
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
    listed = {place(name, key) for index in {layout.own / INDEX, *layout.shared.glob(f"*/{INDEX}")}
              for name, key in store.read_json(index).items() for place in (layout.record, layout.answers)}  # fmt: skip
    return sorted({path for kind in ("*.json", "*.answers.xz") for path in layout.runs.rglob(kind)} - listed)


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
        small = run.spec.task.partition("/")[0] in STUDIES
        if not small and kind[1] in KEPT and name == run.spec.name and kind not in kinds:
            kinds.add(kind)
            yield run
