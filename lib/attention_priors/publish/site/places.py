"""Where each thing stands on the site: paths from its root, with anchors."""

from __future__ import annotations

from pathlib import Path

from attention_priors.publish.site.markup import slug
from attention_priors.store.registry import LIBRARY

FIRST, LEDGER, ERRATA, BENCHMARK = "index.html", "ledger.html", "errata.html", "benchmark.html"


def claim(identifier: str) -> str:
    return f"claims/{identifier}.html"


def notebook(folder: str, name: str, cell: str = "") -> str:
    return f"notebooks/{folder}/{name}.html" + (f"#{cell_anchor(cell)}" if cell else "")


def cell_anchor(identifier: str) -> str:
    """The anchor of a notebook's cell."""
    return f"cell-{slug(identifier)}"


def figure(folder: str, name: str) -> str:
    return f"gallery/{folder}.html#{slug(name)}"


def metric(folder: str, name: str) -> str:
    return f"data/{folder}.html#{slug(name)}"


def file(folder: str, kind: str, name: str) -> str:
    """A committed file that can be downloaded: file("cpu", "figures", "passkey_main.pdf")."""
    return f"files/{folder}/{kind}/{name}"


def source(path: Path, line: int = 0) -> str:
    """The page of a module, with the anchor of a line."""
    return f"source/{path.relative_to(LIBRARY).with_suffix('').as_posix()}.html" + (f"#L-{line}" if line else "")


def shown(path: Path, line: int = 0) -> str:
    """A file of the library as a reader of the repository finds it."""
    return path.relative_to(LIBRARY.parent).as_posix() + (f":{line}" if line else "")
