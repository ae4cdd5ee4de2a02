"""Claims about what BAM's heads learn (BAM §2.5, §3.2), judged from the heads of trained passkey models.

Readings, fixed before any run was looked at:
F4   within a seed, Spearman's correlation over heads between β and attention on the key sentence is negative.
C8   every seed has heads with β < -0.05 after a start at 0, and these give the key sentence more than its even share.
C21  the priors control the model: giving the heads with β < 0 the uniform prior lowers long-context accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from attention_priors.checks.evidence import EmpiricalCheck, Finding
from attention_priors.evaluation import seed_interval

RECIPE = "passkey-small"
NEGATIVE = -0.05  # an exponent that has clearly left its start at 0
LONG = 8  # lengths of at least so many times the shortest one count as long context

Frames = Mapping[str, pd.DataFrame]


def _finding(values: dict[int, float], relation: str, expected: float, detail: str) -> Finding:
    """agrees / disagrees where the interval over seeds lies wholly on one side of `expected`."""
    low, high = seed_interval(list(values.values()))
    above, below = low > expected, high < expected
    wanted, other = (above, below) if relation == ">" else (below, above)
    outcome = "agrees" if wanted else "disagrees" if other else "undecided"
    finite = (low, high) if np.isfinite([low, high]).all() else None
    return Finding(outcome, float(np.mean(list(values.values()))), relation, expected, tuple(values), finite, detail)


def figure_4(frames: Frames) -> Finding:
    """Mean over seeds of Spearman's rank correlation of β and attention on the key sentence."""
    heads = frames["learned_heads"]
    values = {}
    for seed, rows in heads.groupby("seed"):
        if rows["beta"].nunique() > 1 and rows["passkey_mass"].nunique() > 1:
            values[int(seed)] = float(stats.spearmanr(rows["beta"], rows["passkey_mass"]).statistic)
    if not values:
        return Finding("undecided", "all heads alike", "<", 0.0)
    return _finding(values, "<", 0.0, f"{heads.groupby('seed').size().iloc[0]} heads a seed")


def negative_heads(frames: Frames) -> Finding:
    """Mean lift of the heads with β < -0.05 on the key sentence; undecided where a seed has none."""
    values, without = {}, []
    for seed, rows in frames["learned_heads"].groupby("seed"):
        chosen = rows.loc[rows["beta"] < NEGATIVE, "passkey_lift"]
        if len(chosen):
            values[int(seed)] = float(chosen.mean())
        else:
            without.append(int(seed))
    if without:
        outcome = "undecided" if values else "disagrees"
        return Finding(outcome, f"no head below {NEGATIVE} in seeds {without}", ">", 1.0, tuple(values))
    return _finding(values, ">", 1.0, f"heads with β < {NEGATIVE} in every seed")


def control(frames: Frames) -> Finding:
    """Mean over seeds of the long-context accuracy lost when heads with β < 0 become uniform."""
    edits = frames["learned_edits"]
    far = edits[edits["length"] >= LONG * edits["length"].min()]
    if far.empty:
        far = edits
    table = far.pivot_table(index="seed", columns="edit", values="accuracy", aggfunc="mean")
    lost = (table["as trained"] - table["negative to uniform"]).to_dict()
    return _finding({int(seed): float(value) for seed, value in lost.items()}, ">", 0.0,
                    f"accuracy lost at lengths >= {int(far['length'].min())}")  # fmt: skip


def _mirror_beta(frames: Frames) -> Frames:
    heads = frames["learned_heads"]
    return {**frames, "learned_heads": heads.assign(beta=-heads["beta"])}


def _swap_edits(frames: Frames) -> Frames:
    swapped = {"as trained": "negative to uniform", "negative to uniform": "as trained"}
    edits = frames["learned_edits"]
    return {**frames, "learned_edits": edits.assign(edit=edits["edit"].replace(swapped))}


def _no_lift(frames: Frames) -> Frames:
    heads = frames["learned_heads"]
    return {**frames, "learned_heads": heads.assign(passkey_lift=heads["passkey_lift"] * 1e-3)}


CHECKS = {
    check.id: check
    for check in (
        EmpiricalCheck("BAM-F4", ("learned_heads",), RECIPE, figure_4,
                       "A positive correlation over heads, its interval over seeds above 0.", _mirror_beta),
        EmpiricalCheck("BAM-C8", ("learned_heads",), RECIPE, negative_heads,
                       "No head below -0.05 in any seed, or negative heads that give the key sentence less than its "
                       "even share, with the interval over seeds below 1.", _no_lift),
        EmpiricalCheck("BAM-C21", ("learned_edits",), RECIPE, control,
                       "Accuracy at long lengths that rises when the negative heads become uniform, with the interval "
                       "over seeds below 0.", _swap_edits),
    )
}  # fmt: skip
