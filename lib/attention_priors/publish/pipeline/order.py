"""The order in which notebooks run, and the make rules for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attention_priors.store.notebooks import EVERYTHING, NOTEBOOKS, Notebook, slug
from attention_priors.store.registry import nearest

Notebooks = Mapping[str, Notebook]


def needs(name: str, table: Notebooks | None = None) -> tuple[str, ...]:
    """The notebooks that must have run before `name`."""
    table = NOTEBOOKS if table is None else table
    if name not in table:
        raise ValueError(f"no notebook is called {name!r}{nearest(name, table)}; known are {', '.join(table)}")
    row = table[name].needs
    return tuple(other for other in table if other != name) if row == EVERYTHING else row


def order(only: Iterable[str] = (), table: Notebooks | None = None) -> list[str]:
    """`only` and all that they need (no names: all notebooks), each after what it needs, else in the table's order."""
    table = NOTEBOOKS if table is None else table
    done: list[str] = []
    only = [slug(name) for name in only]

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"notebooks need each other in a circle: {' -> '.join((*path, name))}; edit NOTEBOOKS")
        if name not in done:
            for other in sorted(needs(name, table), key=list(table).index):
                visit(other, (*path, name))
            done.append(name)

    for name in sorted(only, key=lambda name: list(table).index(name) if name in table else -1) or table:
        visit(name, ())
    return done


def rules(
    only: Iterable[str] = (),
    waiting: Iterable[str] | None = None,
    table: Notebooks | None = None,
    side_by_side: bool = False,
) -> str:
    """Make rules that run every notebook of the order by `$(STEP) <name>`, so that `make -j` runs independent ones.

    `waiting`: those that are not up to date; the others get no rule. `side_by_side`: those that others wait for come
    first, so that at the end nobody waits.
    """
    names = order(only, table)
    names = [name for name in names if waiting is None or name in set(waiting)]
    direct = NOTEBOOKS if table is None else table
    wanted = {name: [other for other in needs(name, table) if other in names] for name in names}
    waited_for = {other for name in names if direct[name].needs != EVERYTHING for other in wanted[name]}
    begin = sorted(names, key=lambda name: name not in waited_for) if side_by_side else names
    lines = [f".PHONY: all {' '.join(names)}", f"all: {' '.join(begin)}", "\t@:"]
    for name in names:
        lines += [f"{name}: {' '.join(wanted[name])}".rstrip(), "\t@$(STEP) $@"]
    return "\n".join(lines) + "\n"
