"""Why claims have no verdict, and which."""

from attention_priors import claims
from attention_priors.figures.spec import LEDGER, Frame, TableSpec
from attention_priors.figures.verdicts.counts import decided


def build(ledger: Frame) -> Frame:
    rules, known = claims.exceptions(), claims.register()
    open_ids = ledger.loc[ledger["verdict"] == "not run", "id"]
    table = Frame({"why": [claims.reason(known[name], rules) for name in open_ids], "claims": open_ids})
    grouped = table.groupby("why", sort=False)["claims"]
    return Frame({"number": grouped.size(), "claims": grouped.agg(", ".join)}).reset_index()


TABLE = TableSpec(LEDGER, build, decided, "verdicts", ("id", "verdict"))
