"""BAM's table 6 (time of a forward pass) held against the sentences of appendix F.7 about it.

"Account for the standard deviation" has no one meaning: the deviation of single runs says how far runs scatter, the
standard error (a tenth of it after 100 runs) how well a mean is known. Both readings are parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from attention_priors.checks.evidence import Check, Evidence, Part, compare
from attention_priors.checks.printed import claimed, table

ROUNDING = 0.05  # milliseconds in Table 6 have one decimal
SIZES = ("120M", "430M", "1.1B", "8B")
NEEDED = {"120M": 6.0, "430M": 1.25, "1.1B": 1.25, "8B": 1.4}


@dataclass(frozen=True)
class Overlap:
    """At each size, any two encodings' mean times differ by at most `multiples[size]` times the sum of their standard
    deviations; and exactly in the sizes `dominated`, SSMax explains more than half of the variation between rows."""

    multiples: Mapping[str, float]
    dominated: frozenset[str] | None = None


@dataclass(frozen=True)
class Distinguished:
    """At most `pairs[size]` of the pairs of encodings have different mean times (Welch, Holm) with `runs` runs each."""

    pairs: Mapping[str, int]
    runs: int = 100
    level: float = 0.05


def time_pairs(size: str, runs: int = 100) -> pd.DataFrame:
    """All pairs of Table 6 at one size: gap in units of the summed deviations, and Welch's p-value.

    The means carry one decimal, and so do the deviations: both are taken where they favour equality.
    """
    frame = table("bam", 6)
    rows = list(frame[frame.model == size].itertuples())
    pairs = []
    for a, b in combinations(sorted(rows, key=lambda r: r.milliseconds), 2):
        gap = max(b.milliseconds - a.milliseconds - 2 * ROUNDING, 0.0)
        spread = (a.deviation + ROUNDING, b.deviation + ROUNDING)
        p = stats.ttest_ind_from_stats(gap, spread[1], runs, 0.0, spread[0], runs, equal_var=False).pvalue
        pairs.append({"fast": a, "slow": b, "multiple": round(gap / sum(spread), 6), "p": float(p)})
    return pd.DataFrame(pairs).sort_values("multiple", ascending=False, ignore_index=True)


def ssmax_share(size: str) -> float:
    """Table 6 as (with or without SSMax) x (encoding): the share of the sum of squares that SSMax explains.

    0 where all rows are equal.
    """
    frame = table("bam", 6)
    frame = frame[frame.model == size]
    ssmax = frame.encoding.str.endswith("-ssmax")
    total = ((frame.milliseconds - frame.milliseconds.mean()) ** 2).sum()
    effect = frame.milliseconds[ssmax].mean() - frame.milliseconds[~ssmax].mean()
    return float(len(frame) * (effect / 2) ** 2 / total) if total else 0.0


def check_overlap(statement: Overlap) -> Evidence:
    worst = {size: time_pairs(size).iloc[0] for size in statement.multiples}
    broken = [size for size, row in worst.items() if row.multiple > statement.multiples[size]]
    shares = {size: ssmax_share(size) for size in SIZES}
    wrong = [size for size in SIZES if statement.dominated is not None
             and (shares[size] > 0.5) != (size in statement.dominated)]  # fmt: skip
    example = None
    if broken:
        size = max(broken, key=lambda s: worst[s].multiple)
        fast, slow = worst[size].fast, worst[size].slow
        inputs = {"size": size, "fast": fast.milliseconds, "fast_sd": fast.deviation, "slow": slow.milliseconds,
                  "slow_sd": slow.deviation}  # fmt: skip
        said, actual = evaluate_overlap(statement, **inputs)
        example = {"inputs": inputs, "claimed": said, "actual": actual}
    apart = ", ".join(f"{s} {r.multiple:.2f} ({r.fast.encoding}, {r.slow.encoding})" for s, r in worst.items())
    detail = f"multiples needed: {apart or '-'}; SSMax's share: {', '.join(f'{s} {v:.2f}' for s, v in shares.items())}"
    return compare(len(broken) + len(wrong), "==", 0, 0, counterexample=example, detail=detail)


def evaluate_overlap(statement: Overlap, size: str, fast: float, fast_sd: float, slow: float, slow_sd: float):
    """The gap of two means in units of their summed deviations, each printed number moved to favour equality."""
    multiple = max(slow - fast - 2 * ROUNDING, 0.0) / (fast_sd + slow_sd + 2 * ROUNDING)
    said, actual = claimed(round(multiple, 3), "<=", statement.multiples[size])
    return (f"{said} once each number may be off by {ROUNDING}" if isinstance(said, str) else said), actual


def distinguished(size: str, runs: int = 100, level: float = 0.05) -> int:
    """Holm's step-down procedure on Welch's p-values of all pairs at one size."""
    p = np.sort(time_pairs(size, runs).p.to_numpy())
    rejected = p <= level / np.arange(len(p), 0, -1)
    return int(len(p) if rejected.all() else np.argmin(rejected))


def check_distinguished(statement: Distinguished) -> Evidence:
    found = {size: distinguished(size, statement.runs, statement.level) for size in statement.pairs}
    excess = max(found[size] - most for size, most in statement.pairs.items())
    detail = ", ".join(f"{size}: {count} of 45 pairs" for size, count in found.items())
    return compare(excess, "<=", 0, detail=detail)


TIMES = Check(
    "BAM-E9",
    printed=(
        Part(
            "At each size the intervals mean ± standard deviation of any two encodings overlap",
            Overlap(dict.fromkeys(SIZES, 1.0)),
            check_overlap,
            false=Overlap(dict.fromkeys(SIZES, 0.5)),
            evaluate=evaluate_overlap,
        ),
        Part(
            "With 100 runs a row, no two encodings have different mean times (Welch, Holm, 5 %)",
            Distinguished(dict.fromkeys(SIZES, 0)),
            check_distinguished,
            false=Distinguished(dict.fromkeys(SIZES, 0), level=0.5),
            repaired=Distinguished({"120M": 37, "430M": 17, "1.1B": 31, "8B": 26}),
        ),
        Part(
            "At 120M SSMax explains more than half of the variation between rows, at larger sizes less",
            Overlap({}, dominated=frozenset({"120M"})),
            check_overlap,
            false=Overlap({}, dominated=frozenset({"120M", "430M"})),
            evaluate=evaluate_overlap,
        ),
    ),
    corrected=Part(
        "Granting 0.05 ms to every printed number, at 430M, 1.1B and 8B any two means lie within 1.4 times the sum of "
        "their standard deviations, at 120M only within 6 times; and only at 120M, not at 430M, does SSMax explain "
        "most of the variation",
        Overlap(NEEDED, dominated=frozenset({"120M"})),
        check_overlap,
        false=Overlap({**NEEDED, "120M": 5.9}, dominated=frozenset({"120M"})),
        evaluate=evaluate_overlap,
    ),
    practice="BAM SSMax contains all the work of NoPE SSMax, yet takes 4.5 ms against 8.6: the rows time "
    "implementations, one sequence of 512 tokens at a time, not encodings.",
)

CHECKS = {TIMES.id: TIMES}
