"""Chunked attention, its exact merge, eviction and the bounds on counts, against small cases worked out by hand."""

import heapq
import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from attention_priors.theory import parallel
from attention_priors.theory.inference import softmax
from refusals import refused


def test_chunks_cover_the_input_in_order():
    pieces = parallel.chunk_slices(10, 4)
    assert [(piece.start, piece.stop) for piece in pieces] == [(0, 4), (4, 8), (8, 10)]
    assert parallel.chunk_count(10, 4) == 3 and parallel.chunk_count(10, 4, query=2) == 5


@pytest.mark.parametrize(("arguments", "message"), [((0, 4), "length = 0"), ((4, 4, 4), "query = 4, context = 4")])
def test_chunks_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        parallel.chunk_count(*arguments)


def test_merge_equals_torch_on_the_joined_caches():
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((4, 6)), rng.standard_normal((11, 6)), rng.standard_normal((11, 3))
    parts = [parallel.partial_attention(q @ k[s].T / math.sqrt(6), v[s]) for s in parallel.chunk_slices(11, 4)]
    whole = torch.nn.functional.scaled_dot_product_attention(*(torch.as_tensor(x)[None] for x in (q, k, v)))[0]
    outputs, log_totals = zip(*parts, strict=True)
    assert np.allclose(parallel.merge(outputs, log_totals), whole.numpy(), atol=1e-14)
    assert np.allclose(parallel.chunk_shares(log_totals).sum(axis=0), 1)


def test_a_chunk_that_a_query_does_not_see_takes_no_part():
    hidden, seen = np.full((1, 2), -np.inf), np.array([[0.0, math.log(3)]])
    parts = [parallel.partial_attention(s, np.array([[4.0], [8.0]])) for s in (hidden, seen)]
    outputs, log_totals = zip(*parts, strict=True)
    assert outputs[0].item() == 0 and log_totals[0].item() == -np.inf
    assert parallel.merge(outputs, log_totals).item() == pytest.approx(7.0)


def test_shared_positions_give_each_chunk_the_same_lags():
    assert parallel.reused_lags(2, 3).tolist() == [3, 2, 1, 3, 2, 1, 0]
    assert parallel.reused_lags(1, 2, query=1).tolist() == [3, 2, 1, 0]


def test_the_queue_is_online_and_keeps_the_first_of_equals():
    assert parallel.lowest(iter([3.0, 1.0, 2.0, 1.0]), 2) == [1, 3]
    assert parallel.lowest(iter([5.0, 5.0, 5.0]), 2) == [0, 1]
    values = np.random.default_rng(1).random(50).tolist()
    assert [values[i] for i in parallel.lowest(values, 7)] == heapq.nsmallest(7, values)
    with pytest.raises(ValueError, match="size = 0"):
        parallel.lowest([1.0], 0)


def test_scores_and_caches():
    weights = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.1, 0.7]])
    assert parallel.cumulative_scores(weights, last=2) == pytest.approx([0.3, 0.4, 1.3])
    assert parallel.cumulative_scores(weights).sum() == pytest.approx(3.0)
    assert parallel.heaviest([0.3, 0.4, 1.3], 2).tolist() == [1, 2]
    for budget in (0, 4):
        with pytest.raises(ValueError, match=f"budget = {budget}"):
            parallel.heaviest([0.3, 0.4, 1.3], budget)
    with pytest.raises(ValueError, match="last = 0"):
        parallel.cumulative_scores(weights, last=0)


def test_regions_and_thresholds():
    found = parallel.regions(7, edge=2)
    assert {name: region.tolist() for name, region in found.items()} == {
        "sink": [0, 1],
        "middle": [2, 3, 4],
        "recency": [5, 6],
    }
    scores = np.array([9.0, 1.0, 1.0, 9.0, 1.0, 1.0, 9.0])
    assert parallel.within_threshold(scores, 5.0).tolist() == [1, 2, 4, 5]
    assert parallel.within_threshold(scores, 5.0, only=found["sink"]).tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="length = 199"):
        parallel.regions(199)


def test_eviction_moves_the_output_by_the_mass_times_the_difference_of_means():
    rng = np.random.default_rng(0)
    p, v, kept = softmax(rng.standard_normal(9)), rng.standard_normal((9, 4)), np.array([0, 3, 4, 8])
    gone = np.setdiff1d(np.arange(9), kept)
    means = [p[part] @ v[part] / p[part].sum() for part in (kept, gone)]
    shift, mass = parallel.eviction_shift(p, v, kept)
    assert mass == pytest.approx(p[gone].sum()) and shift == pytest.approx(mass * (means[0] - means[1]))
    assert parallel.after_eviction([0.5, 0.49, 0.01], [1, 2]) == pytest.approx([0.98, 0.02])
    with pytest.raises(ValueError, match="no weight"):
        parallel.after_eviction([1.0, 0.0], [1])


@pytest.mark.parametrize(("epsilon", "most"), [(0.5, 1), (0.4, 2), (0.1, 9), (0.3, 3), (Fraction(1, 3), 2)])
def test_most_effective(epsilon, most):
    assert parallel.most_effective(epsilon) == most


@pytest.mark.parametrize("epsilon", [0.0, 1.0, -0.1])
def test_a_threshold_lies_between_0_and_1(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        parallel.most_effective(epsilon)


def test_bounds_by_hand():
    assert parallel.noise_level(1, 0.5) == pytest.approx(math.sqrt(2 * math.log(4)))
    assert parallel.count_bound(1.0, math.exp(-2), 1.0) == pytest.approx(5.0)  # 1 + (2 + 2) / 1, below e^2
    assert parallel.count_bound(1.0, math.exp(-1), 1.0) == pytest.approx(math.e)


test_bad_input_is_named = refused(
    (lambda: parallel.count_bound(0.0, 0.1, 1.0), "rate"),
    (lambda: parallel.noise_level(4, 1.0), "delta"),
    (lambda: parallel.noise_level(0, 0.5), "keys"),
)
