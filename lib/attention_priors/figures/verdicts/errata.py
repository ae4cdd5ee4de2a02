"""Every statement found wanting: what stands there, where it fails, what holds instead, where it matters."""

from attention_priors.checks import CHECKS
from attention_priors.figures.spec import LEDGER, Frame, TableSpec

COLUMNS = {
    "id": "claim", "source": "source", "verdict": "verdict", "statement": "what is claimed",
    "counterexample": "counterexample", "corrected": "what holds", "notebook": "derived in",
}  # fmt: skip


def build(ledger: Frame) -> Frame:
    wrong = ledger[ledger["verdict"].isin(["contradicted", "verified with correction"])]
    practice = [CHECKS[name].practice if name in CHECKS else "" for name in wrong["id"]]
    table = wrong[list(COLUMNS)].rename(columns=COLUMNS).reset_index(drop=True)
    table.insert(6, "where it matters", practice)
    return table


def caption(ledger: Frame) -> str:
    counted = ledger["verdict"].value_counts()
    return (
        f"Statements found wanting: {counted.get('contradicted', 0)} contradicted and "
        f"{counted.get('verified with correction', 0)} verified with a correction. "
        "Each counterexample can be checked by hand."
    )


TABLE = TableSpec(LEDGER, build, caption, "verdicts", tuple(COLUMNS))
