"""The arms of an ablation in the place of encodings, each gated at its own training length."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from attention_priors.checks.passkey.runs import Runs
from attention_priors.claims.finding import Estimate, unknown

PRIORS, TRAINING, HEADS, LANGUAGE = "ablation_priors", "ablation_training", "ablation_heads", "ablation_language"


def study(rows: pd.DataFrame, name: str) -> Runs | None:
    """The runs of one study; None where a profile has none of it. T is the shortest training length."""
    rows = rows[rows["study"] == name]
    return Runs(rows.assign(encoding=rows["arm"])) if len(rows) else None


def asked(name: str, estimate: Callable[[Runs], Estimate]) -> Callable[[pd.DataFrame], Estimate]:
    """`estimate` of a study, unknown where a profile has none of it."""

    def of(rows: pd.DataFrame) -> Estimate:
        data = study(rows, name)
        return unknown(f"the study of {name} is not in this profile") if data is None else estimate(data)

    return of
