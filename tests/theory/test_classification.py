"""Modes, ranks and completions against values worked out by hand and against constructions."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from scipy import optimize

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


def test_a_completion_never_needs_more_than_the_symmetric_one():
    draw = np.random.default_rng(0)
    for _ in range(3):
        kappa = [Fraction(int(value)) for value in draw.integers(-3, 4, 7)]
        symmetric = theory.exact_rank([[kappa[abs(i - j)] for j in range(7)] for i in range(7)])
        assert 0 < theory.causal_rank(kappa) <= symmetric


@pytest.mark.parametrize("seed", range(3))
def test_features_of_the_least_rank_exist(seed):
    """Woerdeman's number against features fitted to the causal pairs of six positions."""
    target = np.random.default_rng(seed).integers(-3, 4, 6)
    rank = theory.causal_rank([Fraction(int(value)) for value in target])
    i, j = np.tril_indices(6)

    def residual(flat):
        phi, psi = flat.reshape(2, 6, rank)
        return (phi[i] * psi[j]).sum(1) - target[i - j]

    starts = np.random.default_rng(seed + 10).standard_normal((8, 12 * rank))
    assert min(optimize.least_squares(residual, start, xtol=1e-15, ftol=1e-15).cost for start in starts) < 1e-12


def test_no_lags_are_named():
    with pytest.raises(ValueError, match="at one lag"):
        theory.causal_rank([])
    assert theory.causal_softmax_rank(values(lambda d: 1, 1)) == 0


def test_prony_finds_the_eigenvalues():
    kappa = theory.kernel([Mode(1, math.pi, (2.0,)), Mode(0.95, 0.6, (1.0,), (0.3,))])
    roots = theory.prony(kappa(np.arange(6)), 3)
    expected = [-1.0, 0.95 * np.exp(0.6j), 0.95 * np.exp(-0.6j)]
    assert max(min(abs(root - other) for root in roots) for other in expected) < 1e-9
    with pytest.raises(ValueError, match="order 3"):
        theory.prony(np.ones(5), 3)


def test_projections_are_one_on_their_own_component_and_zero_on_the_others():
    x = sympy.Symbol("x")
    polynomials = theory.spectral_projections([sympy.Integer(1), sympy.Integer(2)], [2, 1])
    first, second = (sum(c * x**t for t, c in enumerate(p)) for p in polynomials)
    assert sympy.expand(first + second) == 1
    assert sympy.rem(first - 1, (x - 1) ** 2, x) == 0 and sympy.rem(second, (x - 1) ** 2, x) == 0
    with pytest.raises(ValueError, match="must differ"):
        theory.spectral_projections([sympy.Integer(1), sympy.Integer(1)], [1, 1])
