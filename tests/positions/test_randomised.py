"""Sinusoidal positions by a random ordered subset."""

import pytest
import torch

from attention_priors.positions.absolute import Sinusoidal
from attention_priors.positions.encodings import encoding
from attention_priors.positions.randomised import RandomisedSinusoidal

WIDTH = 16


def places_of(embedded: torch.Tensor, longest: int) -> torch.Tensor:
    """Which position of the plain encoding each row is."""
    table = Sinusoidal(WIDTH)(torch.arange(longest))
    same = (embedded[:, None] == table).all(-1)
    assert same.any(-1).all(), "a row is the embedding of no position"
    return same.float().argmax(-1)


def test_every_row_is_the_embedding_of_one_of_an_ordered_subset() -> None:
    torch.manual_seed(0)
    made = RandomisedSinusoidal(WIDTH, longest=64)
    found = places_of(made(torch.arange(20)), 64)
    assert (found.diff() > 0).all() and found.max() < 64 and not torch.equal(found, torch.arange(20))


def test_at_the_longest_length_it_is_the_plain_encoding() -> None:
    made, places = RandomisedSinusoidal(WIDTH, longest=12), torch.arange(12)
    assert torch.equal(made(places), Sinusoidal(WIDTH)(places))


def test_training_draws_anew_evaluation_does_not_and_the_state_says_how_often() -> None:
    torch.manual_seed(5)
    made, places = RandomisedSinusoidal(WIDTH, longest=64), torch.arange(6)
    first, second = made(places), made(places)
    assert not torch.equal(first, second) and int(made.drawn) == 2
    torch.manual_seed(6)
    resumed = RandomisedSinusoidal(WIDTH, longest=64)
    resumed.load_state_dict(made.state_dict())
    assert torch.equal(resumed(places), made(places))
    made.eval()
    assert torch.equal(made(places), made(places)) and int(made.drawn) == 3
    assert torch.equal(made(places[None].expand(3, -1)), made(places).expand(3, -1, -1))


def test_refuses_more_positions_than_there_are() -> None:
    with pytest.raises(ValueError, match="6 positions, but 5 can be drawn"):
        RandomisedSinusoidal(WIDTH, longest=5)(torch.arange(6))
    with pytest.raises(ValueError, match="longest = 0"):
        RandomisedSinusoidal(WIDTH, longest=0)


@pytest.mark.parametrize("longest", [128, 512, 2048])
def test_the_rows_for_short_strings_know_their_longest_position(longest: int) -> None:
    for base, part, needed in (("sinusoidal", "absolute", (16,)), ("rope", "rotary", (8, 10_000.0))):
        row = encoding(f"{base}-randomised-{longest}")
        assert row.longest == getattr(row, part)(*needed).longest == longest and row.whole and row.trained_as is None
