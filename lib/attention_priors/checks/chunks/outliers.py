"""Shapes of heads, and outliers and their eviction (ParallelComp, section 4), on small models with RoPE.

The rule of shapes stands in experiments.parallel_profiles.shapes and was fixed before heads were looked at. For Q3 the
paper looks at pictures of a model of 32 layers. The layers here are those at the same share of the depth, the outliers
are the keys that its calibration evicts, and bias is the distance of the joined profile from the uniform share that the
other sentences of Q3 are asked with. The paper says "may" and "can": here it is what happens in the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pandas as pd

from attention_priors.checks.chunks.profiles import RECIPE, by_seed, passing, told
from attention_priors.checks.measured import measuring
from attention_priors.claims.finding import Estimate, Finding, largest, mean, share, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.experiments.parallel_profiles import ALL, DEEP, EARLY, ENDS, INTERMEDIATE, NONE, RECENCY, SINK

HEADS, REGIONS = "parallel_shapes", "parallel_regions"
NAMED = ("U", "mountain", "uniform")
MOST, OUTLIER = 0.5, 5.0


def told_of(estimate: Callable[[pd.DataFrame], Estimate]) -> Callable[[pd.DataFrame], Estimate]:
    """`estimate` of the heads of the models that know word order, with a note on who does not."""

    def of(frame: pd.DataFrame) -> Estimate:
        rows, note = passing(frame)
        found = unknown() if rows.empty else estimate(rows)
        return replace(found, note="; ".join(filter(None, (found.note, note))))

    return of


def having(*shapes: str) -> Callable[[pd.DataFrame], Estimate]:
    """The share of heads with one of these shapes."""
    return told_of(
        lambda rows: share(
            {int(seed): (int(own.isin(shapes).sum()), len(own)) for seed, own in rows.groupby("seed")["shape"]}
        )
    )


def outliers(rows: pd.DataFrame) -> Estimate:
    """The highest key of a layer's heads over the uniform share, in the layer where that is highest."""
    highest = rows.groupby(["layer", "seed"])["largest"].max().unstack()
    return largest(
        {f"layer {layer + 1}": mean(own.dropna().to_dict(), (0.0, math.inf)) for layer, own in highest.iterrows()}
    )


def having_some(shape: str) -> Callable[[pd.DataFrame], Estimate]:
    """How many heads have a shape. One that has it shows that it occurs; none does not show that it does not."""

    def estimate(rows: pd.DataFrame) -> Estimate:
        found = float((rows["shape"] == shape).sum())
        seeds = tuple(sorted(int(seed) for seed in rows["seed"].unique()))
        return Estimate(found, lambda level: (found, math.inf), seeds, f"of {len(rows)}")

    return told_of(estimate)


of_heads, of_regions = measuring(HEADS), measuring(REGIONS)


def occurs(shape: str) -> Finding:
    return of_heads(f"Some head has the shape {shape!r}: how many", having_some(shape))


AFTER, BEFORE = 1, -1


def change(column: str, region: str, layers: str, more: int) -> Callable[[pd.DataFrame], Estimate]:
    """A column without the outliers of a region in some layers less the same with all keys, within seeds; `more`: in
    which of the two it is said to be larger. Seeds in which there is no outlier to evict say nothing."""

    def estimate(frame: pd.DataFrame) -> Estimate:
        where = {"region": region, "layers": layers}
        (after, note), (before, _) = (by_seed(frame, column, **each) for each in (where, dict.fromkeys(where, NONE)))
        gone, _ = by_seed(frame, "evicted", **where)
        empty = ", ".join(map(str, gone.index[gone == 0]))
        notes = [note, f"no outlier there: seed {empty}" if empty else ""]
        found = more * (after - before).reindex(gone.index[gone > 0])
        return told(found, "; ".join(filter(None, notes)))

    return estimate


def said(text: str, column: str, region: str, layers: str, more: int) -> Finding:
    return of_regions(text, change(column, region, layers, more))


claim = partial(claim, recipe=RECIPE)

CHECKS = claims(
    claim(
        "PC-CQ1",
        of_heads("Most heads have one of the three shapes", having(*NAMED), ">", MOST, ours=True),
        *map(occurs, NAMED),
        missing="the three biases (towards the first, the last and the middle keys), and that they form waves",
    ),
    claim("PC-F3", *map(occurs, NAMED)),
    claim(
        "PC-F6",
        of_heads(
            f"Keys stand out: in some layer the highest key of a head has more than {OUTLIER:g} times the uniform "
            f"share",
            told_of(outliers),
            ">",
            OUTLIER,
            ours=True,
        ),
    ),
    claim(
        "PC-CQ3ii",
        said(
            "Without the sink's outliers in early layers the profile is less even (distance from the uniform share)",
            "distance",
            SINK,
            EARLY,
            AFTER,
        ),
        said("Without them in deep layers it is more even", "distance", SINK, DEEP, BEFORE),
        said(
            "Without the recent outliers in intermediate layers it is more even",
            "distance",
            RECENCY,
            INTERMEDIATE,
            BEFORE,
        ),
        said("Without them in deep layers the middles of chunks get more", "middle", RECENCY, DEEP, AFTER),
        said("Without both in intermediate layers it is more even", "distance", ENDS, INTERMEDIATE, BEFORE),
        said("Without any outlier it is more even", "distance", ALL, ALL, BEFORE),
    ),
)
