"""What a notebook's results come from, read from the sources: nothing is imported and nothing runs.

From the cells, names are followed to the definitions of this package that they stand for, and from those to the
definitions that they use in turn. Tables (`registry.Table`) are not followed as a whole: where a definition, or a cell
through its study, names a row, that row is. Comments, docstrings, layout and types of arguments do not count.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import attention_priors
from attention_priors import config, store

PACKAGE = Path(attention_priors.__file__).resolve().parent
DATA = config.ROOT / "data"
STUDY = ("attention_priors.study", "Study")
PRINTED = ("attention_priors.checks.printed", "table")  # table(paper, number) reads <paper>_table<number>.csv
CELLS = ""  # stands for a module
FIGURES, TABLES = ("attention_priors.figures", "FIGURES"), ("attention_priors.figures", "TABLES")
EXPERIMENTS, CHECKS = ("attention_priors.experiments", "EXPERIMENTS"), ("attention_priors.checks", "CHECKS")
# Tables whose rows cells name, and the verb of a study that they name them to.
OPENED = {FIGURES: "draw", TABLES: "table", EXPERIMENTS: "measure", CHECKS: "claim"}


@dataclass(frozen=True)
class Uses:
    """What a piece of code mentions."""

    names: frozenset[str]  # with their attributes: a.b.c
    attributes: frozenset[str]
    texts: frozenset[str]
    calls: tuple[tuple[str, tuple], ...]  # name, constant arguments (None for others)
    sections: frozenset[str]  # sections=("passkey",), as experiments say theirs


class _Bare(ast.NodeTransformer):
    """A tree without docstrings and types of arguments."""

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = body[0].value if isinstance(body[0], ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                node.body = body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for each in ast.walk(node):
                if isinstance(each, ast.AnnAssign):
                    each.annotation = ast.Constant(None)
        if isinstance(node, ast.arg):
            node.annotation = None
        return node


class Module:
    """A module's top level: what each name is bound to, what is imported under which name, and the rest."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path = name, path
        self.bound: dict[str, list[ast.AST]] = {}
        self.imported: dict[str, tuple[str, str | None]] = {}
        self.loose: list[ast.AST] = []
        self._sort(tree.body)
        for node in ast.walk(tree):
            self._import(node)

    def _sort(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            match node:
                case ast.Import() | ast.ImportFrom() | ast.Pass():
                    pass
                case ast.FunctionDef() | ast.ClassDef():
                    self.bound.setdefault(node.name, []).append(node)
                case ast.If(test=test) if "TYPE_CHECKING" in ast.unparse(test) or "__name__" in ast.unparse(test):
                    pass
                case ast.If() | ast.Try():
                    for part in ("body", "orelse", "finalbody"):
                        self._sort(getattr(node, part, []))
                    for handler in getattr(node, "handlers", []):
                        self._sort(handler.body)
                case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names = [each.id for each in ast.walk(ast.Tuple(targets)) if isinstance(each, ast.Name)]
                    for name in names:
                        self.bound.setdefault(name, []).append(node)
                case _:
                    self.loose.append(node)

    def _import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.asname is not None
                self.imported[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if whole else alias.name.partition(".")[0],
                    None,
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self.imported[alias.asname or alias.name] = (self._base(node), alias.name)

    def _base(self, node: ast.ImportFrom) -> str:
        """The module that `from ... import` names, with leading dots resolved."""
        if not node.level:
            return node.module or ""
        home = self.name.split(".")
        home = home[: len(home) - node.level + (self.path.name == "__init__.py")]
        return ".".join([*home, *([node.module] if node.module else [])])


class Sources:
    """The modules of a package, each parsed once."""

    def __init__(self, package: Path = PACKAGE, data: Path = DATA) -> None:
        self.package, self.data = package, data
        self.module = functools.cache(self._module)
        self.uses, self.text = _uses, _text
        self.table = functools.cache(self._table)

    def _module(self, name: str) -> Module | None:
        base = self.package.parent.joinpath(*name.split("."))
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if name.partition(".")[0] == self.package.name and path.is_file():
                return Module(name, path, _parsed(path.read_text(encoding="utf-8")))
        return None

    def _table(self, table: tuple[str, str]) -> dict[str, str]:
        """The rows of a table, "module:attribute" by name, as its file has them."""
        package, attribute = table
        module = self.module(package)
        call = module.bound[attribute][0].value
        rows = next((each for each in call.args if isinstance(each, ast.Dict)), None)
        if rows is not None:
            return {name: f"{package}.{row}" for name, row in ast.literal_eval(rows).items()}
        by_module = ast.literal_eval(module.bound[call.args[0].id][0].value)
        return {name: f"{package}.{each}:{attribute}[name]" for each, ids in by_module.items() for name in ids.split()}

    @functools.cached_property
    def files(self) -> dict[str, Path]:
        """Committed inputs by name; of the register, what a notebook owns is asked for by claim."""
        found = [path for path in sorted(self.data.rglob("*")) if path.suffix in {".csv", ".yaml"}]
        return {path.name: path for path in found if path.parent.name != "claims"}


def uses(node: ast.AST) -> Uses:
    """Every name, attribute and text of a tree."""
    names, attributes, texts, calls, sections = set(), set(), set(), [], set()

    def visit(each: ast.AST) -> None:
        match each:
            case ast.Name(id=name, ctx=ast.Load()):
                names.add(name)
            case ast.Attribute(attr=attribute, value=value):
                attributes.add(attribute)
                if dotted := _dotted(each):
                    names.add(dotted)
                    attributes.update(dotted.split(".")[1:])
                else:
                    visit(value)
                return
            case ast.Constant(value=str(text)):
                texts.add(text)
            case ast.Call(func=function, args=arguments) if dotted := _dotted(function):
                calls.append((dotted, tuple(getattr(argument, "value", None) for argument in arguments)))
            case ast.keyword(arg="sections", value=ast.Tuple(elts=each_of)):
                sections.update(getattr(one, "value", None) for one in each_of)
        for child in ast.iter_child_nodes(each):
            visit(child)

    visit(node)
    return Uses(frozenset(names), frozenset(attributes), frozenset(texts), tuple(calls), frozenset(sections))


# Trees are not changed once they are read, and what two packages have alike is read once.
_uses, _text = functools.cache(uses), functools.cache(ast.unparse)


@functools.cache
def _parsed(text: str) -> ast.Module:
    return _Bare().visit(ast.parse(text))


def named(cells: Uses, table: tuple[str, str]) -> frozenset[str]:
    """What cells hand to the verb of a table; where some of that is no plain text, every text in them."""
    given = [each for name, arguments in cells.calls if name.endswith(f".{OPENED[table]}") for each in arguments]
    return frozenset(given) if all(isinstance(each, str) for each in given) else cells.texts


def _dotted(node: ast.AST) -> str | None:
    """`a.b.c` for an attribute of names alone, else None."""
    if isinstance(node, ast.Name):
        return node.id
    owner = _dotted(node.value) if isinstance(node, ast.Attribute) else None
    return owner and f"{owner}.{node.attr}"


@dataclass
class Trace:
    """What was found: hashes of definitions and data files by name, and the attributes and sections mentioned."""

    sources: Sources
    code: dict[str, str] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    verbs: frozenset[str] = frozenset()  # what the cells ask a study for

    def cells(self, tree: ast.Module) -> None:
        """Follow everything that the cells mention, and the rows of tables that they name to a study."""
        module = Module(CELLS, Path(CELLS), tree)
        found = self.sources.uses(tree)
        self.verbs = found.attributes
        self._follow(module, found)
        for table in OPENED:
            self.rows(table, named(found, table))

    def rows(self, table: tuple[str, str], names: Iterable[str]) -> None:
        """Follow rows of a table by name; other texts are left alone."""
        known = self.sources.table(table)
        for name in sorted(set(names) & known.keys()):
            label = f"{table[1]}[{name}]"
            if label not in self.code:
                self.code[label] = store.key(known[name])
                path, _, held = known[name].partition(":")
                attribute, _, keyed = held.partition("[")
                self._define(self.sources.module(path), attribute, name if keyed else None)

    def _define(self, module: Module, name: str, row: str | None = None) -> None:
        """Take a definition, the statements of its module that define nothing, and all that they use.

        `row`: of a dictionary, that entry alone where it can be told apart.
        """
        if (module.name, name) in OPENED:
            return
        label = f"{module.name}:{name}" + (f"[{row}]" if row else "")
        if label in self.code:
            return
        self.code[label] = ""
        if f"{module.name}:" not in self.code and module.loose:
            self.code[f"{module.name}:"] = ""
            self._take(f"{module.name}:", module, module.loose)
        nodes = module.bound[name]
        if (module.name, name) == STUDY:
            nodes = [_asked(node, self.verbs) for node in nodes]
        if row:
            nodes = [_entry(module, node, row) for node in nodes]
        if any(_is_table(node) for node in nodes):
            nodes = []
        self._take(label, module, nodes, row)

    def _take(self, label: str, module: Module, nodes: Iterable[ast.AST], row: str | None = None) -> None:
        texts = []
        for node in nodes:
            texts.append(self.sources.text(node))
            self._follow(module, self.sources.uses(node), row)
        self.code[label] = store.key(texts)

    def _follow(self, module: Module, found: Uses, row: str | None = None) -> None:
        self.attributes |= found.attributes | found.sections
        for text in found.texts & self.sources.files.keys():
            self._file(self.sources.files[text])
        for name in sorted(found.names):
            for owner, attribute in self._resolve(module, name.split("."), found.attributes):
                if (owner.name, attribute) in OPENED:
                    self.rows((owner.name, attribute), found.texts)
                else:
                    beside = owner is module and row and _has(owner.bound[attribute], row)
                    self._define(owner, attribute, row if beside else None)
        for name, arguments in found.calls:
            if any((owner.name, attribute) == PRINTED for owner, attribute in self._resolve(module, name.split("."))):
                self._printed(arguments)

    def _resolve(
        self, module: Module, parts: list[str], asked: frozenset[str] = frozenset()
    ) -> Iterator[tuple[Module, str]]:
        """The definitions that a dotted name stands for in a module: none for names from elsewhere.

        Of a module that is handed on as a whole, those that are `asked` for as attributes.
        """
        first, *rest = parts
        if first in module.bound:
            yield module, first
        elif first in module.imported:
            base, attribute = module.imported[first]
            yield from self._within(base, [*([attribute] if attribute else []), *rest], asked)

    def _within(self, name: str, parts: list[str], asked: frozenset[str]) -> Iterator[tuple[Module, str]]:
        while parts and self.sources.module(f"{name}.{parts[0]}"):
            name, parts = f"{name}.{parts[0]}", parts[1:]
        module = self.sources.module(name)
        if module is None:
            return
        if not parts:
            yield from ((module, bound) for bound in (asked & module.bound.keys() or module.bound))
        elif parts[0] in module.bound or parts[0] in module.imported:
            yield from self._resolve(module, parts, asked)
        elif "__getattr__" in module.bound:
            yield module, "__getattr__"

    def _printed(self, arguments: tuple) -> None:
        paper, number = (*arguments, None, None)[:2]
        for path in self.sources.files.values():
            if path.stem == f"{paper}_table{number}" or (
                None in (paper, number) and path.stem.startswith(f"{paper or ''}") and "_table" in path.stem
            ):
                self._file(path)

    def _file(self, path: Path) -> None:
        self.data[path.relative_to(self.sources.data).as_posix()] = store.key(path.read_text(encoding="utf-8"))


def _asked(study: ast.AST, verbs: Iterable[str]) -> ast.AST:
    """The class Study with the methods that are asked for, directly or by another one of them."""
    methods = {node.name: node for node in study.body if isinstance(node, ast.FunctionDef)}
    wanted, waiting = set(), {"__init__", *verbs} & methods.keys()
    while waiting:
        name = waiting.pop()
        wanted.add(name)
        waiting |= (uses(methods[name]).attributes & methods.keys()) - wanted
    body = [node for node in study.body if not isinstance(node, ast.FunctionDef) or node.name in wanted]
    return ast.ClassDef(**{**dict(ast.iter_fields(study)), "body": body})


def _is_table(node: ast.AST) -> bool:
    """`X = Table(...)`."""
    function = getattr(getattr(node, "value", None), "func", None)
    return isinstance(function, ast.Name) and function.id == "Table"


def _has(nodes: Iterable[ast.AST], row: str) -> bool:
    """`X = {"row": ...}`."""
    values = (getattr(node, "value", None) for node in nodes)
    keys = (key for value in values if isinstance(value, ast.Dict) for key in value.keys)
    return any(isinstance(key, ast.Constant) and key.value == row for key in keys)


def _entry(module: Module, node: ast.AST, row: str) -> ast.AST:
    """A table of rows with one row left: what stands beside it in the outermost literal where it can be told apart."""

    def mentions(each: ast.AST) -> bool:
        found = uses(each)
        bound = (uses(definition) for name in found.names for definition in module.bound.get(name, ()))
        return row in found.texts or (isinstance(each, ast.Name) and any(row in other.texts for other in bound))

    waiting = [node]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, ast.Tuple | ast.List | ast.Set | ast.Dict):
            pairs = isinstance(each, ast.Dict)
            members = list(zip(each.keys, each.values, strict=True)) if pairs else [(one,) for one in each.elts]
            chosen = [member for member in members if mentions(member[0])]
            if len(chosen) == 1:
                one = ast.Dict([chosen[0][0]], [chosen[0][1]]) if pairs else ast.Tuple([chosen[0][0]], ast.Load())
                return _Swap(each, one).visit(copy.deepcopy(node, {id(each): each}))
        elif isinstance(each, ast.Call) and getattr(each.func, "id", None) == "claims":
            return next((one for one in each.args if mentions(getattr(one, "args", [one])[0])), node)
        waiting += ast.iter_child_nodes(each)
    return node


class _Swap(ast.NodeTransformer):
    """One node in place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)
