"""Passkeys read in chunks: what is asked, of whom, and what it costs."""

import pandas as pd
import pytest
import torch

from attention_priors import config
from attention_priors.config import Evaluation, ModelConfig
from attention_priors.evaluation import passkey_samples
from attention_priors.experiments import parallel_needles as needles
from attention_priors.model import Transformer
from attention_priors.parallel.methods import METHODS
from attention_priors.tasks import passkey
from figures.committed import frame

PROFILES = {name: config.profile(name) for name in ("smoke", "cpu", "full", "gpu", "paper")}
ASKED = Evaluation(lengths=(128, 256), samples=5)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Transformer(
        ModelConfig(vocabulary=len(passkey.VOCABULARY), width=32, layers=2, heads=2, hidden=32, encoding="rope")
    ).eval()


def test_what_is_for_rope_is_asked_of_rope_alone():
    settings = PROFILES["full"].parallel_needles
    for method, row in METHODS.items():
        assert bool(settings.asked("alibi", method)) == (not row.rope) and settings.asked("rope", method)


def test_the_prompts_are_those_of_the_passkey_experiment(model):
    """Read as ever, the same answers are right as `evaluation.passkey_samples` counts."""
    for seed in range(3):
        rows = needles.banded(model, METHODS["plain"], ASKED, seed, 128)
        for length in ASKED.lengths:
            right = sum(row["correct"] for row in passkey_samples(model, length, 5, seed))
            assert sum(row["correct"] for row in rows if row["length"] == length) == right
    text, answer, depth = needles.prompts(128, 5, 0)[2]
    assert len(text.tokens) == 108 and passkey.decode(text.question) == passkey.QUESTION and depth == 0.5
    start, stop = text.wanted
    sentence = text.tokens[start:stop]
    assert torch.equal(sentence[3:8], answer) and torch.equal(sentence[13:18], answer)


def test_entries_are_what_the_question_attends_to(model):
    found = {
        name: needles.banded(model, METHODS[name], Evaluation(lengths=(1024,), samples=2), 0, 128)[0]["entries"]
        for name in METHODS
    }
    assert found["plain"] == found["rerope"] == found["all"] == 1004
    assert found["last-window"] == found["halves"] == found["k1"] == 108 and found["streaming"] == 127
    assert found["snapkv"] == 162 and found["k3-half"] in range(155, 163) and found["k3-quarter"] in range(77, 82)
    assert 300 < found["k3"] <= 324


def test_ranks_are_those_of_the_chunk_with_the_key(model):
    rows = pd.DataFrame(needles.ranked(model, Evaluation(lengths=(128, 512), samples=6), 0, 128))
    assert set(rows["length"]) == {512} and len(rows) == 12  # one chunk has no rank
    plain, overlap = (rows[rows["cutting"] == name] for name in needles.RANKED)
    assert (plain["chunks"] == 5).all() and (overlap["chunks"] == 6).all()
    assert rows["rank"].between(1, rows["chunks"]).all() and not overlap["cut"].any() and plain["cut"].any()


def test_flops_are_those_of_rows():
    size = {"window": 128, "per_token": 1000, "per_pair": 10}
    row = 1000 * 124 + 10 * 124**2 / 2  # of the window, less what is kept for the answer
    assert (
        needles.flops("k3", 19.0, 2048, **size) == 19 * row and needles.flops("oracle", 1.2, 2048, **size) == 1.2 * row
    )
    assert needles.flops("last-window", float("nan"), 2048, **size) == row
    assert needles.flops("plain", float("nan"), 2048, **size) == 1000 * 2043 + 10 * 2043**2 / 2
    assert needles.flops("streaming", float("nan"), 2048, **size) == 1000 * 2043 + 10 * (128**2 / 2 + 1915 * 128)


def test_models_that_missed_the_gate_are_in_no_difference():
    prompts, gate = frame("parallel_prompts"), frame("parallel_gate")
    found = needles.by_length(prompts, gate.assign(correct=0))
    assert not found["passed"].any() and needles.over_models(found)["passed"].eq(0).all()
    missed = needles.differences(found)
    assert missed["seeds"].eq(0).all() and missed["difference"].isna().all() and len(missed)
