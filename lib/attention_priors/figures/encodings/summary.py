"""The table of the benchmark: accuracies, reach, parameters and steps of every encoding."""

import numpy as np

from attention_priors.experiments.benchmark import MULTIPLES
from attention_priors.figures.encodings.families import FAMILIES, whose
from attention_priors.figures.spec import Frame, TableSpec
from attention_priors.figures.words import HULL, REACH, bounded, trained_on

PARTS = ("mean", "low", "high")


def build(frame: Frame) -> Frame:
    """A row for each encoding, the best reach first."""
    rows = []
    for row in frame.sort_values(["reach", "mean_16", "mean_4", "mean_1"], ascending=False, kind="stable").itertuples():
        ended = ">" if row.reach >= row.longest_tested else ""
        accuracies = {}
        for multiple in MULTIPLES:
            mean, low, high = (getattr(row, f"{part}_{multiple}") for part in PARTS)
            interval = "not asked" if np.isnan(low) else bounded(mean, low, high)
            accuracies[f"accuracy at {multiple}×"] = "–" if np.isnan(mean) else interval
        rows.append(
            {
                "encoding": whose(row.encoding, row.borrows),
                "position": FAMILIES[row.family][0],
                "seeds": row.seeds,
                **accuracies,
                "reach, median (tokens)": f"{ended}{row.reach:,.0f}",
                "reach, extremes (tokens)": f"{row.reach_low:,} – {row.reach_high:,}",
                "parameters beyond NoPE": f"{row.parameters:,}",
                "steps, median": f"{row.steps:,.0f}",
            }
        )
    return Frame(rows)


def caption(frame: Frame) -> str:
    return (
        f"{len(frame)} encodings and extensions, one recipe, {trained_on(frame)} tokens of training: share of passkeys "
        f"retrieved ({HULL}]) at multiples of the training length; reach, the longest {REACH} (>: as far as was "
        "tested); parameters beyond NoPE's; steps until training stopped. –: not tested at that length, or the "
        "encoding ends before; not asked: too many shorter lengths without a hit. A seed that was not asked counts as "
        "0."
    )


TABLE = TableSpec(
    "encodings_summary",
    build,
    caption,
    "passkeys",
    (
        "encoding",
        "family",
        "borrows",
        "seeds",
        "reach",
        "reach_low",
        "reach_high",
        "longest_tested",
        "parameters",
        "steps",
        "trained",
        *(f"{part}_{multiple}" for multiple in MULTIPLES for part in PARTS),
    ),
)
