"""The library's page: signatures and docstrings of what one imports, read from the sources; nothing is imported."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from attention_priors.publish.site import markup, places
from attention_priors.publish.site.markup import link, plain, raw
from attention_priors.store.registry import file_of

# Module -> what one imports from it; everything public where no name is given.
SHOWN: dict[str, tuple[str, ...]] = {
    "attention_priors.training.runs": ("load",),
    "attention_priors.attention.op": ("attention",),
    "attention_priors.attention.composite": ("GoatAttention",),
    "attention_priors.attention.visible": (),
    "attention_priors.positions.priors": (),
    "attention_priors.positions.spectral": (),
    "attention_priors.positions.variants": (),
    "attention_priors.positions.finite_rank": (),
    "attention_priors.positions.composite": (),
    "attention_priors.positions.rotary": (),
    "attention_priors.positions.generators": (),
    "attention_priors.positions.extensions": (),
    "attention_priors.positions.scaling": (),
    "attention_priors.positions.pairs": (),
    "attention_priors.positions.forget": (),
    "attention_priors.positions.absolute": (),
    "attention_priors.positions.maps": (),
    "attention_priors.positions.encodings": ("Encoding", "encoding"),
    "attention_priors.positions.mass": (),
    "attention_priors.model": (),
    "attention_priors.training.extension": (),
    "attention_priors.parallel.chunks": ("Options", "Calibration"),
    "attention_priors.parallel.read": ("condense", "Condensed"),
    "attention_priors.parallel.generate": ("generate", "open_reader", "decode"),
    "attention_priors.integrations.transformers": (),
    "attention_priors.integrations.extending": (),
    "attention_priors.publish.own.source": ("read",),
}
IMPORTED = {
    "attention_priors.publish.own.source": "attention_priors.publish.own",
    "attention_priors.attention.composite": "attention_priors.attention",
    "attention_priors.training.runs": "attention_priors",
    "attention_priors.attention.op": "attention_priors.attention",
}


def modules() -> list[Path]:
    """The files that the page links to."""
    return [file_of(module) for module in SHOWN]


def page() -> str:
    """Every module with its public classes and functions."""
    return markup.page(
        "# Library",
        "What you import. Shapes stand in the signatures; every formula is tested against its source.",
        *(_module(module, names) for module, names in SHOWN.items()),
    )


def _module(module: str, names: tuple[str, ...]) -> str:
    tree = ast.parse(file_of(module).read_text(encoding="utf-8"))
    public = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        and (node.name in names if names else not node.name.startswith("_"))
    ]
    parts = [f"## {IMPORTED.get(module, module)}", docstring(ast.get_docstring(tree)) if not names else ""]
    parts.append(f"```{{py:currentmodule}} {module}\n```")
    for node in public:
        place = file_of(module), node.lineno
        parts += [f"### {node.name}", raw(f"<p>{link(places.shown(*place), places.source(*place))}</p>")]
        kind = "class" if isinstance(node, ast.ClassDef) else "function"
        bases = ", ".join(f"`{ast.unparse(each)}`" for each in getattr(node, "bases", ()))
        said = [f"Of {bases}." if bases else "", docstring(ast.get_docstring(node))]
        said += [f"````{{py:method}} {signature(each)}\n{_first(each)}\n````" for each in _methods(node)]
        parts.append(f"`````{{py:{kind}}} {signature(node)}\n" + "\n\n".join(filter(None, said)) + "\n`````")
    return "\n\n".join(filter(None, parts))


def _methods(node: ast.ClassDef | ast.FunctionDef) -> list[ast.FunctionDef]:
    """The public methods of a class that say what they do."""
    inside = node.body if isinstance(node, ast.ClassDef) else []
    found = [each for each in inside if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")]
    return [each for each in found if ast.get_docstring(each)]


def signature(node: ast.ClassDef | ast.FunctionDef) -> str:
    """name(arguments) -> result; of a class, what it is made of: the arguments of __init__, or a dataclass's fields."""
    if isinstance(node, ast.FunctionDef):
        back = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"{node.name}({_arguments(node)}){back}"
    init = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    if init:
        return f"{node.name}({_arguments(init)})"
    if not any("dataclass" in ast.unparse(each) for each in node.decorator_list):
        return node.name
    fields = [ast.unparse(each) for each in node.body if isinstance(each, ast.AnnAssign)]
    return f"{node.name}({', '.join(each for each in fields if 'ClassVar' not in each)})"


def _arguments(node: ast.FunctionDef) -> str:
    return re.sub(r"^self(, |$)", "", ast.unparse(node.args))


def _first(node: ast.FunctionDef) -> str:
    """The first paragraph of a method's docstring, on one line."""
    return plain(" ".join(ast.get_docstring(node).split("\n\n")[0].split()))


def docstring(said: str | None) -> str:
    """A docstring as Markdown: what is indented or drawn stays as it is, the rest is prose with code in backticks."""
    parts = []
    for paragraph in inspect.cleandoc(said or "").split("\n\n"):
        lines = paragraph.splitlines()
        if any(line.startswith(("  ", "\t")) for line in lines):
            parts.append(f"```text\n{paragraph}\n```")
        elif paragraph.strip():
            parts.append(plain(" ".join(lines)))
    return "\n\n".join(parts)
