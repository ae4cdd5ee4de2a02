"""Markov chains: counts by hand, probabilities that sum to one, and what a source of known entropy costs."""

import numpy as np
import pytest

from attention_priors.corpora import genome, markov
from attention_priors.corpora.markov import Markov


def made(bases):
    return genome.assemble("mine", [("one", np.asarray(bases, dtype=np.uint8))])


def drawn(count, seed=0):
    return np.random.default_rng(seed).integers(0, 4, count).astype(np.uint8)


def source(count, seed=0):
    """Each base follows the one before it with probability .7, any other with .1."""
    generator = np.random.default_rng(seed)
    steps = generator.choice(4, size=count, p=[0.7, 0.1, 0.1, 0.1])
    return np.cumsum(steps).astype(np.uint8) % 4


def test_counts_are_those_of_a_loop():
    bases = drawn(8000)
    chain = Markov(made(bases), ((0, 8000),), 3)
    for k in range(4):
        counts = np.zeros(4 ** (k + 1), dtype=int)
        for at in range(3, 8000):
            counts[int("".join(map(str, bases[at - k : at + 1])), 4)] += 1
        assert (chain.counts[k] == counts).all()


def test_probabilities_sum_to_one_over_the_four_bases():
    bases, at = source(9000), 8500
    shares = []
    for base in range(4):
        changed = bases.copy()
        changed[at] = base
        chain = Markov(made(bases), ((0, 8000),), 4)
        shares.append(2.0 ** -chain.bits(made(changed), np.array([at]))[:, 0])
    assert np.allclose(np.sum(shares, axis=0), 1)


def test_a_source_of_order_one_costs_its_entropy_from_order_one_on():
    bases = source(60_000)
    found = Markov(made(bases), ((0, 50_000),), 4).bits(made(bases), np.arange(50_004, 60_000)).mean(1)
    entropy = -(0.7 * np.log2(0.7) + 3 * 0.1 * np.log2(0.1))
    assert found[0] == pytest.approx(2, abs=0.01)
    assert np.allclose(found[1:], entropy, atol=0.03)


def test_text_without_order_costs_two_bits_at_every_order():
    bases = drawn(60_000)
    found = Markov(made(bases), ((0, 50_000),), 8).bits(made(bases), np.arange(50_008, 60_000)).mean(1)
    assert np.allclose(found, 2, atol=0.01), "long contexts are not trusted where they say nothing"


def test_repeats_inside_the_training_text_do_not_make_long_contexts_trusted(monkeypatch):
    unit = drawn(45_000)
    text, unseen = made(np.concatenate([unit, drawn(2560, 1), unit[:2440]])), made(drawn(5000, 2))
    places, ranges = np.arange(10, 5000), ((0, text.length),)
    careful = Markov(text, ranges, 10)
    monkeypatch.setattr(markov, "novel", lambda genome, first, length, ranges: np.ones(len(first), dtype=bool))
    trusting = Markov(text, ranges, 10)
    assert trusting.strengths[10] < careful.strengths[10]
    assert careful.bits(unseen, places)[10].mean() < 2.03 < 2.1 < trusting.bits(unseen, places)[10].mean()


@pytest.mark.parametrize(
    ("order", "count", "said"),
    [
        (-1, 8000, "order = -1; use an order from 0"),
        (256, 8000, "order = 256"),
        (2, 2000, "windows of 256"),
        (2, 0, "windows of 256"),
    ],
)
def test_bad_input(order, count, said):
    with pytest.raises(ValueError, match=said):
        Markov(made(drawn(9000)), ((0, count),), order)


def test_a_text_that_only_repeats_itself_has_nothing_to_choose_on():
    with pytest.raises(ValueError, match="has no window of 256 that is new"):
        Markov(made(np.tile(drawn(500), 20)), ((0, 10_000),), 2)
