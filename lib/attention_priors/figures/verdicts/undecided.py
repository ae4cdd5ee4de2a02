"""Why claims have no verdict, and which."""

from attention_priors import claims
from attention_priors.figures.spec import LEDGER, Frame, TableSpec
from attention_priors.figures.verdicts.counts import decided


def build(ledger: Frame) -> Frame:
    rules, known = claims.exceptions(), claims.register()
    left = ledger[ledger["verdict"] == "not run"]
    said = left["opposite"].fillna("") if "opposite" in left else [""] * len(left)
    whys = [why or claims.reason(known[name], rules) for name, why in zip(left["id"], said, strict=True)]
    table = Frame({"why": whys, "claims": left["id"]})
    grouped = table.groupby("why", sort=False)["claims"]
    return Frame({"number": grouped.size(), "claims": grouped.agg(", ".join)}).reset_index()


TABLE = TableSpec(LEDGER, build, decided, "verdicts", ("id", "verdict"))
