"""Where results lie: once what no profile changes, and a folder for each profile with what differs.

    results/theory/     what no training enters: figures, tables, metrics, ledger parts, executed notebooks
    results/<profile>/  the same for notebooks that train or time something
    results/runs/       the record of every run, by name and key, and what its model answered
    results/models/     the weights that ship, with sha256.txt

The tests' profile writes all of them below results/smoke/, so that it never touches what is committed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .notebooks import NOTEBOOKS, file_name

ROOT = Path(__file__).resolve().parents[3]
APART = "smoke"  # the profile whose numbers mean nothing
THEORY = "theory"  # stands for a profile where none matters
DEFAULT = "cpu"  # the profile whose models ship
LINKED = "full"  # the profile that theory's links lead to: README has its numbers


@dataclass(frozen=True)
class Layout:
    """The folders of one profile below `results`."""

    results: Path
    profile: str

    @property
    def shared(self) -> Path:
        """What theory, runs and models lie in."""
        return Path(self.results) / APART if self.profile == APART else Path(self.results)

    @property
    def own(self) -> Path:
        """What differs by profile."""
        return Path(self.results) / self.profile

    @property
    def theory(self) -> Path:
        return self.shared / THEORY

    @property
    def runs(self) -> Path:
        return self.shared / "runs"

    @property
    def models(self) -> Path:
        return self.shared / "models"

    @property
    def parts(self) -> tuple[Path, ...]:
        """The four folders; a part comes before the one that it may lie in."""
        return self.theory, self.runs, self.models, self.own

    def part_of(self, path: Path) -> Path:
        """The part that a file lies in. ValueError for a file outside of them."""
        for part in self.parts:
            if path.is_relative_to(part):
                return part
        raise ValueError(f"{path} lies in none of {', '.join(map(str, self.parts))}")

    def folder(self, notebook: str) -> Path:
        """Where a notebook writes."""
        return self.own if NOTEBOOKS[notebook].trained else self.theory

    def label(self, notebook: str) -> str:
        """The profile that a notebook's results are of, or THEORY."""
        return self.profile if NOTEBOOKS[notebook].trained else THEORY

    def part(self, notebook: str) -> Path:
        """The notebook's part of the ledger."""
        return self.folder(notebook) / "claims" / f"{notebook}.json"

    def copy(self, notebook: str) -> Path:
        """The executed copy of a notebook, named as its source without the number."""
        file_name(notebook)  # an unknown slug is an error here, not an empty folder later
        return self.folder(notebook) / "notebooks" / f"{notebook}.ipynb"

    def links(self, here: str) -> dict[str, str]:
        """File name of every source -> its executed copy, seen from that of `here`.

        Theory is the same under every profile, and so are its links: they lead to the copies of LINKED.
        """
        fixed = self.profile != APART and self.label(here) == THEORY
        target, start = Layout(self.results, LINKED) if fixed else self, self.copy(here).parent
        return {file_name(name): Path(os.path.relpath(target.copy(name), start)).as_posix() for name in NOTEBOOKS}

    def run(self, name: str, key: str) -> Path:
        """The committed record and answers of a run; runs of one name and other settings keep apart."""
        return self.runs / f"{name}.{key[:8]}.xz"


def numbers(folder: Path) -> dict[str, Path]:
    """Every file of numbers of a folder of results by its metric: <name>.csv, or <name>.csv.xz where it is large."""
    return {path.name.partition(".")[0]: path for path in sorted((folder / "metrics").glob("*.csv*"))}
