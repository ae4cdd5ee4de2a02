"""The algorithmic tasks as an experiment: what is asked and counted, by hand."""

import itertools
from collections import Counter

import pytest
import torch
from torch import nn

from attention_priors import config
from attention_priors.experiments import algorithms as experiment
from attention_priors.tasks import algorithms
from attention_priors.training.runs import build
from figures.committed import frame


@pytest.mark.parametrize("task", algorithms.TASKS)
@pytest.mark.parametrize("length", [1, 2, 5, 6])
def test_what_a_model_without_order_can_reach_is_counted_over_all_strings(task, length):
    """Every slot gets the most frequent symbol of the answer, which has the symbols of the string (parity: the one)."""
    symbols = algorithms.TASKS[task].symbols
    every = torch.tensor(list(itertools.product(range(symbols), repeat=length)))
    answers = algorithms.TASKS[task].answer(every).tolist()
    best = sum(max(Counter(row).values()) / len(row) for row in answers) / len(answers)
    assert experiment.order_free(task, length) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("task", algorithms.TASKS)
@pytest.mark.parametrize("length", [1, 2, 5, 6])
def test_what_can_be_had_without_reading_is_counted_over_all_strings(task, length):
    """At every slot the symbol that most strings have there."""
    symbols = algorithms.TASKS[task].symbols
    every = torch.tensor(list(itertools.product(range(symbols), repeat=length)))
    slots = algorithms.TASKS[task].answer(every).T.tolist()
    best = sum(max(Counter(slot).values()) / len(slot) for slot in slots) / len(slots)
    assert experiment.unread(task, length) == pytest.approx(best, abs=1e-12)


def test_without_order_long_strings_are_answered_by_chance_but_for_the_parity():
    for task in ("copy", "bucket-sort"):
        chance = algorithms.TASKS[task].chance
        assert chance < experiment.order_free(task, 500) < chance + 0.05
    assert experiment.order_free("parity", 500) == 1


class Oracle(nn.Module):
    """Answers a task without an error up to a length, with a symbol that is always wrong beyond."""

    def __init__(self, task, good):
        super().__init__()
        self.task, self.good, self.weight = task, good, nn.Parameter(torch.zeros(1))

    def forward(self, tokens, last):
        string = tokens[:, : tokens.shape[1] - last]
        answer = algorithms.TASKS[self.task].answer(string)
        wrong = (answer + 1) % algorithms.TASKS[self.task].symbols
        chosen = answer if string.shape[1] <= self.good else wrong
        return nn.functional.one_hot(chosen, algorithms.VOCABULARY).float()


@pytest.mark.parametrize("task", algorithms.TASKS)
def test_right_symbols_and_whole_strings_are_counted(task):
    rows = experiment.solved(Oracle(task, 4), f"algorithms/{task}", (2, 4, 6), 10, seed=0)
    slots = [1, 1, 1] if task == "parity" else [2, 4, 6]
    assert [row["symbols"] for row in rows] == [10 * count for count in slots]
    assert [row["right"] for row in rows] == [10 * slots[0], 10 * slots[1], 0]
    assert [row["whole"] for row in rows] == [10, 10, 0] and {row["samples"] for row in rows} == {10}


def test_an_encoder_without_positions_says_the_same_at_every_slot():
    spec = experiment.spec(config.profile("smoke"), "reverse", "nope", 0)
    tokens, _ = algorithms.strings("reverse", 7, 5, torch.Generator().manual_seed(0))
    said = build(spec)(tokens, last=7).detach()
    assert float((said - said[:, :1]).abs().max()) < 1e-6
    placed = build(experiment.spec(config.profile("smoke"), "reverse", "rope", 0))(tokens, last=7).detach()
    assert float((placed - placed[:, :1]).abs().max()) > 1e-3


def test_a_model_that_was_not_asked_everything_is_named():
    answers = frame("algorithms_answers")
    last = answers["length"] == answers["length"].max()
    missed = last & (answers["encoding"] == "rope") & (answers["task"] == "copy") & (answers["seed"] == 0)
    with pytest.raises(ValueError, match=r"rope on copy with seed 0 was asked at \[.*\], others at \[.*\]"):
        experiment.accuracy(answers[~missed])
