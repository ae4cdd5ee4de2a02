"""data/blessed.json: code that was shown to train the same weights, by family of runs.

A run's key holds settings and declared versions, no code. That code changed is seen by its fingerprint: as long as a
family's is not listed, `make reproduce` and `make verify` say so, and `make bless` trains one run of it and compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import store
from ..store.layout import ROOT
from .runs import RunSpec

FILE = ROOT / "data" / "blessed.json"


def read(path: Path = FILE) -> dict[str, dict[str, Any]]:
    """Family -> `versions` (of training, of the task) and `fingerprints`. ValueError for another form."""
    found = store.read_json(path) if path.exists() else {}
    for family, entry in found.items():
        if not isinstance(entry, dict) or entry.keys() != {"versions", "fingerprints"}:
            raise ValueError(f"{path.name}: {family} needs versions and fingerprints alone; restore it (git checkout)")
    return found


def add(spec: RunSpec, path: Path = FILE) -> None:
    """List today's code for the family of a run; a raised version begins a new list."""
    found = read(path)
    entry = found.get(spec.family, {})
    same = entry.get("versions") == list(spec.versions)
    known = entry["fingerprints"] if same else []
    found[spec.family] = {"versions": list(spec.versions), "fingerprints": [*known, spec.fingerprint]}
    store.write_json(path, found)


def changed(specs: Iterable[RunSpec], path: Path = FILE) -> list[str]:
    """Families with the versions of their records and with other code than that which is listed.

    ValueError where a version went down.
    """
    listed, families = read(path), {spec.family: spec for spec in specs}
    found = []
    for family, spec in families.items():
        entry = listed.get(family)
        if entry is None:
            continue
        if any(now < then for now, then in zip(spec.versions, entry["versions"], strict=True)):
            raise ValueError(
                f"{family} has versions {list(spec.versions)} of training and task, but {path.name} knows "
                f"{entry['versions']}; versions only go up: raise the one that went down"
            )
        if list(spec.versions) == entry["versions"] and spec.fingerprint not in entry["fingerprints"]:
            found.append(family)
    return found


def note(specs: Iterable[RunSpec]) -> str:
    """One line for all families that `changed`; empty where there are none."""
    if not (families := sorted(changed(specs))):
        return ""
    return (
        f"the code that trains {', '.join(families)} differs from what made their records: `make bless` trains one run "
        "of each and tells whether they still hold"
    )
