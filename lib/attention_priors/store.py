"""Keys, code fingerprints and atomic files.

One function, `key`, makes every identifier of a run, a metric and a figure. `fingerprint` is the part of a key that
stands for code: the definitions that some objects really use, without comments, docstrings and layout, so that editing
a plot or an unused prior changes no key, while editing the model changes the keys of what it trained.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import json
import os
import sys
import tempfile
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

PACKAGE = __name__.partition(".")[0]


class DamagedFile(ValueError):
    """A stored file cannot be read: it was cut short or altered."""


def canonical(value: Any) -> str:
    """JSON text of plain data that does not depend on the order in which dictionaries were filled."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"a key is made from plain finite data only, but got {value!r}: {error}") from None


def key(*parts: Any) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of the parts' canonical JSON."""
    return hashlib.sha256(canonical(list(parts)).encode()).hexdigest()[:16]


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file so that readers see the old content or the new, never a part of it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Atomic `write_bytes` of UTF-8 text with Unix line ends."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: str | Path, value: Any) -> None:
    """Atomic, indented, key-sorted JSON; refuses NaN, which is not JSON."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: str | Path) -> Any:
    """Read JSON; a damaged file raises `DamagedFile` with its path and the remedy."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DamagedFile(f"{path} is not complete JSON ({error}); delete it and run the same command again") from None


def fingerprint(*objects: Any) -> str:
    """Hash of the code behind functions and classes of this package and all of its code that they refer to.

    References are followed by name through module globals: functions, classes (with their bases) and plain constants.
    Tables (dictionaries and other containers of code) are not followed: who picks a row of a table passes that row's
    objects here. Code outside the package (torch, numpy) is not part of the fingerprint.
    """
    found: dict[str, str] = {}
    for item in objects:
        _collect(inspect.unwrap(item) if callable(item) else item, found)
    return key(found)


def _collect(item: Any, found: dict[str, str]) -> None:
    if isinstance(item, functools.partial):
        found[f"partial {_label(item.func)}"] = repr((item.args, sorted(item.keywords.items())))
        return _collect(item.func, found)
    if inspect.ismethod(item):
        item = item.__func__ if not inspect.isclass(item.__self__) else item.__self__
    if not isinstance(item, (FunctionType, type)):
        raise ValueError(f"a fingerprint is made from functions and classes, but got {item!r}")
    if item.__module__.partition(".")[0] != PACKAGE or _label(item) in found:
        return
    tree = _definition(item)
    found[_label(item)] = ast.dump(_bare(tree))
    scope = vars(sys.modules[item.__module__])
    for node in ast.walk(tree):
        _follow(node, scope, found)


def _label(item: Any) -> str:
    return f"{item.__module__}.{item.__qualname__}"


@functools.lru_cache(maxsize=256)
def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[module]))


def _definition(item: FunctionType | type) -> ast.AST:
    """The syntax tree of the outermost definition that holds `item` (a lambda: the statement it stands in)."""
    names = item.__qualname__.split(".")
    for node in _tree(item.__module__).body:
        if getattr(node, "name", None) == names[0]:
            return node
    line = item.__code__.co_firstlineno
    for node in _tree(item.__module__).body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            return node
    raise ValueError(f"no source for {_label(item)}")


def _bare(tree: ast.AST) -> ast.AST:
    """A copy of the tree without docstrings."""
    tree = ast.parse(ast.unparse(tree))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            if isinstance(body[0].value.value, str):
                node.body = body[1:] or [ast.Pass()]
    return tree


def _follow(node: ast.AST, scope: dict[str, Any], found: dict[str, str]) -> None:
    if isinstance(node, ast.Name):
        value, name = scope.get(node.id), node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner, name = scope.get(node.value.id), node.attr
        value = getattr(owner, name, None) if isinstance(owner, ModuleType) else None
    else:
        return
    if isinstance(value, (FunctionType, type)):
        _collect(inspect.unwrap(value), found)
    elif isinstance(value, (int, float, str, bool, tuple, frozenset)) and name.isupper():
        found[f"{scope['__name__']}:{name}"] = repr(value)
