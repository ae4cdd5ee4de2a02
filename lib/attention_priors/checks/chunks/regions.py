"""What eviction of outliers does by region and depth (ParallelComp, section 4, Q3), on small models with RoPE.

The paper looks at pictures of a model of 32 layers. The layers here are those at the same share of the depth, the
outliers are the keys that its calibration evicts, and bias is the distance of the joined profile from the uniform share
that the other sentences of Q3 are asked with. The paper says "may" and "can": here it is what happens in the mean.
"""

from __future__ import annotations

from collections.abc import Callable

from attention_priors.checks.chunks.profiles import RECIPE, by_seed, told
from attention_priors.claims.finding import Estimate, Finding, Frames
from attention_priors.claims.law import claim, claims
from attention_priors.experiments.parallel_profiles import ALL, DEEP, EARLY, ENDS, INTERMEDIATE, NONE, RECENCY, SINK

REGIONS = "parallel_regions"
AFTER, BEFORE = 1, -1


def change(column: str, region: str, layers: str, more: int) -> Callable[[Frames], Estimate]:
    """A column without the outliers of a region in some layers less the same with all keys, within seeds; `more`: in
    which of the two it is said to be larger. Seeds in which there is no outlier to evict say nothing."""

    def estimate(frames: Frames) -> Estimate:
        frame, where = frames[REGIONS], {"region": region, "layers": layers}
        (after, note), (before, _) = (by_seed(frame, column, **each) for each in (where, dict.fromkeys(where, NONE)))
        gone, _ = by_seed(frame, "evicted", **where)
        empty = ", ".join(map(str, gone.index[gone == 0]))
        notes = [note, f"no outlier there: seed {empty}" if empty else ""]
        found = more * (after - before).reindex(gone.index[gone > 0])
        return told(found, "; ".join(filter(None, notes)))

    return estimate


def said(text: str, column: str, region: str, layers: str, more: int) -> Finding:
    return Finding(text, change(column, region, layers, more), ">", 0.0, metrics=(REGIONS,))


CHECKS = claims(
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
        recipe=RECIPE,
    ),
)
