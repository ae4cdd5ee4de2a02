"""Documents to train and to test on: the text every installation already has, or local files.

| name               | documents                                                                                  |
|--------------------|--------------------------------------------------------------------------------------------|
| `docstrings`       | docstrings of installed scientific packages; a second domain is their Python source        |
| `docstrings-small` | the same of two packages                                                                   |
| `text:PATH`        | a text file, or every .txt, .md and .rst file below a directory                            |
| `parquet:PATH`     | the rows of a .parquet or .jsonl file (column `text`), or of all such files in a directory |

Packages are read with `ast` and never imported. The same package versions give the same documents on every platform and
Python version, because whatever differs between builds is left out.
"""

import ast
import contextlib
import difflib
import gc
import hashlib
import importlib.metadata
import importlib.util
import io
import tempfile
import tokenize
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SPLITS = ("train", "validation")


@dataclass(frozen=True)
class Document:
    """A text, its name (a path inside its package or directory) and the package it comes from."""

    name: str
    text: str
    package: str


@dataclass(frozen=True)
class Corpus:
    """Documents by (split, domain), in a fixed order, with the versions of what they were read from."""

    name: str
    parts: Mapping[tuple[str, str], tuple[Document, ...]]
    versions: Mapping[str, str]

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(domain for _, domain in self.parts))

    @cached_property
    def sha256(self) -> str:
        """Hash of every document with its place; each field is preceded by its length, so that no two corpora agree."""
        digest = hashlib.sha256()
        for (split, domain), documents in self.parts.items():
            for document in documents:
                for field in (split, domain, document.package, document.name, document.text):
                    data = field.encode("utf-8")
                    digest.update(len(data).to_bytes(8, "little") + data)
        return digest.hexdigest()


