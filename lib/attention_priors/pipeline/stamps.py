"""What an executed notebook was made from.

The source hash covers the cells. The key covers the cells, the code and the printed numbers that they reach (`trace`),
the register's entries of the notebook's claims and their checks, the parts of the profile that are used, the
parameters, and what the notebooks that it needs measure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attention_priors import claims, config, manifest, store, trace
from attention_priors.layout import Layout
from attention_priors.notebooks import EVERYTHING, NOTEBOOKS, file_name, slug
from attention_priors.pipeline.order import needs
from attention_priors.trace import Sources, Trace

NOTEBOOK_FOLDER = config.ROOT / "notebooks"
STAMP = "attention_priors"


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


class Keys(Mapping[str, str]):
    """The key of each notebook's execution: equal keys give equal results, so the copy need not be made again."""

    def __init__(
        self, profile: config.Profile, parameters: dict[str, Any], folder: Path, sources: Sources | None = None
    ) -> None:
        self.profile, self.parameters, self.folder = profile, parameters, folder
        self.sources = sources or Sources()
        self._made: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(NOTEBOOKS)

    def __len__(self) -> int:
        return len(NOTEBOOKS)

    def _make(self, name: str) -> str:
        notebook = read(self.folder / file_name(name))
        owned = {each: claim for each, claim in claims.register().items() if claim.notebook == name}
        found = Trace(self.sources)
        found.cells(tree(notebook))
        found.rows(trace.CHECKS, owned)
        register = [claim.model_dump(mode="json") for claim in owned.values()]
        whole = NOTEBOOKS[name].needs == EVERYTHING
        before = {other: self[other] if whole else self._measured(other) for other in needs(name)}
        sizes = self._sizes(found, NOTEBOOKS[name].trained)
        parts = (source_hash(notebook), found.code, found.data, register, sizes, self._profiles(notebook))
        return store.key("notebook", *parts, self.parameters, before)

    def _measured(self, name: str) -> str:
        """What another notebook's results depend on: the experiments that it names."""
        found = Trace(self.sources)
        cells = self.sources.uses(tree(read(self.folder / file_name(name))))
        found.rows(trace.EXPERIMENTS, trace.named(cells, trace.EXPERIMENTS))
        return store.key(found.code, found.data, self._sizes(found, True))

    def _sizes(self, found: Trace, trained: bool) -> dict[str, Any]:
        """The sections of the profile that are mentioned; of one that nothing is trained in, the sizes of theory."""
        values = self.profile.model_dump(mode="json")
        sections = {name for name, value in values.items() if isinstance(value, dict)}
        used = (values.keys() - sections) | (sections & found.attributes) if trained else set()
        return {name: values[name] for name in sorted(used - {"minutes"} | {"theory"})}

    def _profiles(self, notebook: dict[str, Any]) -> dict[str, str | None]:
        """Sums of the profiles that the cells name themselves, beside their parameter."""
        cells = [cell for cell in notebook["cells"] if "parameters" not in _tags(cell)]
        texts = self.sources.uses(tree(notebook | {"cells": cells})).texts
        paths = [config.PROFILES / f"{text}.yaml" for text in sorted(texts)]
        return {path.stem: manifest.digest(path) for path in paths if path.is_file()}


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
    """True where this checkout made the executed copy from exactly `wanted`, and copy and outputs are still there."""
    last = state(layout, name)
    if last.get("key") != wanted or last.get("copy") is None:
        return False
    outputs = (layout.results / output for output in last.get("outputs", ()))
    return manifest.digest(layout.copy(name)) == last["copy"] and all(output.is_file() for output in outputs)


def written(notebook: dict[str, Any], layout: Layout, name: str) -> dict[str, str | None]:
    """What a notebook writes: path below the results -> its key (None: it carries no key).

    The figures and tables that its cells name, the metrics behind them and those of the experiments that they name.
    """
    # torch and matplotlib, which keys do not need
    from attention_priors import experiments
    from attention_priors import figures as drawings

    cells = trace.uses(tree(notebook))
    figures = sorted(trace.named(cells, trace.FIGURES) & drawings.FIGURES.rows.keys())
    tables = sorted(trace.named(cells, trace.TABLES) & drawings.TABLES.rows.keys())
    metrics = {drawings.FIGURES[each].metrics for each in figures} | {drawings.TABLES[each].metrics for each in tables}
    for each in trace.named(cells, trace.EXPERIMENTS) & experiments.EXPERIMENTS.rows.keys():
        metrics |= {*experiments.EXPERIMENTS[each].frames, *experiments.EXPERIMENTS[each].derive}
    wanted = {"figures": figures, "tables": tables, "metrics": sorted(metrics)}
    found: dict[str, str | None] = {}
    for folder in (layout.own, layout.theory):
        paths = [path for kind, names in wanted.items() for each in names for path in folder.glob(f"{kind}/{each}.*")]
        for path in sorted(paths):
            origin = path.with_suffix(".json") if path.suffix == ".csv" and path.parent.name == "metrics" else None
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
