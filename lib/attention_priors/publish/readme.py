"""What the README says in numbers, between two marks, as the committed results have it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .. import store
from ..figures import TABLES
from ..store.layout import ROOT, Layout
from .site import first
from .site.committed import Committed

BEGIN, END = "<!-- findings: written by make figures -->", "<!-- findings end -->"


def findings(committed: Committed) -> str:
    """The findings of the largest profile as a list, each with its number, interval and figure; the errata last."""
    lines = []
    for row, (sentence, number, _) in zip(committed.findings.itertuples(), first.findings(committed), strict=False):
        layout = Layout(committed.results, row.profile)
        figure = layout.own / "figures" / f"{row.figure}.md"
        where = figure if figure.is_file() else layout.copy(row.notebook)
        tables = [layout.own / "tables" / f"{name}.md" for name in TABLES if TABLES[name].metrics == row.figure]
        links = [*(f"[table]({_link(table)})" for table in tables[:1] if table.is_file()), f"[figure]({_link(where)})"]
        lines.append(f"{sentence} *{number[0].upper()}{number[1:]}* ({', '.join(links)}).")
    decided = first.findings(committed)[-1][0]
    errata = Layout(committed.results, committed.largest).own / "tables" / "errata.md"
    lines.append(f"{decided} ([errata]({_link(errata)})).")
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def _link(path: Path) -> str:
    return Path(os.path.relpath(path, ROOT)).as_posix()


def refresh(committed: Committed, path: Path = ROOT / "README.md") -> bool:
    """Write the findings between the marks; whether they were others. ValueError where a mark is missing."""
    text = path.read_text(encoding="utf-8")
    made, times = re.subn(
        f"(?s){re.escape(BEGIN)}.*{re.escape(END)}", lambda _: f"{BEGIN}\n\n{findings(committed)}\n\n{END}", text
    )
    if times != 1:
        raise ValueError(f"{path.name} needs {BEGIN!r} and {END!r}, once each; restore it (git checkout)")
    if made != text:
        store.write_text(path, made)
    return made != text
