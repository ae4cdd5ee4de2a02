"""Any table as CSV, Markdown and LaTeX (booktabs)."""

from __future__ import annotations

import pandas as pd

from attention_priors.claims.ledger import cell, pipe_table
from attention_priors.figures.latex import escape

WIDE = 30  # characters: from here on a LaTeX column wraps
FLOATS = "%.10g"  # as in metrics: more digits than anyone reads, the same on every platform


def render(name: str, frame: pd.DataFrame, caption: str, footer: str) -> dict[str, str]:
    """The text of the table's three files, by extension."""
    return {
        "csv": frame.to_csv(index=False, float_format=FLOATS, lineterminator="\n"),
        "md": markdown(frame, caption, footer),
        "tex": tex(name, frame, caption, footer),
    }


def markdown(frame: pd.DataFrame, caption: str, footer: str) -> str:
    """A pipe table between caption and footer."""
    return "\n".join([caption, "", *pipe_table(frame), "", footer, ""])


def tex(name: str, frame: pd.DataFrame, caption: str, footer: str) -> str:
    """A booktabs table: long text columns share the line's width, formulas pass through, the rest is escaped."""
    texts = [[cell(value) for value in frame.iloc[:, i]] for i in range(frame.shape[1])]
    lengths = [max([len(text) for text in column], default=0) for column in texts]
    wide = [length > WIDE for length in lengths]
    narrow = sum(length for length in lengths if length <= WIDE)
    share = f"p{{{max(0.95 - 0.012 * narrow, 0.4) / max(sum(wide), 1):.2f}\\linewidth}}"
    kinds = ["r" if pd.api.types.is_numeric_dtype(kind) else "l" for kind in frame.dtypes]
    layout = "".join(share if is_wide else kind for is_wide, kind in zip(wide, kinds, strict=True))
    rows = [[escape(cell(value)) for value in row] for row in frame.itertuples(index=False)]
    body = ["  " + " & ".join(row) + r" \\" for row in rows]
    return "\n".join([
        r"\begin{table}", r"  \centering\small", f"  \\caption{{{escape(caption)} {escape(footer)}}}",
        f"  \\label{{tab:{name}}}", f"  \\begin{{tabular}}{{{layout}}}", r"  \toprule",
        "  " + " & ".join(escape(str(column)) for column in frame.columns) + r" \\", r"  \midrule",
        *body, r"  \bottomrule", r"  \end{tabular}", r"\end{table}", "",
    ])  # fmt: skip
