"""Train one run of each family whose code changed, and compare it with its record: `make bless`.

Where weights and losses are equal, data/blessed.json lists today's code, and keys stay. Digits differ between
processors: what differs from its record is trained once more with the code that was blessed last. Where that differs,
too, whoever changed the code raises TRAINING_VERSION (training/runs.py) or the version of the task or encoding, and
keys change.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .. import config, runtime, store
from ..experiments import archive, corpus, runs
from ..store.layout import Layout
from ..training import blessed
from ..training.runs import RunSpec, same_weights
from ..training.vision import opened
from . import arguments as commands

OTHER = (
    "trains other weights than the code that was blessed last; raise TRAINING_VERSION in training/runs.py where "
    "all runs change, else the version of its task or encoding"
)
# With the code of another commit, whose package stands first on the path.
TRAIN = """
import importlib, sys
from pathlib import Path
from attention_priors import runtime, store
from attention_priors.training.vision import opened
module, kind, text, folder, threads = sys.argv[1:]
spec = getattr(importlib.import_module(module), kind).model_validate_json(text)
runtime.configure(int(threads))
made = opened(spec, folder, runtime.device("cpu")).train(runtime.say)
store.write_json(Path(folder) / "record.json", made)
"""


def cheapest(results: Path) -> dict[str, tuple[RunSpec, dict[str, Any]]]:
    """Of each family the run with the least work, and its record, of whichever profile has it committed.

    A record's seconds do not tell: they depend on what else ran, and a resumed run has those of its last part.
    """

    def work(spec: RunSpec, record: dict[str, Any]) -> int:
        return record["steps"] * spec.recipe.batch * spec.recipe.length * sum(record["parameters"].values())

    found: dict[str, tuple[RunSpec, dict[str, Any]]] = {}
    for index in sorted(results.glob(f"*/{archive.INDEX}")):
        profile = config.profile(index.parent.name)
        layout, kept = Layout(results, profile.name), store.read_json(index)
        for name, spec in runs(profile, corpus(profile, config.CACHE / "corpora")).items():
            if name in kept:
                record = archive.record(layout, name, kept[name])
                if spec.family not in found or work(spec, record) < work(*found[spec.family]):
                    found[spec.family] = spec, record
    return found


def compare(spec: RunSpec, record: dict[str, Any]) -> str:
    """Train a run and hold it against its record, then against earlier code: empty where it is the same."""
    runtime.configure(record["threads"])
    device = runtime.device("cpu")
    if record["key"] != spec.key(device.type):
        return "has no record under its key; make reproduce trains it"
    with tempfile.TemporaryDirectory() as folder:
        made = opened(spec, folder, device).train(runtime.say)
        if same_weights(record, made):
            return ""
        runtime.say(f"[bless] {spec.family}: not as in its record; now with the code that was blessed last")
        before = trained_before(spec, record["threads"], Path(folder))
    if before is None:
        return "differs from its record, and no earlier code can be had here (git); bless it where the record was made"
    if same_weights(before, made):
        return ""
    return OTHER


def trained_before(spec: RunSpec, threads: int, folder: Path) -> dict[str, Any] | None:
    """The record of a run that the code of the last commit to data/blessed.json trains; None where there is none."""

    def git(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(["git", "-C", str(config.ROOT), *arguments], capture_output=True, text=True)

    commit, place = git("log", "-1", "--format=%H", "--", "data/blessed.json").stdout.strip(), folder / "before"
    if not commit or git("worktree", "add", "--detach", str(place), commit).returncode:
        return None
    try:
        environment = os.environ | {"PYTHONPATH": str(place / "lib"), "ATTENTION_PRIORS_CACHE": str(config.CACHE)}
        given = [type(spec).__module__, type(spec).__name__, spec.model_dump_json(), str(folder / "runs"), str(threads)]
        subprocess.run([sys.executable, "-c", TRAIN, *given], env=environment, cwd=place, check=True)
        return store.read_json(folder / "runs" / "record.json")
    except subprocess.CalledProcessError:
        return None
    finally:
        git("worktree", "remove", "--force", str(place))


@commands.refusing()
def main(arguments: list[str] | None = None) -> int:
    """0: the code of every family is listed. 1: some family differs or cannot be compared. 2: bad input."""
    parser = commands.Arguments("bless", __doc__, "results")
    chosen = parser.parse_args(arguments)
    failed, found = False, cheapest(chosen.results)
    due = set(blessed.changed(spec for spec, _ in found.values())) | (found.keys() - blessed.read().keys())
    for family in sorted(due):
        spec, record = found[family]
        runtime.say(f"[bless] {family}: training {spec.name}, {record['seconds']:.0f} s when it was recorded")
        wrong = compare(spec, record)
        failed |= bool(wrong)
        print(f"{family}: {wrong or 'the same weights'}", flush=True)
        if not wrong:
            blessed.add(spec)
    if not due:
        print("nothing to bless: the code of every family is listed in data/blessed.json")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
