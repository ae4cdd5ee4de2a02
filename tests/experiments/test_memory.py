"""The most memory that a piece of work holds at one time, on pieces of work whose memory is known."""

import pytest
import torch

from attention_priors.experiments.memory import peak

CPU = torch.device("cpu")
KIB = 256  # floats


def test_what_is_let_go_does_not_count_twice():
    def one_after_another():
        for _ in range(5):
            torch.zeros(KIB)

    def together():
        return [torch.zeros(KIB) for _ in range(5)]

    assert peak(one_after_another, CPU) == 1024 and peak(together, CPU) == 5 * 1024


def test_what_was_there_before_does_not_count():
    before = torch.zeros(100 * KIB)
    assert peak(lambda: before.view(-1)[:KIB] + 1, CPU) == 1024


def test_a_matrix_of_weights_grows_with_the_square_of_the_length():
    def attend(length):
        q = torch.randn(1, 1, length, 8)
        return peak(lambda: (q @ q.mT).softmax(-1) @ q, CPU)

    assert attend(512) / attend(256) == pytest.approx(4, rel=0.05)
