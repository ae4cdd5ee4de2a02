"""Eviction and the bounds on counts in parallel contexts; the laws of that notebook judge chunks and their merge."""

import math
from fractions import Fraction

import numpy as np
import pytest

from attention_priors.theory import parallel
from attention_priors.theory.inference import softmax
from refusals import refused


def test_eviction_moves_the_output_by_the_mass_times_the_difference_of_means():
    rng = np.random.default_rng(0)
    p, v, kept = softmax(rng.standard_normal(9)), rng.standard_normal((9, 4)), np.array([0, 3, 4, 8])
    gone = np.setdiff1d(np.arange(9), kept)
    means = [p[part] @ v[part] / p[part].sum() for part in (kept, gone)]
    shift, mass = parallel.eviction_shift(p, v, kept)
    assert mass == pytest.approx(p[gone].sum()) and shift == pytest.approx(mass * (means[0] - means[1]))
    assert parallel.after_eviction([0.5, 0.49, 0.01], [1, 2]) == pytest.approx([0.98, 0.02])


@pytest.mark.parametrize(("epsilon", "most"), [(0.5, 1), (0.4, 2), (0.1, 9), (0.3, 3), (Fraction(1, 3), 2)])
def test_most_effective(epsilon, most):
    assert parallel.most_effective(epsilon) == most


def test_bounds_by_hand():
    assert parallel.noise_level(1, 0.5) == pytest.approx(math.sqrt(2 * math.log(4)))
    assert parallel.count_bound(1.0, math.exp(-2), 1.0) == pytest.approx(5.0)  # 1 + (2 + 2) / 1, below e^2
    assert parallel.count_bound(1.0, math.exp(-1), 1.0) == pytest.approx(math.e)


test_bad_input_is_named = refused(
    (lambda: parallel.count_bound(0.0, 0.1, 1.0), "rate"),
    (lambda: parallel.noise_level(4, 1.0), "delta"),
    (lambda: parallel.noise_level(0, 0.5), "keys"),
    (lambda: parallel.lowest([1.0], 0), "size = 0"),
    (lambda: parallel.heaviest([0.3, 0.4, 1.3], 0), "budget = 0"),
    (lambda: parallel.heaviest([0.3, 0.4, 1.3], 4), "budget = 4"),
    (lambda: parallel.cumulative_scores(np.eye(3), last=0), "last = 0"),
    (lambda: parallel.regions(199), "length = 199"),
    (lambda: parallel.most_effective(0.0), "epsilon"),
    (lambda: parallel.most_effective(1.0), "epsilon"),
    (lambda: parallel.after_eviction([1.0, 0.0], [1]), "no weight"),
)
