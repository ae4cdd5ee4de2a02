"""The survey on randomised positions: an ordered random subset, and the gaps that it leaves (PE-RAND).

Independent evidence: a test of equal shares over all subsets, exact enumeration.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from math import comb

import torch
from scipy import stats

from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions import maps

SIZES = ((2, 6), (4, 9), (8, 8))
GAPS = [
    {"gap": g, "place": place, "length": n, "longest": m}
    for n, m in SIZES
    for g in range(1, m)
    for place in range(n - 1)
]


def fairness(says: Callable, length: int, longest: int) -> tuple[float, float]:
    """The p below which we doubt, and that of equal shares of all subsets over 6000 draws (0 if one is no subset)."""
    draw, counts = torch.Generator().manual_seed(0), dict.fromkeys(combinations(range(longest), length), 0)
    for _ in range(6000):
        found = tuple(says(length, longest, draw).tolist())
        if found not in counts:
            return 1e-4, 0.0
        counts[found] += 1
    return 1e-4, float(stats.chisquare(list(counts.values())).pvalue)


def with_replacement(length: int, longest: int, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(longest, (length,), generator=generator).sort().values


def share(gap: int, place: int, length: int, longest: int) -> Fraction:
    """Of the subsets in which the neighbours at this place lie `gap` apart."""
    subsets = list(combinations(range(longest), length))
    return Fraction(sum(s[place + 1] - s[place] == gap for s in subsets), len(subsets))


CHECKS = claims(
    claim(
        "PE-RAND",
        Law(
            "An ordered random subset of the positions of a longer range (p of equal shares at least 1e-4).",
            maps.randomised,
            fairness,
            [{"length": 5, "longest": 8}],
            wrong=with_replacement,
            relation="<=",
            tolerance=0,
        ),
        Law(
            "Gaps between neighbours g are then spread as C(L - g, n - 1) / C(L, n), the same at every place.",
            lambda gap, length, longest: Fraction(comb(longest - gap, length - 1), comb(longest, length)),
            share,
            GAPS,
            wrong=lambda gap, length, longest: Fraction(comb(longest - gap, length), comb(longest, length)),
            tolerance=0,
        ),
        practice="Absolute positions are covered up to the longest length, relative ones as well; the order is kept, "
        "counts and distances are not.",
    ),
)
