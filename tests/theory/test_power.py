"""What some seeds and prompts can show: against exact binomial power, and in the limits."""

import numpy as np
import pytest
from scipy import stats

from attention_priors import evaluation
from attention_priors.theory import power


def test_intervals_are_those_of_the_evaluation():
    right = np.array([[20, 20, 20], [0, 0, 0], [3, 9, 17], [10, 10, 10]])
    found = np.stack(power.interval(right, 20), 1)
    for counts, (mean, low, high) in zip(right, found, strict=True):
        assert mean == pytest.approx(counts.mean() / 20)
        assert (low, high) == pytest.approx(evaluation.share_interval(counts, [20] * 3))


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.3])
def test_accuracies_have_the_asked_mean_and_spread(spread):
    prompts = 400
    right = power.drawn(0.6, spread, 3, prompts, 20_000, np.random.default_rng(0)) / prompts
    assert right.mean() == pytest.approx(0.6, abs=0.005)
    binomial = (0.6 * 0.4 - spread**2) / prompts  # what is left for the prompts
    assert right.std() == pytest.approx((spread**2 + binomial) ** 0.5, abs=0.004)


def test_a_spread_that_none_can_have_gives_models_that_answer_all_or_nothing():
    right = power.drawn(0.5, 0.6, 3, 20, 500, np.random.default_rng(0))
    assert set(np.unique(right)) == {0, 20}


def test_power_grows_with_the_difference_and_with_seeds_and_falls_with_spread():
    found = [power.power(d, 0.1, 3, 50, 400) for d in (0.1, 0.3, 0.6, 0.9)]
    assert found == sorted(found) and found[0] < 0.1 and found[-1] > 0.95
    assert power.detectable(0.1, 5, 50, 400) < power.detectable(0.1, 3, 50, 400) < power.detectable(0.2, 3, 50, 400)


def test_without_spread_and_seeds_without_variance_the_binomial_interval_decides():
    """Many seeds without spread are one large sample: the normal approximation gives the power."""
    difference, n = 0.2, 40 * 100
    sure = stats.norm.ppf(0.975) * (2 * 0.24 / n) ** 0.5
    assert difference > 3 * sure and power.power(difference, 0.0, 40, 100, 100) == 1
    assert power.power(sure / 3, 0.0, 40, 100, 400) < 0.3


@pytest.mark.parametrize(
    "arguments", [(0.0, 0.1, 3, 20, 10), (1.0, 0.1, 3, 20, 10), (0.1, 0.1, 1, 20, 10), (0.1, 0.1, 3, 0, 10)]
)
def test_bad_designs_are_refused(arguments):
    with pytest.raises(ValueError, match="must lie between 0 and 1, with at least two seeds"):
        power.power(*arguments)
