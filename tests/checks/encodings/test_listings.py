"""The survey's listings, run by their facts: caches, names, keywords and the ramp."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from attention_priors.checks import CHECKS
from attention_priors.checks.encodings import listings
from attention_priors.checks.encodings.rotary import frequencies
from attention_priors.checks.rotations import oracles

NAME, REBUILT, KEYWORD, CLAMP, RAMP, VARIABLE = CHECKS["PE-E-CODE"].sentences


def content(width: int, which: int) -> np.ndarray:
    """A vector of queries (0) or of keys (1)."""
    return np.random.default_rng(width).standard_normal((2, width))[which]


def grows(trained: int, lengths: Sequence[int]) -> list[bool]:
    """Calls in which transformers' dynamic rotary embedding, which tests against what it holds, grows."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    sizes = {"hidden_size": 4, "num_attention_heads": 1, "max_position_embeddings": trained}
    scaling = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10_000.0}
    theirs, found = LlamaRotaryEmbedding(LlamaConfig(rope_parameters=scaling, **sizes)), []
    for length in lengths:
        held = int(theirs.max_seq_len_cached)
        theirs(torch.ones(1), torch.tensor([[length - 1]]))
        found.append(int(theirs.max_seq_len_cached) > held)
    return found


def decoded(listing: str, trained: int, steps: int) -> float:
    """Token by token, keys kept as the listing turned them: the largest error of a score against transformers' RoPE."""
    known, width, worst = listings.facts(listing), 8, 0.0
    x = torch.from_numpy(np.stack([np.resize(content(8 * steps, which), (1, steps, width)) for which in (0, 1)]))
    listed = listings.Listed(listing, width, *([trained] if known["length parameter"] != "none" else []))
    q, k = oracles.rotate_half(*x, torch.from_numpy(np.outer(np.arange(steps), frequencies(width))))
    expected, keys = (q @ k.mT).numpy(), []
    for t in range(steps):
        angles = listed(t + 1 if known["length"] == "all keys" else 1)
        row = angles[t if known["rows read"] == "from the first new position" else 0]
        cos, sin = (np.tile(f(row), 2) for f in (np.cos, np.sin))
        turned = {name: rows[:, t].numpy() for name, rows in zip(("queries", "keys"), x, strict=True)}
        for name in known["rotated"].split(" and "):
            y = turned[name]
            turned[name] = y * cos + np.concatenate([-y[:, width // 2 :], y[:, : width // 2]], axis=1) * sin
        keys.append(turned["keys"])
        found = np.einsum("hd,jhd->hj", turned["queries"], np.array(keys))
        worst = max(worst, float(np.abs(found - expected[:, t, : t + 1]).max()))
    return worst


CALLS = (2048, 4096, 4096, 2049, 4097, 1)


def test_a_short_call_rebuilds_nothing():
    assert not REBUILT.judge(lambda trained, length: True).holds and not listings.rebuilt(2048, first=1, length=1)


@pytest.mark.parametrize("listing", ["linear", "dynamic", "partial"])
def test_the_scaled_listings_grow_as_transformers_does(listing):
    assert [done for _, done in listings.rebuilds(listing, 2048, CALLS)] == grows(2048, CALLS)


def test_the_llama_listing_forgets_that_it_grew():
    """Every call above 2048 builds, the one of 2049 a shorter table than the one it replaces."""
    calls = listings.rebuilds("huggingface", 2048, CALLS)
    assert [done for _, done in calls] == [False, True, True, True, True, False]
    assert [held for held, _ in calls] == [2048, 2048, 4096, 4096, 2049, 4097]
    assert grows(2048, CALLS) == [False, True, False, False, True, False]


def test_a_listing_that_tested_against_its_cache_would_refute_the_statement(monkeypatch):
    as_printed = listings.facts
    monkeypatch.setattr(listings, "facts", lambda name: as_printed(name) | {"compared": "max_seq_len_cached"})
    fresh = replace(REBUILT)  # truths are kept, so a new law
    assert not fresh.judge().holds and fresh.judge(fresh.wrong).holds


@pytest.mark.parametrize(
    "rule", [lambda trained, length: length >= trained, False, lambda first, length: length != first]
)
def test_other_rules_of_rebuilding_are_refuted(rule):
    assert not REBUILT.judge(rule).holds


def test_decoding_with_the_listings():
    """Hugging Face's positions are right. GPT-NeoX's table starts at 0 for a new token: nothing is turned at all."""
    assert decoded("huggingface", 8, 24) < 1e-5
    q, k = (np.resize(content(192, which), (24, 8)) for which in (0, 1))
    halves = (x[..., :4] + 1j * x[..., 4:] for x in (q, k))
    lag = np.subtract.outer(np.arange(24), np.arange(24))
    turned = np.einsum(
        "ip,jp,ijp->ij",
        *(x.conj() if n else x for n, x in enumerate(halves)),
        np.exp(1j * lag[..., None] * frequencies(8)),
    ).real
    missed = np.abs(np.tril(q @ k.T - turned)).max()
    assert missed > 1 and decoded("neox", 8, 24) == pytest.approx(missed, abs=1e-5)


def test_names_that_are_defined_are_found():
    assert (listings.called("huggingface"), listings.called("neox")) == ("found", "NameError")
    with pytest.raises(ValueError, match=r"no listing 'gptj'.*neox"):
        listings.facts("gptj")


def test_other_limits_of_the_ramp_are_refuted():
    for clamp, entries in ((-2, 0), (0, 0), (-1, 1)):
        assert not RAMP.judge(
            lambda width, trained, c=clamp, e=entries: listings.ramp(width, trained, width + c, width // 2 * (1 + e))
        ).holds
    # clamped to d/2 - 1, the fastest plane at 131,072 positions would not keep its frequency
    assert listings.ramp(128, 131_072, 63, 64)[0] > 0 == listings.ramp(128, 131_072, 127, 64)[0]
