"""Small pieces of HTML and Markdown that the pages share."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from attention_priors.claims.ledger import FORMULA

ALONE = (
    "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"  # begins a page without a list of its parts at the right
)
CODE = re.compile(r"`([^`]+)`")
PLAIN = str.maketrans({each: f"\\{each}" for each in "\\*_<>[]#$|{}"})


def page(*parts: str) -> str:
    """A source of Sphinx: its parts, those that are empty left out, with a blank line between them."""
    return "\n\n".join(filter(None, parts)) + "\n"


def toctree(names: Iterable[str], caption: str = "") -> str:
    """The pages below one, for the lists at the left."""
    above, below = f":caption: {caption}\n" if caption else "", "\n".join(names)
    return f"```{{toctree}}\n:hidden:\n{above}\n{below}\n```"


def plain(said: str) -> str:
    """A text as Markdown whose signs are plain, but for code between backticks."""
    pieces = said.split("`")
    code = slice(None, None, 2 if len(pieces) % 2 else 1)  # a backtick that is never closed begins no code
    pieces[code] = [each.translate(PLAIN) for each in pieces[code]]
    return "`".join(pieces)


def text(said: object) -> str:
    """A text as HTML: formulas between dollars as KaTeX finds them, code between backticks as code."""
    pieces = FORMULA.split(" ".join(str(said).split()))
    pieces[1::2] = [f'<span class="math">{html.escape(piece[1:-1])}</span>' for piece in pieces[1::2]]
    pieces[::2] = [CODE.sub(r"<code>\1</code>", html.escape(piece)) for piece in pieces[::2]]
    return "".join(pieces)


def link(label: str, place: str) -> str:
    """A link whose label is plain text."""
    return f'<a href="{html.escape(place)}">{html.escape(label)}</a>'


def relative(target: str, page: str) -> str:
    """`target`, a path of the site with or without an anchor, as seen from `page`."""
    path, mark, anchor = target.partition("#")
    start = PurePosixPath(page).parent.as_posix()
    return PurePosixPath(os.path.relpath(path, start)).as_posix() + mark + anchor


def raw(content: str) -> str:
    """HTML inside a Markdown page."""
    return f"```{{raw}} html\n{content}\n```"


def slug(name: str) -> str:
    """A name as an anchor: letters, digits and hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()


def badge(verdict: str) -> str:
    """A verdict with its colour; the word says it, the colour repeats it."""
    return f'<span class="verdict {slug(verdict)}">{html.escape(verdict)}</span>'


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str | tuple[str, object]]],
    caption: str,
    *,
    filters: Sequence[str] = (),
    sorts: bool = True,
    name: str = "",
) -> str:
    """A table of HTML cells that `sorts` by its heads; `filters`, names of columns, give fields to filter.

    A cell is its HTML, or a pair of the HTML and what it is sorted by.
    """
    kind = "sortable searched" if filters else "sortable" if sorts else "plain"
    lines = [
        f'<div class="{kind}" data-filters="{html.escape("|".join(filters))}"'
        + (f' id="{name}"' if name else "")
        + ">",
        '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table class="table">',
        f"<caption>{html.escape(caption)}</caption>",
        "<thead><tr>" + "".join(f'<th scope="col">{html.escape(each)}</th>' for each in head) + "</tr></thead>",
        "<tbody>",
    ]
    for row in rows:
        cells = []
        for each in row:
            shown, key = each if isinstance(each, tuple) else (each, None)
            by = f' data-sort="{html.escape(str(key))}"' if key is not None else ""
            cells.append(f"<td{by}>{shown}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</tbody></table></div></div>"])


def details(summary: str, body: str) -> str:
    """A part that opens; `summary` and `body` are HTML."""
    return f"<details><summary>{summary}</summary>\n{body}\n</details>"


def copied(label: str, content: str) -> str:
    """Text in a box with a button that copies it."""
    return (
        f'<div class="copied"><button type="button" class="copy">Copy {html.escape(label)}</button>'
        f'<pre tabindex="0"><code>{html.escape(content)}</code></pre></div>'
    )