@dataclass(frozen=True)
class Offline:
    """Packages to train and to validate on; how many characters of their source to take in each split."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    source: Mapping[str, int]


# torch is not among them: it has other files in CPU and CUDA builds, and users may bring another version of it.
OFFLINE = {
    "docstrings": Offline(
        train=("networkx", "numpy", "scipy"),
        validation=("matplotlib", "pandas", "seaborn", "sympy"),
        source={"train": 8_000_000, "validation": 8_000_000},
    ),
    # Opened in a twentieth of the time: profile smoke opens its corpus some hundred times.
    "docstrings-small": Offline(
        train=("networkx",),
        validation=("seaborn",),
        source={"train": 500_000, "validation": 500_000},
    ),
}

SHORTEST = 100  # characters: a module with one line of documentation is no document
LONGEST_LINE = 1000  # characters: beyond it a module is a table of numbers, not text
LOCAL_VALIDATION = 0.1  # share of the documents of local corpora that is kept for validation

# Directories and files that differ between platforms or Python versions, are generated, or copy other projects.
LEFT_OUT_DIRECTORIES = (
    *("tests", "testing", "benchmarks", "distutils", "external", "externals", "_vendor", "_antlr"),
    *("array_api_compat", "array_api_extra", "_uarray", "cobyqa", "pyprima"),
)
LEFT_OUT_FILES = (
    *("__config__.py", "_distributor_init.py", "_distributor_init_local.py", "conftest.py", "setup.py"),
    *("version.py", "_version.py", "_version_meson.py"),
)
TEXT_ENDINGS = (".txt", ".md", ".rst")
ROW_ENDINGS = (".parquet", ".jsonl")


def read(name: str) -> Corpus:
    """The corpus called `name` (see the module's table).

    Raises ValueError if the name is unknown, if a package or a path is not there, or if there is no text in it.
    """
    kind, path = kind_and_path(name)
    if kind in OFFLINE:
        return _read_packages(kind, OFFLINE[kind])
    return _read_local(name, path, _rows if kind == "parquet" else _texts)


def identity(name: str) -> dict[str, str]:
    """What the documents depend on, known before they are read: package versions, or hashes of the local files."""
    kind, path = kind_and_path(name)
    if kind in OFFLINE:
        return {package: _version(package) for package in OFFLINE[kind].train + OFFLINE[kind].validation}
    files = _files(name, path, ROW_ENDINGS if kind == "parquet" else TEXT_ENDINGS)
    return {relative: hashlib.sha256(file.read_bytes()).hexdigest() for relative, file in files}


def pinned(name: str) -> dict | None:
    """The expected hash and package versions of `name` in data/corpora.yaml; None if it is not listed there."""
    import yaml

    from attention_priors.config import ROOT

    return yaml.safe_load((ROOT / "data" / "corpora.yaml").read_text(encoding="utf-8")).get(name)


def status(name: str, sha256: str, versions: Mapping[str, str]) -> dict:
    """Compares the text of a corpus with its pin: {corpus, sha256, expected, same, changed}.

    `same` and `expected` are None when nothing is pinned; `changed` maps a package to [pinned version, version here].
    Other text is no error, but numbers computed from it may not be compared with the committed ones.
    """
    pin = pinned(name) or {"sha256": None, "packages": {}}
    same = None if pin["sha256"] is None else sha256 == pin["sha256"]
    changed = {p: [v, versions.get(p)] for p, v in pin["packages"].items() if versions.get(p) != v}
    return {"corpus": name, "sha256": sha256, "expected": pin["sha256"], "same": same, "changed": changed}


def kind_and_path(name: str) -> tuple[str, str]:
    """('docstrings', ''), ('text', PATH) or ('parquet', PATH); ValueError for any other name."""
    if name in OFFLINE:
        return name, ""
    kind, _, path = name.partition(":")
    if kind in ("text", "parquet") and path:
        return kind, path
    near = difflib.get_close_matches(name, OFFLINE, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(
        f"unknown corpus {name!r}: {hint}nothing is downloaded; use {', '.join(map(repr, OFFLINE))}, 'text:PATH' or "
        "'parquet:PATH' (save a hub corpus as Parquet first)"
    )


# --- installed packages ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    # Syntax trees are large and free of cycles: searching them for garbage doubles the time to read a corpus.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_collector_paused()
def _read_packages(name: str, offline: Offline) -> Corpus:
    parts: dict[tuple[str, str], tuple[Document, ...]] = {}
    for split in SPLITS:
        docstring_documents, source_documents = [], []
        for package in getattr(offline, split):
            for relative, source in _modules(package):
                text = docstrings(source, relative)
                if len(text) >= SHORTEST:
                    docstring_documents.append(Document(relative, text, package))
                source_documents.append(Document(relative, source, package))
        parts[split, "docstrings"] = tuple(docstring_documents)
        parts[split, "source"] = sample(source_documents, offline.source[split])
    return Corpus(name, parts, identity(name))


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise ValueError(f"package {package!r} is not installed: run `make env`") from None


def _modules(package: str) -> Iterator[tuple[str, str]]:
    """Pairs (relative path, source) of a package's modules, sorted by path, without what differs between builds."""
    _version(package)
    spec = importlib.util.find_spec(package)  # of a top-level name: finds, does not import
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"package {package!r} has no directory of Python files: run `make env` to install it again")
    root = Path(spec.submodule_search_locations[0])
    files = {file.relative_to(root).as_posix(): file for file in root.rglob("*.py")}
    for relative in sorted(files):
        if _is_left_out(relative):
            continue
        data = files[relative].read_bytes()
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        source = data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
        if len(source) >= SHORTEST and max(map(len, source.split("\n"))) <= LONGEST_LINE:
            yield f"{package}/{relative}", source


def _is_left_out(relative: str) -> bool:
    *directories, file = relative.split("/")
    # Windows wheels insert a loader into the top __init__.py; numpy.distutils exists for Python 3.11 only.
    return (
        relative == "__init__.py"
        or file in LEFT_OUT_FILES
        or file.endswith("_generated.py")
        or any(directory in LEFT_OUT_DIRECTORIES for directory in directories)
    )


