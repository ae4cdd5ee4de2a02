"""A pretrained model, asked: what its heads carry, where keys are hidden, and that nothing is asked twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_priors import config, runtime
from attention_priors.experiments import (
    archive,
    pretrained,
    pretrained_heads,
    pretrained_keys,
    pretrained_losses,
)
from attention_priors.experiments.pretrained_answers import CHANGES, Answers, changed, document
from attention_priors.experiments.pretrained_words import READERS, WAYS
from attention_priors.integrations import extending
from attention_priors.integrations.pretrained import RANDOM, Pretrained, opened
from attention_priors.store.layout import Layout

PROFILE = config.profile("smoke")
SETTINGS = PROFILE.pretrained


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    return Answers(opened(RANDOM), tmp_path, config.profile("smoke"))


def triangle(curve: Tensor, sink: float, queries: int, noise: float = 0.0) -> Tensor:
    """Logits of the last queries: a function of the lag, and another number for the first key."""
    keys = len(curve)
    lag = torch.arange(keys - queries, keys)[:, None] - torch.arange(keys)
    logits = curve[lag.clamp(min=0)] + noise * torch.randn(queries, keys, generator=torch.Generator().manual_seed(0))
    logits[:, 0] = sink
    return logits


def test_a_head_that_is_position_alone_is_told_to_be_so() -> None:
    """ALiBi with a sink: nothing is left beyond lag and first key, and the generalised Gaussian has β = 1."""
    lags = torch.arange(200.0)
    found, mean = pretrained_heads.of_head(triangle(-0.05 * lags, 2.0, 100), 100)
    assert found["by_lag"] < 1e-4 and found["by_ggd"] < 0.02 and found["by_nothing"] > 0.3
    assert found["beta"] == pytest.approx(1, abs=0.15)
    torch.testing.assert_close(mean[:190] - mean[0], -0.05 * lags[:190], atol=1e-3, rtol=0)
    weights = torch.cat([torch.tensor([2.0]), -0.05 * lags[:199]]).softmax(0)
    assert found["sink"] == pytest.approx(float(weights[0]), rel=0.05)
    assert found["near"] == pytest.approx(float(weights[1:17].sum()), rel=0.05)


def test_content_is_what_the_position_does_not_tell() -> None:
    curve = torch.zeros(200)
    alone, _ = pretrained_heads.of_head(triangle(curve, 0.0, 100), 100)
    mixed, _ = pretrained_heads.of_head(triangle(curve, 0.0, 100, noise=2.0), 100)
    assert alone["by_nothing"] < 1e-5 and alone["by_lag"] < 1e-5 < 0.4 < mixed["by_lag"]
    far, _ = pretrained_heads.of_head(triangle(torch.zeros(600), -20.0, 100), 500)
    assert far["far"] == pytest.approx(1 - 256 / 550, abs=0.02) and far["sink"] < 1e-6


@pytest.mark.parametrize("beta", [-0.5, 0.5, 2.0])
def test_a_generalised_gaussian_is_found_again(beta: float) -> None:
    lags = torch.arange(100.0)
    curve = -2 * (lags + (1e-5 if beta > 0 else 1.0)) ** beta
    found, scale, fit = pretrained_heads.ggd(curve, torch.ones(100) / 100)
    assert found == pytest.approx(beta, rel=0.15) and scale > 0
    assert float((fit - curve).abs().max()) < 0.05 * float(curve.max() - curve.min())


def test_anatomy_is_that_of_the_model(answers: Answers) -> None:
    """The last head of the second layer, from the weights that transformers gives."""
    tokens = document(answers.found, "topics-1", 64)
    rows = pretrained_heads.anatomy(answers, tokens)
    assert [(row["layer"], row["head"]) for row in rows] == [(layer, head) for layer in range(2) for head in range(4)]
    model = answers.found.model
    model.set_attn_implementation("eager")
    p = model(tokens[None], output_attentions=True).attentions[1][0, 3, 32:]
    assert rows[-1]["sink"] == pytest.approx(float(p[:, 0].mean()), abs=1e-5)
    by_head = pretrained_heads.by_head(answers, SETTINGS.documents, SETTINGS.heads)
    assert len(by_head) == len(SETTINGS.documents) * 2 * 4 and not set(by_head[0]) & set(pretrained_heads.OLD)


def test_losses_are_those_of_the_tokens_before_each_length(answers: Answers) -> None:
    tokens = document(answers.found, "topics-1", 60)
    found = pretrained_losses.losses(answers.found.model, tokens, [30, 60], 10)
    logits = answers.found.model(tokens[None]).logits[0].detach()
    for length, loss in zip([30, 60], found, strict=True):
        expected = F.cross_entropy(logits[length - 11 : length - 1], tokens[length - 10 : length])
        assert loss == pytest.approx(float(expected), abs=1e-5)


def test_every_way_changes_the_model_and_is_put_back(answers: Answers) -> None:
    model, tokens = answers.found.model, document(answers.found, "topics-1", 192)[None]
    with torch.inference_mode():
        before = model(tokens).logits
        for way in WAYS:
            with changed(model, CHANGES[way]) as read:
                moved = float((read(tokens).logits - before).abs().max())
            assert (moved > 1e-6) == (way != "as-is"), way
            assert torch.equal(model(tokens).logits, before), way
    assert CHANGES.keys() == WAYS.keys() and not WAYS.keys() & READERS.keys()


def test_evicting_nothing_is_the_model_as_it_is(answers: Answers) -> None:
    rows = pd.DataFrame(pretrained_losses.without_keys(answers, ["topics-1"], SETTINGS.eviction))
    tokens = document(answers.found, "topics-1", SETTINGS.eviction.length)
    plain = pretrained_losses.losses(answers.found.model, tokens, [len(tokens)], SETTINGS.eviction.scored)
    assert rows.loc[rows["region"] == pretrained_losses.BASE, "loss"].tolist() == pytest.approx(plain, abs=1e-5)
    assert len(rows) == 1 + len(pretrained_losses.REGIONS) * 4


def test_a_key_stands_once_at_its_depth(answers: Answers) -> None:
    keys = SETTINGS.keys
    for number in range(keys.prompts):
        made = pretrained_keys.prompt(answers.found, keys, 120, number)
        assert len(made.text) + len(made.question) + len(made.answer) == 120
        text, key = bytes(made.text.tolist()).decode(), bytes(made.answer.tolist()).decode().strip()
        needle = bytes(made.text[slice(*made.wanted)].tolist()).decode()
        assert needle == pretrained_keys.KEY.format(key=key) and text.count(key) == 2 and len(key) == 5
        assert made.depth == (number + 0.5) / keys.prompts
    first, again = (pretrained_keys.prompt(answers.found, keys, 120, 0) for _ in range(2))
    assert torch.equal(first.text, again.text)


class Knows(torch.nn.Module):
    """In place of the unembedding: every token is followed by the one that `tokens` has after it."""

    def __init__(self, tokens: Tensor) -> None:
        super().__init__()
        self.tokens = tokens

    def forward(self, hidden: Tensor) -> Tensor:
        return F.one_hot(self.tokens[-hidden.shape[1] :], 256).float()[None]


@pytest.mark.parametrize("reader", ["as-is", *READERS])
def test_a_prompt_counts_when_every_token_of_the_answer_is_right(answers: Answers, reader: str) -> None:
    made = pretrained_keys.prompt(answers.found, SETTINGS.keys, 150, 0)

    def asked(prompt: Any) -> bool:
        if reader in READERS:
            return pretrained_keys.in_parts(answers.found, prompt, reader, SETTINGS.keys.window)
        return pretrained_keys.whole(answers.found, prompt, CHANGES[reader])

    answers.found.model.lm_head = Knows(torch.cat([made.text, made.question, made.answer])[1:])
    assert asked(made)
    assert not asked(replace(made, answer=torch.cat([made.answer[:-1], made.answer[-1:] + 1])))


EVERY = [(layer, head) for layer in range(2) for head in range(4)]


@pytest.mark.parametrize("way", ["as-is", "ntk"])
def test_with_all_heads_far_nothing_is_windowed_and_with_none_all_are(answers: Answers, way: str) -> None:
    model, tokens = answers.found.model, document(answers.found, "topics-1", 192)[None]

    def logits(change: Any) -> Tensor:
        with torch.inference_mode(), changed(model, change) as read:
            return read(tokens).logits

    windowed = logits(lambda model, trained: extending.window(CHANGES[way](model, trained), 32, 4))
    assert torch.equal(logits(pretrained_keys.seeing(way, EVERY, EVERY, 32)), logits(CHANGES[way]))
    assert torch.equal(logits(pretrained_keys.seeing(way, [], EVERY, 32)), windowed)
    some = logits(pretrained_keys.seeing(way, EVERY[:3], EVERY, 32))
    assert float((some - windowed).abs().max()) > 1e-6 < float((some - logits(CHANGES[way])).abs().max())
    spared = logits(pretrained_keys.seeing(way, EVERY[:3], EVERY, 192))  # a window that hides nothing
    torch.testing.assert_close(spared, logits(CHANGES[way]), atol=1e-5, rtol=0)


def test_heads_fetch_by_their_weight_on_the_digits_of_the_key(answers: Answers) -> None:
    """The last head, from the weights that transformers gives."""
    made = pretrained_keys.prompt(answers.found, SETTINGS.far, 150, 0)
    tokens = torch.cat([made.text, made.question, made.answer[:-1]])
    digits = [at for at in range(*made.wanted) if 48 <= int(tokens[at]) <= 57]
    assert len(digits) == 2 * pretrained_keys.DIGITS
    found = pretrained_keys.on_digits(answers.found, made)
    model = answers.found.model
    model.set_attn_implementation("eager")
    p = model(tokens[None], output_attentions=True).attentions[1][0, 3, -len(made.answer) :]
    assert found.shape == (2, 4) and float(found[1, 3]) == pytest.approx(p[:, digits].sum(-1).mean().item(), abs=1e-5)


def test_heads_stand_in_the_order_of_what_they_are_ranked_by() -> None:
    heads = {
        (0, 0): {"weight": 0.1, "far": 0.5},
        (0, 1): {"weight": 0.7, "far": 0.2},
        (1, 0): {"weight": 0.3, "far": 0.9},
    }
    assert pretrained_keys.ranked("fetching", heads) == [(0, 1), (1, 0), (0, 0)]
    assert pretrained_keys.ranked("others", heads) == [(0, 0), (1, 0), (0, 1)]
    assert pretrained_keys.ranked("distance", heads) == [(1, 0), (0, 0), (0, 1)]
    assert sorted(pretrained_keys.ranked("random-0", heads)) == sorted(heads)
    many = {(layer, head): {} for layer in range(9) for head in range(9)}
    assert pretrained_keys.ranked("random-0", many) != pretrained_keys.ranked("random-1", many) != sorted(many)


def test_heads_are_not_ranked_on_the_prompts_that_are_asked() -> None:
    with pytest.raises(ValueError, match="ranked on 120 tokens, at which keys are asked for; take another length"):
        type(SETTINGS.far)(**SETTINGS.far.model_dump() | {"ranked": 120})


def test_decoding_with_a_cache_is_one_pass_where_the_factor_is_fixed(answers: Answers) -> None:
    model, tokens = answers.found.model, document(answers.found, "topics-1", 90)
    for layer in model.base_model.layers:  # which attends to almost all keys alike
        layer.self_attn.q_proj.weight.data *= 1000
    plain = pretrained_losses.losses(model, tokens, [90], 26)[0]
    assert pretrained_losses.decoded(model, tokens, 64) == pytest.approx(plain, abs=1e-5)
    with changed(model, CHANGES["ntk"]) as fixed:
        whole = pretrained_losses.losses(fixed, tokens, [90], 26)[0]
        assert pretrained_losses.decoded(fixed, tokens, 64) == pytest.approx(whole, abs=1e-5)
    with changed(model, lambda model, _: extending.dynamic_ntk(model, trained=20)) as growing:
        whole = pretrained_losses.losses(growing, tokens, [90], 26)[0]
        assert abs(pretrained_losses.decoded(growing, tokens, 64) - whole) > 1e-4


def test_answers_are_asked_once_and_come_back_from_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in an empty store, from what was archived."""
    first = pretrained.measure(PROFILE, tmp_path / "runs", tmp_path)
    assert {frame["model"].iloc[0] for frame in first.values()} == {"a random Llama of two layers"}
    folder, layout = pretrained.folder(PROFILE, tmp_path / "runs"), Layout(tmp_path / "results", "smoke")
    archive.manifest.add(layout, archive.archive_answers(folder, layout))
    monkeypatch.setattr(runtime, "say", lambda *_: pytest.fail("asked again"))
    archive.restore_answers(PROFILE, tmp_path / "empty", layout)
    for runs in ("runs", "empty"):
        for name, frame in pretrained.measure(PROFILE, tmp_path / runs, tmp_path).items():
            pd.testing.assert_frame_equal(frame, first[name])


def test_answers_of_a_users_model_are_not_committed(tmp_path: Path) -> None:
    own = PROFILE.model_copy(update={"pretrained": SETTINGS.model_copy(update={"model": "mine"})})
    assert pretrained.folder(own, tmp_path) is None and archive.archive_answers(None, Layout(tmp_path, "smoke")) == []
    assert pretrained.folder(config.profile("cpu"), tmp_path).name == "pretrained-08587497151051bb"


def test_a_document_that_is_too_short_is_refused(answers: Answers) -> None:
    found = Pretrained(answers.found.model, answers.found.words, "", "", "")
    with pytest.raises(ValueError, match="has 72143 tokens, but 100000 are read"):
        document(found, "topics-1", 100_000)
