"""The library's page: signatures and docstrings of what one imports, read from the sources; nothing is imported."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

from attention_priors.registry import LIBRARY
from attention_priors.site import places
from attention_priors.site.markup import link, raw

# Module -> what one imports from it; everything public where no name is given.
SHOWN: dict[str, tuple[str, ...]] = {
    "attention_priors.training": ("load",),
    "attention_priors.attention.op": ("attention",),
    "attention_priors.attention.composite": ("GoatAttention",),
    "attention_priors.attention.visible": (),
    "attention_priors.positions.priors": (),
    "attention_priors.positions.kerple": (),
    "attention_priors.positions.buckets": (),
    "attention_priors.positions.sandwich": (),
    "attention_priors.positions.spectral": (),
    "attention_priors.positions.variants": (),
    "attention_priors.positions.lags": (),
    "attention_priors.positions.finite_rank": (),
    "attention_priors.positions.composite": (),
    "attention_priors.positions.rotary": (),
    "attention_priors.positions.xpos": (),
    "attention_priors.positions.generators": (),
    "attention_priors.positions.undivided": (),
    "attention_priors.positions.extended": (),
    "attention_priors.positions.extensions": (),
    "attention_priors.positions.scaling": (),
    "attention_priors.positions.absolute": (),
    "attention_priors.positions.randomised": (),
    "attention_priors.positions.encodings": ("Encoding", "encoding"),
    "attention_priors.positions.mass": (),
    "attention_priors.model": (),
    "attention_priors.extension": (),
    "attention_priors.parallel.chunks": ("Options", "Calibration"),
    "attention_priors.parallel.read": ("condense", "Condensed"),
    "attention_priors.parallel.generate": ("generate", "open_reader", "decode"),
    "attention_priors.integrations.transformers": (),
    "attention_priors.own.source": ("read",),
}
IMPORTED = {
    "attention_priors.own.source": "attention_priors.own",
    "attention_priors.attention.composite": "attention_priors.attention",
    "attention_priors.training": "attention_priors",
    "attention_priors.attention.op": "attention_priors.attention",
}
PLAIN = str.maketrans({each: f"\\{each}" for each in "\\*_<>[]#$|{}"})
WIDTH = 100


def path(module: str) -> Path:
    base = LIBRARY.joinpath(*module.split("."))
    return base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"


def modules() -> list[Path]:
    """The files that the page links to."""
    return [path(module) for module in SHOWN if path(module).is_file()]


def page() -> str:
    """Every module with its public classes and functions."""
    parts = [
        "# Library",
        "What you import. Shapes stand in the signatures; every formula is tested against its source.",
    ]
    parts += [_module(module, names) for module, names in SHOWN.items() if path(module).is_file()]
    return "\n\n".join(parts) + "\n"


def _module(module: str, names: tuple[str, ...]) -> str:
    tree = ast.parse(path(module).read_text(encoding="utf-8"))
    public = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)
              and (node.name in names if names else not node.name.startswith("_"))]  # fmt: skip
    parts = [f"## {IMPORTED.get(module, module)}", docstring(ast.get_docstring(tree)) if not names else ""]
    for node in public:
        place = path(module), node.lineno
        parts += [f"### {node.name}", raw(f"<p>{link(places.shown(*place), places.source(*place))}</p>")]
        parts += [f"```python\n{signature(node)}\n```", docstring(ast.get_docstring(node))]
        parts += [f"`{each.name}({_names(each)})`\n: {_first(each)}" for each in _methods(node)]
    return "\n\n".join(filter(None, parts))


def _methods(node: ast.ClassDef | ast.FunctionDef) -> list[ast.FunctionDef]:
    """The public methods of a class that say what they do."""
    inside = node.body if isinstance(node, ast.ClassDef) else []
    found = [each for each in inside if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")]
    return [each for each in found if ast.get_docstring(each)]


def signature(node: ast.ClassDef | ast.FunctionDef) -> str:
    """def name(...) -> ... or class Name(...) with what it is made of, an argument a line where it is long."""
    if isinstance(node, ast.FunctionDef):
        return _call(f"def {node.name}", node)
    bases = ", ".join(ast.unparse(each) for each in node.bases)
    head = f"class {node.name}({bases})" if bases else f"class {node.name}"
    init = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    if init:
        return f"{head}\n\n{_call(node.name, init, of=1)}"
    fields = [ast.unparse(each) for each in node.body if isinstance(each, ast.AnnAssign)]
    shown = [each for each in fields if not each.startswith("_") and "ClassVar" not in each]
    return "\n".join([head, *(f"    {each}" for each in shown)])


def _call(name: str, node: ast.FunctionDef, of: int = 0) -> str:
    """`of`: arguments left out at the front (self)."""
    given = ast.parse(ast.unparse(node)).body[0].args
    positional = given.posonlyargs + given.args
    del (given.posonlyargs if given.posonlyargs else given.args)[:of]
    said = ast.unparse(given)
    back = f" -> {ast.unparse(node.returns)}" if node.returns and not of else ""
    if len(f"{name}({said}){back}") <= WIDTH or not positional:
        return f"{name}({said}){back}"
    return f"{name}(\n    " + ",\n    ".join(_split(said)) + f",\n){back}"


def _split(said: str) -> list[str]:
    """Arguments at their commas, but for commas inside brackets and quotes."""
    found, depth, start, quoted = [], 0, 0, ""
    for index, sign in enumerate(said):
        if sign in "\"'":
            quoted = "" if quoted == sign else quoted or sign
        elif not quoted:
            depth += (sign in "([{") - (sign in ")]}")
            if sign == "," and not depth:
                found.append(said[start:index].strip())
                start = index + 1
    return [*found, said[start:].strip()]


def _names(node: ast.FunctionDef) -> str:
    given = node.args
    return ", ".join(each.arg for each in [*given.posonlyargs, *given.args, *given.kwonlyargs] if each.arg != "self")


def _first(node: ast.FunctionDef) -> str:
    """The first paragraph of a method's docstring, on one line."""
    return _prose(" ".join(ast.get_docstring(node).split("\n\n")[0].split()))


def docstring(said: str | None) -> str:
    """A docstring as Markdown: what is indented or drawn stays as it is, the rest is prose with code in backticks."""
    parts = []
    for paragraph in inspect.cleandoc(said or "").split("\n\n"):
        lines = paragraph.splitlines()
        if any(line.startswith(("  ", "\t")) for line in lines):
            parts.append(f"```text\n{paragraph}\n```")
        elif paragraph.strip():
            parts.append(_prose(" ".join(lines)))
    return "\n\n".join(parts)


def _prose(said: str) -> str:
    pieces = said.split("`")
    if len(pieces) % 2 == 0:
        return said.translate(PLAIN)
    pieces[::2] = [each.translate(PLAIN) for each in pieces[::2]]
    return "`".join(pieces)
