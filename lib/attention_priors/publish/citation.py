"""How a figure is cited and set: BibTeX, the LaTeX that prints it, and the licence.

Year, version and address come from CITATION.cff; there is no address until a release names the repository there.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import yaml

from attention_priors import config
from attention_priors.figures.latex import escape

FILE = "CITATION.cff"
LICENCE = "CC BY 4.0"
LICENSED = f"Figure, numbers and text: {LICENCE}, https://creativecommons.org/licenses/by/4.0/."
# Works that a figure may have to be cited with, by the document that `paper` begins with.
WORKS = {
    "BAM": r"""@misc{bianchessi_bam,
  title = {Bayesian Attention Mechanism: A Probabilistic Framework for Positional Encoding and Context Length
           Extrapolation},
  author = {Bianchessi, Arthur S. and Aguirre, Yasmin C. and Barros, Rodrigo C. and Kupssinsk{\"u}, Lucas S.},
  year = {2025},
  url = {https://arxiv.org/abs/2505.22842}
}""",
    "Goat": """@misc{litman_goat,
  title = {You Need Better Attention Priors},
  author = {Litman, Elon and Guo, Gabe},
  year = {2026},
  url = {https://arxiv.org/abs/2601.15380}
}""",
    "ParallelComp": """@inproceedings{xiong_parallelcomp,
  title = {ParallelComp: Parallel Long-Context Compressor for Length Extrapolation},
  author = {Xiong, Jing and Shen, Jianghan and Zheng, Chuanyang and Wan, Zhongwei and Zhao, Chenyang and Yang, Chiwun
            and Ye, Fanghua and Yang, Hongxia and Kong, Lingpeng and Wong, Ngai},
  booktitle = {International Conference on Machine Learning},
  year = {2025},
  url = {https://arxiv.org/abs/2502.14317}
}""",
}


@dataclass(frozen=True)
class Release:
    """What CITATION.cff says of this version."""

    version: str
    year: int
    address: str  # of the repository; empty before a release


@functools.cache
def release() -> Release:
    """ValueError where CITATION.cff has no version or no date."""
    text = yaml.safe_load((config.ROOT / FILE).read_text(encoding="utf-8"))
    if not text.get("version") or not text.get("date-released"):
        raise ValueError(f"{FILE} has no version or no date-released; give both, the date as 2026-11-23")
    return Release(str(text["version"]), int(str(text["date-released"])[:4]), str(text.get("repository-code", "")))


def bibtex(name: str, path: str, source: str, paper: str) -> str:
    """The figure's own entry, and that of the paper that it stands beside.

    `path`: of the PDF below the repository's root; `source`: what the numbers come from; `paper`: as "BAM, Fig. 2".
    """
    this = release()
    address = f"\n  url = {{{this.address}}}," if this.address else ""
    own = f"""@misc{{attention_priors_{name},
  title = {{{{Attention Priors}}: {escape(name.replace("_", " "))}}},
  author = {{{{Attention Priors contributors}}}},
  year = {{{this.year}}},
  version = {{{this.version}}},{address}
  howpublished = {{Figure \\texttt{{{escape(path)}}}, version {this.version}}},
  note = {{{escape(source)}. {LICENCE}}}
}}"""
    document = paper.split(",")[0].strip()
    return "\n\n".join([own, WORKS[document]] if document in WORKS else [own])


def snippet(name: str, path: str, caption: str, width: float, text: float) -> str:
    """LaTeX that prints a figure unscaled; `figure*` where it is wider than `text`, the line of a paper in columns.

    Widths are in inches. What it includes is the PDF at `path`, without its ending.
    """
    kind = "figure" if width <= text else "figure*"
    return f"""\\begin{{{kind}}}
  \\centering
  \\includegraphics[width={width:g}in]{{{path}}}
  \\caption{{{escape(caption)}}}
  \\label{{fig:{name}}}
\\end{{{kind}}}"""
