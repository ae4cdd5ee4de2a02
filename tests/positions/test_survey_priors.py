"""KERPLE, T5, tables of lags and Sandwich against other implementations, their special cases, and their domains."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from attention_priors.attention import attention
from attention_priors.positions import mass
from attention_priors.positions.priors import (
    GeneralizedGaussian,
    KerpleLog,
    KerplePower,
    LagTable,
    Laplace,
    Sandwich,
    T5Buckets,
    alibi_slopes,
    bucket_starts,
    t5_bucket,
)

LAGS = torch.arange(0, 4096)
MAKERS = {
    "power": lambda: KerplePower([0.3, 0.01], [0.7, 2.0]),
    "log": lambda: KerpleLog([0.5, 3.0], [1.0, 0.2]),
    "t5": lambda: T5Buckets(2),
    "sandwich": lambda: Sandwich(2),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_table_is_finite_at_negative_and_far_lags(name):
    prior = MAKERS[name]()
    lags = torch.tensor([-70_000, -1, 0, 1, 70_000])
    found = prior.log_prior(lags)
    assert found.shape == (2, 5) and found.dtype == torch.float32 and bool(found.isfinite().all())
    if name != "t5":
        assert torch.equal(found[:, 0], found[:, -1]) and torch.equal(found[:, 1], found[:, 3])


@pytest.mark.parametrize("name", ["power", "log", "t5"])
def test_gradients_reach_every_parameter_and_are_finite(name):
    prior = MAKERS[name]()
    (prior.log_prior(LAGS[:300]) * torch.linspace(-1, 1, 300)).sum().backward()
    for label, parameter in prior.named_parameters():
        assert bool(parameter.grad.isfinite().all()), label
        assert bool(parameter.grad[0].abs().max() > 0), label


def test_power_one_is_alibi_and_a_power_is_a_generalised_gaussian():
    slopes = torch.tensor(alibi_slopes(4))
    alibi = KerplePower(slopes, torch.ones(4)).log_prior(LAGS)
    torch.testing.assert_close(alibi, Laplace(slopes).log_prior(LAGS), rtol=1e-6, atol=0)
    power = KerplePower([0.2], [0.5]).log_prior(LAGS)
    gaussian = GeneralizedGaussian([math.log(0.2)], [0.5], epsilon=1e-12).log_prior(LAGS)
    torch.testing.assert_close(power, gaussian, rtol=1e-6, atol=1e-6)


def test_the_edge_of_the_power_is_an_exact_gaussian():
    assert KerplePower([1.0], [2.0]).double().log_prior(torch.tensor([7])).item() == pytest.approx(-49, abs=1e-12)


def test_log_with_a_whole_exponent_is_a_zipf_law():
    """(1 + d)^(-r1) on d = 0..L-1: Zipf's law on 1..L."""
    weights = mass.normalised(KerpleLog([2.0], [1.0]).double().log_prior(LAGS))[0].detach().numpy()
    np.testing.assert_allclose(weights, stats.zipfian.pmf(np.arange(1, 4097), 2.0, 4096), rtol=1e-6)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (32, 64), (16, 100), (64, 256)])
