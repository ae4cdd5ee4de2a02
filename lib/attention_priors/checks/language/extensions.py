"""The survey on extensions of a trained RoPE, read on its weights.

Growth is the loss above that of the trained model, read as it was trained, at T.
"""

from __future__ import annotations

from collections.abc import Callable

from attention_priors.checks.language.losses import (
    AGAIN,
    BEYOND,
    DIVERGES,
    LEVEL,
    READINGS,
    RECIPE,
    below,
    breaks,
    finding,
    readings,
    stays,
)
from attention_priors.claims.finding import Estimate, Finding, Frames, mean, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.positions.encodings import FACTOR

ROPE, LINEAR_4, NTK_4, LINEAR, NTK = "rope", "rope-pi-4", "rope-ntk-4", "rope-pi", "rope-ntk"
TUNED, TUNED_ROPE = LINEAR_4 + AGAIN, ROPE + AGAIN
DYNAMIC, DYNAMIC_NTK, CLIPPED = "rope-dynamic-linear", "rope-dynamic-ntk", ("rope-rerope", "rope-leaky-rerope")
BY = 4  # the survey's listing has a scale of 1/4; profiles train further at that length
HALF = 0.5  # of what a model gains from the order of neighbours: kept less, it no longer tells them apart
CLIPPED_TO = 8
BLOWN = 16  # times T: four times what a factor of 4 is meant for
TIMES = f"{FACTOR:.3g}"


def at(lower: str, upper: str, times: float, text: str) -> Finding:
    """`lower` has the lower loss at one length."""
    return below(text, lower, upper, least=0.999 * times, most=1.001 * times)


def order(text: str, value: Callable[[dict[str, float]], float], names: tuple[str, ...], relation: str) -> Finding:
    """What exchanging two neighbours costs (nats), compared within each seed."""

    def estimate(frames: Frames) -> Estimate:
        data = readings(frames)
        costs = [data.by_seed(name, "swap", [data.trained]).rename(name) for name in names]
        seeds = set.intersection(*(set(cost.index) for cost in costs))
        if not seeds:
            return unknown(data.why(*names))
        return mean({int(seed): value({cost.name: float(cost[seed]) for cost in costs}) for seed in sorted(seeds)})

    return Finding(text, estimate, relation, 0.0, metrics=(READINGS,))


def spoils(name: str, relation: str, bound: float, text: str) -> Finding:
    """What an extension costs at T."""
    return finding(text, lambda data: data.gap(name, ROPE, "loss", data.trained), relation, bound, ours=True)


CHECKS = claims(
    claim(
        "PE-PI",
        breaks(LINEAR_4, LEVEL, BY),
        finding(f"Trained further, it is within {LEVEL} nats at {BY}T",
                lambda data: data.at(TUNED, "growth", BY * data.trained), "<=", LEVEL, ours=True),
        recipe=RECIPE,
    ),
    claim(
        "PE-PI-E2",
        order("RoPE loses when two neighbours are exchanged", lambda cost: cost[ROPE], (ROPE,), ">"),
        order(f"Interpolation by {TIMES} keeps at most {HALF} of that (our share)",
              lambda cost: cost[LINEAR] - HALF * cost[ROPE], (LINEAR, ROPE), "<="),
        order(f"NTK-aware scaling by {TIMES} keeps more than interpolation",
              lambda cost: cost[NTK] - cost[LINEAR], (NTK, LINEAR), ">"),
        recipe=RECIPE,
    ),
    claim(
        "PE-NTK-E",
        *(below(f"NTK-aware scaling by {factor:.3g} has a lower loss than interpolation, up to {factor:.3g}T", ntk,
                linear, most=factor) for ntk, linear, factor in ((NTK_4, LINEAR_4, BY), (NTK, LINEAR, FACTOR))),
        recipe=RECIPE,
    ),
    claim(
        "PE-DNTK-E",
        at(DYNAMIC, NTK_4, 1, f"At T dynamic linear scaling is below NTK by {BY}"),
        at(NTK_4, DYNAMIC, BY, f"At {BY}T NTK by {BY} is below dynamic linear scaling"),
        *(breaks(name, DIVERGES, BLOWN) for name in (NTK_4, ROPE, LINEAR_4)),
        recipe=RECIPE,
    ),
    claim(
        "PE-REROPE",
        *(below(f"{name} has a lower loss than RoPE from 2T to {CLIPPED_TO}T", name, ROPE, least=BEYOND,
                most=CLIPPED_TO) for name in CLIPPED),
        recipe=RECIPE,
    ),
    # Chen et al. 2023 and SuperHOT: interpolation with further training, against further training alone.
    claim(
        "PE-F7",
        at(TUNED, ROPE, BY, f"At {BY}T interpolation trained further is below RoPE as it was trained"),
        at(TUNED, TUNED_ROPE, BY, f"At {BY}T it is below RoPE trained further as much"),
        stays(TUNED, LEVEL, BY),
        recipe=RECIPE,
    ),
    # RoPE, linear scaling by 4 and NTK by 2, 4, 8, none of them trained further.
    claim(
        "PE-F8",
        breaks(ROPE, LEVEL, BY),
        spoils(LINEAR_4, ">", LEVEL, f"At T linear scaling by {BY} costs more than {LEVEL} nats"),
        spoils(NTK_4, "<=", LEVEL, f"At T NTK by {BY} costs at most {LEVEL} nats"),
        at(NTK_4, LINEAR_4, BY, f"At {BY}T NTK by {BY} is below linear scaling by {BY}"),
        at("rope-ntk-8", "rope-ntk-2", 8, "At 8T NTK by 8 is below NTK by 2"),
        recipe=RECIPE,
    ),
    claim(
        "PE-F9",
        at(DYNAMIC, LINEAR, 1, f"At T dynamic linear scaling is below linear scaling by {TIMES}"),
        at(DYNAMIC_NTK, NTK, 1, f"At T dynamic NTK is below NTK by {TIMES}"),
        below("Beyond T dynamic NTK is below dynamic linear scaling", DYNAMIC_NTK, DYNAMIC, least=BEYOND),
        below("Beyond T dynamic NTK is below RoPE", DYNAMIC_NTK, ROPE, least=BEYOND),
        recipe=RECIPE,
    ),
)  # fmt: skip
