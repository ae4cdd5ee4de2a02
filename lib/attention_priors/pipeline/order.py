"""The notebooks and what each needs, in one table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# name -> the notebooks whose results it reads, or EVERYTHING. To add a notebook, add its row here (reading order).
EVERYTHING = "everything"
NOTEBOOKS: dict[str, tuple[str, ...] | str] = {
    "00_how_to_read": (),
    "01_attention_is_inference": (),
    "02_one_parameter_groups": (),
    "03_field_guide": (),
    "04_generalised_gaussian": (),
    "05_spectra_and_sinks": (),
    "06_longer_rotations": (),
    "07_scalable_softmax": (),
    "08_fused_kernel": (),
    "09_language_models": (),
    "10_passkeys": (),
    "11_needles": (),
    "12_learned_priors": ("09_language_models", "10_passkeys"),
    "13_parallel_attention": (),
    "14_phase_diagram": ("10_passkeys", "12_learned_priors"),
    "15_verdicts": EVERYTHING,
}


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the known name closest to `name`, or the list of known names."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def needs(name: str, table: dict[str, tuple[str, ...] | str] | None = None) -> tuple[str, ...]:
    """The notebooks that must have run before `name`."""
    table = NOTEBOOKS if table is None else table
    if name not in table:
        raise ValueError(f"no notebook is called {name!r}{nearest(name, table)}")
    row = table[name]
    return tuple(other for other in table if other != name) if row == EVERYTHING else row


def order(only: Iterable[str] = (), table: dict[str, tuple[str, ...] | str] | None = None) -> list[str]:
    """`only` and all that they need (no names: all notebooks), each after what it needs, else in the table's order."""
    table = NOTEBOOKS if table is None else table
    done: list[str] = []

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
    only: Iterable[str] = (), table: dict[str, tuple[str, ...] | str] | None = None, side_by_side: bool = False
) -> str:
    """Make rules that run every notebook of the order by `$(STEP) <name>`, so that `make -j` runs independent ones.

    `side_by_side`: those that others wait for come first, so that at the end nobody waits.
    """
    names = order(only, table)
    direct = NOTEBOOKS if table is None else table
    waited_for = {other for name in names if direct[name] != EVERYTHING for other in needs(name, table)}
    begin = sorted(names, key=lambda name: name not in waited_for) if side_by_side else names
    lines = [f".PHONY: all {' '.join(names)}", f"all: {' '.join(begin)}"]
    for name in names:
        lines += [f"{name}: {' '.join(needs(name, table))}".rstrip(), "\t@$(STEP) $@"]
    return "\n".join(lines) + "\n"
