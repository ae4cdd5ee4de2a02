"""One learned number for each lag."""

import pytest
import torch

from attention_priors.attention import attention
from attention_priors.positions.buckets import T5Buckets
from attention_priors.positions.lags import LagTable

HEADS = 2


def test_it_is_t5_where_every_lag_has_a_bucket() -> None:
    lags = torch.arange(-3, 16)
    t5, table = T5Buckets(HEADS, buckets=32, farthest=128), LagTable(HEADS, 16)
    values = torch.randn(HEADS, 16, generator=torch.Generator().manual_seed(0))
    t5.values.data[:, :16], table.values.data[:] = values, values
    assert torch.equal(t5.log_prior(lags), table.log_prior(lags))


def test_a_lag_that_training_never_met_keeps_its_start() -> None:
    prior = LagTable(HEADS, 64)
    optimizer = torch.optim.RAdam(prior.parameters(), lr=0.1)
    q, k, v = (torch.randn(1, HEADS, 8, 4, generator=torch.Generator().manual_seed(s)) for s in (1, 2, 3))
    for _ in range(5):
        optimizer.zero_grad()
        attention(q, k, v, prior=prior, backend="sdpa").pow(2).sum().backward()
        optimizer.step()
    assert bool((prior.values[:, 1:8] != 0).all()) and bool((prior.values[:, 8:] == 0).all())


def test_lags_beyond_the_table_share_its_last_number() -> None:
    prior = LagTable(HEADS, 4)
    prior.values.data = torch.tensor([[0.0, 1.0, 2.0, 3.0]]).expand(HEADS, -1).clone()
    assert prior.log_prior(torch.tensor([-5, 0, 3, 4, 70_000]))[0].tolist() == [0, 0, 3, 3, 3]


@pytest.mark.parametrize("heads, longest", [(0, 4), (2, 0)])
def test_refuses_an_empty_table(heads: int, longest: int) -> None:
    with pytest.raises(ValueError, match=f"heads = {heads}, longest = {longest}"):
        LagTable(heads, longest)
