"""What β goes with over the heads of a model, layer and prior taken out one after the other."""

import numpy as np

from attention_priors.evaluation import seed_interval
from attention_priors.experiments.learned import CORRELATED
from attention_priors.figures.spec import Frame, TableSpec
from attention_priors.figures.words import bounded, counted


def build(frame: Frame) -> Frame:
    """A row for each reading: Spearman's ρ of every seed, their mean and its interval."""
    rows = []
    for reading in CORRELATED:
        own = frame[frame["reading"] == reading].set_index("seed")["rho"]
        seeds = {f"seed {seed}": f"{rho:.2f}" for seed, rho in own.items()}
        mean = bounded(own.mean(), *np.clip(seed_interval(own), -1, 1)) if own.notna().all() else "–"
        rows.append({"β against": reading, **seeds, "mean [95 %]": mean})
    return Frame(rows)


def caption(frame: Frame) -> str:
    return (
        "Spearman's correlation over the heads of a model between its exponent β and what the head gives the key "
        f"sentence ({counted(frame['seed'])}, {int(frame['heads'].iloc[0])} heads each; t interval over seeds, cut at "
        "−1 and 1). Attention contains the prior and so β itself; content alone does not. Within layers, heads are "
        "ranked in their layer."
    )


TABLE = TableSpec(
    "learned_correlations", build, caption, "learned_priors", ("seed", "reading", "rho", "heads"), "BAM, Fig. 4"
)
