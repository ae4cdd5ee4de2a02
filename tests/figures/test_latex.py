"""What LaTeX reads: every committed table, figure and BibTeX entry, as they lie in results, in one document."""

import re
import shutil
import subprocess

import pandas as pd
import pytest

from attention_priors import config
from attention_priors.figures import tables

RESULTS = config.ROOT / "results"
FOLDERS = ("theory", "cpu", "full")
HEAD = r"""\documentclass[10pt]{article}
\usepackage[letterpaper, textwidth=6.75in, textheight=9in]{geometry}
\usepackage[utf8]{inputenc}
\usepackage{amsmath, amssymb, array, booktabs, graphicx, longtable, pdflscape, url}
\setcounter{totalnumber}{9}
\begin{document}
\nocite{*}
"""
TAIL = r"""\clearpage
\sloppy
\bibliographystyle{plain}
\bibliography{all}
\end{document}
"""
OVERFULL = 5.0  # points that may stick out


def committed(kind, ending):
    return [path for folder in FOLDERS for path in sorted((RESULTS / folder / kind).glob(f"*{ending}"))]


def blocks(language):
    """The fenced blocks of a language in the files of all figures."""
    fence = re.compile(rf"^```{language}\n(.*?)^```$", re.M | re.S)
    return [block for path in committed("figures", ".md") for block in fence.findall(path.read_text(encoding="utf-8"))]


def printed():
    """The tables and the figures in turn, as LaTeX; those of two profiles have one label."""
    for path in committed("tables", ".tex"):
        yield path.read_text(encoding="utf-8")
    for place, block in enumerate(blocks("latex")):
        yield block
        yield r"\clearpage" if place % 8 == 7 else ""


def cited():
    """Every entry once: papers stand beside many figures, and two profiles have figures of one name."""
    found = {}
    for block in blocks("bibtex"):
        for entry in block.split("\n\n"):
            found.setdefault(entry.partition(",")[0], entry)
    return "\n".join(found.values())


def test_every_figure_and_table_has_its_latex_and_its_bibtex():
    assert len(blocks("latex")) == len(blocks("bibtex")) == len(committed("figures", ".md")) > 0
    assert len(committed("tables", ".tex")) == len(committed("tables", ".csv")) > 0
    assert not re.search(r"= \{\}", cited()), "an empty field"


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex on this machine (texlive-latex-recommended)")
def test_tables_figures_and_citations_compile_in_one_document_and_nothing_sticks_out(tmp_path):
    (tmp_path / "results").symlink_to(RESULTS)
    (tmp_path / "all.tex").write_text(HEAD + "\n".join(printed()) + TAIL, encoding="utf-8")
    (tmp_path / "all.bib").write_text(cited(), encoding="utf-8")

    def run(*command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, done.stdout[-3000:]
        return done.stdout

    compiled = "pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "all.tex"
    run(*compiled)
    assert "Warning--" not in run("bibtex", "all")
    run(*compiled)
    log = (tmp_path / "all.log").read_text(errors="replace")
    wide = [float(width) for width in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", log)]
    assert max(wide, default=0) <= OVERFULL, re.findall(r"Overfull \\hbox.*\n.*", log)


def test_a_table_without_rows_has_its_head():
    frame = pd.DataFrame({"encoding": pd.Series(dtype=str), "accuracy": pd.Series(dtype=float)})
    text = tables.render("none", frame, "Nothing passed.", "Recipe exact.")["tex"]
    assert r"encoding & accuracy \\" in text and text.count(r"\\") == 1
    assert "nothing to show" in tables.render("none", pd.DataFrame(), "Nothing passed.", "Recipe exact.")["tex"]
