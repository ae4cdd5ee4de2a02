"""Sources of the site from committed results, and Sphinx over them."""

from __future__ import annotations

import html
import importlib.util
import io
import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attention_priors import store
from attention_priors.publish.site import executed, first, gallery, ledger, library, numbers, places
from attention_priors.publish.site.committed import Committed
from attention_priors.publish.site.markup import ALONE, page, raw, toctree
from attention_priors.store.layout import THEORY
from attention_priors.store.notebooks import number

PACKAGE = Path(__file__).parent
MARK = ".attention-priors-site"  # in a folder that builds may replace
EXPLORERS, GUIDES = PACKAGE / "explorers", PACKAGE / "pages"
SHARED = ("explorers.css", "panel.js")  # what all explorers load, before their own
HEADING = re.compile(r"<h1[^>]*>(?P<title>.*?)</h1>", re.DOTALL)
NEEDED = ("sphinx", "myst_nb", "pydata_sphinx_theme")
COPIED = ("figures", "metrics", "tables")


@dataclass(frozen=True)
class Built:
    """What was built: the folder of HTML, its pages, and what Sphinx warned of."""

    html: Path
    pages: int
    warnings: tuple[str, ...]


def build(results: Path, into: Path, profile: str = "cpu") -> Built:
    """Build the site of `results` into <into>/html. ValueError, in one line, for what is missing."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(f"the site needs {', '.join(missing)}; install it: pip install -e '.[site]'")
    committed, into = Committed(Path(results), profile), Path(into)
    if into.is_dir() and any(into.iterdir()) and not (into / MARK).is_file():
        raise ValueError(f"{into} holds other files; choose another folder (--into), or empty it")
    source, target = into / "source", into / "html"
    written = pages(committed)
    store.write_text(into / MARK, "The site is built here; whatever lies here is replaced.\n")
    for folder in (source, target):
        shutil.rmtree(folder, ignore_errors=True)
    for name, content in written.items():
        store.write_text(source / name, content)
    modules = sorted({*ledger.modules(committed), *gallery.modules(committed), *library.modules()})
    warnings = sphinx(source, target, modules)
    copy(committed, target)
    return Built(target, len(list(target.rglob("*.html"))), warnings)


def pages(committed: Committed) -> dict[str, str]:
    """Every source by its path below the folder of sources."""
    tree = toctree(f"claims/{name}" for name in committed.claims)
    found = {"ledger.md": page(ledger.ledger(committed), tree), "errata.md": ledger.errata(committed)}
    for name in committed.claims:
        found[f"claims/{name}.md"] = ledger.claim(committed, name)
    found |= notebooks(committed)
    found["gallery/index.md"] = gallery.index(committed)
    for folder in {folder for folder, _ in committed.figures}:
        found[f"gallery/{folder}.md"] = gallery.page(committed, folder)
    found |= explorers() | guides()
    found["benchmark.md"], found["data/index.md"] = numbers.benchmark(committed), numbers.index(committed)
    for folder in {folder for folder, _ in committed.metrics}:
        found[f"data/{folder}.md"] = numbers.page(committed, folder)
    found["api.md"] = library.page()
    known = frozenset(str(Path(name).with_suffix(".html")) for name in found)
    tops = [card[1].removesuffix(".html") for card in first.CARDS if card[1] in known]
    found["index.md"] = page(first.page(committed, known), toctree(tops))
    return found


def notebooks(committed: Committed) -> dict[str, str]:
    """The executed notebooks and their list."""
    known = executed.known(committed.notebooks, committed.profile)
    found, lines = {}, {}
    for (folder, name), path in committed.notebooks.items():
        content = json.loads(path.read_text(encoding="utf-8"))
        found[f"notebooks/{folder}/{name}.ipynb"] = json.dumps(executed.page(content, folder, name, known), indent=1)
        lines[folder, name] = f"{number(name)} {{doc}}`{executed.title(content)} <{folder}/{name}>`"
    own = sorted((each for each in lines if each[0] in (THEORY, committed.profile)), key=lambda each: lines[each])
    groups = {"In reading order": own}
    groups |= {f"Profile {folder}": [each for each in lines if each[0] == folder] for folder in committed.folders[2:]}
    text, trees = [], []
    for title, group in groups.items():
        text += [f"## {title}" if group is not own else "", _listed(lines[each] for each in group)]
        trees.append(toctree((f"{folder}/{name}" for folder, name in group), title))
    said = (
        "In reading order. Each says what is claimed, derives it, computes it, looks at it and "
        "gives the verdict; the lines that open hold the checks, sentence by sentence."
    )
    return found | {"notebooks/index.md": page("# Notebooks", said, *text, *trees)}


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {each}" for each in items)


def guides(folder: Path = GUIDES) -> dict[str, str]:
    """The pages of pages/*.md, which are written by hand, and their list."""
    found = {f"guides/{path.name}": path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}
    return found | {"guides/index.md": _index("Guides", "Pages on use, whose code is tested.", map(_stem, found))}


def _stem(name: str) -> str:
    return Path(name).stem


def _index(title: str, said: str, names: Iterable[str]) -> str:
    names = list(names)
    return page(f"# {title}", said, _listed(f"{{doc}}`{name}`" for name in names), toctree(names))


def explorers(folder: Path = EXPLORERS) -> dict[str, str]:
    """A page for each explorers/NAME.html, a fragment whose first heading is its title, and NAME.js and NAME.css."""
    found = {}
    for path in sorted(folder.glob("*.html")):
        fragment = path.read_text(encoding="utf-8")
        heading = HEADING.search(fragment)
        if not heading:
            raise ValueError(f"explorers/{path.name} has no heading; begin it with <h1>")
        title = html.unescape(re.sub(r"<[^>]*>", "", heading["title"])).strip()
        tags = [
            f'<link rel="stylesheet" href="../_static/explorers/{each}">'
            if each.endswith(".css")
            else f'<script defer src="../_static/explorers/{each}"></script>'
            for each in (*SHARED, f"{path.stem}.css", f"{path.stem}.js")
            if (folder / each).is_file()
        ]
        body = raw("\n".join([*tags, HEADING.sub("", fragment, count=1)]))
        found[f"explorers/{path.stem}.md"] = page(f"{ALONE}# {title}", body)
    return found | {
        "explorers/index.md": _index("Explorers", "They run in your browser; nothing leaves it.", map(_stem, found))
    }


def sphinx(source: Path, target: Path, modules: list[Path]) -> tuple[str, ...]:
    """Run Sphinx in this process. Returns its warnings; ValueError where it fails."""
    from sphinx.application import Sphinx
    from sphinx.util.console import nocolor

    nocolor()
    said = io.StringIO()
    app = Sphinx(
        srcdir=source,
        confdir=None,
        outdir=target,
        doctreedir=source.parent / "doctrees",
        buildername="html",
        confoverrides=SETTINGS | {"site_modules": [str(each) for each in modules]},
        status=None,
        warning=said,
        freshenv=True,
    )
    app.build()
    warnings = tuple(line for line in said.getvalue().splitlines() if line.strip())
    if app.statuscode:
        raise ValueError(f"Sphinx failed: {warnings[-1] if warnings else 'no reason given'}")
    return warnings


# Pages without a list of their neighbours at the left.
WIDE = ("index", "ledger", "errata", "claims/*", "benchmark", "api", "explorers/*", "source/**", "search")
SETTINGS = {
    "project": "Attention Priors",
    "author": "Attention Priors contributors",
    "copyright": "Attention Priors contributors. Text and figures: CC BY 4.0. Code: Apache 2.0",
    "html_title": "Attention Priors",
    "language": "en",
    "extensions": ["myst_nb", "attention_priors.publish.site.extension"],
    "html_math_renderer": "katex",
    "add_module_names": False,
    "python_maximum_signature_line_length": 100,
    "templates_path": [str(PACKAGE / "templates")],
    "html_static_path": [str(PACKAGE / "static")],
    "html_context": {"default_mode": "auto"},  # without one the theme complains on the console
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
    "html_sidebars": {name: [] for name in WIDE},
    "html_show_sourcelink": False,
    "html_copy_source": False,
    "html_show_search_summary": False,  # it would read the pages found, which a browser refuses on a local disk
    "myst_enable_extensions": ["dollarmath", "amsmath", "deflist"],
    "myst_heading_anchors": 4,
    "nb_execution_mode": "off",
    "nb_render_markdown_format": "myst",
    "nb_render_image_options": {},
    "nb_code_prompt_show": "Show the code",
    "nb_code_prompt_hide": "Hide the code",
    # `app`: a second site of one process, for which nodes and directives are registered again.
    "suppress_warnings": ["myst.header", "mystnb.unknown_mime_type", "misc.highlighting_failure", "app"],
    "exclude_patterns": [],
}


def copy(committed: Committed, site: Path) -> None:
    """The files that pages show, load and offer, as they are committed."""
    scripts = shutil.ignore_patterns("*.html")
    shutil.copytree(EXPLORERS, site / "_static" / "explorers", ignore=scripts, copy_function=shutil.copyfile)
    for folder in committed.folders:
        for kind in COPIED:
            for path in sorted((committed.folder(folder) / kind).glob("*")):
                target = site / places.file(folder, kind, path.name.removesuffix(".xz"))
                target.parent.mkdir(parents=True, exist_ok=True)
                if path.suffix == ".xz":
                    target.write_text(store.read_text(path), encoding="utf-8")
                else:
                    shutil.copyfile(path, target)
