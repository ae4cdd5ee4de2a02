"""FIGURES and TABLES: every figure and table of the project by name, each a function of one committed frame."""

from attention_priors.figures.spec import LEDGER, FigureSpec, TableSpec

# isort: split
import importlib
import importlib.util

from attention_priors.figures import tables

TOPICS = ("inference", "priors", "passkey", "language", "learned")

FIGURES: dict[str, FigureSpec] = {}
TABLES: dict[str, TableSpec] = dict(tables.TABLES)

for _topic in TOPICS:
    if importlib.util.find_spec(f"{__name__}.{_topic}") is None:
        continue
    _module = importlib.import_module(f"{__name__}.{_topic}")
    for _rows, _all in ((_module.FIGURES, FIGURES), (getattr(_module, "TABLES", {}), TABLES)):
        for _name, _spec in _rows.items():
            if _name in _all:
                raise ValueError(f"figures/{_topic}.py: {_name!r} is already taken; rename it")
            _all[_name] = _spec

__all__ = ["FIGURES", "LEDGER", "TABLES", "FigureSpec", "TableSpec"]
