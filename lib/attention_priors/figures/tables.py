"""Tables of the ledger, and the one function that prints any table as CSV, Markdown and LaTeX (booktabs)."""

from __future__ import annotations

import pandas as pd

from attention_priors import claims
from attention_priors.claims.ledger import FORMULA, cell, pipe_table
from attention_priors.figures.spec import LEDGER, TableSpec

OUTCOMES = ("agrees", "disagrees", "undecided")
WIDE = 30  # characters: from here on a LaTeX column wraps
FLOATS = "%.10g"  # as in metrics: more digits than anyone reads, the same on every platform
_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "×": r"$\times$", "≤": r"$\le$",
    "≥": r"$\ge$", "–": "--", "→": r"$\to$", "∞": r"$\infty$", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}",
}  # fmt: skip


def errata(ledger: pd.DataFrame) -> pd.DataFrame:
    """Every statement found wanting: what stands there, where it fails, what holds instead, where it matters."""
    from attention_priors.checks import CHECKS  # sympy and all checkers, which no other table needs

    wrong = ledger[ledger["verdict"].isin(["contradicted", "verified with correction"])]
    practice = [CHECKS[name].practice if name in CHECKS else "" for name in wrong["id"]]
    columns = {
        "id": "claim", "source": "source", "verdict": "verdict", "statement": "what is claimed",
        "counterexample": "counterexample", "corrected": "what holds", "notebook": "derived in",
    }  # fmt: skip
    table = wrong[list(columns)].rename(columns=columns).reset_index(drop=True)
    table.insert(6, "where it matters", practice)
    return table


def outcomes(ledger: pd.DataFrame) -> pd.DataFrame:
    """Every claim that a run was held against: what it gave, how sure that is, and what would have reversed it."""
    runs = ledger[ledger["verdict"].isin(claims.RUNS)]
    found = [
        f"{claims.show(measured)} {relation} {claims.show(expected)}"
        for measured, relation, expected in zip(runs["measured"], runs["relation"], runs["expected_value"], strict=True)
    ]
    table = pd.DataFrame({"claim": runs["id"], "verdict": runs["verdict"], "outcome": runs["outcome"], "found": found})
    table["interval"] = [claims.show(ends) if isinstance(ends, tuple) else "" for ends in runs["interval"]]
    table["seeds"] = [len(seeds) for seeds in runs["seeds"]]
    table["recipe"] = runs["recipe"]
    table["the opposite would need"] = runs["opposite"]
    return table.reset_index(drop=True)


def undecided(ledger: pd.DataFrame) -> pd.DataFrame:
    """Why claims have no verdict, and which."""
    rules, known = claims.exceptions(), claims.register()
    open_ids = ledger.loc[ledger["verdict"] == "not run", "id"]
    table = pd.DataFrame({"why": [claims.reason(known[name], rules) for name in open_ids], "claims": open_ids})
    grouped = table.groupby("why", sort=False)["claims"]
    return pd.DataFrame({"number": grouped.size(), "claims": grouped.agg(", ".join)}).reset_index()


def _errata_caption(ledger: pd.DataFrame) -> str:
    counted = ledger["verdict"].value_counts()
    return (
        f"Statements found wanting: {counted.get('contradicted', 0)} contradicted and "
        f"{counted.get('verified with correction', 0)} verified with a correction. "
        "Each counterexample can be checked by hand."
    )


def _outcomes_caption(ledger: pd.DataFrame) -> str:
    counted = ledger.loc[ledger["verdict"].isin(claims.RUNS), "outcome"].value_counts()
    return (
        "Claims held against small models or timings: "
        + ", ".join(f"{counted.get(word, 0)} {word}" for word in OUTCOMES)
        + "."
    )


def _decided(ledger: pd.DataFrame) -> str:
    return f"{(ledger['verdict'] != 'not run').sum()} of {len(ledger)} claims have a verdict."


TABLES: dict[str, TableSpec] = {
    "errata": TableSpec(LEDGER, errata, _errata_caption, "", "15_verdicts"),
    "outcomes": TableSpec(LEDGER, outcomes, _outcomes_caption, "", "15_verdicts"),
    "undecided": TableSpec(LEDGER, undecided, _decided, "", "15_verdicts"),
    "verdicts_by_document": TableSpec(
        LEDGER, lambda ledger: claims.counts(ledger, "document"), _decided, "", "15_verdicts"
    ),
    "verdicts_by_kind": TableSpec(LEDGER, lambda ledger: claims.counts(ledger, "kind"), _decided, "", "15_verdicts"),
}


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


def escape(text: str) -> str:
    """Text for LaTeX; what stands between dollar signs is a formula and stays."""
    return "".join(
        part if i % 2 else "".join(_TEX.get(character, character) for character in part)
        for i, part in enumerate(FORMULA.split(text))
    )
