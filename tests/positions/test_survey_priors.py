"""T5, tables of lags and the domains of KERPLE and Sandwich; their formulas: test_properties and the law of PE-SAND."""

import math

import torch

from attention_priors.positions.priors import (
    KerpleLog,
    KerplePower,
    LagTable,
    Sandwich,
    T5Buckets,
)
from refusals import refused

LAGS = torch.arange(0, 4096)


def test_t5_starts_uniform_and_is_flat_beyond_the_last_edge():
    prior = T5Buckets(3)
    assert not prior.log_prior(LAGS).any()
    with torch.no_grad():
        prior.values.copy_(torch.randn(3, 32))
    table = prior.log_prior(LAGS)
    assert bool((table[:, 113:] == table[:, 113:114]).all()) and not torch.equal(table[:, 112], table[:, 113])


def test_one_number_a_lag_is_t5_where_every_lag_has_a_bucket():
    lags = torch.arange(-3, 16)
    t5, table = T5Buckets(2, buckets=32, farthest=128), LagTable(2, 16)
    values = torch.randn(2, 16, generator=torch.Generator().manual_seed(0))
    t5.values.data[:, :16], table.values.data[:] = values, values
    assert torch.equal(t5.log_prior(lags), table.log_prior(lags))


def test_lags_beyond_the_table_share_its_last_number():
    prior = LagTable(2, 4)
    prior.values.data = torch.tensor([[0.0, 1.0, 2.0, 3.0]]).expand(2, -1).clone()
    assert prior.log_prior(torch.tensor([-5, 0, 3, 4, 70_000]))[0].tolist() == [0, 0, 3, 3, 3]


test_values_outside_the_domain_are_named = refused(
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
)
