"""What code rests on: the library's functions and classes that it leads to, by name through module globals."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

PACKAGE = __name__.partition(".")[0]


def reached(*items: Any) -> set[str]:
    """Dotted names of the functions and classes of this package that `items` use, themselves among them."""
    found: dict[int, str] = {}
    waiting = list(items)
    while waiting:
        item = waiting.pop()
        if isinstance(item, functools.partial):
            waiting += [item.func, *filter(callable, (*item.args, *item.keywords.values()))]
            continue
        if inspect.ismethod(item):
            item = item.__self__ if inspect.isclass(item.__self__) else item.__func__
        item = inspect.unwrap(item) if callable(item) else item
        ours = isinstance(item, (FunctionType, type)) and (item.__module__ or "").partition(".")[0] == PACKAGE
        if ours and id(item) not in found:
            found[id(item)] = f"{item.__module__}.{item.__qualname__}"
            waiting += filter(callable, (cell.cell_contents for cell in getattr(item, "__closure__", None) or ()))
            scope = vars(sys.modules[item.__module__])
            waiting += filter(callable, (_resolve(name, scope) for name in _names(_definition(item))))
    return set(found.values())


def _resolve(name: str, scope: dict[str, Any]) -> Any:
    """What a name or a dotted name of modules stands for at the top level of a module, or None."""
    first, *rest = name.split(".")
    value = scope.get(first)
    for part in rest:
        value = getattr(value, part, None) if isinstance(value, ModuleType) else None
    return value


_parsed = functools.cache(ast.parse)  # by text, which an edit and a reload change


def _definition(item: FunctionType | type) -> ast.AST:
    """The syntax tree of the outermost definition that holds `item`; for a lambda, the lambdas on its line."""
    tree, first = _parsed(inspect.getsource(sys.modules[item.__module__])), item.__qualname__.partition(".")[0]
    if first == "<lambda>":
        line = item.__code__.co_firstlineno
        return ast.List([n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == line], ast.Load())
    for node in tree.body:
        targets = (getattr(each, "id", None) for each in getattr(node, "targets", ()))
        if first in (getattr(node, "name", None), *targets):
            return node
    raise ValueError(f"no source for {item.__qualname__}; define it at the top level of its module")


def _names(tree: ast.AST, own: frozenset[str] = frozenset()) -> Iterator[str]:
    """Names and dotted names in a tree, but for parameters (`own`: those of the functions around it)."""
    dotted = _dotted(tree) if isinstance(tree, ast.Name | ast.Attribute) else None
    if dotted and dotted.partition(".")[0] not in own:
        yield dotted
    inside, taken = own, getattr(tree, "args", None)
    if isinstance(taken, ast.arguments):
        inside |= {each.arg for each in ast.walk(taken) if isinstance(each, ast.arg)}
    for child in ast.iter_child_nodes(tree):
        yield from _names(child, own if child is taken else inside)  # a default is computed outside


def _dotted(node: ast.AST) -> str | None:
    """`a.b.c` for an attribute of names alone, else None."""
    if isinstance(node, ast.Name):
        return node.id
    owner = _dotted(node.value) if isinstance(node, ast.Attribute) else None
    return owner and f"{owner}.{node.attr}"
