"""What pdfLaTeX reads: every committed table, and every figure under its caption, in one document."""

import re
import shutil
import subprocess

import pandas as pd
import pytest

from attention_priors import citation, config
from attention_priors.figures import FIGURES, TABLES, NotCompared, style, tables
from attention_priors.layout import Layout
from attention_priors.report import NotMeasured, Report

LAYOUT = Layout(config.ROOT / "results", "cpu")
HEAD = r"""\documentclass[10pt]{article}
\usepackage[letterpaper, textwidth=6.75in, textheight=9in]{geometry}
\usepackage[utf8]{inputenc}
\usepackage{amsmath, amssymb, array, booktabs, graphicx, longtable, pdflscape}
\setcounter{totalnumber}{9}
\begin{document}
"""
OVERFULL = 5.0  # points that may stick out


def committed(kind, rows):
    """Name, spec, frame and report of what can be drawn from committed metrics."""
    for name, spec in rows.items():
        report = Report(LAYOUT, spec.notebook)
        try:
            frame, _ = report.read(spec.metrics)
            spec.caption(frame)
        except (NotMeasured, NotCompared):
            continue
        yield name, spec, frame, report


def printed():
    """The tables and the figures in turn, as LaTeX."""
    for name, spec, frame, _ in committed("table", TABLES):
        try:
            yield tables.render(name, spec.build(frame), spec.caption(frame), "Recipe exact.")["tex"]
        except NotCompared:
            continue
    for place, (name, _, _, report) in enumerate(committed("figure", FIGURES)):
        path = next(each for each in report.files("figure", name) if each.suffix == ".pdf")
        shown = path if path.exists() else LAYOUT.theory / "figures" / "prior_shapes.pdf"
        yield citation.snippet(name, shown.as_posix(), report.caption(name)[0], style.SINGLE, style.SINGLE)
        yield r"\clearpage" if place % 8 == 7 else ""


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex on this machine (texlive-latex-recommended)")
def test_tables_and_figures_compile_in_one_document_and_nothing_sticks_out(tmp_path):
    (tmp_path / "all.tex").write_text(HEAD + "\n".join(printed()) + "\\end{document}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    log = (tmp_path / "all.log").read_text(errors="replace")
    assert done.returncode == 0, log[-3000:]
    wide = [float(width) for width in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", log)]
    assert max(wide, default=0) <= OVERFULL, re.findall(r"Overfull \\hbox.*\n.*", log)


def test_a_table_without_rows_has_its_head():
    frame = pd.DataFrame({"encoding": pd.Series(dtype=str), "accuracy": pd.Series(dtype=float)})
    text = tables.render("none", frame, "Nothing passed.", "Recipe exact.")["tex"]
    assert r"encoding & accuracy \\" in text and text.count(r"\\") == 1
    assert "nothing to show" in tables.render("none", pd.DataFrame(), "Nothing passed.", "Recipe exact.")["tex"]
