"""Passkey scores, losses on the same tokens at every length, and the two kinds of interval."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats

from attention_priors import evaluation, runtime
from attention_priors.config import ModelConfig
from attention_priors.model import Transformer
from attention_priors.positions.encodings import ENCODINGS
from attention_priors.tasks import passkey

WORDS = len(passkey.VOCABULARY)


def tiny(encoding="bam-ssmax", vocabulary=WORDS):
    torch.manual_seed(0)
    size = {"width": 16, "layers": 2, "heads": 2, "hidden": 16}
    return Transformer(ModelConfig(vocabulary=vocabulary, encoding=encoding, **size)).eval()


class Oracle(torch.nn.Module):
    """Answers with the true key, except for the digits at the places in `wrong`."""

    def __init__(self, wrong=()):
        super().__init__()
        self.anchor, self.wrong = torch.nn.Parameter(torch.zeros(1)), list(wrong)

    def forward(self, tokens, last=None, local=None, backend="auto"):
        start = (tokens == passkey.IDS["remember"]).int().argmax(1) - 2 - passkey.DIGITS
        places = start[:, None] + torch.arange(passkey.DIGITS)
        digits = tokens.gather(1, places)
        digits[:, self.wrong] = (digits[:, self.wrong] + 1) % 10
        return F.one_hot(digits, WORDS).float()


@pytest.mark.parametrize("form", ["plain", "hard"])
def test_a_model_that_knows_scores_one(form):
    rows = evaluation.passkey_samples(Oracle(), 200, 5, 0, form)
    assert [row["depth"] for row in rows] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert all(row["correct"] == 1 and row["digits"] == 5 for row in rows)


def test_one_wrong_digit_is_a_wrong_answer():
    rows = evaluation.passkey_samples(Oracle([3]), 200, 5, 0)
    assert all(row["correct"] == 0 and row["digits"] == 4 for row in rows)


def test_chunks_do_not_change_the_answers(monkeypatch):
    whole = evaluation.passkey_samples(tiny(), 100, 6, 0)
    monkeypatch.setattr(evaluation, "TOKENS_AT_ONCE", 100)
    assert evaluation.passkey_samples(tiny(), 100, 6, 0) == whole


@pytest.mark.parametrize("encoding", ["bam-ssmax", "rope", "sinusoidal", "alibi-ssmax"])
def test_free_decoding_repeats_what_teacher_forcing_accepts(encoding):
    model = tiny(encoding)
    row = passkey.prompts(100, passkey.equidistant(1), runtime.generator(0, "greedy")).tokens[0]
    prompt = row[: -passkey.DIGITS]
    said = evaluation.greedy_digits(model, prompt)
    with torch.inference_mode():
        guess = model(torch.cat([prompt, torch.tensor(said)])[None, :-1], last=passkey.DIGITS).argmax(-1)
    assert guess[0].tolist() == said


def test_losses_are_those_of_the_same_tokens():
    model, documents = tiny(vocabulary=11), torch.randint(11, (3, 41), generator=torch.Generator().manual_seed(0))
    rows = evaluation.document_losses(model, documents, (8, 40), scored=5)
    assert [(row["length"], row["document"]) for row in rows] == [(n, d) for n in (8, 40) for d in range(3)]
    with torch.inference_mode():
        for row in rows:
            tokens = documents[row["document"], -row["length"] - 1 :]
            logits = model(tokens[None, :-1])[0, -5:]
            expected = float(F.cross_entropy(logits, documents[row["document"], -5:]))
            assert row["loss"] == pytest.approx(expected, abs=1e-5)


def test_a_window_forgets_what_lies_before_it():
    model, documents = tiny("rope-local", 11), torch.randint(11, (2, 33), generator=torch.Generator().manual_seed(1))
    changed = documents.clone()
    changed[:, :4] = (changed[:, :4] + 1) % 11  # further back than two layers of a window of 4 can see
    for local in (4, None):
        seen = [evaluation.document_losses(model, d, (32,), 3, local) for d in (documents, changed)]
        assert (seen[0] == seen[1]) == (local is not None)


@pytest.mark.parametrize("n", [1, 7, 10, 20])
def test_binomial_intervals_against_scipy(n):
    for k in range(n + 1):
        exact = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
        assert evaluation.binomial_interval(k, n) == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_seed_intervals_against_scipy():
    values = [0.2, 0.5, 0.9, 0.7]
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert evaluation.seed_interval(values) == pytest.approx((expected.low, expected.high))
    low, high = evaluation.seed_interval([0.3, 0.3, 0.3])
    assert (low, high) == pytest.approx((0.3, 0.3))


def test_one_seed_tells_nothing_of_the_spread():
    assert evaluation.seed_interval([0.7]) == (-math.inf, math.inf)


def test_seed_intervals_cover_as_often_as_they_say():
    draws = np.random.default_rng(0).normal(size=(2000, 3))
    covered = np.mean([low <= 0 <= high for low, high in map(evaluation.seed_interval, draws)])
    assert 0.93 < covered < 0.97


@pytest.mark.parametrize("encoding", [name for name, row in ENCODINGS.items() if row.pairs])
def test_a_bias_of_each_pair_is_read_by_what_holds_one(encoding):
    rows = evaluation.passkey_samples(tiny(encoding), 300, 2, 0)
    assert [row["depth"] for row in rows] == [0.0, 1.0]


@pytest.mark.parametrize("encoding", ["alibi-ssmax", "bam-laplace-ssmax", "rope-local"])
def test_the_fastest_reader_reads_what_the_plain_one_does(encoding, monkeypatch):
    model, length = tiny(encoding), 3000
    local = 128 if encoding == "rope-local" else None
    documents = torch.randint(WORDS, (2, length + 1), generator=torch.Generator().manual_seed(0))
    assert evaluation.reader(model) == "sdpa_skip"
    fast = evaluation.passkey_samples(model, length, 6, 0, local=local)
    near = evaluation.document_losses(model, documents, (length // 2, length), 8, local=local)
    monkeypatch.setattr(evaluation, "reader", lambda model: "sdpa")
    assert evaluation.passkey_samples(model, length, 6, 0, local=local) == fast
    plain = evaluation.document_losses(model, documents, (length // 2, length), 8, local=local)
    assert [row["loss"] for row in near] == pytest.approx([row["loss"] for row in plain], abs=1e-5)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_every_part_of_an_interval_of_shares_has_its_level(level):
    right, asked, other = [440, 470, 500, 530, 560], [1000] * 5, [300] * 5
    assert evaluation.share_interval(right, asked, level) == pytest.approx(
        evaluation.seed_interval(np.divide(right, asked), level)
    )
    gaps = np.subtract(right, other) / 1000
    assert evaluation.difference_interval(right, asked, other, asked, level) == pytest.approx(
        evaluation.seed_interval(gaps, level)
    )
    end = 1 - ((1 - level) / 2) ** (1 / 50)  # of 50 of 50 right
    same = evaluation.difference_interval([10] * 5, [10] * 5, [0] * 5, [10] * 5, level)
    assert same == pytest.approx((1 - math.hypot(end, end), 1.0))
