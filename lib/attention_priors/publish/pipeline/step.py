"""One notebook from source to executed copy, stamp and provenance."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat

from attention_priors import claims, config, runtime, store
from attention_priors.publish.pipeline import progress, stamps
from attention_priors.publish.pipeline.execute import NotebookFailed, execute, scratch_folder
from attention_priors.publish.pipeline.plan import Plan
from attention_priors.publish.pipeline.scrub import machine_places, scrub
from attention_priors.store import manifest
from attention_priors.store.layout import THEORY
from attention_priors.store.notebooks import file_name


def perform(plan: Plan, name: str) -> None:
    """Run notebook `name`; write its executed copy, atomically, with a stamp, its provenance, and the ledger anew.

    Raises NotebookFailed (one line) and leaves the copy with the traceback beside, as <name>.failed.ipynb.
    """
    profile, layout, key = plan.profile, plan.layout, plan.keys[name]
    results = layout.results
    source = nbformat.from_dict(stamps.read(plan.sources / file_name(name)))
    copy = layout.copy(name)
    failed = copy.with_suffix(".failed.ipynb")
    copy.parent.mkdir(parents=True, exist_ok=True)
    parameters = {"PROFILE": profile.name, "RESULTS": str(results), **plan.given}
    memory = stamps.state(layout, name)
    before = memory.get("spent", 0.0) if memory.get("key") == key and "copy" not in memory else 0.0

    def remember(spent: float, **more: Any) -> None:
        entry = {"key": key, "spent": round(spent, 1), **more}
        store.write_json(stamps.state_path(layout, name), entry)

    def tick(seconds: float, where: str) -> None:
        remember(before + seconds)
        others = [other for other in plan.waiting() if other != name]
        print(progress.heartbeat(name, before + seconds, where, plan.known, others, plan.beside), flush=True)

    print(f"[{name}] running, {progress.total([name], plan.known)}", flush=True)
    remember(before)
    start = time.monotonic()
    with scratch_folder() as scratch:
        places = machine_places(plan.sources.parent, results, scratch)
        shown = parameters | {"RESULTS": _shown(results, plan.sources)}
        if layout.label(name) == THEORY:
            del shown["PROFILE"]  # nothing in it depends on one
        try:
            executed = execute(source, name, parameters, plan.sources, scratch, tick)
        except NotebookFailed as error:
            if error.notebook is None:
                raise
            store.write_text(failed, nbformat.writes(scrub(error.notebook, places, shown, layout.links(name))) + "\n")
            where = f"{results.name}/{failed.relative_to(results).as_posix()}"
            raise NotebookFailed(f"{error}; traceback in {where}", error.notebook) from None
    seconds = before + time.monotonic() - start
    clean = scrub(executed, places, shown, layout.links(name))
    outputs = stamps.written(source, layout, name)
    clean.metadata[stamps.STAMP] = {
        "source": stamps.source_hash(source),
        "profile": layout.label(name),
        "keys": {path: origin for path, origin in outputs.items() if origin},
    }
    store.write_text(copy, nbformat.writes(clean) + "\n")
    failed.unlink(missing_ok=True)
    environment = runtime.provenance() | {"threads": profile.threads}
    times = {"wall_seconds": round(seconds, 1), "ended": datetime.now(UTC).isoformat(timespec="seconds")}
    provenance = progress.record(layout, name, {**times, "key": key, **environment})
    manifest.add(layout, [copy, provenance])
    if layout.part(name).is_file():
        claims.merge(layout.results, layout.profile)  # a profile of which a part was run has its ledger, too
        manifest.add(layout, [layout.own / "claims.json", layout.own / "claims.md"])
    remember(seconds, copy=manifest.digest(copy), outputs=sorted(outputs))
    print(f"[{name}] done in {progress.span(seconds)}", flush=True)


def _shown(results: Path, folder: Path) -> str:
    """RESULTS as the executed copy shows it: relative to the notebooks, wherever the results were."""
    return os.path.relpath(results, folder) if results.is_relative_to(config.ROOT) else "../results"
