"""The file that holds a reader's encoding: what it registers, and in which line it goes wrong."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...positions.encodings import ENCODINGS

ROW = 'ENCODINGS["my-prior"] = Encoding("my-prior", "My prior", prior=MyPrior)'
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MODULE = "attention_priors_own_encoding"  # under which a file is imported


class Wrong(ValueError):
    """Something in a reader's file: one line with the place, the value and the remedy."""


@dataclass(frozen=True)
class Own:
    """A reader's encoding: its file, the row that it registers, and the hash of its code without comments."""

    path: Path
    name: str
    digest: str

    @property
    def scaled(self) -> str:
        """The name of its form with SSMax."""
        return f"{self.name}-ssmax"

    def wrong(self, said: str, line: int | None = None) -> Wrong:
        """An error with the place in this file."""
        return Wrong(f"{place(self.path, line)}: {said}")

    def line(self, part: Any, method: str = "log_prior") -> int | None:
        """The line in this file at which a method of an object's class is defined, or the class where it is not."""
        for owner in type(part).__mro__:
            found = vars(owner).get(method) or vars(owner).get("exact" if method == "log_prior" else method)
            if found is not None and owner.__module__ == MODULE:
                return inspect.unwrap(found).__code__.co_firstlineno
        return None

    @contextmanager
    def at(self, doing: str) -> Iterator[None]:
        """Errors of this file's code as one line that begins with the place."""
        try:
            yield
        except Wrong:
            raise
        except Exception as error:
            line = last_line(error, self.path)
            said = " ".join(str(error).split())[:300]
            raise self.wrong(f"{doing} fails with {type(error).__name__}: {said}; correct it", line) from None


def place(path: Path, line: int | None = None) -> str:
    return path.name + (f", line {line}" if line else "")


def read(path: str | Path) -> Own:
    """Run a file and register the one encoding that it adds to ENCODINGS, and that one's form with SSMax.

    `Wrong`, with the line, for a file that is none, does not run, or adds no encoding, two, or one that ships. Read
    again, a file replaces what it registered before; one that is refused leaves ENCODINGS as it was.
    """
    path = Path(path)
    text = _text(path)
    tree = _parsed(path, text)
    before = dict(ENCODINGS)
    try:
        _run(path)
        changed = [name for name, row in ENCODINGS.items() if row is not before.get(name)]
        return _one(path, tree, changed)
    except BaseException:
        for name in [name for name in ENCODINGS if name not in before]:
            del ENCODINGS[name]
        dict.update(ENCODINGS, before)
        raise


def _text(path: Path) -> str:
    if not path.is_file():
        raise Wrong(f"no file {str(path)!r}; give FILE= the path of a Python file that ends with {ROW}")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Wrong(f"{path.name} is not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8") from None


def _parsed(path: Path, text: str) -> ast.Module:
    try:
        return ast.parse(text, filename=str(path))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        said = getattr(error, "msg", str(error))
        raise Wrong(f"{place(path, line)}: {said}: {_shown(text, line)}correct the syntax") from None


def _shown(text: str, line: int | None) -> str:
    lines = text.splitlines()
    return f"{lines[line - 1].strip()[:80]!r}; " if line and line <= len(lines) else ""


def _run(path: Path) -> None:
    spec = importlib.util.spec_from_file_location(MODULE, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module  # where code finds its own module, as dataclasses do
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # no __pycache__ beside a reader's file
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        remedy = "one file holds all of an encoding: put it in here, or install the package into .venv"
        raise Wrong(f"{place(path, last_line(error, path))}: no module {error.name!r}; {remedy}") from None
    except (Exception, SystemExit) as error:
        said = " ".join(str(error).split())[:300]
        raise Wrong(
            f"{place(path, last_line(error, path))}: {type(error).__name__}: {said}; correct it, so that the "
            "file can be imported"
        ) from None
    finally:
        sys.dont_write_bytecode = written


def last_line(error: BaseException, path: Path) -> int | None:
    """The innermost line of `path` in an error's traceback."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve() == path.resolve()
    ]
    return lines[-1] if lines else None


def _one(path: Path, tree: ast.Module, changed: list[str]) -> Own:
    """The file's encoding, from the names of the rows that it set."""
    lines = _assigned(tree)
    for name in changed:
        if name in ENCODINGS.shipped:
            raise Wrong(f"{place(path, lines.get(name))}: {name!r} is an encoding that ships; choose another name")
    forms = {f"{name}-ssmax" for name in changed}
    own = [name for name in changed if name not in forms]
    if not own:
        raise Wrong(f"{path.name} adds no encoding to ENCODINGS; end it with {ROW}")
    if len(own) > 1:
        each = " and ".join(f"{name!r}" + (f" (line {lines[name]})" if name in lines else "") for name in own)
        raise Wrong(f"{path.name} adds {len(own)} encodings: {each}; keep one in a file")
    name, row = own[0], ENCODINGS[own[0]]
    if not NAME.fullmatch(name):
        wrong = f"the name {name!r} becomes a folder; use small letters, digits and hyphens"
    elif row.trained_as:
        wrong = (
            f"{name!r} is evaluated with the weights of {row.trained_as!r}; leave out trained_as, so that it is trained"
        )
    elif row.ssmax:
        wrong = f"{name!r} has SSMax already; leave out ssmax=True, and ask for that form with SSMAX=1"
    elif not (row.prior or row.rotary or row.absolute or row.pairs):
        wrong = f"{name!r} has no prior, rotary or absolute, which is NoPE; give it one"
    else:
        # Without comments, docstrings stay: what a run depends on is the code.
        return Own(path, name, hashlib.sha256(ast.unparse(tree).encode()).hexdigest())
    raise Wrong(f"{place(path, lines.get(name))}: {wrong}")


def _assigned(tree: ast.Module) -> dict[str, int]:
    """Lines of `ENCODINGS["name"] = ...` by name."""
    found = {}
    for node in ast.walk(tree):
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                found[target.slice.value] = node.lineno
    return found
