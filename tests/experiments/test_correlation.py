"""Correlations over encodings, against scipy and by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from attention_priors.experiments.correlation import holm, kendall, spearman_permutation


def frame(x, y, seeds=1):
    rows = [
        {"encoding": f"e{k}", "seed": s, "x": a + s - (seeds - 1) / 2, "y": b}
        for k, (a, b) in enumerate(zip(x, y, strict=True))
        for s in range(seeds)
    ]
    return pd.DataFrame(rows)


def test_four_in_order_are_two_of_24_permutations():
    found = spearman_permutation(frame([1, 2, 3, 4], [1, 2, 3, 4]), "encoding", "x", "y")
    assert (found.rho, found.n) == (1.0, 4)
    assert found.p == pytest.approx(2 / 24)


@pytest.mark.parametrize("n", [6, 12])
def test_as_scipy_counts_them(n):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=n), rng.integers(0, 5, size=n)
    found = spearman_permutation(frame(x, y), "encoding", "x", "y")
    rho = stats.spearmanr(x, y).statistic
    test = stats.permutation_test(
        (x,),
        lambda v: stats.spearmanr(v, y).statistic,
        permutation_type="pairings",
        n_resamples=2000 if n > 6 else np.inf,
        vectorized=False,
        rng=1,
    )
    assert found.rho == pytest.approx(rho)
    assert found.p == pytest.approx(test.pvalue, abs=0.04 if n > 6 else 1e-12)
    assert -1 <= found.low <= found.rho <= found.high <= 1


def test_seeds_are_averaged_and_add_no_encodings():
    x, y = [3, 1, 4, 1.5, 9], [2, 7, 1, 8, 2.5]
    one, many = (spearman_permutation(frame(x, y, seeds), "encoding", "x", "y") for seeds in (1, 5))
    assert one == many


def test_what_lacks_a_column_or_spread_decides_nothing():
    rows = frame([1, 2, 3, 4], [1, 2, 3, math.nan])
    found = spearman_permutation(rows, "encoding", "x", "y")
    assert math.isnan(found.rho) and math.isnan(found.p) and found[2:] == (-1.0, 1.0, 3)
    assert math.isnan(spearman_permutation(frame([1, 1, 1, 1], [1, 2, 3, 4]), "encoding", "x", "y").rho)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, math.nan]) == pytest.approx([0.03, 0.06, 0.06, math.nan], nan_ok=True)
    assert holm([0.5, 0.9]) == [1.0, 1.0] and holm([]) == []


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_intervals_are_those_of_scipys_bootstrap_over_pairs(level):
    rng = np.random.default_rng(3)
    x = rng.normal(size=12)
    y = x + rng.normal(size=12)
    rho, tau = (lambda a, b: stats.spearmanr(a, b).statistic), (lambda a, b: stats.kendalltau(a, b).statistic)
    found = {tau: kendall(x, y, level)[1:]}
    if level == 0.95:
        found[rho] = spearman_permutation(frame(x, y), "encoding", "x", "y")[2:4]
    for statistic, ends in found.items():
        how = {"paired": True, "vectorized": False, "method": "percentile", "n_resamples": 3000, "rng": 0}
        expected = stats.bootstrap((x, y), statistic, confidence_level=level, **how).confidence_interval
        assert ends == pytest.approx(tuple(expected), abs=0.04)


def test_no_p_of_random_orders_is_below_one_in_all_of_them():
    assert spearman_permutation(frame(range(12), range(12)), "encoding", "x", "y").p == 1 / 10_001
