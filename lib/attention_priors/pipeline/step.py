"""One notebook from source to executed copy, stamp and provenance."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import nbformat

from attention_priors import config, runtime, store
from attention_priors.pipeline import progress, stamps
from attention_priors.pipeline.execute import NotebookFailed, execute, scratch_folder
from attention_priors.pipeline.scrub import machine_places, scrub


def perform(
    profile: config.Profile,
    results: Path,
    name: str,
    key: str,
    given: dict[str, Any],
    known: progress.Estimates,
    others: list[str],
    folder: Path,
) -> None:
    """Run notebook `name` and write its executed copy, atomically, with a stamp; then its provenance.

    given: parameters besides PROFILE and RESULTS; others: what will run after it (for the estimate).
    Raises NotebookFailed (one line) and leaves the copy with the traceback beside, as <name>.failed.ipynb.
    """
    source = nbformat.from_dict(stamps.read(folder / f"{name}.ipynb"))
    copy = stamps.copy_path(results, profile.name, name)
    failed = copy.with_suffix(".failed.ipynb")
    copy.parent.mkdir(parents=True, exist_ok=True)
    parameters = {"PROFILE": profile.name, "RESULTS": str(results), **given}
    memory = stamps.state(results, profile.name, name)
    before = memory.get("spent", 0.0) if memory.get("key") == key and "copy" not in memory else 0.0

    def remember(spent: float, **more: Any) -> None:
        entry = {"key": key, "spent": round(spent, 1), **more}
        store.write_json(stamps.state_path(results, profile.name, name), entry)

    def tick(seconds: float, where: str) -> None:
        remember(before + seconds)
        print(progress.heartbeat(name, before + seconds, where, known, others), flush=True)

    expected = f", about {progress.span(known[name])}" if name in known else ""
    print(f"[{name}] running{expected}", flush=True)
    remember(before)
    start = time.monotonic()
    with scratch_folder() as scratch:
        places = machine_places(config.ROOT, results, scratch)
        shown = parameters | {"RESULTS": _shown(results, folder)}
        try:
            executed = execute(source, name, parameters, folder, scratch, tick)
        except NotebookFailed as error:
            if error.notebook is None:
                raise
            store.write_text(failed, nbformat.writes(scrub(error.notebook, places, shown)) + "\n")
            where = f"{results.name}/{failed.relative_to(results).as_posix()}"
            raise NotebookFailed(f"{error}; traceback in {where}", error.notebook) from None
    seconds = before + time.monotonic() - start
    clean = scrub(executed, places, shown)
    outputs = stamps.shown(source, results, profile.name, name)
    clean.metadata[stamps.STAMP] = {
        "source": stamps.source_hash(source),
        "profile": profile.name,
        "keys": {path: origin for path, origin in outputs.items() if origin and path.endswith(".csv")},
    }
    store.write_text(copy, nbformat.writes(clean) + "\n")
    failed.unlink(missing_ok=True)
    environment = runtime.provenance() | {"threads": profile.threads}
    progress.record(results, profile.name, name, {"wall_seconds": round(seconds, 1), "key": key, **environment})
    remember(seconds, copy=stamps.digest(copy), outputs=sorted(outputs))
    print(f"[{name}] done in {progress.span(seconds)}", flush=True)


def _shown(results: Path, folder: Path) -> str:
    """RESULTS as the executed copy shows it: relative to the notebooks, wherever the results were."""
    return os.path.relpath(results, folder) if results.is_relative_to(config.ROOT) else "../results"
