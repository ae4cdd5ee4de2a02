"""What the site adds to Sphinx: formulas by the KaTeX that is shipped, anchors and words in notebooks, source pages."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx

from attention_priors.publish.site import executed, places

FORMULAS = ("katex/katex.min.js", "formulas.js")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("site_modules", [], "")
    app.add_html_math_renderer("katex", (_formula("span", "math"), None), (_formula("div", "math display"), None))
    app.add_css_file("katex/katex.min.css")
    app.add_css_file("site.css")
    app.add_js_file("site.js", loading_method="defer")
    app.connect("doctree-read", _cells)
    app.connect("html-collect-pages", _sources)
    app.connect("html-page-context", _scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _formula(tag: str, kind: str) -> Callable[[Any, nodes.Element], None]:
    def visit(writer: Any, node: nodes.Element) -> None:
        writer.body.append(writer.starttag(node, tag, "", CLASS=f"{kind} notranslate nohighlight"))
        writer.body.append(f"{html.escape(node.astext())}</{tag}>")
        raise nodes.SkipNode

    return visit


def _cells(app: Sphinx, doctree: nodes.document) -> None:
    """Ids and alternative texts of a notebook's cells, which MyST-NB leaves out."""
    path = Path(app.env.doc2path(app.env.current_document.docname))
    if path.suffix != ".ipynb":
        return
    known = executed.cells(json.loads(path.read_text(encoding="utf-8")))
    shown = [each for each in doctree.findall(nodes.container) if each.get("nb_element") == "cell_code"]
    for container, (identifier, alts) in zip(shown, known, strict=True):
        container["ids"].append(places.cell_anchor(identifier))
        for image, alt in zip(container.findall(nodes.image), alts, strict=False):
            image["alt"] = alt


def _scripts(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Formulas cost a third of a megabyte: only pages that have some load them."""
    if 'class="math' in context.get("body", ""):
        for script in FORMULAS:
            app.add_js_file(script, loading_method="defer")


def _sources(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each module that laws, figures and the API link to, with an anchor at every line."""
    form = HtmlFormatter(linenos="inline", anchorlinenos=True, lineanchors="L", cssclass="highlight source")
    for path in map(Path, app.config.site_modules):
        title = places.shown(path)
        code = highlight(path.read_text(encoding="utf-8"), PythonLexer(), form)
        body = f"<h1>{html.escape(title)}</h1>\n{code}"
        name = places.source(path).removesuffix(".html")
        yield name, {"title": title, "body": body, "parents": [], "display_toc": False}, "page.html"
