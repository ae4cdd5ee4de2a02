"""Associative recall against a reader of its texts, and what its source of batches refuses."""

import itertools
from types import SimpleNamespace

import pytest
import torch

from attention_priors import runtime
from attention_priors.config import Gate, Varied
from attention_priors.tasks import SOURCES, recall
from refusals import refused
from training.small import RECIPE


def drawn(length, load, count=40, seed=0):
    return recall.texts(length, load, count, runtime.generator(seed, "test"))


def read(row, queries):
    """The pairs of a text and what its queries ask, by a reader that knows the kinds of tokens alone."""
    text, pairs = row[: len(row) - queries], {}
    for key, value in itertools.pairwise(text):
        if key < recall.KEYS:
            assert key not in pairs and recall.KEYS <= value < recall.KEYS + recall.VALUES
            pairs[key] = value
    return pairs, [pairs[key] for key in row[len(row) - queries :]]


@pytest.mark.parametrize(("length", "load"), [(3, 1), (12, 4), (48, 16), (128, 16), (128, 56), (200, 64)])
def test_a_reader_finds_as_many_pairs_as_there_are_and_the_answers(length, load):
    asked = drawn(length, load)
    queries = recall.asked(load)
    assert asked.tokens.shape == (40, length) and asked.answers.shape == (40, queries)
    for row, answers in zip(asked.tokens.tolist(), asked.answers.tolist(), strict=True):
        pairs, found = read(row, queries)
        assert len(pairs) == load == len(set(pairs.values())) and found == answers
        assert len(set(row[-queries:])) == queries
        noise = [token for token in row if token >= recall.KEYS + recall.VALUES]
        assert len(noise) == length - queries - 2 * load and max(row) < recall.VOCABULARY
    assert asked.tokens.gather(1, asked.places).equal(asked.answers)
    assert asked.part(3, 5).answers.equal(asked.answers[3:5])


def test_a_text_is_written_by_its_kinds_of_tokens():
    tokens = torch.tensor([3, recall.KEYS + 5, recall.VOCABULARY - 1, 3])
    assert recall.decode(tokens) == "k3 v5 z k3"


def test_pairs_stand_anywhere_and_seeds_differ():
    places = drawn(60, 4, 4000).places.flatten()
    counts = torch.bincount(places, minlength=56)[1:56].double() / len(places)
    assert counts.min() > 0 and (counts[3:-3] - 1 / 55).abs().max() < 0.006
    assert drawn(60, 4).tokens.equal(drawn(60, 4).tokens) and not drawn(60, 4).tokens.equal(drawn(60, 4, seed=1).tokens)


def test_the_largest_load_fits_and_one_more_does_not():
    for length in (3, 12, 47, 48, 80, 128, 300):
        load = recall.largest(length)
        assert recall.shortest(load) <= length
        assert load == recall.VALUES or recall.shortest(load + 1) > length


def batches(cut=0.0, shortest=16, **changes):
    varied = Varied(shortest=shortest, cut=cut, keyless=0)
    recipe = RECIPE.model_copy(update={"batch": 6, "length": 128, "varied": varied} | changes)
    return SOURCES["recall"](SimpleNamespace(task="recall", seed=0, recipe=recipe))


def test_batches_vary_in_length_and_load_and_ask_at_the_end():
    made, lengths, loads = batches(), set(), []
    for step in range(300):
        tokens, targets, where, documents = made(step)
        queries = int(where[0].sum())
        assert documents is None and where[:, -queries:].all() and not where[:, :-queries].any()
        rows = [read(row, queries) for row in tokens.tolist()]
        assert targets[:, -queries:].tolist() == [found for _, found in rows]
        assert targets[:, : -queries - 1].equal(tokens[:, 1:-queries])
        lengths.add(tokens.shape[1])
        loads.append(len(rows[0][0]))
    assert min(lengths) >= 16 and max(lengths) <= 128 and len(lengths) > 60
    assert min(loads) == 1 and max(loads) > 40 and sorted(loads)[150] < 10
    assert all(torch.equal(one, other) for one, other in zip(made(3)[:3], batches()(3)[:3], strict=True))


class Reader(torch.nn.Module):
    """Answers by what stood behind the key; one that `shifts` says the value before the right one in the text."""

    def __init__(self, shifts: bool) -> None:
        super().__init__()
        self.shifts, self.parameter = shifts, torch.nn.Parameter(torch.zeros(1))

    def forward(self, tokens: torch.Tensor, last: int) -> torch.Tensor:
        answers = []
        for row in tokens.tolist():
            pairs, found = read(row, last)
            values = list(pairs.values())
            answers.append([values[values.index(each) - 1] if self.shifts else each for each in found])
        return torch.nn.functional.one_hot(torch.tensor(answers), recall.VOCABULARY).float()


@pytest.mark.parametrize(("shifts", "share"), [(False, 1.0), (True, 0.0)])
def test_the_gate_is_passed_by_a_reader_of_keys_alone(shifts, share):
    gate = Gate(lengths=(32, 128), samples=4, accuracy=0.9, every=1)
    assert batches().accuracy(Reader(shifts), gate) == share


test_bad_texts_and_recipes_are_refused_by_name = refused(
    (lambda: drawn(20, 16, 1), "16 pairs and their queries take 48 tokens"),
    (lambda: drawn(400, 65, 1), "load = 65"),
    (lambda: drawn(20, 0, 1), "load = 0"),
    (lambda: drawn(20, 2, 0), "count = 0"),
    (lambda: batches(cut=0.5), "cut = 0.5"),
    (lambda: batches(shortest=2), "texts of 2 tokens"),
)
