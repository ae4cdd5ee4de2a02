"""What carries retrieval beyond the training length: paired differences between rows of the benchmark, and their power.

Rows are grouped by the property in question: the shape of the prior, the sign of its exponent, whether it is trained,
SSMax and what it scales. KERPLE power is BAM restricted to 0 < beta <= 2 and mu = 0 (X-3), from another start; the row
`bam-bounded` is that from BAM's. Which difference so many seeds and prompts can show is told from the spread over seeds
that was measured.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd

from ..evaluation import difference_interval
from ..theory.power import detectable
from .experiment import Experiment
from .gate import hits_at, passing
from .grid import Rows

MULTIPLES = (4, 16, 64)  # of the training length
LEVEL = 0.95
# question: pairs of encodings, the one that has more of it first
QUESTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "shape": (
        ("kerple-power", "alibi"), ("kerple-log", "alibi"), ("sandwich", "alibi"), ("t5", "alibi"), ("bam", "alibi"),
        ("kerple-power", "kerple-log"), ("kerple-power", "nope"), ("kerple-log", "nope"), ("sandwich", "nope"),
        ("t5", "nope"), ("alibi", "nope"), ("bam", "nope"),
    ),
    "sign of the exponent": (
        ("bam", "kerple-power"),
        ("bam", "bam-bounded"),
        ("bam-ssmax", "kerple-power-ssmax-prior"),
        ("bam-ssmax", "bam-bounded-ssmax"),
    ),
    "trained or fixed": (("kerple-log", "sandwich"), ("kerple-power", "sandwich"), ("bam", "sandwich")),
    "SSMax on content": (
        ("nope-ssmax", "nope"), ("rope-ssmax", "rope"), ("alibi-ssmax", "alibi"), ("t5-ssmax", "t5"),
        ("kerple-power-ssmax", "kerple-power"), ("kerple-log-ssmax", "kerple-log"), ("sandwich-ssmax", "sandwich"),
        ("bam-ssmax-content", "bam"),
    ),
    "SSMax on the prior too": (
        ("alibi-ssmax-prior", "alibi-ssmax"), ("kerple-power-ssmax-prior", "kerple-power-ssmax"),
        ("kerple-log-ssmax-prior", "kerple-log-ssmax"), ("sandwich-ssmax-prior", "sandwich-ssmax"),
        ("t5-ssmax-prior", "t5-ssmax"), ("bam-ssmax", "bam-ssmax-content"), ("bam-ssmax", "bam"),
    ),
    "BAM with SSMax": (
        ("bam-ssmax", "kerple-power"), ("bam-ssmax", "kerple-log"), ("bam-ssmax", "sandwich"), ("bam-ssmax", "t5"),
        ("bam-ssmax", "nope"),
    ),
}  # fmt: skip
COLUMNS = [
    "question",
    "ours",
    "theirs",
    "multiple",
    "length",
    "trained",
    "seeds",
    "difference",
    "low",
    "high",
    "differs",
]


SEEDS, PROMPTS = (3, 5), (20, 50)
DRAWS = 1000  # experiments simulated
POWERS = ["multiple", "length", "trained", "encodings", "of", "spread", "seeds", "prompts", "difference"]


def differences(counts: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of `ours` less that of `theirs` over the seeds of both that passed the gate, at each of MULTIPLES.

    A row per question, pair and length of which both were asked: the mean over seeds with its 95 % interval
    (`evaluation.difference_interval`), and `differs`: 0 is excluded after Holm's correction for the pairs of that
    length. A pair of which no seed passed has 0 seeds and NaN. What was given up after lengths without a hit counts as
    missed.
    """
    trained, kept = int(counts["trained"].iloc[0]), passing(counts)
    there, lengths = set(counts["encoding"]), set(counts["length"])
    made = []
    for multiple in MULTIPLES:
        length = multiple * trained
        if length not in lengths:
            continue
        asked = int(counts.loc[counts["length"] == length, "samples"].max())
        hits = {name: hits_at(kept[kept["encoding"] == name], length) for name in there}
        rows = []
        for question, pairs in QUESTIONS.items():
            for ours, theirs in (pair for pair in pairs if there.issuperset(pair)):
                about = dict(zip(COLUMNS, (question, ours, theirs, multiple, length, trained), strict=False))
                rows.append(about | _difference(hits[ours], hits[theirs], asked))
        made += _after_holm(rows)
    return pd.DataFrame(made, columns=COLUMNS)


