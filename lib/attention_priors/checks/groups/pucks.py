"""What training makes of a learned generator on sliding pucks (OPG-19)."""

from __future__ import annotations

import pandas as pd

from attention_priors.claims.finding import Estimate, Finding, Frames, lead, mean, smallest, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.experiments.pucks import ENCODINGS, STARTED

METRIC = "groups_pucks"
OURS = "group-defective"
MARGIN = 0.02
BEYOND = (2, 4)


def ahead(frames: Frames, multiples: tuple[int, ...]) -> Estimate:
    """The smallest lead of the defective generator over any other encoding, within seeds."""
    frame = frames[METRIC]
    rows = frame[frame["multiple"].isin(multiples)].groupby(["encoding", "seed"])[["correct", "samples"]].sum()

    def counts(name: str) -> dict[int, tuple[int, int]]:
        own = rows.loc[[name]] if name in rows.index else rows.iloc[:0]
        return {int(seed): (int(row["correct"]), int(row["samples"])) for (_, seed), row in own.iterrows()}

    others = [name for name in ENCODINGS if name != OURS]
    absent = [name for name in (OURS, *others) if not counts(name)]
    leads = {name: lead(counts(OURS), counts(name)) for name in others if name not in absent}
    return smallest(leads | {name: unknown(f"{name} was not trained") for name in absent})


def coupling(frames: Frames) -> Estimate:
    """The largest coupling of the defective generator over the training lags, mean over seeds."""
    frame: pd.DataFrame = frames[METRIC]
    own = frame[frame["encoding"] == OURS].drop_duplicates("seed")
    return mean(dict(zip(own["seed"].astype(int), own["coupling"], strict=True)))


CHECKS = claims(
    claim(
        "OPG-19",
        Finding(
            "Defective blocks lead every other encoding within the lags of training (smallest lead)",
            lambda frames: ahead(frames, (1,)),
            ">",
            0.0,
            metrics=(METRIC,),
            margin=MARGIN,
        ),
        Finding(
            "They lead every other at two and four times these lags (smallest lead)",
            lambda frames: ahead(frames, BEYOND),
            ">",
            0.0,
            metrics=(METRIC,),
            margin=MARGIN,
        ),
        Finding(
            "Training selects them: their largest coupling over the training lags ends above where it started",
            coupling,
            ">",
            STARTED,
            metrics=(METRIC,),
        ),
        recipe="pucks",
    ),
)
