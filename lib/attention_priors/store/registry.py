"""Explicit tables: a name and where its object stands, opened when somebody asks.

No module is searched for and none is imported to list a table, so that an edit of one row's module makes stale what
names that row, and nothing else.
"""

from __future__ import annotations

import ast
import difflib
import importlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

LIBRARY = Path(__file__).resolve().parents[2]


def nearest(name: str, known: Iterable[str], labels: Mapping[str, str] | None = None) -> str:
    """The one-line end of a message about an unknown name: ' (nearest: BAM-T4)', empty when nothing is near.

    Upper and lower case are alike; `labels` are other words for some of the names.
    """
    folded = {label.casefold(): each for label, each in (labels or {}).items()}
    folded |= {each.casefold(): each for each in known}
    near = difflib.get_close_matches(str(name).casefold(), folded, n=1, cutoff=0.4)
    return f" (nearest: {folded[near[0]]})" if near else ""


class Table(Mapping[str, Any]):
    """name -> "module:attribute" or "module:attribute[name]", modules relative to `package`.

    `table[name]` imports the module and returns the object. ValueError for a name that the table lacks, with the
    nearest one, and for a row whose module does not hold what the row says, with file and remedy.
    """

    def __init__(self, what: str, package: str, rows: Mapping[str, str]) -> None:
        self.what, self.package, self.rows = what, package, dict(rows)

    def __getitem__(self, name: str) -> Any:
        module, attribute = self._target(name)
        try:
            found = getattr(importlib.import_module(module), attribute)
            return found[name] if self._keyed(name) else found
        except (AttributeError, KeyError):
            raise ValueError(
                f"{self._shown(module)} has no {self.what} {name!r}; correct the row of {name!r} in {self.package}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, name: object) -> bool:
        return name in self.rows

    def module(self, name: str) -> str:
        """The dotted module of a row, not imported."""
        return self._target(name)[0]

    def path(self, name: str) -> Path:
        """The file that holds a row."""
        return file_of(self.module(name))

    def place(self, name: str) -> tuple[Path, int]:
        """File and line at which a row's object is defined, read from the source."""
        module, attribute = self._target(name)
        path = file_of(module)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        line = 1
        for node in tree.body:
            targets = [getattr(t, "id", None) for t in getattr(node, "targets", [getattr(node, "target", None)])]
            if attribute in (*targets, getattr(node, "name", None)):
                line = node.lineno
        if self._keyed(name):
            line = next((n.lineno for n in ast.walk(tree) if isinstance(n, ast.Constant) and n.value == name), line)
        return path, line

    def _target(self, name: str) -> tuple[str, str]:
        if name not in self.rows:
            raise ValueError(f"unknown {self.what} {name!r}{nearest(name, self.rows)}; {self.package} lists all")
        module, _, attribute = self.rows[name].partition(":")
        return f"{self.package}.{module}", attribute.partition("[")[0]

    def _keyed(self, name: str) -> bool:
        return self.rows[name].endswith("[name]")

    def _shown(self, module: str) -> str:
        return file_of(module).relative_to(LIBRARY.parent).as_posix()


def file_of(module: str) -> Path:
    """The file of a module of the library, by its dotted name."""
    base = LIBRARY.joinpath(*module.split("."))
    return base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"
