"""The task of addresses against answers by hand, and what its source of batches refuses."""

from types import SimpleNamespace

import pytest
import torch

from attention_priors import runtime
from attention_priors.config import Gate, Varied
from attention_priors.tasks import SOURCES, addressing
from refusals import refused
from training.small import RECIPE

REACH = 12


def drawn(length=30, texts=40, spread=addressing.even):
    generator = runtime.generator(0, "test")
    return addressing.questions(length, spread(texts, REACH, generator), REACH, generator)


def test_the_answer_is_the_kth_last_symbol_of_the_text():
    asked = drawn()
    for row, answers in zip(asked.tokens.tolist(), asked.answers.tolist(), strict=True):
        text, queries = row[: -addressing.QUERIES], row[-addressing.QUERIES :]
        addresses = [token - addressing.SYMBOLS + 1 for token in queries]
        assert max(text) < addressing.SYMBOLS and answers == [text[-k] for k in addresses]
    assert int(asked.tokens.max()) < addressing.vocabulary(REACH)
    assert asked.tokens.shape == (40, 30) and asked.part(3, 5).answers.equal(asked.answers[3:5])


def test_addresses_are_asked_equally_often_and_trained_near_first():
    counts = torch.bincount(drawn(texts=48).addresses.flatten())[1:]
    assert counts.tolist() == [48 * addressing.QUERIES // REACH] * REACH
    trained = torch.bincount(drawn(texts=4000, spread=addressing.spread).addresses.flatten())[1:].double()
    expected = (torch.arange(2, REACH + 2) / torch.arange(1, REACH + 1)).log() / torch.tensor(REACH + 1.0).log()
    assert (trained / trained.sum() - expected).abs().max() < 0.01 and len(trained) == REACH


def batches(vocabulary=addressing.SYMBOLS + REACH, **changes):
    varied = Varied(shortest=24, cut=0, keyless=0)
    recipe = RECIPE.model_copy(update={"batch": 6, "length": 40, "varied": varied} | changes)
    spec = SimpleNamespace(task="addressing", seed=0, recipe=recipe, model=SimpleNamespace(vocabulary=vocabulary))
    return SOURCES["addressing"](spec)


def test_batches_have_one_length_each_and_the_next_symbol_before_the_queries():
    made, lengths = batches(), set()
    for step in range(150):
        tokens, targets, where, documents = made(step)
        lengths.add(tokens.shape[1])
        queries = addressing.QUERIES
        assert documents is None and where[:, -queries:].all() and not where[:, :-queries].any()
        assert targets[:, : -queries - 1].equal(tokens[:, 1:-queries])
        addresses = tokens[:, -queries:] - addressing.SYMBOLS + 1
        assert targets[:, -queries:].equal(tokens[:, :-queries].gather(1, tokens.shape[1] - queries - addresses))
    assert min(lengths) == 24 and max(lengths) == 40 and len(lengths) > 10
    assert all(torch.equal(one, other) for one, other in zip(made(3)[:3], batches()(3)[:3], strict=True))


class Oracle(torch.nn.Module):
    """Answers addresses up to `known`, and no other."""

    def __init__(self, known: int) -> None:
        super().__init__()
        self.known, self.parameter = known, torch.nn.Parameter(torch.zeros(1))

    def forward(self, tokens: torch.Tensor, last: int) -> torch.Tensor:
        text = tokens[:, :-last]
        addresses = tokens[:, -last:] - addressing.SYMBOLS + 1
        answers = text.gather(1, text.shape[1] - addresses)
        answers = torch.where(addresses <= self.known, answers, (answers + 1) % addressing.SYMBOLS)
        return torch.nn.functional.one_hot(answers, addressing.vocabulary(REACH)).float()


@pytest.mark.parametrize("known", [0, 3, REACH])
def test_the_gate_is_the_share_of_all_addresses(known):
    gate = Gate(lengths=(24, 40), samples=REACH, accuracy=0.9, every=1)
    assert batches().accuracy(Oracle(known), gate) == pytest.approx(known / REACH)


test_bad_input_is_one_line = refused(
    (lambda: drawn(length=19), "length = 19, but 8 queries for addresses up to 12 need at least 20 tokens"),
    (lambda: batches(length=30, varied=Varied(shortest=10, cut=0, keyless=0)), "texts of 10 tokens, but 8 queries"),
    (lambda: batches(length=16, varied=None), "texts of 16 tokens, but 8 queries for addresses up to 12 need 20"),
    (lambda: batches(varied=Varied(shortest=24, cut=0.5, keyless=0)), "cut = 0.5 and keyless = 0.0 are for passk"),
    (lambda: batches(vocabulary=addressing.SYMBOLS), "vocabulary = 32, but 32 symbols and an address need more"),
    (lambda: addressing.questions(30, torch.full((2, 8), 13), REACH, torch.Generator()), "from 13 to 13, but they"),
    (lambda: addressing.questions(30, torch.ones(2, 7).long(), REACH, torch.Generator()), r"shape \[2, 7\], but"),
)
