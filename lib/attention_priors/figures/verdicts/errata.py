"""Every statement found wanting: what stands there, where it fails, what holds instead, where it matters."""

from attention_priors.checks import CHECKS
from attention_priors.claims.verdict import SEVERITIES, WANTING
from attention_priors.figures.spec import LEDGER, Frame, TableSpec

COLUMNS = {
    "id": "claim",
    "source": "source",
    "severity": "severity",
    "verdict": "verdict",
    "quote": "in its words",
    "statement": "what is claimed",
    "counterexample": "counterexample",
    "corrected": "what holds",
    "notebook": "derived in",
}


def build(ledger: Frame) -> Frame:
    """The worst first; statements of ours, which have no severity, last."""
    wrong = ledger[ledger["verdict"].isin(WANTING)]
    order = wrong["severity"].map({name: rank for rank, name in enumerate(SEVERITIES)}).fillna(len(SEVERITIES))
    wrong = wrong.assign(quote=wrong["sentences"].map(_quote)).iloc[order.argsort(kind="stable")]
    practice = [CHECKS[name].practice if name in CHECKS else "" for name in wrong["id"]]
    table = wrong[list(COLUMNS)].rename(columns=COLUMNS).fillna({"severity": "ours"}).reset_index(drop=True)
    table.insert(len(COLUMNS) - 1, "where it matters", practice)
    return table


def _quote(sentences: list[dict]) -> str:
    return next((each["quote"] for each in sentences if each["found"] == "fails" and each["quote"]), "")


def caption(ledger: Frame) -> str:
    wrong = ledger[ledger["verdict"].isin(WANTING)]
    slips = wrong["kind"] == "erratum"
    found = wrong[~slips]["severity"].value_counts()
    each = ", ".join(f"{found.get(name, 0)} {said}" for name, said in zip(SEVERITIES, SAID, strict=True))
    return (
        f"Statements found wanting: {each}; beside them {int(slips.sum())} that were registered because they fail. "
        "Each counterexample can be checked by hand."
    )


SAID = ("break a result", "need a repair", "are editorial")
TABLE = TableSpec(LEDGER, build, caption, "verdicts", (*(set(COLUMNS) - {"quote"}), "sentences", "kind"))
