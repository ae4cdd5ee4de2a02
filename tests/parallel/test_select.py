"""What stays: the queue, scores, eviction and choices, against theory.parallel."""

import numpy as np
import pytest
import torch

from attention_priors.parallel import select
from attention_priors.parallel.chunks import Calibration, Options, rows
from attention_priors.theory import parallel as theory

INSIDE = torch.ones(1, 1, 40, dtype=torch.bool)


@pytest.mark.parametrize("size", [1, 3, 7, 20, None])
def test_the_queue_is_a_sort(size):
    values = np.random.default_rng(0).integers(0, 6, 20).tolist()  # with ties
    queue: select.Queue[str] = select.Queue(size)
    for index, value in enumerate(values):
        queue.offer(value, index, f"chunk {index}")
        assert size is None or len(queue.held) <= size
    expected = sorted(theory.lowest(values, size or 20))
    assert queue.in_order() == [(index, f"chunk {index}") for index in expected]


@pytest.mark.parametrize("budget", [1, 5, 39])
def test_scores_and_budget_are_those_of_the_theory(budget):
    weights = torch.rand(1, 4, 8, 40, generator=torch.Generator().manual_seed(0)).double().softmax(-1)
    scored = select.scores(weights, 4, INSIDE)
    kept = select.heaviest(scored, INSIDE, budget)
    for head in range(4):
        expected = theory.cumulative_scores(weights[0, head].numpy())
        np.testing.assert_allclose(scored[0, head], expected, rtol=1e-12)
        assert kept[0, head].nonzero()[:, 0].tolist() == theory.heaviest(expected, budget).tolist()
    grouped = select.scores(weights, 2, INSIDE)
    torch.testing.assert_close(grouped[0], torch.stack([scored[0, :2].sum(0), scored[0, 2:].sum(0)]))


def test_the_pool_keeps_neighbours_together():
    weights = torch.zeros(1, 1, 2, 40)
    weights[..., 20] = 0.5
    for pool, expected in ((1, [20]), (7, [*range(17, 24)])):
        scored = select.scores(weights, 1, INSIDE, pool)
        assert scored[0, 0].nonzero()[:, 0].tolist() == expected
    inside = INSIDE.clone()
    inside[..., 19] = False  # a neighbour that is not of the chunk neither gives nor takes
    weights[..., 19] = 0.9
    assert select.scores(weights, 1, inside, 3)[0, 0].nonzero()[:, 0].tolist() == [20, 21]


def test_equal_scores_keep_the_earlier():
    kept = select.heaviest(torch.ones(1, 1, 40), INSIDE, 5)
    assert kept[0, 0].nonzero()[:, 0].tolist() == [0, 1, 2, 3, 4]


def test_calibration_evicts_above_the_threshold_within_its_region():
    batch = rows([torch.zeros(40).long(), torch.zeros(30).long()], torch.zeros(3).long(), 40, None)
    weights = torch.rand(2, 2, 8, 43, generator=torch.Generator().manual_seed(1)) * 0.2
    places = {"sink": (1, 32), "middle": None, "recency": None}
    for name, region in theory.regions(40, 10).items():
        calibration = Calibration(edge=10, **{each: (1, 32) if each == name else None for each in places})
        found = select.outliers(weights, 2, batch, calibration, 0, 3)
        for head in range(2):
            last = weights[0, head, -1, :40].double().numpy()
            kept = theory.within_threshold(last, 0.1, region)
            assert (~found[0, head, :40]).nonzero()[:, 0].tolist() == kept.tolist()
        assert not found[:, :, 40:].any() and not found[1, :, :10].any()
        assert found[1].any()
    mean = select.outliers(weights, 1, batch, Calibration(edge=20, sink=(1, 32), recency=(1, 32)), 0, 3)
    expected = weights[0, :, -1, :40].mean(0) > 0.1
    assert torch.equal(mean[0, 0, :40], expected)


def test_both_evictions_count_and_the_begin_of_text_stays():
    batch = rows([torch.zeros(40).long()], torch.zeros(3).long(), 40, 7)
    weights = torch.rand(1, 2, 8, 44, generator=torch.Generator().manual_seed(1)) * 0.2
    calibration = Calibration(edge=10, sink=(1, 32), middle=(1, 32), recency=(1, 32))
    lists = {
        name: select.Select(Options(window=None, pool=1, **options), 3)(0, weights, 2, batch)
        for name, options in {
            "budget": {"budget": 20},
            "calibration": {"calibration": calibration},
            "both": {"budget": 20, "calibration": calibration},
        }.items()
    }
    assert torch.equal(lists["both"], lists["budget"] & lists["calibration"])
    assert (lists["budget"].sum(-1) == 21).all() and all(kept[:, :, 0].all() for kept in lists.values())
    assert not any(kept[:, :, 41:].any() for kept in lists.values())


def test_compaction_keeps_the_order():
    kept = torch.tensor([[[True, False, True, True], [False, False, False, True]]])
    index, valid = select.compact(kept)
    assert index[0, 0].tolist() == [0, 2, 3] and valid[0].sum(-1).tolist() == [3, 1] and index[0, 1, 0] == 3


def test_choices():
    question = torch.tensor([1, 2, 3])
    chunks = [torch.tensor(row) for row in ([9] * 6, [9, 1, 9, 9, 9, 9], [1, 2, 3, 9, 9, 9], [9, 2, 9, 9, 9, 9])]
    assert select.lexical(chunks, question, 1) == [2]
    assert set(select.lexical(chunks, question, 3)) == {1, 2, 3}
    oracle = select.overlapping([(0, 6), (6, 12), (12, 18)], (10, 15))
    assert oracle(chunks, question, 1) == [2] and oracle(chunks, question, 3) == [2, 1]
    drawn = [select.at_random(torch.Generator().manual_seed(seed))(chunks, question, 2) for seed in range(40)]
    assert {index for each in drawn for index in each} == {0, 1, 2, 3} and all(len(set(each)) == 2 for each in drawn)
