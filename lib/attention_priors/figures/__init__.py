"""FIGURES and TABLES: every figure and table of the project by name, each a function of one committed frame.

Every module of this package that defines FIGURES, TABLES or both takes part; a name may be used once.
"""

import importlib
import pkgutil

from attention_priors.figures.spec import LEDGER, FigureSpec, TableSpec

TOPICS = tuple(
    importlib.import_module(f"{__name__}.{name}") for name in sorted(m.name for m in pkgutil.iter_modules(__path__))
)


def _joined(kind: str) -> dict:
    """The rows of all topics; ValueError for a name that two of them use."""
    rows: dict = {}
    for topic in TOPICS:
        for name, row in getattr(topic, kind, {}).items():
            if rows.get(name, row) is not row:
                raise ValueError(f"{topic.__name__}: {kind} has {name!r} already; rename it")
            rows[name] = row
    return rows


FIGURES: dict[str, FigureSpec] = _joined("FIGURES")
TABLES: dict[str, TableSpec] = _joined("TABLES")

__all__ = ["FIGURES", "LEDGER", "TABLES", "FigureSpec", "TableSpec"]
