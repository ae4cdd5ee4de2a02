"""What an executed notebook was made from.

The source hash covers the cells. The key covers the cells, the parameters, the settings and runs of what is measured
(by their keys), the words of what is drawn and said, the claims and the modules that decide them, and the metrics that
are read.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from attention_priors import claims, config, store
from attention_priors.checks import ALSO, CHECKS, witnessed
from attention_priors.experiments import EXPERIMENTS, findings, said
from attention_priors.figures import FIGURES, LEDGER, TABLES, FigureSpec, TableSpec
from attention_priors.positions.encodings import ENCODINGS
from attention_priors.publish.pipeline.order import needs
from attention_priors.store import code, manifest
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import EVERYTHING, NOTEBOOKS, file_name, slug

NOTEBOOK_FOLDER = config.ROOT / "notebooks"
STAMP = "attention_priors"
VERBS = ("draw", "table", "measure", "claim", "also", "read", "says")  # of a study, whose names a cell hands over


def read(path: Path) -> dict[str, Any]:
    """A notebook file as plain data with whole sources, or an error that says what is wrong with it.

    Without nbformat, whose import takes longer than all else that an up-to-date notebook needs.
    """
    try:
        notebook = store.read_json(path)
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
            cell["metadata"].get("tags")
        return notebook
    except FileNotFoundError:
        remedy = "restore it (git checkout), or correct its row in NOTEBOOKS"
        raise ValueError(f"notebook {path.name} is missing from {path.parent.name}/; {remedy}") from None
    except (store.DamagedFile, KeyError, TypeError, AttributeError):
        raise ValueError(f"{path.name} is not a complete notebook; restore it (git checkout)") from None


def source_hash(notebook: dict[str, Any]) -> str:
    """Hash of the cells as written: kinds, ids and sources, no outputs and no metadata but tags."""
    cells = [[cell.get(k) for k in ("cell_type", "id", "source")] + [_tags(cell)] for cell in notebook["cells"]]
    return store.key("source", cells)


def _tags(cell: dict[str, Any]) -> list[str]:
    return cell["metadata"].get("tags", [])


def named(notebook: dict[str, Any]) -> dict[str, list[str]]:
    """What the cells hand to each verb of a study, in their order."""
    found: dict[str, dict[str, None]] = {verb: {} for verb in VERBS}
    for node in ast.walk(tree(notebook)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in found:
            given = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            found[node.func.attr] |= dict.fromkeys(given)
    return {verb: list(names) for verb, names in found.items()}


class Keys(dict[str, str]):
    """The key of each notebook's execution, made when it is asked for: equal keys give equal results, so that the copy
    need not be made again.

    ValueError for a cell that hands a study a name that is in no table.
    """

    def __init__(self, profile: config.Profile, parameters: dict[str, Any], folder: Path, layout: Layout) -> None:
        super().__init__()
        self.profile, self.parameters, self.folder, self.layout = profile, parameters, folder, layout

    def __missing__(self, name: str) -> str:
        notebook = read(self.folder / file_name(name))
        cells, whole = named(notebook), NOTEBOOKS[name].needs == EVERYTHING
        owned = {each: claim for each, claim in claims.register().items() if claim.notebook == name}
        drawn = [FIGURES[each] for each in cells["draw"]] + [TABLES[each] for each in cells["table"]]
        measured = {metric for each in cells["measure"] for metric in EXPERIMENTS[each].metrics}
        also = witnessed(name)
        readers = [*drawn, *(CHECKS[each] for each in owned if each in CHECKS), *also.values()]
        parts = {
            "cells": source_hash(notebook),
            "parameters": self.parameters,
            "profile": self._settings(notebook, NOTEBOOKS[name].trained),
            "experiments": {
                each: EXPERIMENTS[each].key(self.profile, None) for each in cells["measure"]
            },  # as declared
            "drawn": [_said(each) for each in drawn],
            **({"says": [code.module(Path(each.__file__)) for each in (findings, said)]} if cells["says"] else {}),
            "claims": [claim.model_dump(mode="json") for claim in owned.values()],
            "checks": {
                CHECKS.module(each): code.module(CHECKS.path(each))
                for each in owned
                if each in CHECKS and each not in CHECKS.notebooks
            }  # their cells are above
            | {ALSO.module(each): code.module(ALSO.path(each)) for each in also},
            "printed": [manifest.digest(path) for path in sorted((config.ROOT / "data" / "printed").glob("*.csv"))],
            "read": self._read(
                {*cells["read"], *cells["says"], *(metric for each in readers for metric in _metrics(each))} - measured
            ),
            "before": {other: self[other] for other in needs(name)} if whole else {},
        }
        self[name] = store.key("notebook", parts)
        return self[name]

    def _read(self, metrics: set[str]) -> dict[str, str | None]:
        """Sums of the metrics that other notebooks wrote, by name; None for one that is not there yet."""
        folders = (self.layout.own, self.layout.theory)
        origins = {metric: [folder / "metrics" / f"{metric}.json" for folder in folders] for metric in sorted(metrics)}
        there = {metric: next(filter(Path.is_file, paths), None) for metric, paths in origins.items()}
        return {metric: path and store.read_json(path).get("sha256") for metric, path in there.items()}

    def _settings(self, notebook: dict[str, Any], trained: bool) -> dict[str, Any]:
        """The profile without its sections but those that the cells mention; of theory the sizes alone.

        With them the sums of profiles that the cells name themselves, beside their parameter.
        """
        mentioned = {node.attr for node in ast.walk(tree(notebook)) if isinstance(node, ast.Attribute)}
        values = self.profile.model_dump(mode="json")
        sections = {name for name, value in values.items() if isinstance(value, dict)}
        used = (values.keys() - sections) | (sections & mentioned) if trained else set()
        cells = [cell for cell in notebook["cells"] if "parameters" not in _tags(cell)]
        texts = {node.value for node in ast.walk(tree(notebook | {"cells": cells})) if isinstance(node, ast.Constant)}
        paths = [path for path in sorted(config.PROFILES.glob("*.yaml")) if path.stem in texts]
        found = {name: values[name] for name in sorted(used - {"minutes"} | {"theory"})}
        return found | {path.name: manifest.digest(path) for path in paths}


def _said(spec: FigureSpec | TableSpec) -> list[Any]:
    """What a notebook shows of a figure or table beside its metrics: caption, alternative text, a table's cells.

    How a figure is drawn does not count: `make figures` draws it anew. Of simulated rows, the simulation does.
    """
    functions = [spec.caption, getattr(spec, "build", None), spec.rows]
    said = [code.definition(each) for each in functions if each is not None]
    lists = any("ENCODINGS" in code.mentioned(each) for each in functions if each is not None)
    return [getattr(spec, "alt", ""), spec.metrics, *said, list(ENCODINGS) if lists else []]


def _metrics(reader: Any) -> tuple[str, ...]:
    """The metrics that a figure, a table or a check reads."""
    if isinstance(reader, FigureSpec | TableSpec):
        return () if reader.rows or reader.metrics == LEDGER else (reader.metrics,)
    return tuple(reader.metrics)


def state_path(layout: Layout, name: str) -> Path:
    """Where this checkout remembers what it ran itself: not committed, so a fresh clone computes everything once."""
    return layout.folder(name) / manifest.STATE / f"{name}.json"


def state(layout: Layout, name: str) -> dict[str, Any]:
    """What is remembered of the last attempt at a notebook: key, seconds spent, digest of the finished copy."""
    try:
        return store.read_json(state_path(layout, name))
    except (FileNotFoundError, store.DamagedFile):
        # A memory that cannot be read only costs another run.
        return {}


def current(layout: Layout, name: str, wanted: str) -> bool:
    """True where this checkout made the executed copy from exactly `wanted`, and copy and outputs are still whole."""
    last = state(layout, name)
    if last.get("key") != wanted or last.get("copy") is None:
        return False
    sums = {folder / each: known for folder in layout.parts for each, known in manifest.read(folder).items()}
    found = {path: manifest.digest(path) for path in (layout.results / each for each in last.get("outputs", ()))}
    whole = all(known and sums.get(path, known) == known for path, known in found.items())
    return whole and manifest.digest(layout.copy(name)) == last["copy"]


def written(notebook: dict[str, Any], layout: Layout, name: str) -> dict[str, str | None]:
    """What a notebook writes: path below the results -> its key (None: it carries no key).

    The figures and tables that its cells name, the metrics behind them and those of the experiments that they name.
    """
    cells = named(notebook)
    figures, tables = sorted(cells["draw"]), sorted(cells["table"])
    metrics = {FIGURES[each].metrics for each in figures} | {TABLES[each].metrics for each in tables}
    metrics |= {metric for each in cells["measure"] for metric in EXPERIMENTS[each].metrics}
    wanted = {"figures": figures, "tables": tables, "metrics": sorted(metrics)}
    found: dict[str, str | None] = {}
    for folder in (layout.own, layout.theory):
        paths = [path for kind, names in wanted.items() for each in names for path in folder.glob(f"{kind}/{each}.*")]
        for path in sorted(paths):
            number = path.parent.name == "metrics" and path.suffix != ".json"
            origin = path.with_name(f"{path.name.partition('.')[0]}.json") if number else None
            known = origin is not None and origin.is_file()
            found[path.relative_to(layout.results).as_posix()] = store.read_json(origin).get("key") if known else None
    part = layout.part(name)
    return found | ({part.relative_to(layout.results).as_posix(): None} if part.is_file() else {})


def drifted(layout: Layout, folder: Path = NOTEBOOK_FOLDER) -> list[str]:
    """Notebooks whose source is no longer what their executed copy was made from, of the profile and of theory."""
    stale = []
    for place in (layout.own, layout.theory):
        for path in sorted((place / "notebooks").glob("*.ipynb")):
            if path.name.endswith(".failed.ipynb"):
                continue
            name, stamp = slug(path.name), read(path)["metadata"].get(STAMP, {})
            source = folder / file_name(name) if name in NOTEBOOKS else path
            if not source.is_file() or stamp.get("source") != source_hash(read(source)):
                stale.append(name)
    return stale


def tree(notebook: dict[str, Any]) -> ast.Module:
    """The syntax tree of all code cells; empty where a cell has a syntax error, which the run reports."""
    lines = [
        "" if line.lstrip().startswith(("%", "!")) else line
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
        for line in cell["source"].splitlines()
    ]
    try:
        return ast.parse("\n".join(lines))
    except SyntaxError:
        return ast.Module(body=[], type_ignores=[])
