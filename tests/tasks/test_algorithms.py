"""The algorithmic tasks against answers by plain Python, at any length."""

import itertools
from types import SimpleNamespace

import pytest
import torch

from attention_priors import runtime
from attention_priors.tasks import algorithms
from refusals import refused

PLAIN = {"copy": list, "reverse": lambda x: x[::-1], "parity": lambda x: [sum(x) % 2], "bucket-sort": sorted}


def drawn(name, length, count=50, seed=0):
    return algorithms.strings(name, length, count, runtime.generator(seed, "test"))


@pytest.mark.parametrize("name", algorithms.TASKS)
def test_the_answers(name):
    for length in (1, 2, 7, 100):
        tokens, answer = drawn(name, length)
        for row, found in zip(tokens.tolist(), answer.tolist(), strict=True):
            string, slots = row[:length], row[length:]
            assert found == PLAIN[name](string)
            assert slots == [algorithms.EMPTY] * len(found), "a slot for each symbol of the answer, and no answer"
            assert min(string) >= 0 and max(string) < algorithms.TASKS[name].symbols


@pytest.mark.parametrize("name", algorithms.TASKS)
def test_all_strings_are_equally_likely_and_chance_is_chance(name):
    task, count = algorithms.TASKS[name], 20_000
    tokens, answer = drawn(name, 2, count)
    seen = {pair: 0 for pair in itertools.product(range(task.symbols), repeat=2)}
    for pair in tokens[:, :2].tolist():
        seen[tuple(pair)] += 1
    share = task.symbols**-2
    assert max(abs(n / count - share) for n in seen.values()) < 5 * (share / count) ** 0.5
    uniform = torch.randint(task.symbols, answer.shape, generator=runtime.generator(1, "guess"))
    assert float((uniform == answer).float().mean()) == pytest.approx(task.chance, abs=0.02)
    assert algorithms.VOCABULARY == algorithms.EMPTY + 1 > max(t.symbols for t in algorithms.TASKS.values())


def batches(name, length=6, batch=3, seed=0):
    spec = SimpleNamespace(task=f"algorithms/{name}", seed=seed, recipe=SimpleNamespace(length=length, batch=batch))
    return algorithms.AlgorithmBatches(spec)


@pytest.mark.parametrize("name", algorithms.TASKS)
def test_training_has_every_length_up_to_the_longest_and_the_answer_at_the_slots(name):
    made, lengths = batches(name), set()
    for step in range(80):
        tokens, targets, slots, ids = made(step)
        assert tokens.shape == targets.shape == slots.shape and len(tokens) == 3 and ids is None
        length = int((~slots[0]).sum())
        lengths.add(length)
        assert (tokens[slots] == algorithms.EMPTY).all() and torch.equal(slots, slots[:1].expand_as(slots))
        assert torch.equal(targets[:, :length], tokens[:, :length])
        for string, answer in zip(tokens[:, :length].tolist(), targets[:, length:].tolist(), strict=True):
            assert answer == PLAIN[name](string)
    assert lengths == {1, 2, 3, 4, 5, 6}


def test_step_seed_and_task_determine_a_batch():
    def first(*where):
        return batches(*where)(3)[0].tolist()

    assert first("copy") == batches("copy")(3)[0].tolist()
    several = [
        batches("copy", 40)(4),
        batches("copy", 40)(3),
        batches("copy", 40, seed=1)(3),
        batches("reverse", 40)(3),
    ]
    assert len({str(batch[0].tolist()) for batch in several}) == 4


test_bad_input_is_named = refused(
    (lambda: drawn("sort", 3), "unknown algorithmic task 'sort'; choose one of copy, reverse, parity"),
    (lambda: drawn("copy", 0), "length = 0"),
    (lambda: batches("cpoy"), "'cpoy'"),
)
