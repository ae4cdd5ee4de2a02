"""What an executed notebook was made from.

The source hash covers the cells; the key covers the cells, the package's code that the notebook imports (through all
levels), the profile, the claims and printed numbers, the parameters, and the keys of the notebooks that it needs.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from pathlib import Path
from typing import Any

import attention_priors
from attention_priors import config, store
from attention_priors.pipeline.order import needs

PACKAGE = Path(attention_priors.__file__).resolve().parent
NOTEBOOK_FOLDER = config.ROOT / "notebooks"
DATA_FOLDER = config.ROOT / "data"
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


def code(notebook: dict[str, Any], package: Path = PACKAGE) -> dict[str, str]:
    """Module -> hash of its syntax tree, for all of the package's modules that the notebook's cells reach by import."""
    found: dict[str, str] = {}
    waiting = _imports(_tree(notebook), "", package)
    while waiting:
        module = waiting.pop()
        path = _path(module, package)
        if module in found or path is None:
            continue
        found[module], reached = _module(path, module, package)
        waiting += reached
    return dict(sorted(found.items()))


def key(name: str, profile: config.Profile, parameters: dict[str, Any], folder: Path) -> str:
    """The key of a notebook's execution: equal keys give equal results, so the copy need not be made again."""
    notebook = read(folder / f"{name}.ipynb")
    sizes = {field: value for field, value in profile.model_dump(mode="json").items() if field != "minutes"}
    before = {other: key(other, profile, parameters, folder) for other in needs(name)}
    return store.key("notebook", source_hash(notebook), code(notebook), sizes, _data(), parameters, before)


def state_path(results: Path, profile: str, name: str) -> Path:
    """Where this checkout remembers what it ran itself: not committed, so a fresh clone computes everything once."""
    return results / profile / ".state" / f"{name}.json"


def copy_path(results: Path, profile: str, name: str) -> Path:
    """The executed copy of a notebook."""
    return results / profile / "notebooks" / f"{name}.ipynb"


def digest(path: Path) -> str | None:
    """Hash of a file's bytes; None where there is no file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else None


def state(results: Path, profile: str, name: str) -> dict[str, Any]:
    """What is remembered of the last attempt at a notebook: key, seconds spent, digest of the finished copy."""
    try:
        return store.read_json(state_path(results, profile, name))
    except (FileNotFoundError, store.DamagedFile):
        # A memory that cannot be read only costs another run.
        return {}


def current(results: Path, profile: str, name: str, wanted: str) -> bool:
    """True where this checkout made the executed copy from exactly `wanted`, and copy and outputs are still there."""
    last = state(results, profile, name)
    if last.get("key") != wanted or last.get("copy") is None:
        return False
    outputs = (results / profile / output for output in last.get("outputs", ()))
    return digest(copy_path(results, profile, name)) == last["copy"] and all(output.is_file() for output in outputs)


def shown(notebook: dict[str, Any], results: Path, profile: str, name: str) -> dict[str, str | None]:
    """What a notebook writes and shows: path below results/<profile> -> its key (None: it carries no key).

    A metric, figure or table is a notebook's when its name is a text in the notebook's code.
    """
    texts = {node.value for node in ast.walk(_tree(notebook)) if isinstance(node, ast.Constant)}
    found: dict[str, str | None] = {}
    for folder in ("metrics", "figures", "tables"):
        for path in sorted((results / profile / folder).glob("*.*")):
            if path.stem in texts:
                origin = path.with_suffix(".json") if folder == "metrics" else None
                known = origin is not None and origin.is_file()
                found[f"{folder}/{path.name}"] = store.read_json(origin).get("key") if known else None
    part = f"claims/{name.partition('_')[0]}.json"
    return found | ({part: None} if (results / profile / part).is_file() else {})


def drifted(results: Path, profile: str, folder: Path = NOTEBOOK_FOLDER) -> list[str]:
    """Names of notebooks whose source is no longer what their executed copy in `results` was made from."""
    stale = []
    for path in sorted((results / profile / "notebooks").glob("*.ipynb")):
        if path.name.endswith(".failed.ipynb"):
            continue
        stamp = read(path)["metadata"].get(STAMP, {})
        source = folder / path.name
        if not source.is_file() or stamp.get("source") != source_hash(read(source)):
            stale.append(path.stem)
    return stale


def _tree(notebook: dict[str, Any]) -> ast.Module:
    """The syntax tree of all code cells; empty where a cell has a syntax error, which the run then reports."""
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


@functools.lru_cache(maxsize=1024)
def _module(path: Path, module: str, package: Path) -> tuple[str, list[str]]:
    """A module's hash, in which comments and layout do not count, and what it imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return store.key(ast.dump(tree)), _imports(tree, module, package)


@functools.lru_cache(maxsize=1)
def _data() -> dict[str, str | None]:
    """Hashes of the committed inputs: claims and the papers' printed numbers."""
    files = (path for path in DATA_FOLDER.rglob("*") if path.suffix in {".yaml", ".csv"})
    return {path.relative_to(DATA_FOLDER).as_posix(): digest(path) for path in sorted(files)}


@functools.lru_cache(maxsize=8192)
def _path(module: str, package: Path) -> Path | None:
    base = package.parent.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _imports(tree: ast.AST, inside: str, package: Path) -> list[str]:
    """Dotted names of the package's modules that module `inside` imports anywhere; a name of no module does no harm."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, inside, package)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        if "pkgutil" in names and inside:
            # A package that looks for its own modules imports them all.
            names += [f"{inside}.{path.stem}" for path in package.parent.joinpath(*inside.split(".")).glob("[!_]*.py")]
        for name in names:
            parts = name.split(".")
            if parts[0] == package.name:
                # Importing a.b.c runs a.b too.
                found |= {".".join(parts[:end]) for end in range(2, len(parts) + 1)}
    return sorted(found)


def _absolute(node: ast.ImportFrom, inside: str, package: Path) -> str:
    """The module that `from ... import` names, with leading dots resolved."""
    if not node.level:
        return node.module or ""
    path = _path(inside, package)
    levels = node.level - (path is not None and path.name == "__init__.py")
    home = inside.split(".")
    return ".".join([*home[: len(home) - levels], *([node.module] if node.module else [])])
