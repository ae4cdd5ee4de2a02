"""Whether the order of encodings on passkeys survives another recipe (X-36). Written before its arms were trained."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from attention_priors.checks.measured import measuring
from attention_priors.checks.passkey.runs import RECIPE
from attention_priors.claims.finding import Estimate, exactly, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.experiments.correlation import kendall
from attention_priors.experiments.robustness import ARMS, BENCHMARK, order, scores

COUNTS = "robustness_counts"
HELD = 0.5  # Kendall's tau: three pairs in four keep their order
SAID = dict(
    zip(
        ARMS,
        ("on texts twice as long", "in larger models", "with as many steps for all", "at rates of their own"),
        strict=True,
    )
)


def agreement(arm: str) -> Callable[[pd.DataFrame], Estimate]:
    """Kendall's tau of an arm with the benchmark."""

    def of(frame: pd.DataFrame) -> Estimate:
        found = scores(frame)
        means = found.groupby(["arm", "encoding"])["score"].mean().unstack("arm")
        if not {arm, BENCHMARK} <= set(means):
            return unknown("not measured, or its gate missed")
        both, seeds = means[[arm, BENCHMARK]].dropna(), sorted({int(seed) for seed in found["seed"]})
        first, second = both[arm], both[BENCHMARK]
        return Estimate(kendall(first, second)[0], lambda level: kendall(first, second, level)[1:], tuple(seeds))

    return of


def turned(frame: pd.DataFrame) -> Estimate:
    """Pairs that an encoding leads for certain in the benchmark, and the other for certain in some arm."""
    rows = order(frame)
    if set(rows["arm"]) != set(ARMS):
        return unknown("not every arm was measured")
    return exactly(float(rows["turned"].sum()), note=f"of {int(rows['pairs'].sum())} in all arms")


measured = measuring(COUNTS)

CHECKS = claims(
    claim(
        "X-36",
        *(
            measured(f"The encodings keep their order {said}: Kendall's tau", agreement(arm), ">", HELD, ours=True)
            for arm, said in SAID.items()
        ),
        measured("No pair that differs for certain turns for certain in any of these", turned, "<=", 0.0),
        recipe=RECIPE,
    )
)
