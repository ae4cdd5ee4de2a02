"""sha256.txt of each folder of results: the sum of every file that a notebook, the archive or `make figures` wrote.

Its lines are those of `sha256sum`. Only what was just written is added, so that a damaged file is never taken over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from .. import store
from .layout import Layout

NAME = "sha256.txt"
STATE = ".state"  # what a checkout remembers of its own work lies there, and is not committed


def digest(path: Path) -> str | None:
    """The sum of a file's bytes; None where there is no file."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def read(folder: Path) -> dict[str, str]:
    """Path below `folder` -> sum. ValueError naming the file and line that is none."""
    path, found = folder / NAME, {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    for number, line in enumerate(lines, 1):
        known, _, name = line.partition("  ")
        if len(known) != 64 or not name:
            raise ValueError(f"{path}, line {number} is no sum and path; restore it (git checkout)")
        found[name] = known
    return found


def add(layout: Layout, paths: Iterable[Path]) -> None:
    """Write down the sums of files that were just written, by their paths; those that are gone lose their line."""
    by_folder: dict[Path, list[Path]] = {}
    for path in paths:
        by_folder.setdefault(layout.part_of(path), []).append(path)
    for folder, members in by_folder.items():
        with store.locked(folder / STATE, NAME):
            sums = read(folder) | {path.relative_to(folder).as_posix(): digest(path) for path in members}
            lines = [f"{known}  {name}" for name, known in sorted(sums.items()) if known]
            store.write_text(folder / NAME, "".join(f"{line}\n" for line in lines))


def problems(layout: Layout) -> tuple[int, list[str]]:
    """How many files were looked at, and a line for each that is missing, altered or not listed."""
    looked, wrong = 0, []
    for folder in layout.parts:
        sums, there = read(folder), {path.relative_to(folder).as_posix(): path for path in _files(layout, folder)}
        looked += len(sums.keys() | there.keys())
        for name in sorted(sums.keys() | there.keys()):
            shown = f"{folder.relative_to(layout.results).as_posix()}/{name}"
            if name not in there:
                wrong.append(f"{shown}: is missing; restore it, or remove its line from {NAME}")
            elif name not in sums:
                wrong.append(f"{shown}: is not in {NAME}; remove it, or run what writes it")
            elif digest(there[name]) != sums[name]:
                wrong.append(f"{shown}: does not have its sum in {NAME}; restore both, or run what writes it")
    return looked, wrong


def expect(path: Path) -> None:
    """ValueError where a file is not listed in the nearest sha256.txt above it, or has another sum."""
    folder = next((parent for parent in path.parents if (parent / NAME).is_file()), None)
    wanted = read(folder).get(path.relative_to(folder).as_posix()) if folder else None
    if wanted is None or digest(path) != wanted:
        raise ValueError(f"{path} does not have the sum in {NAME}; restore both (git checkout)")


def _files(layout: Layout, folder: Path) -> Iterable[Path]:
    """What is committed of a folder: no memory of this checkout, no half-written or failed file, no other part."""
    for path in folder.rglob("*"):
        leftover = path.name.endswith((".partial", ".failed.ipynb")) or STATE in path.parts
        if path.is_file() and not leftover and path != folder / NAME and layout.part_of(path) == folder:
            yield path
