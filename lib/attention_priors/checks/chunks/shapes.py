"""Shapes of heads and outliers (ParallelComp, section 4 and Figs. 3 and 6), on small models with RoPE.

The rule stands in experiments.parallel_profiles.shapes and was fixed before heads were looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from attention_priors.claims.finding import Estimate, Finding, Frames, largest, mean, share, unknown
from attention_priors.claims.law import claim, claims

HEADS = "parallel_shapes"
ENCODING, RECIPE = "rope", "language-small"
NAMED = ("U", "mountain", "uniform")
MOST, OUTLIER = 0.5, 5.0


def passing(frames: Frames) -> tuple:
    """Rows of the models that know word order, and who does not."""
    rows = frames[HEADS][frames[HEADS]["encoding"] == ENCODING]
    passed = rows["passed"].astype(bool)
    missed = ", ".join(map(str, sorted(set(rows.loc[~passed, "seed"]))))
    return rows[passed], f"gate missed: {ENCODING} (seed {missed})" if missed else ""


def having(*shapes: str) -> Callable[[Frames], Estimate]:
    """The share of heads with one of these shapes."""

    def estimate(frames: Frames) -> Estimate:
        rows, note = passing(frames)
        if rows.empty:
            return unknown(note)
        counts = {int(seed): (int(own["shape"].isin(shapes).sum()), len(own)) for seed, own in rows.groupby("seed")}
        return replace(share(counts), note=note)

    return estimate


def outliers(frames: Frames) -> Estimate:
    """The highest key of a layer's heads over the uniform share, in the layer where that is highest."""
    rows, note = passing(frames)
    if rows.empty:
        return unknown(note)
    highest = rows.groupby(["layer", "seed"])["largest"].max()
    found = largest(
        {
            f"layer {layer + 1}": mean(own.droplevel(0).to_dict(), (0.0, math.inf))
            for layer, own in highest.groupby(level="layer")
        }
    )
    return replace(found, note="; ".join(filter(None, (found.note, note))))


def having_some(shape: str) -> Callable[[Frames], Estimate]:
    """How many heads have a shape. One that has it shows that it occurs; none does not show that it does not."""

    def estimate(frames: Frames) -> Estimate:
        rows, note = passing(frames)
        if rows.empty:
            return unknown(note)
        found = float((rows["shape"] == shape).sum())
        seeds = tuple(sorted(int(seed) for seed in rows["seed"].unique()))
        return Estimate(
            found, lambda level: (found, math.inf), seeds, "; ".join(filter(None, (f"of {len(rows)}", note)))
        )

    return estimate


def occurs(shape: str) -> Finding:
    return Finding(f"Some head has the shape {shape!r}: how many", having_some(shape), ">", 0.0, metrics=(HEADS,))


CHECKS = claims(
    claim(
        "PC-CQ1",
        Finding("Most heads have one of the three shapes", having(*NAMED), ">", MOST, metrics=(HEADS,), ours=True),
        *map(occurs, NAMED),
        missing="the three biases (towards the first, the last and the middle keys), and that they form waves",
        recipe=RECIPE,
    ),
    claim("PC-F3", *map(occurs, NAMED), recipe=RECIPE),
    claim(
        "PC-F6",
        Finding(
            f"Keys stand out: in some layer the highest key of a head has more than {OUTLIER:g} times the uniform "
            f"share",
            outliers,
            ">",
            OUTLIER,
            metrics=(HEADS,),
            ours=True,
        ),
        recipe=RECIPE,
    ),
)
