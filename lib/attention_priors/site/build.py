"""Sources of the site from committed results, and Sphinx over them."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attention_priors import store
from attention_priors.layout import THEORY
from attention_priors.notebooks import NOTEBOOKS
from attention_priors.site import executed, first, gallery, ledger, places
from attention_priors.site.committed import Committed
from attention_priors.site.markup import raw

PACKAGE = Path(__file__).parent
EXPLORERS = PACKAGE / "explorers"
NEEDED = ("sphinx", "myst_nb", "pydata_sphinx_theme")
HEADING = re.compile(r"<h1>(.*?)</h1>\n(.*)", re.DOTALL)
COPIED = ("figures", "metrics", "tables")


@dataclass(frozen=True)
class Built:
    """What was built: the folder of HTML, its pages, and what Sphinx warned of."""

    html: Path
    pages: int
    warnings: tuple[str, ...]


def build(results: Path, into: Path, profile: str = "cpu", say: Callable[[str], None] = print) -> Built:
    """Build the site of `results` into <into>/html. ValueError, in one line, for what is missing."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(f"the site needs {', '.join(missing)}; install it: pip install -e '.[site]'")
    committed = Committed(Path(results), profile)
    source, html = Path(into) / "source", Path(into) / "html"
    written = pages(committed)
    shutil.rmtree(source, ignore_errors=True)
    for name, content in written.items():
        store.write_text(source / name, content)
    say(f"{len(written)} sources in {source}")
    modules = sorted({*ledger.modules(committed), *gallery.modules(committed)})
    warnings = sphinx(source, html, modules)
    copy(committed, html)
    return Built(html, len(list(html.rglob("*.html"))), warnings)


def pages(committed: Committed) -> dict[str, str]:
    """Every source by its path below the folder of sources."""
    tree = _tree([f"claims/{name}" for name in committed.claims])
    found = {"ledger.md": f"{ledger.ledger(committed)}\n{tree}", "errata.md": ledger.errata(committed)}
    for name in committed.claims:
        found[f"claims/{name}.md"] = ledger.claim(committed, name)
    found |= notebooks(committed)
    found["gallery/index.md"] = gallery.index(committed)
    for folder in {folder for folder, _ in committed.figures}:
        found[f"gallery/{folder}.md"] = gallery.page(committed, folder)
    found |= explorers()
    known = frozenset(str(Path(name).with_suffix(".html")) for name in found)
    tops = [card[1].removesuffix(".html") for card in first.CARDS if card[1] in known]
    found["index.md"] = first.page(committed, known) + "\n" + _tree(tops)
    return found


def _tree(names: list[str]) -> str:
    lines = "\n".join(names)
    return f"```{{toctree}}\n:hidden:\n\n{lines}\n```\n"


def notebooks(committed: Committed) -> dict[str, str]:
    """The executed notebooks and their list."""
    known = executed.known(committed.notebooks, committed.profile)
    found, lines = {}, {}
    for (folder, name), path in committed.notebooks.items():
        content = json.loads(path.read_text(encoding="utf-8"))
        found[f"notebooks/{folder}/{name}.ipynb"] = json.dumps(executed.page(content, folder, known), indent=1)
        lines[folder, name] = f"{list(NOTEBOOKS).index(name):02d} {{doc}}`{folder}/{name}`"
    own = sorted((each for each in lines if each[0] in (THEORY, committed.profile)), key=lambda each: lines[each])
    text = ["# Notebooks", "In reading order. Each says what is claimed, derives it, computes it, looks at it and "
            "gives the verdict; the lines that open hold the checks, sentence by sentence."]  # fmt: skip
    text.append("\n".join(f"- {lines[each]}" for each in own))
    trees = _tree([f"{folder}/{name}" for folder, name in own])
    for folder in committed.folders[2:]:
        rest = [each for each in lines if each[0] == folder]
        text.append(f"## Profile {folder}\n\n" + "\n".join(f"- {lines[each]}" for each in rest))
        trees += "\n" + _tree([f"{folder}/{name}" for folder, name in rest])
    return found | {"notebooks/index.md": "\n\n".join([*text, trees])}


