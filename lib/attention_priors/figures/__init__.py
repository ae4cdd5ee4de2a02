"""FIGURES and TABLES: every figure and table of the project by name, each a function of one committed frame.

A topic is a module with FIGURES, TABLES or both; to add one, import it and put it in TOPICS.
"""

from attention_priors.figures.spec import LEDGER, FigureSpec, TableSpec  # isort: split

from attention_priors.figures import inference, language, learned, passkey, priors, tables

TOPICS = (inference, priors, passkey, language, learned, tables)


def _joined(kind: str) -> dict:
    """The rows of all topics; ValueError for a name that two of them use."""
    rows: dict = {}
    for topic in TOPICS:
        for name, row in getattr(topic, kind, {}).items():
            if name in rows:
                raise ValueError(f"{topic.__name__}: {kind} has {name!r} already; rename it")
            rows[name] = row
    return rows


FIGURES: dict[str, FigureSpec] = _joined("FIGURES")
TABLES: dict[str, TableSpec] = _joined("TABLES")

__all__ = ["FIGURES", "LEDGER", "TABLES", "FigureSpec", "TableSpec"]