def test_buckets_are_those_of_transformers(bidirectional, buckets, farthest):
    from transformers.models.t5.modeling_t5 import T5Attention

    lags = torch.arange(-2000, 200_000)
    theirs = T5Attention._relative_position_bucket(-lags, bidirectional, buckets, farthest)
    ours = t5_bucket(lags, buckets, farthest, bidirectional)
    # float32 logarithms may put a lag that stands exactly on an edge on either side of it
    starts = bucket_starts(buckets // 2 if bidirectional else buckets, farthest)
    differ = lags[ours != theirs].abs()
    assert set(differ.tolist()) <= set(starts) and len(differ) <= 4


def test_bucket_edges():
    assert bucket_starts()[:18] == [*range(17), 19] and bucket_starts()[-1] == 113
    assert bucket_starts(16)[-1] == 91
    assert t5_bucket(torch.tensor([-5, 0, 15, 16, 10**6])).tolist() == [0, 0, 15, 16, 31]


def test_t5_starts_uniform_and_is_flat_beyond_the_last_edge():
    prior = T5Buckets(3)
    assert not prior.log_prior(LAGS).any()
    with torch.no_grad():
        prior.values.copy_(torch.randn(3, 32))
    table = prior.log_prior(LAGS)
    assert bool((table[:, 113:] == table[:, 113:114]).all()) and not torch.equal(table[:, 112], table[:, 113])


def test_sandwich_is_the_product_of_sinusoidal_embeddings():
    heads, width = 3, 16
    positions = np.arange(40)[:, None]
    angles = positions / 1e4 ** (2 * np.arange(width // 2) / width)
    embedded = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    table = Sandwich(heads, width).log_prior(torch.arange(40)).double().numpy()
    for head in range(heads):
        expected = embedded @ embedded.T / (8 * (head + 1) / heads)
        np.testing.assert_allclose(table[head], expected[:, 0], atol=1e-5)
        assert np.linalg.matrix_rank(expected) <= width


def test_one_number_a_lag_is_t5_where_every_lag_has_a_bucket():
    lags = torch.arange(-3, 16)
    t5, table = T5Buckets(2, buckets=32, farthest=128), LagTable(2, 16)
    values = torch.randn(2, 16, generator=torch.Generator().manual_seed(0))
    t5.values.data[:, :16], table.values.data[:] = values, values
    assert torch.equal(t5.log_prior(lags), table.log_prior(lags))


def test_a_lag_that_training_never_met_keeps_its_start():
    prior = LagTable(2, 64)
    optimizer = torch.optim.RAdam(prior.parameters(), lr=0.1)
    q, k, v = (torch.randn(1, 2, 8, 4, generator=torch.Generator().manual_seed(s)) for s in (1, 2, 3))
    for _ in range(5):
        optimizer.zero_grad()
        attention(q, k, v, prior=prior, backend="sdpa").pow(2).sum().backward()
        optimizer.step()
    assert bool((prior.values[:, 1:8] != 0).all()) and bool((prior.values[:, 8:] == 0).all())


def test_lags_beyond_the_table_share_its_last_number():
    prior = LagTable(2, 4)
    prior.values.data = torch.tensor([[0.0, 1.0, 2.0, 3.0]]).expand(2, -1).clone()
    assert prior.log_prior(torch.tensor([-5, 0, 3, 4, 70_000]))[0].tolist() == [0, 0, 3, 3, 3]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KerplePower([0.0], [1.0]), r"r1 = \[0.0\]"),
        (lambda: KerplePower([1.0], [2.1]), r"r2 = \[2.1.*0 < r2 <= 2"),
        (lambda: KerplePower([1.0], [0.0]), r"r2 = \[0.0\]"),
        (lambda: KerplePower([1.0, 1.0], [1.0]), r"r1 \[2\], r2 \[1\]"),
        (lambda: KerpleLog([-1.0], [1.0]), r"r1 = \[-1.0\]"),
        (lambda: KerpleLog([1.0], [math.inf]), r"r2 = \[inf\]"),
        (lambda: KerpleLog([], []), "at least one head"),
        (lambda: T5Buckets(0), "heads = 0"),
        (lambda: T5Buckets(1, 1), "buckets = 1"),
        (lambda: T5Buckets(1, 32, 16), "farthest = 16"),
        (lambda: T5Buckets(1, 33, bidirectional=True), "buckets = 33"),
        (lambda: LagTable(0, 4), "heads = 0, longest = 4"),
        (lambda: LagTable(2, 0), "heads = 2, longest = 0"),
        (lambda: Sandwich(0), "heads = 0"),
        (lambda: Sandwich(1, 7), "width = 7"),
        (lambda: Sandwich(1, 8, 1.0), r"base = 1.0"),
    ],
)
def test_values_outside_the_domain_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
