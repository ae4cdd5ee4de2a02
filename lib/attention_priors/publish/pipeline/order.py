"""The order in which notebooks run, and the make rules for it."""

from __future__ import annotations

from collections.abc import Iterable

from attention_priors.store.notebooks import EVERYTHING, NOTEBOOKS, slug
from attention_priors.store.registry import nearest


def needs(name: str) -> tuple[str, ...]:
    """The notebooks that must have run before `name`."""
    if name not in NOTEBOOKS:
        raise ValueError(f"no notebook is called {name!r}{nearest(name, NOTEBOOKS)}; known are {', '.join(NOTEBOOKS)}")
    row = NOTEBOOKS[name].needs
    return tuple(other for other in NOTEBOOKS if other != name) if row == EVERYTHING else row


def order(only: Iterable[str] = ()) -> list[str]:
    """`only` and all that they need (no names: all notebooks), each after what it needs, else in the table's order."""
    places = {name: place for place, name in enumerate(NOTEBOOKS)}
    done: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"notebooks need each other in a circle: {' -> '.join((*path, name))}; edit NOTEBOOKS")
        if name not in done:
            for other in sorted(needs(name), key=places.get):
                visit(other, (*path, name))
            done.append(name)

    for name in sorted(map(slug, only), key=lambda name: places.get(name, -1)) or NOTEBOOKS:
        visit(name, ())
    return done


def rules(only: Iterable[str] = (), waiting: Iterable[str] | None = None, side_by_side: bool = False) -> str:
    """Make rules that run every notebook of the order by `$(STEP) <name>`, so that `make -j` runs independent ones.

    `waiting`: those that are not up to date; the others get no rule. `side_by_side`: those that others wait for come
    first, so that at the end nobody waits.
    """
    names = [name for name in order(only) if waiting is None or name in set(waiting)]
    wanted = {name: [other for other in needs(name) if other in names] for name in names}
    waited_for = {other for name in names if NOTEBOOKS[name].needs != EVERYTHING for other in wanted[name]}
    begin = sorted(names, key=lambda name: name not in waited_for) if side_by_side else names
    lines = [f".PHONY: all {' '.join(names)}", f"all: {' '.join(begin)}", "\t@:"]
    for name in names:
        lines += [f"{name}: {' '.join(wanted[name])}".rstrip(), "\t@$(STEP) $@"]
    return "\n".join(lines) + "\n"
