"""What was tried for the ways to read further is on record: as many trials each, on seeds that do not count."""

import inspect
import itertools

import pandas as pd
import pytest
import torch

from attention_priors import config
from attention_priors.config import ModelConfig
from attention_priors.experiments import parallel_needles, parallel_tuning
from attention_priors.model import Transformer
from attention_priors.parallel.benchmarks import methods as benchmarks
from attention_priors.parallel.methods import METHODS
from attention_priors.tasks import passkey

LENGTH, WINDOW = 512, 128


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    made = Transformer(
        ModelConfig(vocabulary=len(passkey.VOCABULARY), width=32, layers=3, heads=2, hidden=32, encoding="rope")
    ).eval()
    for block in made.blocks:
        block.attention.query.weight.data *= 6  # so that some weights are above every λ
    return made


def logits(open_):
    text, answer, _ = parallel_needles.prompts(LENGTH, 3, 0)[1]
    return open_(text).feed(torch.cat([text.question, answer[:-1]]))


@pytest.mark.parametrize("way", parallel_tuning.NUMBERS)
def test_every_trial_reads_in_another_way(model, way):
    number = parallel_tuning.NUMBERS[way]
    found = [logits(number.method(way, value).prepare(model, WINDOW)) for value in number.values]
    for one, other in itertools.combinations(found, 2):
        assert not torch.equal(one, other)


def test_rivals_are_compared_at_their_best_and_parallelcomp_as_published(model):
    table = parallel_tuning.chosen(parallel_tuning.tried())
    for (way, number), value in zip(parallel_tuning.NUMBERS.items(), table["in the comparison"], strict=True):
        own = way in ("k3", "k3-half", "k3-calibrated")
        assert value == (f"{number.values[0]:g}" if own else table.loc[METHODS[way].label, "best"])
        trial = logits(number.method(way, float(value)).prepare(model, WINDOW))
        assert torch.equal(trial, logits(METHODS[way].prepare(model, WINDOW))), way


@pytest.mark.parametrize("way", ["pi", "dynamic-ntk", "yarn", "rerope"])
def test_the_first_trial_is_the_published_number_as_other_models_are_read_with_it(way):
    how = benchmarks.METHODS[way].open
    published = how.keywords["number"] if way != "rerope" else inspect.signature(how).parameters["number"].default
    assert parallel_tuning.NUMBERS[way].values[0] == published


def test_every_way_had_as_many_trials_on_seeds_of_no_profile():
    tried = parallel_tuning.tried()
    for name in ("smoke", "cpu", "full", "gpu", "paper"):
        assert not set(tried["seed"]) & {*config.profile(name).seeds, *config.profile(name).main_seeds}
    for seed, way in itertools.product(parallel_tuning.SEEDS, parallel_tuning.NUMBERS):
        own = tried[(tried["seed"] == seed) & (tried["way"] == way)]
        assert tuple(own["value"]) == parallel_tuning.NUMBERS[way].values and len(own) == 4
    assert len(tried) == 4 * len(parallel_tuning.SEEDS) * len(parallel_tuning.NUMBERS)
    assert (tried.loc[tried["way"] == "k3", "accuracy_1"] >= 0.95).all(), "its models have learned the task"


def test_a_trial_is_a_row_of_the_file(model):
    rows = parallel_tuning.of_way(model, "k3", WINDOW, 101, samples=2)
    assert list(rows[0]) == list(parallel_tuning.tried().columns) and len(rows) == 4
    keys = [row["keys_16"] for row in sorted(rows, key=lambda row: row["value"])]
    assert keys == sorted(set(keys)) and keys[0] == 108  # of one chunk


def test_a_value_is_chosen_only_where_it_is_better():
    rows = [
        {"way": way, "number": "n", "value": value, "seed": seed, "accuracy_4": mean, "accuracy_16": mean}
        for way, means in {"k3": (0.5, 0.5, 0.4, 0.5), "pi": (0.1, 0.2, 0.4, 0.4)}.items()
        for value, mean in zip((9, 1, 2, 3), means, strict=True)
        for seed in (101, 102)
    ]
    found = parallel_tuning.chosen(pd.DataFrame(rows))
    assert found["best"].tolist() == ["9", "2"] and found["published"].tolist() == ["9", "9"]
    assert found["in the comparison"].tolist() == ["9", "2"]
    assert found["accuracy at best"].tolist() == pytest.approx([0.5, 0.4])
    assert found["all trials"].iloc[1] == "9: 0.10, 1: 0.20, 2: 0.40, 3: 0.40"
