"""An executed notebook without what differs between two runs of the same thing, or names the machine that ran it."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat

ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
CELL_FILE = re.compile(r"[^\s\"']*ipykernel_\d+[/\\]\d+\.py")
UPWARDS = re.compile(r"\]\(\.\./")  # a Markdown link out of the folder of notebooks
BETWEEN = re.compile(r"(?<=\]\()\w+\.ipynb")  # and one to another notebook
KEPT_METADATA = ("tags", "jupyter", "collapsed", "editable", "slideshow")


def scrub(
    notebook: nbformat.NotebookNode, places: dict[str, str], parameters: dict[str, Any], links: Mapping[str, str]
) -> nbformat.NotebookNode:
    """A copy fit to be committed to results/<profile>/notebooks: its links out of the folder lead where they led.

    places: machine path -> what to write in its place; parameters: the values that the injected cell shows; links:
    file name of a source -> where its executed copy lies, seen from this one.
    """
    clean = nbformat.from_dict(notebook)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    title = {"title": clean.metadata["title"]} if "title" in clean.metadata else {}
    clean.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}, **title})
    places = dict(sorted(places.items(), key=lambda pair: -len(pair[0])))
    for cell in clean.cells:
        tags = cell.metadata.get("tags", [])
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k in KEPT_METADATA})
        if "injected-parameters" in tags:
            cell.id = "injected-parameters"
            cell.source = "# Parameters\n" + "\n".join(f"{name} = {value!r}" for name, value in parameters.items())
        if cell.cell_type == "markdown":
            cell.source = UPWARDS.sub("](../../../", cell.source)
            cell.source = BETWEEN.sub(lambda link: links.get(link[0], link[0]), cell.source)
        if cell.cell_type == "code":
            cell.outputs = [_output(output, places) for output in _streams(cell.outputs) if not _widget(output)]
    return clean


def replace(text: str, places: dict[str, str]) -> str:
    """`text` without machine paths, memory addresses and the kernel's temporary file names."""
    text = CELL_FILE.sub("<cell>", text)
    for path, shown in places.items():
        text = text.replace(path, shown)
    return ADDRESS.sub("0x...", text)


def machine_places(root: Path, results: Path, scratch: Path) -> dict[str, str]:
    """Paths of this machine that may turn up in outputs, and what stands for them."""
    places = {str(scratch): "<scratch>", f"{results}/": "results/", str(results): "results"}
    places |= {f"{root}/": "", str(root): ".", f"{sys.prefix}/": "<python>/", f"{sys.base_prefix}/": "<python>/"}
    home = str(Path.home())
    return places | ({f"{home}/": "~/"} if len(home) > 1 else {})


def _streams(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Neighbouring stream outputs joined, stdout before stderr: how the text arrived in pieces is chance."""
    joined: list[nbformat.NotebookNode] = []
    run: dict[str, str] = {}

    def flush() -> None:
        for name in sorted(run, reverse=True):
            # Of a line that was drawn over and over, as bars are, the last state stays.
            lines = [line.rsplit("\r", 1)[-1] for line in run[name].split("\n")]
            joined.append(nbformat.v4.new_output("stream", name=name, text="\n".join(lines)))
        run.clear()

    for output in outputs:
        if output.output_type == "stream":
            run[output.name] = run.get(output.name, "") + output.text
        else:
            flush()
            joined.append(output)
    flush()
    return joined


def _widget(output: nbformat.NotebookNode) -> bool:
    return "application/vnd.jupyter.widget-view+json" in output.get("data", {})


def _output(output: nbformat.NotebookNode, places: dict[str, str]) -> nbformat.NotebookNode:
    if output.output_type == "stream":
        output.text = replace(output.text, places)
    for kind, value in output.get("data", {}).items():
        if isinstance(value, str) and not (kind.startswith("image/") and kind != "image/svg+xml"):
            output.data[kind] = replace(value, places)
    return output
