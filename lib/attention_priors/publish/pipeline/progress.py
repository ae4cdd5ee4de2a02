"""How long it took, how long it will take, and on what it ran."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_priors import config, store
from attention_priors.store import manifest
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import NOTEBOOKS, slug

PROVENANCE = "provenance.json"
APPENDIX = 20.0  # seconds of an appendix, which trains nothing and has no line in a profile
Estimates = Mapping[str, float]  # seconds by notebook


def estimates(layout: Layout, profile: config.Profile) -> dict[str, float]:
    """Seconds per notebook: the profile's `minutes`, or what an earlier run of these results took where it took longer.

    A shorter one may have been short only because its trainings were in the store already.
    """
    known = {name: APPENDIX for name, row in NOTEBOOKS.items() if row.appendix}
    known |= {slug(name): 60.0 * minutes for name, minutes in profile.minutes.items()}
    for path in (layout.own / PROVENANCE, layout.theory / PROVENANCE):
        for name, entry in entries(path).items():
            known[name] = max(known.get(name, 0.0), entry["wall_seconds"])
    return known


def entries(path: Path) -> dict[str, dict[str, Any]]:
    """What a provenance.json says of each notebook, nothing where there is none. ValueError for one that is damaged."""
    if not path.is_file():
        return {}
    try:
        found = store.read_json(path)["notebooks"]
        return {name: {"wall_seconds": entry["wall_seconds"], **entry} for name, entry in found.items()}
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"{path} is no provenance of notebooks; delete it and run the same command again") from None


def span(seconds: float) -> str:
    """A length of time in words: 45 s, 12 min, 1 h 5 min."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def total(names: list[str], known: Estimates, beside: int = 1) -> str:
    """The time that `names` will take with `beside` notebooks at a time; a new one counts for nothing."""
    spent = [known.get(name, 0.0) for name in names]
    return f"about {span(max(sum(spent) / beside, *spent, 0.0))}"


def heartbeat(name: str, spent: float, where: str, known: Estimates, others: list[str], beside: int = 1) -> str:
    """One line for the person who waits; `others` are the notebooks that still have to run after this one."""
    expected = known.get(name, 0.0)
    left = f"about {span(expected - spent)} left" if expected > spent else f"longer than the {span(expected)} expected"
    line = f"[{name}] {where}, {span(spent)} so far, {left}"
    if others:
        line += f"; then {len(others)} more: {total(others, known, beside)}"
    return line


def record(layout: Layout, name: str, entry: dict[str, Any]) -> Path:
    """Add a notebook's entry to the provenance.json of its folder; others may do so at the same time."""
    path = layout.folder(name) / PROVENANCE
    with store.locked(path.parent / manifest.STATE, "provenance"):
        known = entries(path)
        before = known.get(name, {})
        if before.get("key") == entry["key"] and before["wall_seconds"] > entry["wall_seconds"]:
            # The same work again was shorter only because finished trainings were reused.
            entry = entry | {when: before[when] for when in ("wall_seconds", "ended") if when in before}
        whole = {"schema": 1, "profile": layout.label(name), "notebooks": known | {name: entry}}
        store.write_json(path, whole)
    return path
