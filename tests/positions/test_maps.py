"""Maps of positions and lags: their special cases, and randomised positions, whose fairness PE-RAND judges."""

import pytest
import torch

from attention_priors.positions import maps
from attention_priors.positions.absolute import Sinusoidal
from attention_priors.positions.maps import RandomisedRotary, RandomisedSinusoidal
from attention_priors.positions.rotary import Spectrum, rope
from refusals import refused

LAGS = torch.arange(40)
WIDTH = 16


def test_special_cases():
    assert torch.equal(maps.leaky(LAGS, 8, 1.0), LAGS.double())
    assert torch.equal(maps.leaky(LAGS, 8, float("inf")), maps.rectified(LAGS, 8).double())
    assert torch.equal(maps.leaky(LAGS, 0, 4.0), maps.interpolated(LAGS, 4.0))
    assert maps.leaky(torch.tensor([7, 8, 9, 12]), 8, 4.0).tolist() == [7, 8, 8.25, 9]
    assert maps.rectified(torch.tensor([0, 7, 8, 1000]), 8).tolist() == [0, 7, 8, 8]
    assert torch.equal(maps.randomised(9, 9, torch.Generator()), torch.arange(9))


test_refusals = refused(
    (lambda: maps.rectified(LAGS, -1), "window = -1"),
    (lambda: maps.leaky(LAGS, 4, 0.5), "factor = 0.5"),
    (lambda: maps.interpolated(LAGS, float("nan")), "factor = nan"),
    (lambda: maps.randomised(0, 4, torch.Generator()), "length = 0"),
    (lambda: maps.randomised(5, 4, torch.Generator()), "longest = 4"),
)


def sinusoids(longest: int) -> tuple[RandomisedSinusoidal, tuple[torch.Tensor, ...]]:
    return RandomisedSinusoidal(WIDTH, longest), (torch.arange(6),)


def rotation(longest: int) -> tuple[RandomisedRotary, tuple[torch.Tensor, ...]]:
    q = torch.randn(1, 2, 6, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return RandomisedRotary(rope(WIDTH), longest), (q, q, torch.arange(6), torch.arange(6))


def said(made: tuple[torch.nn.Module, tuple[torch.Tensor, ...]]) -> torch.Tensor:
    """The embeddings, or the rotated queries."""
    module, inputs = made
    found = module(*inputs)
    return found if isinstance(found, torch.Tensor) else found[0]


@pytest.mark.parametrize("make", [sinusoids, rotation])
def test_training_draws_anew_evaluation_does_not_and_the_state_says_how_often(make):
    torch.manual_seed(5)
    made = make(64)
    assert not torch.equal(said(made), said(made)) and int(made[0].drawn) == 2
    torch.manual_seed(6)
    resumed = make(64)
    resumed[0].load_state_dict(made[0].state_dict())
    assert torch.equal(said(resumed), said(made))
    made[0].eval()
    assert torch.equal(said(made), said(made)) and int(made[0].drawn) == 3


@pytest.mark.parametrize("make", [sinusoids, rotation])
def test_more_positions_than_there_are_are_refused(make):
    with pytest.raises(ValueError, match="6 positions, but 5 can be drawn"):
        said(make(5))
    with pytest.raises(ValueError, match="longest = 0"):
        make(0)


def test_a_batch_and_the_last_queries_alone_stand_where_they_stood():
    module, (q, _, places, _) = rotation(64)
    module.eval()
    assert torch.equal(module(q[:, :, 4:], q, places[4:], places)[0], module(q, q, places, places)[0][:, :, 4:])
    embedding, (places,) = sinusoids(64)
    embedding.eval()
    assert torch.equal(embedding(places[None].expand(3, -1)), embedding(places).expand(3, -1, -1))


def test_a_rotation_turns_by_an_ordered_subset():
    """With one plane of frequency w the angle of row p is w times the place that stands for p."""
    torch.manual_seed(5)
    made = RandomisedRotary(Spectrum((1e-3,)), longest=1000)
    one = torch.tensor([1.0, 0.0], dtype=torch.float64).expand(1, 1, 40, 2)
    q, k = made(one, one, torch.arange(40), torch.arange(40))
    places = (torch.atan2(q[0, 0, :, 1], q[0, 0, :, 0]) / 1e-3).round().long()
    assert torch.equal(q, k) and (places.diff() > 0).all() and places.min() >= 0 and places.max() < 1000
    assert not torch.equal(places, torch.arange(40))


def test_a_place_before_the_first_is_refused():
    q = torch.zeros(1, 1, 2, 2)
    with pytest.raises(ValueError, match="position -2, but positions begin at 0"):
        RandomisedRotary(Spectrum((1e-3,)), longest=9)(q, q, torch.arange(2), torch.tensor([-2, 3]))


def test_every_row_of_sinusoids_is_the_embedding_of_one_of_an_ordered_subset():
    torch.manual_seed(0)
    found = RandomisedSinusoidal(WIDTH, longest=64)(torch.arange(20))
    same = (found[:, None] == Sinusoidal(WIDTH)(torch.arange(64))).all(-1)
    places = same.float().argmax(-1)
    assert same.any(-1).all() and (places.diff() > 0).all() and not torch.equal(places, torch.arange(20))
