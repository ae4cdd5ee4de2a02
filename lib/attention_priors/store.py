"""Keys, code fingerprints and atomic files.

One function, `key`, makes every identifier of a run, a metric and a figure. `fingerprint` is the part of a key that
stands for code: the definitions that some objects really use, without comments, docstrings and layout, so that editing
a plot or an unused prior changes no key, while editing the model changes the keys of what it trained.
"""

from __future__ import annotations

import ast
import errno
import functools
import hashlib
import inspect
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            remedy = "the disk is full, and the file is as it was; free some space and run the same command again"
            raise OSError(errno.ENOSPC, remedy, str(path)) from None
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


def kept_json(path: str | Path, measure: Callable[[], Any]) -> Any:
    """What `path` holds; where it is missing or damaged, `measure()` is asked and written first.

    The answer always comes from the file, so that its keys have one order on the first day and on every later one.
    """
    try:
        return read_json(path)
    except (FileNotFoundError, DamagedFile):
        write_json(path, measure())
        return read_json(path)


@contextmanager
def locked(folder: Path, name: str, wait: bool = True) -> Iterator[bool]:
    """Hold `folder`/`name`.lock; the operating system lets go of it however the process ends.

    Yields False where `wait` is False and another process holds it.
    """
    import fcntl  # here, so that the library can be imported where there is none

    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True


def fingerprint(*objects: Any) -> str:
    """Hash of the code behind functions and classes of this package and all of its code that they refer to.

    References are followed by name through module globals: functions, classes (with their bases), partials, and
    constants of plain data in capitals. Tables (containers of code) are not followed: who picks a row of a table passes
    that row's objects here. Not part of it: docstrings, layout, types of arguments, this module, and code outside the
    package (torch, numpy).
    """
    same = tuple(map(id, objects))
    if _MADE is not None and same in _MADE:
        return _MADE[same][1]
    made = key(reached(*objects))
    if _MADE is not None:
        _MADE[same] = objects, made  # the objects, so that no other one gets their identity
    return made


_MADE: dict[tuple[int, ...], tuple[tuple[Any, ...], str]] | None = None  # fingerprints by the identity of objects


@contextmanager
def settled() -> Iterator[None]:
    """Take the code as it is: within this, a fingerprint of the same objects is made once.

    For loops over many runs, of which one takes milliseconds. Nothing may be reloaded or patched meanwhile.
    """
    global _MADE
    before = _MADE
    _MADE = {} if before is None else before
    try:
        yield
    finally:
        _MADE = before


def reached(*objects: Any) -> dict[str, str]:
    """What a fingerprint is made from: the text of each definition by its name (behind it, what tells it apart)."""
    found: dict[str, str] = {}
    seen: dict[int, Any] = {}
    for item in objects:
        _collect(item, found, seen)
    return found


def _collect(item: Any, found: dict[str, str], seen: dict[int, Any] | None = None) -> None:
    """Add what `item` reaches. `seen`: what was added already, by identity, and kept so that none is given twice."""
    seen = {} if seen is None else seen
    if id(item) in seen:
        return
    seen[id(item)] = item
    if isinstance(item, functools.partial):
        values = (*item.args, *item.keywords.values())
        code = [v for v in values if callable(v) and isinstance(inspect.unwrap(v), (FunctionType, type))]
        named = {id(value): _label(inspect.unwrap(value)) for value in code}
        plain = [named.get(id(value), value) for value in item.args]
        arguments = _constant([plain, {name: named.get(id(value), value) for name, value in item.keywords.items()}])
        if arguments is None:
            raise ValueError(f"a partial of {_label(item.func)} holds more than plain data; write a function instead")
        found[f"partial {_label(item.func)} {arguments}"] = ""
        for value in (item.func, *code):
            _collect(value, found, seen)
        return
    if inspect.ismethod(item):  # of a class: its name tells GeneralizedGaussian.uniform from .laplace
        found[f"method {_label(item)}"] = ""
        item = item.__self__ if inspect.isclass(item.__self__) else item.__func__
    item = inspect.unwrap(item) if callable(item) else item
    if not isinstance(item, (FunctionType, type)):
        raise ValueError(f"a fingerprint is made from functions and classes, but got {item!r}")
    if (item.__module__ or "").partition(".")[0] != PACKAGE or item.__module__ == __name__:
        return
    text, references = _reading(_definition(item))
    label = _label(item) if "<lambda>" not in item.__qualname__ else f"{_label(item)} {text}"
    cells = [cell.cell_contents for cell in getattr(item, "__closure__", None) or ()]  # what a closure holds
    label += "".join(f" {_constant(value) or getattr(value, '__qualname__', '')}" for value in cells)
    if label in found:
        return
    found[label] = text
    for value in filter(callable, cells):
        _include("", value, found, seen)
    for name in references:
        value = _resolve(name, vars(sys.modules[item.__module__]))
        if callable(value) or name.rpartition(".")[2].isupper():
            _include(f"{item.__module__}:{name}", value, found, seen)


