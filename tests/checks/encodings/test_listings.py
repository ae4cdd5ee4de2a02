"""The survey's listings, run by their facts, against transformers; names, and facts that would refute a statement."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from attention_priors.checks import CHECKS
from attention_priors.checks.encodings import listings
from attention_priors.checks.encodings.rotary import frequencies
from attention_priors.checks.rotations import oracles

CALLS = (2048, 4096, 4096, 2049, 4097, 1)


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


@pytest.mark.parametrize("listing", ["linear", "dynamic", "partial"])
def test_the_scaled_listings_grow_as_transformers_does(listing):
    assert [done for _, done in listings.rebuilds(listing, 2048, CALLS)] == grows(2048, CALLS)


def test_the_llama_listing_forgets_that_it_grew():
    """Every call above 2048 builds, the one of 2049 a shorter table than the one it replaces."""
    calls = listings.rebuilds("huggingface", 2048, CALLS)
    assert [done for _, done in calls] == [False, True, True, True, True, False]
    assert [held for held, _ in calls] == [2048, 2048, 4096, 4096, 2049, 4097]


def decoded(listing: str, trained: int, steps: int) -> float:
    """Token by token, keys kept as the listing turned them: the largest error of a score against transformers' RoPE."""
    known, width, worst = listings.facts(listing), 8, 0.0
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 1, steps, width)))
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


def test_decoding_with_the_listings():
    """Hugging Face's positions are right. GPT-NeoX's table starts at 0 for a new token: nothing is turned at all."""
    assert decoded("huggingface", 8, 24) < 1e-5 < 1 < decoded("neox", 8, 24)


def test_a_listing_that_tested_against_its_cache_would_refute_the_statement(monkeypatch):
    as_printed, rebuilt = listings.facts, CHECKS["PE-E-CODE"].sentences[1]
    monkeypatch.setattr(listings, "facts", lambda name: as_printed(name) | {"compared": "max_seq_len_cached"})
    fresh = replace(rebuilt)  # truths are kept, so a new law
    assert not fresh.judge().holds and fresh.judge(fresh.wrong).holds


def test_names_that_are_defined_are_found():
    assert (listings.called("huggingface"), listings.called("neox")) == ("found", "NameError")
    with pytest.raises(ValueError, match=r"no listing 'gptj'.*neox"):
        listings.facts("gptj")
