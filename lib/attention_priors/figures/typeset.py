"""A table in LaTeX as wide as its cells need: type, widths of columns and pages are chosen so that nothing sticks out.

Needs array, booktabs, longtable and pdflscape, and a line of 6.75 in (`geometry`), as papers in two columns have.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..claims.ledger import FORMULA, cell
from .latex import escape

INTERVAL = re.compile(r"(?:(\S+) )?\[([^\s,\[\]]+), ([^\s,\[\]]+)\]")  # 0.53 [0.20, 0.80], or the interval alone
LINE, TALL = 487.0, 620.0  # points: the text of a page, and its height, which is the line of a page on its side
SIZES = (("small", 9.0), ("footnotesize", 8.0), ("scriptsize", 7.0))
LONG = 24  # lines of text from which on a table may run over pages
HIGH = 24  # lines of text in a row from which on a table lies on its side
GAP, STEP = 3.0, 6.0  # points: on either side of a column, and by which one is widened
_NARROW, _WIDE = set("ijltfrI.,:;'|!()[] "), set("mwMWABCDEGHKNOPQRUVXYZ%@+=<>×−–→∞ΣΓΘω")
_SPACED = 1.35  # a formula, with the space about its signs
_LONGEST = 14  # letters of a word that is not broken


@dataclass(frozen=True)
class _Layout:
    """Type, whether the page lies on its side, the width of each column in points, and the lines of all rows."""

    size: str
    sideways: bool
    widths: np.ndarray
    lines: float


def table(name: str, frame: pd.DataFrame, caption: str, footer: str) -> str:
    """The table; long ones run over pages, wide ones lie on their side. Intervals stand below their values."""
    if frame.columns.empty:
        frame = pd.DataFrame(columns=["nothing to show"])
    texts = [[cell(value) for value in frame.iloc[:, place]] for place in range(frame.shape[1])]
    heads = [str(column) for column in frame.columns]
    layout = _layout(heads, texts)
    kinds = ["left" if pd.api.types.is_numeric_dtype(kind) else "right" for kind in frame.dtypes]
    columns = "".join(
        f"\n  >{{\\ragged{kind}\\arraybackslash}}p{{{width:.0f}pt}}"
        for kind, width in zip(kinds, layout.widths, strict=True)
    )
    head = "  " + " & ".join(map(escape, heads)) + r" \\"
    body = ["  " + " & ".join(map(_set, row)) + r" \\" for row in zip(*texts, strict=True)]
    title = f"\\caption{{{escape(caption)} {escape(footer)}}}"
    label, type_ = f"\\label{{tab:{name}}}", f"\\{layout.size}\\setlength{{\\tabcolsep}}{{{GAP:g}pt}}"
    if layout.sideways or layout.lines > LONG:
        lines = [
            f"\\begingroup\\setlength{{\\LTcapwidth}}{{\\linewidth}}{type_}",
            f"\\begin{{longtable}}{{{columns}}}",
            f"  {title} {label} \\\\",
            r"  \toprule",
            head,
            r"  \midrule",
            r"  \endfirsthead",
            r"  \toprule",
            head,
            r"  \midrule",
            r"  \endhead",
            r"  \bottomrule",
            r"  \endfoot",
            *body,
            r"\end{longtable}",
            r"\endgroup",
        ]
        lines = [r"\begin{landscape}", *lines, r"\end{landscape}"] if layout.sideways else lines
    else:
        lines = [
            r"\begin{table*}",
            f"  \\centering{type_}",
            f"  {title}",
            f"  {label}",
            f"  \\begin{{tabular}}{{{columns}}}",
            r"  \toprule",
            head,
            r"  \midrule",
            *body,
            r"  \bottomrule",
            r"  \end{tabular}",
            r"\end{table*}",
        ]
    return "\n".join([*lines, ""])


def _layout(heads: Sequence[str], texts: Sequence[Sequence[str]]) -> _Layout:
    """The largest type, upright if it can be, in which no word is wider than its column and no row is very high."""
    for sideways, (size, points) in itertools.product((False, True), SIZES):
        room = (TALL if sideways else LINE) - 2 * GAP * len(heads)
        columns = zip(heads, texts, strict=True)
        least = np.array([max(_widest(text, points) for text in (head, *column)) for head, column in columns])
        whole = np.array([[_whole(text, points) for text in column] for column in texts], dtype=float)
        fits = least.sum() <= room
        widths = _shared(least, whole, room) if fits else least * room / least.sum()
        lines = _heights(whole, widths)
        layout = _Layout(size, sideways, widths, float(lines.sum()))
        if fits and (sideways or lines.max(initial=0) <= HIGH):
            break
    return layout


def _shared(least: np.ndarray, whole: np.ndarray, room: float) -> np.ndarray:
    """What each column needs, and of what is left, step by step, what makes the rows lowest."""
    most = np.maximum(least, whole.max(axis=1, initial=0))
    if most.sum() <= room:
        return most
    widths = least.copy()
    while room - widths.sum() >= STEP:
        wider = [
            _heights(whole, widths + STEP * (np.arange(len(widths)) == place)).sum() for place in range(len(widths))
        ]
        widths[int(np.argmin(wider))] += STEP
    return widths


def _heights(whole: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """About how many lines of type each row takes."""
    return np.maximum(1.15 * whole / widths[:, None], 1).max(axis=0)


def _set(text: str) -> str:
    """A cell: an interval below its value, long words with places to break."""
    if found := INTERVAL.fullmatch(text):
        value, low, high = found.groups()
        ends = f"{{\\scriptsize [{_number(low)}, {_number(high)}]}}"
        return f"{_number(value)}\\newline {ends}" if value else ends
    parts = FORMULA.split(text)
    parts[::2] = [_breakable(escape(part)) for part in parts[::2]]
    parts[1::2] = [escape(part) for part in parts[1::2]]
    return "".join(parts)


def _number(text: str) -> str:
    return f"${text}$" if text.startswith("-") else text


def _breakable(text: str) -> str:
    """Words that are long may break after an underscore, a sign or a bracket."""
    words = text.split(" ")
    return " ".join(
        re.sub(r"(\\_|\\textless\{\}|\\textgreater\{\}|[/=)*+,-])(?=[^\s])", r"\1\\allowbreak{}", word)
        if len(word) > _LONGEST
        else word
        for word in words
    )


def _widest(text: str, points: float) -> float:
    """The width of the longest part that is not broken, in points."""
    if found := INTERVAL.fullmatch(text):
        return max(_width(found[1] or "", points), _width(f"{found[2]}, {found[3]}xx", min(points, 7.0)))
    parts = FORMULA.split(text)
    words = (_width(piece, points) for part in parts[::2] for word in part.split() for piece in _pieces(word))
    terms = (_SPACED * _width(f"${term}$", points) for part in parts[1::2] for term in _terms(part.strip("$")))
    return max((*words, *terms), default=0.0)


def _terms(formula: str) -> list[str]:
    """A formula's parts between signs outside braces, where TeX may break it."""
    terms, depth = [""], 0
    for sign in re.findall(r"\\(?:le|ge|leq|geq|to|propto|approx|sim|cdot|mid|in)(?![a-zA-Z])|\\?.", formula):
        depth += (sign == "{") - (sign == "}")
        if depth == 0 and (len(sign) > 2 or sign in "=<>+-"):
            terms.append("")
        else:
            terms[-1] += sign
    return terms


def _whole(text: str, points: float) -> float:
    """The width of a text in one line; an interval stands below its value."""
    return _widest(text, points) if INTERVAL.fullmatch(text) else _width(text, points)


def _pieces(word: str) -> list[str]:
    return re.findall(r"[^_/=)*+,<>-]*[_/=)*+,<>-]?", word) if len(word) > _LONGEST else [word]


def _width(text: str, points: float) -> float:
    """About how wide letters are in Computer Modern, in points."""
    plain = re.sub(r"[${}^]", "", re.sub(r"\\[a-zA-Z]+|\\.", "x", text)) if "$" in text else text
    return points * sum(0.32 if sign in _NARROW else 0.78 if sign in _WIDE else 0.53 for sign in plain)
