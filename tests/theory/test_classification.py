"""Modes, ranks and completions against values worked out by hand; GOAT-F.T2c has more ranks."""

import math
from fractions import Fraction

import numpy as np
import pytest

from attention_priors.theory import classification as theory
from attention_priors.theory.classification import Mode

PAIR = Mode(0.9, 0.7, (1.0, 0.0, 0.3), (0.0, -0.5))
MIXED = [Mode(1, 0.0, (0.5, -0.1)), Mode(1, math.pi, (1.0,)), PAIR]


def test_a_mode_by_hand():
    assert Mode(0.5, math.pi, (3.0,))([0, 1, 2]).tolist() == [3.0, -1.5, 0.75]
    assert Mode(1, 0.0, (0.0, -2.0))([0, 5, -5]).tolist() == [0.0, -10.0, 10.0]
    assert (PAIR.degree, PAIR.single, theory.dimension(MIXED)) == (2, False, 2 + 1 + 6)


@pytest.mark.parametrize("modes", [[PAIR], MIXED, [Mode(1, math.pi, (0.0, 1.0))]])
def test_the_dimension_is_the_rank_of_the_kernel(modes):
    assert theory.numerical_rank(theory.causal_block(theory.kernel(modes), 20), 1e-13) == theory.dimension(modes)


@pytest.mark.parametrize(
    ("mode", "everywhere", "causal"),
    [
        (Mode(1, 0.3, (1.0,)), True, True),
        (Mode(0.9, 0.3, (1.0, 2.0)), False, True),
        (Mode(1, 0.3, (1.0, 2.0)), False, False),
        (Mode(1.1, 0.3, (1.0,)), False, False),
    ],
)
def test_bounded_on_all_lags_and_on_causal_ones(mode, everywhere, causal):
    assert (theory.is_bounded([mode]), theory.is_bounded([mode], causal=True)) == (everywhere, causal)


def test_the_examples_are_what_they_are_called():
    assert all(map(theory.is_bounded, theory.BOUNDED)) and not any(map(theory.is_bounded, theory.UNBOUNDED))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 0.3, (1.0,)), "radius = 0.0"),
        ((1.0, 4.0, (1.0,)), "frequency = 4.0"),
        ((1.0, math.pi, (1.0,), (1.0,)), "odd"),
        ((1.0, 0.3, (0.0,)), "every coefficient is zero"),
    ],
)
def test_modes_outside_the_domain_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Mode(*arguments)


def test_the_causal_block_is_hankel_and_holds_no_future_key():
    block = theory.causal_block(lambda lags: lags, 4)
    assert block.min() == 0 and block.max() == 6
    assert (block[:, ::-1] == np.add.outer(np.arange(4), np.arange(4))).all()


def test_row_means_cost_nothing():
    lags = np.arange(6)
    block = theory.block(lambda d: -d, lags, lags)
    assert (theory.numerical_rank(block), theory.numerical_rank(theory.centred(block))) == (2, 1)
    assert theory.numerical_rank(np.zeros((3, 3))) == 0


def values(function, n=9):
    return [Fraction(function(d)) for d in range(n)]


@pytest.mark.parametrize(
    ("function", "rank", "softmax"),
    [
        (lambda d: 1, 1, 0),
        (lambda d: -d, 2, 1),
        (lambda d: -d * d, 3, 2),
        (lambda d: Fraction(1, 2) ** d, 1, 1),
        (lambda d: (-1) ** d, 1, 1),
        (lambda d: int(d == 0), 9, 8),  # a lower triangle of the identity has determinant 1 however it is completed
    ],
)
def test_causal_ranks_by_hand(function, rank, softmax):
    assert theory.causal_rank(values(function)) == rank
    assert theory.causal_softmax_rank(values(function)) == softmax


def test_no_lags_are_named():
    with pytest.raises(ValueError, match="at one lag"):
        theory.causal_rank([])
    assert theory.causal_softmax_rank(values(lambda d: 1, 1)) == 0
