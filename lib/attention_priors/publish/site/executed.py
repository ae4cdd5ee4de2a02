"""Executed notebooks as pages: links that lead within the site, cells that can be linked to, pictures with words."""

from __future__ import annotations

import copy
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_priors.publish.site.markup import relative
from attention_priors.store.layout import DEFAULT

LINK = re.compile(r"\[(?P<label>[^\[\]]*)\]\((?P<target>[^()\s]+)\)")
NUMBERED = re.compile(r"^\d+ · ")
HIDDEN = frozenset({"parameters", "injected-parameters"})
SETUP = re.compile(r"^(?:import|from) ", re.MULTILINE)


def page(notebook: Mapping[str, Any], folder: str, name: str, known: Mapping[str, str]) -> dict[str, Any]:
    """A notebook whose links lead to pages of the site.

    `known`: path in the repository -> source of the page; a link to another file of the repository becomes its path.
    """
    made, own = copy.deepcopy(dict(notebook)), f"notebooks/{folder}/{name}.ipynb"
    made["cells"] = [cell for cell in made["cells"] if "injected-parameters" not in cell["metadata"].get("tags", ())]
    for cell in made["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = linked("".join(cell["source"]), folder, known, own)
        elif HIDDEN & set(cell["metadata"].get("tags", ())) or SETUP.match("".join(cell["source"])):
            cell["metadata"].setdefault("tags", []).append("hide-cell")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/markdown" in data:
                data["text/markdown"] = linked("".join(data["text/markdown"]), folder, known, own)
    return made


def title(notebook: Mapping[str, Any]) -> str:
    """The first heading, without a number before it."""
    text = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    return next(NUMBERED.sub("", line[2:]) for line in text.splitlines() if line.startswith("# "))


def linked(text: str, folder: str, known: Mapping[str, str], own: str = "") -> str:
    """Markdown with its links rewritten, as they are seen from a page in notebooks/<folder>/; none leads to `own`."""
    here = f"results/{folder}/notebooks"

    def rewrite(found: re.Match) -> str:
        path, mark, anchor = found["target"].partition("#")
        if "://" in path or not path:
            return found[0]
        place = posixpath.normpath(posixpath.join(here, path))
        target = known.get(place)
        if target is None or target == own:
            label = found["label"]
            return label if posixpath.basename(place) in label else f"{label} (`{place}`)"
        return f"[{found['label']}]({relative(target, f'notebooks/{folder}/x.html')}{mark}{anchor})"

    return LINK.sub(rewrite, text)


def cells(notebook: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """For each code cell of a page: its id and the alternative texts of its pictures."""
    found = []
    for cell in notebook["cells"]:
        pictures = [output for output in cell.get("outputs", ()) if "image/png" in output.get("data", {})]
        alts = [each.get("metadata", {}).get("image/png", {}).get("alt", "") for each in pictures]
        alone = f"Drawn by the cell {cell['id']}; the text above says what it shows."
        if cell["cell_type"] == "code":
            found.append((cell["id"], [alt or alone for alt in alts]))
    return found


def known(notebooks: Mapping[tuple[str, str], Path], profile: str) -> dict[str, str]:
    """Path in the repository -> source of the site's page, for what notebooks link to."""
    found = {
        f"results/{folder}/notebooks/{name}.ipynb": f"notebooks/{folder}/{name}.ipynb" for folder, name in notebooks
    }
    for folder, name in notebooks:
        if folder == profile:
            found.setdefault(f"results/{DEFAULT}/notebooks/{name}.ipynb", f"notebooks/{folder}/{name}.ipynb")
    return found | {f"results/{profile}/claims.md": "ledger.md", "README.md": "index.md"}