def _include(name: str, value: Any, found: dict[str, str], seen: dict[int, Any]) -> None:
    """A value that code refers to: code is collected, plain data written down, anything else left out."""
    if isinstance(inspect.unwrap(value) if callable(value) else value, (FunctionType, type, functools.partial)):
        _collect(value, found, seen)
    elif value is not None and (text := _constant(value)) is not None:
        found[name] = text


def _resolve(name: str, scope: dict[str, Any]) -> Any:
    """What a name or a dotted name of modules stands for at the top level of a module, or None."""
    first, *rest = name.split(".")
    value = scope.get(first)
    for part in rest:
        value = getattr(value, part, None) if isinstance(value, ModuleType) else None
    return value


def _constant(value: Any) -> str | None:
    """A text of plain data that is the same in every process (sets are sorted), or None for anything else."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    if not isinstance(value, (tuple, list, set, frozenset, dict)):
        return None
    parts = [_constant(part) for part in (value.items() if isinstance(value, dict) else value)]
    if None in parts:
        return None
    return f"{type(value).__name__}({', '.join(parts if isinstance(value, (tuple, list)) else sorted(parts))})"


def _label(item: Any) -> str:
    return f"{item.__module__}.{item.__qualname__}"


_TREES: dict[str, tuple[Any, ast.Module]] = {}  # by module, with the spec that a reload replaces


def _tree(module: str) -> ast.Module:
    loaded = sys.modules[module]
    if module not in _TREES or _TREES[module][0] is not loaded.__spec__:
        _TREES[module] = loaded.__spec__, ast.parse(inspect.getsource(loaded))
    return _TREES[module][1]


def _definition(item: FunctionType | type) -> ast.AST:
    """The syntax tree of the outermost definition that holds `item`; for a lambda, the lambdas on its line."""
    tree, first = _tree(item.__module__), item.__qualname__.partition(".")[0]
    if first == "<lambda>":
        line = item.__code__.co_firstlineno
        return ast.List([n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == line], ast.Load())
    if first not in _bound(tree):
        raise ValueError(f"no source for {_label(item)}; define it at the top level of its module")
    return _bound(tree)[first]


@functools.cache
def _bound(tree: ast.Module) -> dict[str | None, ast.AST]:
    """The statement that first binds each name at the top level of a module."""
    found: dict[str | None, ast.AST] = {}
    for node in tree.body:
        targets = (getattr(each, "id", None) for each in getattr(node, "targets", ()))
        for name in (getattr(node, "name", None), *targets):
            found.setdefault(name, node)
    return found


@functools.cache
def _reading(tree: ast.AST) -> tuple[str, tuple[str, ...]]:
    """The text of a tree, and the names and dotted names in it.

    `ast.dump` also writes the empty fields that each version of Python adds; here empty fields are left out.
    """
    names: dict[str, None] = {}

    def text(node: Any) -> str:
        if isinstance(node, list):
            return f"[{','.join(map(text, node))}]"
        if not isinstance(node, ast.AST):
            return repr(node)
        if isinstance(node, (ast.Name, ast.Attribute)) and (dotted := _dotted(node)):
            names[dotted] = None
        fields = dict(ast.iter_fields(node))
        match node, fields.get("body"):
            case ast.arg(), _:
                fields["annotation"] = None
            case ((ast.FunctionDef() | ast.ClassDef()), [ast.Expr(value=ast.Constant(value=str())), *rest]):
                fields["body"] = rest or [ast.Pass()]
        fields.pop("returns", None)
        return f"{type(node).__name__}({','.join(f'{k}={text(v)}' for k, v in fields.items() if v not in (None, []))})"

    return text(tree), tuple(names)


def _dotted(node: ast.AST) -> str | None:
    """`a.b.c` for an attribute of names alone, else None."""
    if isinstance(node, ast.Name):
        return node.id
    owner = _dotted(node.value) if isinstance(node, ast.Attribute) else None
    return owner and f"{owner}.{node.attr}"
