"""The arms of an ablation in the place of encodings, each gated at its own training length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from attention_priors.checks.passkey.runs import MARGIN, Runs
from attention_priors.claims.finding import Estimate, Finding, Frames, unknown

PRIORS, TRAINING, HEADS, LANGUAGE = "ablation_priors", "ablation_training", "ablation_heads", "ablation_language"


def study(frames: Frames, metric: str, name: str) -> Runs | None:
    """The runs of one study; None where a profile has none of it. T is the shortest training length."""
    rows = frames[metric]
    rows = rows[rows["study"] == name]
    return Runs(rows.assign(encoding=rows["arm"])) if len(rows) else None


def asked(metric: str, name: str, estimate: Callable[[Runs], Estimate]) -> Callable[[Frames], Estimate]:
    """`estimate` of a study, unknown where a profile has none of it."""

    def of(frames: Frames) -> Estimate:
        data = study(frames, metric, name)
        return unknown(f"the study of {name} is not in this profile") if data is None else estimate(data)

    return of


def leads(text: str, metric: str, name: str, ours: Sequence[str], others: Iterable[str], least: float = 2.0) -> Finding:
    """Every one of `ours` leads every one of the others, in mean accuracy from `least` times T on."""
    others, where = tuple(others), f"mean accuracy from {least:g}T on"
    few = math.prod((len(ours), len(others))) == 1
    return Finding(
        f"{text} ({'lead' if few else 'smallest lead'} in {where})",
        asked(metric, name, lambda data: data.ahead(ours, others, least)),
        ">",
        0.0,
        metrics=(metric,),
        margin=MARGIN,
    )
