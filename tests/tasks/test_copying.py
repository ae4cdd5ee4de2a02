"""The mixture of copies: its shares, its best prediction, and what its source of batches refuses."""

import math
from types import SimpleNamespace

import pytest
import torch

from attention_priors import runtime
from attention_priors.tasks import SOURCES, copying
from refusals import refused


def texts(count=4000, length=24):
    return copying.texts(count, length, runtime.generator(0, "test"))


def test_symbols_are_copies_in_the_shares_that_are_said():
    tokens = texts()
    new, first, previous = tokens[:, 2:], tokens[:, :1].expand(-1, 22), tokens[:, :-2]
    apart = first != previous
    rest = copying.NOISE / copying.SYMBOLS
    for other, share in ((first, copying.FIRST), (previous, copying.PREVIOUS)):
        found = (new == other)[apart].double().mean()
        assert abs(float(found) - share - rest) < 4 * math.sqrt(0.25 / int(apart.sum()))
    assert abs(float((new == first)[~apart].double().mean()) - 0.7 - rest) < 0.01
    assert torch.bincount(tokens[:, 1], minlength=32).double().std() < 3 * math.sqrt(4000 / 32)


def test_the_expected_loss_is_the_mean_of_the_best_prediction():
    best = copying.bayes(texts())
    error = 5 * float(best.mean(1).std()) / math.sqrt(4000)
    assert abs(float(best.mean()) - copying.expected(24)) < error
    assert (
        copying.expected(24) + 0.3
        < copying.expected(24, previous=False)
        < copying.expected(24, first=False, previous=False)
        == pytest.approx(math.log(32))
    )


def test_knowing_one_copy_costs_what_a_count_of_texts_says():
    tokens = texts()
    total = 0.0
    for i in range(1, 23):  # the share of symbols equal to the first, place by place, is all that is known
        share = float((tokens[:, i + 1] == tokens[:, 0]).double().mean())
        total += -share * math.log(share) - (1 - share) * math.log((1 - share) / 31)
    assert total / 22 == pytest.approx(copying.expected(24, previous=False), abs=0.02)


def test_bayes_by_hand():
    rest = copying.NOISE / 32
    tokens = torch.tensor([[5, 7, 5, 7, 5, 9]])
    shares = [0.7 + rest, 0.35 + rest, 0.7 + rest, rest]  # after 5 7: first and previous are both 5; then 7, 5, noise
    torch.testing.assert_close(copying.bayes(tokens)[0].neg().exp(), torch.tensor(shares, dtype=torch.float64))
    targets, where = copying.answers(tokens)
    assert targets[0, 1:-1].tolist() == [5, 7, 5, 9] and where[0].tolist() == [False, True, True, True, True, False]


def batches(vocabulary=32, length=16):
    recipe = SimpleNamespace(batch=6, length=length)
    return SOURCES["copying"](SimpleNamespace(seed=0, recipe=recipe, model=SimpleNamespace(vocabulary=vocabulary)))


def test_batches_follow_from_seed_and_step():
    one, other = batches()(3), batches()(3)
    assert all(torch.equal(x, y) for x, y in zip(one[:3], other[:3], strict=True)) and one[3] is None
    assert one[0].shape == (6, 16) and not torch.equal(one[0], batches()(4)[0])


test_bad_input_is_named = refused(
    (lambda: texts(length=2), "count = 4000, length = 2, but at least 1 text of 3 symbols is needed"),
    (lambda: texts(count=0), "count = 0, length = 24"),
    (lambda: batches(vocabulary=31), "vocabulary = 31, but the task has 32 symbols"),
    (lambda: batches(length=2), "length = 2, but a text has at least 3 symbols"),
)