def docstrings(source: str, name: str = "<source>") -> str:
    """All docstrings of a module (its own, its classes', its functions') in source order, separated by blank lines."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some Python versions warn of escapes such as \\d in old docstrings
            tree = ast.parse(source)
    except SyntaxError as error:
        raise ValueError(f"{name} line {error.lineno} is not Python: install the package again") from None
    found = []
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node, clean=False)
            if text and (text := _clean(text)):
                found.append(text)
        # Only statements can hold definitions; expressions are most of a tree and are not visited.
        for field in ("finalbody", "orelse", "handlers", "body"):
            pending.extend(reversed(getattr(node, field, ())))
    return "\n\n".join(found)


def _clean(text: str) -> str:
    """Removes the common indentation below the first line (PEP 257); inspect.cleandoc depends on the Python version."""
    lines = [line.rstrip() for line in text.expandtabs().split("\n")]
    indents = [len(line) - len(line.lstrip(" ")) for line in lines[1:] if line]
    margin = min(indents, default=0)
    joined = "\n".join([lines[0].lstrip(), *(line[margin:] for line in lines[1:])]).strip("\n")
    return joined.encode("utf-8", "replace").decode("utf-8")  # escapes such as \ud800 are no text


def sample(documents: Sequence[Document], characters: int) -> tuple[Document, ...]:
    """Whole documents up to about `characters`, chosen by the hash of their names, in their first order."""
    chosen, total = set(), 0
    for document in sorted(documents, key=lambda d: hashlib.sha256(d.name.encode()).digest()):
        if total >= characters:
            break
        chosen.add(document.name)
        total += len(document.text)
    return tuple(document for document in documents if document.name in chosen)


# --- local files ----------------------------------------------------------------------------------------------------


def _read_local(name: str, path: str, load) -> Corpus:
    """A tenth of the documents validates, chosen by the hash of their names; a single document is cut near its end."""
    documents = [Document(n, _newlines(text), n.split("#")[0]) for n, text in load(name, path) if text.strip()]
    if not documents:
        raise ValueError(f"corpus {name!r} holds no text: give files with text in them")
    if len(documents) == 1:
        train, validation = _cut(documents[0])
        return Corpus(name, {("train", "text"): (train,), ("validation", "text"): (validation,)}, identity(name))
    ranked = sorted(documents, key=lambda d: hashlib.sha256(d.name.encode()).digest())
    kept = {document.name for document in ranked[: max(1, round(LOCAL_VALIDATION * len(ranked)))]}
    return Corpus(
        name,
        {
            ("train", "text"): tuple(d for d in documents if d.name not in kept),
            ("validation", "text"): tuple(d for d in documents if d.name in kept),
        },
        identity(name),
    )


def _cut(document: Document) -> tuple[Document, Document]:
    at = int(len(document.text) * (1 - LOCAL_VALIDATION))
    at = document.text.rfind("\n", 1, at) + 1 or at
    name, text, package = document.name, document.text, document.package
    return Document(name + "#head", text[:at], package), Document(name + "#tail", text[at:], package)


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode("utf-8")


def _files(name: str, path: str, endings: tuple[str, ...]) -> list[tuple[str, Path]]:
    root = Path(path).expanduser()
    if not root.exists():
        raise ValueError(f"corpus {name!r}: there is no {str(root)!r}; give an existing file or directory")
    if root.is_file():
        return [(root.name, root)]
    found = {f.relative_to(root).as_posix(): f for f in root.rglob("*") if f.is_file() and f.suffix in endings}
    if not found:
        raise ValueError(f"corpus {name!r}: {str(root)!r} has no {' or '.join(endings)} file; name one")
    return sorted(found.items())


def _texts(name: str, path: str) -> Iterator[tuple[str, str]]:
    from datasets import Dataset

    for relative, file in _files(name, path, TEXT_ENDINGS):
        for text in _column(name, file, Dataset.from_text, sample_by="document", keep_linebreaks=True):
            yield relative, text


def _rows(name: str, path: str) -> Iterator[tuple[str, str]]:
    from datasets import Dataset

    for relative, file in _files(name, path, ROW_ENDINGS):
        load = Dataset.from_parquet if file.suffix == ".parquet" else Dataset.from_json
        for row, text in enumerate(_column(name, file, load)):
            yield f"{relative}#{row}", text


def _column(name: str, file: Path, load, **options) -> list[str]:
    """The `text` column of a file. The Arrow copy that `datasets` makes goes to a directory that is removed again."""
    from datasets import disable_progress_bars
    from datasets.exceptions import DatasetGenerationError

    disable_progress_bars()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            table = load(str(file), cache_dir=scratch, keep_in_memory=True, **options)
        except (DatasetGenerationError, OSError, ValueError) as error:
            reason = str(error.__cause__ or error).splitlines()[0]
            raise ValueError(f"corpus {name!r}: {str(file)!r} cannot be read ({reason}); write it again") from None
        texts = list(table["text"]) if "text" in table.column_names else [None]
    if not any(isinstance(text, str) for text in texts):
        columns = ", ".join(table.column_names)
        raise ValueError(f"corpus {name!r}: {str(file)!r} has no texts in a column 'text' (of {columns}); rename one")
    return [text for text in texts if isinstance(text, str)]
