"""Hidden tokens: how many, where, and as a resumable source of training batches."""

from types import SimpleNamespace

import pytest
import torch

from attention_priors import runtime
from attention_priors.corpora import packing
from attention_priors.tasks import masking


def test_a_fixed_share_of_every_row_is_hidden_at_random_places():
    tokens = torch.arange(4000).view(40, 100)
    hidden, where = masking.masked(tokens, -1, runtime.generator(0, "test"))
    assert (where.sum(1) == round(masking.SHARE * 100)).all()
    assert (hidden[where] == -1).all() and torch.equal(hidden[~where], tokens[~where])
    counts = where.sum(0).float()
    assert counts.min() > 0 and counts.max() < 30, "no place is favoured"
    assert int(masking.masked(tokens[:, :1], -1, runtime.generator(0, "test"))[1].sum()) == 40, "at least one a row"


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    folder = tmp_path_factory.mktemp("masking")
    for name in "abcdefghij":
        (folder / f"{name}.txt").write_text(f"{name} one two three four five six seven. " * 60, encoding="utf-8")
    packed = packing.build(f"text:{folder}", 280, folder / "cache")
    path = packing.cache_path(f"text:{folder}", 280, folder / "cache")
    recipe = SimpleNamespace(length=12, batch=3)
    return SimpleNamespace(seed=0, recipe=recipe, corpus=str(path), model=SimpleNamespace(vocabulary=281)), packed


def test_targets_are_the_text_and_inputs_hide_some_of_it(spec):
    spec, _ = spec
    tokens, targets, where, ids = masking.MaskedBatches(spec)(0)
    assert tokens.shape == targets.shape == where.shape == ids.shape == (3, 12)
    assert (tokens[where] == 280).all() and torch.equal(tokens[~where], targets[~where]) and int(targets.max()) < 280


def test_a_resumed_source_goes_on_with_the_same_batches(spec):
    spec, _ = spec
    straight = masking.MaskedBatches(spec)
    made = [straight(step) for step in range(5)]
    resumed = masking.MaskedBatches(spec)(4)
    assert all(torch.equal(a, b) for a, b in zip(made[4], resumed, strict=True))
    assert not torch.equal(made[3][1], made[4][1]) and not torch.equal(made[3][2], made[4][2])
