"""Why claims have no verdict, and which."""

import pandas as pd

from attention_priors import claims
from attention_priors.figures.spec import LEDGER, TableSpec
from attention_priors.figures.verdicts.counts import decided


def build(ledger: pd.DataFrame) -> pd.DataFrame:
    rules, known = claims.exceptions(), claims.register()
    open_ids = ledger.loc[ledger["verdict"] == "not run", "id"]
    table = pd.DataFrame({"why": [claims.reason(known[name], rules) for name in open_ids], "claims": open_ids})
    grouped = table.groupby("why", sort=False)["claims"]
    return pd.DataFrame({"number": grouped.size(), "claims": grouped.agg(", ".join)}).reset_index()


TABLE = TableSpec(LEDGER, build, decided, "verdicts", ("id", "verdict"))
