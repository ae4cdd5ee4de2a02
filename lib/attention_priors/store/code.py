"""Fingerprints of code: what a record was made by, held against today's. They enter no key (`RunSpec.key`)."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from . import key

PACKAGE = Path(__file__).resolve().parents[1]


def fingerprint(*modules: str) -> str:
    """Hash of modules of this package and of all that they import from it, however late, without words about code.

    `modules`: dotted names below the package. Comments, docstrings, layout and types of arguments do not count.
    """
    found: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found:
            path = _path(name)
            found[name], imports = _read(path, path.stat().st_mtime_ns)
            waiting += imports
    return key(found)


@functools.cache
def _read(path: Path, changed: int) -> tuple[str, tuple[str, ...]]:
    """A module's text without words about code, and the modules of the package that it imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = tuple(dict.fromkeys(_imports(tree, path)))  # before they are taken out of the tree
    return statements(tree), imports


def statements(tree: ast.AST) -> str:
    """What code does: its syntax without docstrings, layout, types, imports and empty fields of Python's own."""
    tree = _Bare().visit(tree)
    return key(_fields(tree))


def module(path: Path) -> str:
    """The statements of one file."""
    return _read(path, path.stat().st_mtime_ns)[0]


def definition(function: Callable) -> str:
    """What a function says by itself: its statements, and the plain values that it was made with or is called with."""
    if isinstance(function, functools.partial):
        return key(definition(function.func), _plain(function.args), _plain(sorted(function.keywords.items())))
    function = inspect.unwrap(function)
    source = textwrap.dedent(inspect.getsource(function))
    with contextlib.suppress(SyntaxError):  # a lambda amid other lines
        source = statements(ast.parse(source))
    return key(source, _plain(cell.cell_contents for cell in function.__closure__ or ()))


def mentioned(function: Callable) -> tuple[str, ...]:
    """Names of globals and attributes that a function uses by itself."""
    function = function.func if isinstance(function, functools.partial) else function
    return inspect.unwrap(function).__code__.co_names


def _plain(values: Iterable[Any]) -> list[Any]:
    """Values as plain data; of code and objects the name alone, since addresses differ from process to process."""
    found = []
    for each in values:
        if isinstance(each, tuple | list | set | frozenset):
            found.append(sorted(map(str, _plain(each))) if isinstance(each, set | frozenset) else _plain(each))
        elif isinstance(each, dict):
            found.append(_plain(each.items()))
        elif each is None or isinstance(each, str | int | float | bool):
            found.append(repr(each))
        else:
            found.append(getattr(each, "__qualname__", type(each).__qualname__))
    return found


def _fields(node: object) -> object:
    if isinstance(node, list):
        return [_fields(each) for each in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    kept = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
    return [type(node).__name__, {name: _fields(value) for name, value in kept.items()}]


class _Bare(ast.NodeTransformer):
    """A tree without docstrings, types of arguments and imports."""

    def visit(self, node: ast.AST) -> ast.AST | None:
        self.generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and body and isinstance(body[0], ast.Expr):
            text = body[0].value
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                node.body = body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.Import | ast.ImportFrom):  # where a name comes from, not what is done with it
            return None
        if isinstance(node, ast.arg):
            node.annotation = None
        return node


def _path(name: str) -> Path:
    base = PACKAGE.joinpath(*name.split("."))
    return base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"


def _imports(tree: ast.AST, path: Path) -> Iterator[str]:
    """Modules below the package that a file imports; of a name that is no module, the one that holds it."""
    home = [PACKAGE.name, *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [each.name.split(".") for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = home[: len(home) - node.level + 1] if node.level else []
            base = [*above, *(node.module or "").split(".")] if node.module else above
            names = [[*base, each.name] for each in node.names]
        else:
            continue
        for package, *parts in names:
            while parts and not _path(".".join(parts)).is_file():
                parts = parts[:-1]
            if package == PACKAGE.name and parts:
                yield ".".join(parts)