def _difference(ours: pd.Series, theirs: pd.Series, asked: int) -> dict[str, Any]:
    seeds = sorted(set(ours.index) & set(theirs.index))
    if not seeds:
        return {"seeds": 0, "difference": np.nan, "low": np.nan, "high": np.nan, "counts": None}
    counts = (ours[seeds].to_numpy(), [asked] * len(seeds), theirs[seeds].to_numpy(), [asked] * len(seeds))
    low, high = difference_interval(*counts, LEVEL)
    value = float((counts[0] - counts[2]).mean() / asked)
    return {"seeds": len(seeds), "difference": value, "low": low, "high": high, "counts": counts}


def _after_holm(rows: Rows) -> Rows:
    """The rows with `differs` in place of `counts`: step down over the pairs that were compared."""
    left = [row for row in rows if row["counts"] is not None]
    found: list[int] = []
    while left:
        level = 1 - (1 - LEVEL) / len(left)
        ends = [difference_interval(*row["counts"], level) for row in left]
        out = [row for row, (low, high) in zip(left, ends, strict=True) if low > 0 or high < 0]
        if not out:
            break
        found += map(id, out)
        left = [row for row in left if id(row) not in found]
    return [
        {name: value for name, value in row.items() if name != "counts"} | {"differs": id(row) in found} for row in rows
    ]


EXPERIMENT = Experiment(
    name="differences",
    sections=("benchmark", "passkey"),
    needs=("encodings_counts",),
    derive={"encodings_differences": ("encodings_counts", differences)},
)


def spreads(counts: pd.DataFrame, length: int) -> pd.Series:
    """The standard deviation over seeds of the accuracy of models, by encoding with two seeds or more that passed.

    What so few prompts add to it, the mean of p (1 - p) / n, is taken off; 0 where the seeds differ by no more.
    """
    kept, found = passing(counts), {}
    asked = counts.loc[counts["length"] == length, "samples"].max()
    for name, own in kept.groupby("encoding", sort=False):
        shares = hits_at(own, length).to_numpy() / asked
        if len(shares) > 1:
            own = shares.var(ddof=1) - (shares * (1 - shares)).mean() / (asked - 1)
            found[name] = float(np.sqrt(max(0.0, own)))
    return pd.Series(found, dtype=float)


def shown(counts: pd.DataFrame) -> pd.DataFrame:
    """A row per length of MULTIPLES, spread (the median over encodings and the largest), seeds and prompts: the
    smallest difference that is found four times in five, NaN where none is or no encoding passed."""
    trained, rows = int(counts["trained"].iloc[0]), []
    for multiple in MULTIPLES:
        if multiple * trained not in set(counts["length"]):
            continue
        found = spreads(counts, multiple * trained)
        for of, spread in (("median", found.median()), ("largest", found.max())):
            for seeds, prompts in itertools.product(SEEDS, PROMPTS):
                least = detectable(spread, seeds, prompts, DRAWS) if len(found) else np.nan
                about = multiple, multiple * trained, trained, len(found)
                rows.append((*about, of, spread, seeds, prompts, least))
    return pd.DataFrame(rows, columns=POWERS)


POWER = Experiment(
    name="power",
    sections=("benchmark", "passkey"),
    needs=("encodings_counts",),
    derive={"power_measured": ("encodings_counts", shown)},
)