def explorers(folder: Path = EXPLORERS) -> dict[str, str]:
    """A page for each explorers/NAME.html, a fragment that begins with its heading, and their list.

    `extension` adds their styles and scripts.
    """
    found, items = {}, []
    for path in sorted(folder.glob("*.html")):
        title, body = HEADING.fullmatch(path.read_text(encoding="utf-8")).groups()
        found[f"explorers/{path.stem}.md"] = f"# {title}\n\n{raw(body.strip())}\n"
        items.append(f"- {{doc}}`{path.stem}`")
    text = "Move the sliders: the formulas are the library's, computed in your browser. A change needs no network."
    trees = _tree([path.removeprefix("explorers/").removesuffix(".md") for path in found])
    return found | {"explorers/index.md": "\n\n".join(["# Explorers", text, "\n".join(items), trees])}


def sphinx(source: Path, html: Path, modules: list[Path]) -> tuple[str, ...]:
    """Run Sphinx in this process. Returns its warnings; ValueError where it fails."""
    from sphinx.application import Sphinx
    from sphinx.util.console import nocolor

    nocolor()
    said = io.StringIO()
    static = [str(each) for each in (PACKAGE / "static", *EXPLORERS.glob("*.js"), *EXPLORERS.glob("*.css"))]
    app = Sphinx(
        srcdir=source, confdir=None, outdir=html, doctreedir=source.parent / "doctrees", buildername="html",
        confoverrides=SETTINGS | {"html_static_path": static, "site_modules": [str(each) for each in modules]},
        status=None, warning=said, freshenv=True,
    )  # fmt: skip
    app.build()
    warnings = tuple(line for line in said.getvalue().splitlines() if line.strip())
    if app.statuscode:
        raise ValueError(f"Sphinx failed: {warnings[-1] if warnings else 'no reason given'}")
    return warnings


SETTINGS = {
    "project": "Attention Priors",
    "author": "Attention Priors contributors",
    "copyright": "Attention Priors contributors. Text and figures: CC BY 4.0. Code: Apache 2.0",
    "html_title": "Attention Priors",
    "language": "en",
    "extensions": ["myst_nb", "attention_priors.site.extension"],
    "html_math_renderer": "katex",
    "html_context": {"default_mode": "auto"},
    "html_theme": "pydata_sphinx_theme",
    "html_theme_options": {
        "navbar_align": "left",
        "navbar_end": ["theme-switcher"],
        "header_links_before_dropdown": 8,
        "navigation_with_keys": False,
        "show_prev_next": False,
        "secondary_sidebar_items": ["page-toc"],
        "footer_start": ["copyright"],
        "footer_end": [],
        "back_to_top_button": True,
    },
    "html_sidebars": dict.fromkeys(["index", "ledger", "errata", "claims/*", "benchmark", "source/**", "search"], []),
    "html_show_sourcelink": False,
    "html_copy_source": False,
    "html_show_search_summary": False,  # it would read the pages found, which a browser refuses on a local disk
    "myst_enable_extensions": ["dollarmath", "amsmath"],
    "myst_heading_anchors": 4,
    "nb_execution_mode": "off",
    "nb_render_markdown_format": "myst",
    "nb_render_image_options": {},
    "nb_code_prompt_show": "Show the code",
    "nb_code_prompt_hide": "Hide the code",
    "suppress_warnings": ["myst.header", "mystnb.unknown_mime_type", "misc.highlighting_failure"],
    "exclude_patterns": [],
}


def copy(committed: Committed, html: Path) -> None:
    """The files that pages show and offer, as they are committed."""
    for folder in committed.folders:
        for kind in COPIED:
            for path in sorted((committed.folder(folder) / kind).glob("*")):
                target = html / places.file(folder, kind, path.name)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
