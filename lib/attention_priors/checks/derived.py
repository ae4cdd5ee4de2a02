"""Laws that stand where they are read: a source notebook is the module of its cells tagged `law`.

The imports of the notebook's first cell and its `law` cells are executed, nothing else: no figure and no training. In
a cell, `study.claim("BAM-T3", law, ...)` decides a claim; read from here, it hands over the check.
"""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from attention_priors import config, store
from attention_priors.claims.law import Check, claim
from attention_priors.store.notebooks import file_name

TAG = "law"
# what no law needs, or may rest on
SHOWING = ("attention_priors.publish", "attention_priors.figures", "attention_priors.checks", "ipywidgets", "IPython")


class Recorder:
    """In place of a study: what `claim` is given, as checks by id."""

    def __init__(self, file: str) -> None:
        self.file, self.checks = file, {}

    def claim(self, identifier: str, *sentences: Any, **said: Any) -> Recorder:
        if sentences:
            self.checks[identifier] = claim(identifier, *sentences, file=self.file, **said)
        return self

    def __and__(self, other: Recorder) -> Recorder:
        return self


def path(notebook: str) -> Path:
    return config.ROOT / "notebooks" / file_name(notebook)


def laws(notebook: str) -> dict[str, Check]:
    """The checks that a source notebook derives, by id. ValueError where it is not there or a cell cannot be run."""
    place = path(notebook)
    if not place.is_file():
        raise ValueError(f"notebooks/{place.name} is not there, and its claims are decided in it; work in a checkout")
    return _laws(notebook, place.stat().st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _laws(notebook: str, modified: int) -> dict[str, Check]:
    """`modified` is part of the cache's key, so that an edited notebook is read again, and of the modules' names."""
    place = path(notebook)
    shown = f"notebooks/{place.name}"
    recorder = Recorder(shown)
    for number, text in enumerate(sources(place)):
        module = ModuleType(f"{__name__}.{notebook}_{number}_{modified}")
        module.study, module.__file__ = recorder, f"<{shown}, law cell {number}, {modified}>"
        linecache.cache[module.__file__] = (len(text), None, text.splitlines(keepends=True), module.__file__)
        sys.modules[module.__name__] = module
        try:
            exec(compile(text, module.__file__, "exec"), vars(module))
        except Exception as error:
            said = " ".join(str(error).split())
            raise ValueError(f"{shown}: its law cells cannot be run ({said}); correct them") from None
    return recorder.checks


def sources(place: Path) -> list[str]:
    """Each law cell of a notebook below the imports, so that no cell sees the names of another."""
    code = [cell for cell in store.read_json(place)["cells"] if cell["cell_type"] == "code"]
    cells = [("".join(cell["source"]), cell["metadata"].get("tags", [])) for cell in code]
    first = next((text for text, tags in cells if "parameters" not in tags), "")
    imports = "\n".join(ast.unparse(node) for node in ast.parse(first).body if _needed(node))
    return [f"{imports}\n\n{text}\n" for text, tags in cells if TAG in tags]


def _needed(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not (node.module or "").startswith(SHOWING)
    return isinstance(node, ast.Import) and not any(each.name.startswith(SHOWING) for each in node.names)


def cell_of(notebook: str, identifier: str) -> tuple[int, str]:
    """The line of the notebook's file that decides a claim, and the source of its cell."""
    place = path(notebook)
    lines = place.read_text(encoding="utf-8").splitlines()
    quoted = f'study.claim(\\"{identifier}\\"'
    line = next((number for number, line in enumerate(lines, 1) if quoted in line), 1)
    for cell in store.read_json(place)["cells"]:
        text = "".join(cell["source"])
        if TAG in cell["metadata"].get("tags", []) and f'study.claim("{identifier}"' in text:
            return line, text
    return line, ""
