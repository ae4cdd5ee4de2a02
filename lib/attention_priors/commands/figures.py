"""Redraw every figure and table from committed metrics; nothing is trained.

python -m attention_priors.commands.figures --profile cpu            redraw
python -m attention_priors.commands.figures --profile cpu --svg x    the same, and every figure as x/<name>.svg
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib as mpl

from .. import config
from ..publish import readme
from ..publish.report import lost, redraw
from ..publish.site.committed import Committed
from ..store import manifest
from ..store.layout import DEFAULT, ROOT, Layout
from . import arguments as commands


@commands.refusing()
def main(arguments: list[str] | None = None) -> int:
    """0 when all is well, 1 when committed numbers are gone, 2 for bad input."""
    parser = commands.Arguments("figures", __doc__, "profile", "results")
    parser.add_argument("--svg", type=Path, metavar="FOLDER", help="write every figure there as SVG, too")
    chosen = parser.parse_args(arguments)
    mpl.use("agg")
    start = time.monotonic()
    layout = Layout(chosen.results, config.profile(chosen.profile).name)
    gone = lost(layout)
    written, skipped = redraw(layout, vectors=chosen.svg)
    manifest.add(layout, [layout.results / path for path in written])
    if layout.results.resolve() == ROOT / "results" and readme.refresh(Committed(layout.results, DEFAULT)):
        print("README.md has other findings now")
    for line in (*(f"skipped  {line}" for line in skipped), *(f"lost     {line}" for line in gone)):
        print(line)
    print(f"{len(written)} files in {chosen.results}, {time.monotonic() - start:.0f} s")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main())
