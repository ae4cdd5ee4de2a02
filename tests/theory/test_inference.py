"""The closed forms of attention as inference, against hand values and scipy."""

import numpy as np
import pytest
from scipy import special, stats

from attention_priors.theory import inference as theory

DRAW = np.random.default_rng(0)


def test_softmax_agrees_with_scipy_and_keeps_masked_keys_at_zero():
    logits = np.array([700.0, -np.inf, 699.0, 0.0])
    assert theory.softmax(logits) == pytest.approx(special.softmax(logits))
    assert theory.softmax(logits)[1] == 0.0
    assert theory.log_sum_exp(logits) == pytest.approx(special.logsumexp(logits))


def test_a_row_without_a_visible_key_is_refused():
    with pytest.raises(ValueError, match="no visible key"):
        theory.softmax([-np.inf, -np.inf])


def test_posterior_by_hand():
    # prior (1/2, 1/2), likelihood ratio 3: posterior (3/4, 1/4)
    assert theory.posterior(np.log([3.0, 1.0]), [0.5, 0.5]) == pytest.approx([0.75, 0.25])
    assert theory.posterior([0.0, 9.0], [1.0, 0.0]) == pytest.approx([1.0, 0.0])


def test_overlap_and_ratio_are_reciprocals():
    f, g = DRAW.standard_normal((2, 9))
    product = theory.overlap(theory.softmax(f), theory.softmax(g)) * theory.partition_ratio(f, g)
    assert product == pytest.approx(1.0, abs=1e-14)


def test_readings_of_a_uniform_prior_over_eight_keys():
    p, uniform = theory.softmax(DRAW.standard_normal(8)), np.full(8, 1 / 8)
    assert theory.overlap(p, uniform) == pytest.approx(1 / 8)
    assert theory.printed_information(p, uniform) == pytest.approx(np.log(8))
    assert theory.log_lift(p, uniform) == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("m", [1e-9, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("i", [1, 2, 50])
def test_truncated_geometric_is_a_law_with_ratio_r(m, i):
    p = theory.truncated_geometric(m, i)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert p[1:] == pytest.approx(p[:-1] * np.exp(-m))


def test_truncated_geometric_limits():
    assert theory.truncated_geometric(0.0, 4) == pytest.approx([0.25] * 4)
    p = theory.truncated_geometric(0.5, 2000)
    assert p[:20] == pytest.approx(stats.geom(1 - np.exp(-0.5), loc=-1).pmf(np.arange(20)))
    assert np.dot(p, np.arange(2000)) == pytest.approx(1 / np.expm1(0.5))


@pytest.mark.parametrize(("m", "i"), [(-0.1, 3), (1.0, 0)])
def test_truncated_geometric_refuses_what_is_no_law(m, i):
    with pytest.raises(ValueError, match="slope"):
        theory.truncated_geometric(m, i)


def test_domains_are_named():
    with pytest.raises(ValueError, match=r"query 0.*1\.\.5"):
        theory.causal_row(0, 5)
    with pytest.raises(ValueError, match="alpha = 0"):
        theory.log_generalised_gaussian([1.0], alpha=0, beta=1)


def test_scalable_softmax_by_hand():
    # two keys, scores 1 and 0, s = 2: 2^2 to 2^0
    assert theory.scalable([1.0, 0.0], 2.0) == pytest.approx([0.8, 0.2])
