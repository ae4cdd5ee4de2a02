"""Figures as SVG: drawn from the committed numbers, because results have none."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import matplotlib.pyplot as plt

from attention_priors import store
from attention_priors.figures import FIGURES, LEDGER, style
from attention_priors.layout import THEORY, Layout
from attention_priors.report import NotMeasured, Report, svg, titled
from attention_priors.site import places
from attention_priors.site.committed import Committed, Figure


def drawable(committed: Committed, figure: Figure) -> bool:
    """Whether a committed figure is one of FIGURES whose numbers are there, and SVGs are wanted."""
    if not committed.svg or figure.name not in FIGURES:
        return False
    if FIGURES[figure.name].metrics == LEDGER:
        return True
    try:
        _report(committed, figure).place(FIGURES[figure.name].metrics)
    except NotMeasured:
        return False
    return True


def draw(committed: Committed, kept: Path, site: Path) -> None:
    """files/<folder>/figures/<name>.svg of every figure; `kept` has those of earlier builds, by the sum of the PDF."""
    for figure in committed.figures.values():
        if not drawable(committed, figure):
            continue
        source = figure.files.get("pdf", figure.files["png"])
        path = kept / f"{figure.name}-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}.svg"
        if not path.is_file():
            store.write_bytes(path, _drawn(committed, figure))
        target = site / places.file(figure.folder, "figures", f"{figure.name}.svg")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _drawn(committed: Committed, figure: Figure) -> bytes:
    spec = FIGURES[figure.name]
    frame, origin = _report(committed, figure).read(spec.metrics, spec.notebook)
    style.apply()
    drawn = spec.draw(spec.check(frame))
    try:
        return svg(drawn, figure.alt, titled(figure.name, origin), origin["key"])
    finally:
        plt.close(drawn)


def _report(committed: Committed, figure: Figure) -> Report:
    profile = committed.profile if figure.folder == THEORY else figure.folder
    return Report(Layout(committed.results, profile), FIGURES[figure.name].notebook)
