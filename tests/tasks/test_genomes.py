"""Training windows of a genome: seed and step decide, and none leaves its stretch or the training part."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attention_priors.corpora import genome
from attention_priors.tasks import SOURCES
from attention_priors.tasks import genomes as task


def source(length=64, batch=8, seed=0):
    return SOURCES["genomes"](
        SimpleNamespace(inputs=("chr22", ""), seed=seed, recipe=SimpleNamespace(length=length, batch=batch))
    )


def test_seed_and_step_decide():
    one, two = source(), source()
    one(5)
    for step in (0, 7, 3):
        for a, b in zip(one(step), two(step), strict=True):
            assert (a is None and b is None) or torch.equal(a, b)
    assert not torch.equal(one(0)[0], one(1)[0]) and not torch.equal(one(0)[0], source(seed=1)(0)[0])


def test_targets_are_the_next_bases_and_all_count():
    tokens, targets, answers, ids = source()(0)
    assert tokens.shape == targets.shape == answers.shape == (8, 64) and ids is None and answers.all()
    assert torch.equal(tokens[:, 1:], targets[:, :-1]) and 0 <= int(tokens.min()) <= int(tokens.max()) < 4


def test_windows_begin_everywhere_in_a_stretch_and_never_leave_it(monkeypatch):
    # Stretches of 9, 3 and 12 known bases; the first four fifths are 9, 3 and 7 of them.
    codes = np.array([0] * 9 + [4] + [1] * 3 + [4] + [2] * 12, dtype=np.uint8)
    made = genome.assemble("mine", [("one", codes)])
    monkeypatch.setattr(task.genome, "find", lambda name: made)
    asked = []
    bases = genome.Genome.bases
    monkeypatch.setattr(
        genome.Genome, "bases", lambda self, start, count: asked.append(start) or bases(self, start, count)
    )
    batches = source(length=4, batch=16)
    for step in range(20):
        tokens, targets, _, _ = batches(step)
        assert (tokens == tokens[:, :1]).all() and (targets == tokens[:, :1]).all(), "one letter a stretch"
    assert set(asked) == {0, 1, 2, 3, 4, 12, 13, 14}


def test_windows_longer_than_every_stretch_are_refused():
    with pytest.raises(ValueError, match="windows of 509431 bases and the one after, but no stretch of genome 'chr22'"):
        source(length=509_431)
