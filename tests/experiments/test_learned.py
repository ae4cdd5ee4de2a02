"""Heads, maps and edits of a model whose priors are known."""

import math

import pandas as pd
import pytest
import torch

from attention_priors.config import ModelConfig
from attention_priors.experiments import learned
from attention_priors.experiments.heads import FIGURE_LENGTH, content_masses, heads_and_maps, key_prompts
from attention_priors.model import Transformer
from attention_priors.tasks import passkey


def model(beta=0.0):
    torch.manual_seed(0)
    built = Transformer(
        ModelConfig(vocabulary=len(passkey.VOCABULARY), width=16, layers=2, heads=2, hidden=16, encoding="bam-ssmax")
    ).eval()
    with torch.no_grad():
        for block in built.blocks:
            block.attention.prior.theta_beta.fill_(beta)
            block.attention.query.weight.zero_()  # content says nothing: attention is the prior alone
    return built


def test_uniform_heads_give_the_key_its_share():
    heads, maps = heads_and_maps(model(), seed=0)
    assert len(heads) == 4
    for row in heads:
        # The five answering queries see a few keys less than the whole prompt.
        assert row["passkey_lift"] == pytest.approx(1, rel=5e-3)
        assert row["entropy"] == pytest.approx(math.log(FIGURE_LENGTH), rel=1e-3)
    total = sum(row["weight"] for row in maps if row["layer"] == 0 and row["head"] == 0)
    assert total == pytest.approx(1, abs=1e-4)


def test_local_heads_look_near():
    local = model(beta=1.0)
    for row in heads_and_maps(local, seed=0)[0]:
        assert row["recent_mass"] > 0.99 and row["passkey_mass"] < 1e-6


def test_edits_touch_what_they_name():
    built = model()
    with torch.no_grad():
        for block in built.blocks:
            block.attention.prior.theta_beta.copy_(torch.tensor([-0.5, 0.7]))
    state = {name: value.clone() for name, value in built.state_dict().items()}
    for edit, left in (
        ("as trained", [-0.5, 0.7]),
        ("negative to uniform", [0, 0.7]),
        ("positive to uniform", [-0.5, 0]),
        ("all uniform", [0, 0]),
    ):
        built.load_state_dict(state)
        edited = learned.edited(built, edit, 0)
        for block in edited.blocks:
            assert block.attention.prior.theta_beta.tolist() == pytest.approx(left)
    with pytest.raises(ValueError, match="unknown edit 'none'"):
        learned.edited(built, "none", 0)


def test_the_control_edits_as_many_heads_which_the_seed_draws():
    drawn = []
    for seed in (0, 0, 1, 2, 3):
        built = model(beta=0.7)
        built.blocks[0].attention.prior.theta_beta.data[:] = torch.tensor([-0.5, -0.2])
        edited = learned.edited(built, "random to uniform", seed)
        drawn.append([value == 0 for block in edited.blocks for value in block.attention.prior.theta_beta.tolist()])
    assert drawn[0] == drawn[1] and len({tuple(each) for each in drawn}) > 1
    assert {sum(each) for each in drawn} == {2}


def test_content_alone_is_attention_without_its_own_prior():
    local = model(beta=1.0)  # content says nothing, so that what is left of attention is uniform
    seen = FIGURE_LENGTH - (passkey.DIGITS - 1) / 2
    for mass in content_masses(local, seed=0).values():
        assert mass == pytest.approx(passkey.KEY_TOKENS / seen, rel=1e-3)
    assert all(block.attention.prior.theta_beta.tolist() == [1.0, 1.0] for block in local.blocks), "left as it was"


def test_sharpness_is_the_deviation_of_the_content_logits():
    built = model(beta=1.0)
    with torch.no_grad():
        for block in built.blocks:
            block.attention.query.weight.normal_(0, 0.3)
    rows = pd.DataFrame(learned.sharpness(built, 128, seed=0))
    assert len(rows) == 4 and (rows["product"] > 0).all()
    assert rows["product"].to_numpy() == pytest.approx((rows["sigma"] * rows["scale"].abs()).to_numpy(), abs=1e-5)
    x, own = [], built.blocks[0].attention
    drawn = key_prompts(128, learned.SHARP_PROMPTS, 0)
    own.register_forward_pre_hook(lambda module, given: x.append(given))
    built(drawn.tokens[:, :-1])
    q, k, _, _ = own.project(x[0][0], x[0][1], 0)
    logits = (q @ k.transpose(2, 3) / math.sqrt(q.shape[-1]))[:, :, -1]
    others = torch.cat([logits[..., : drawn.starts[0]], logits[..., drawn.starts[0] + passkey.KEY_TOKENS :]], -1)
    last = others.std(-1).square().mean(0).sqrt()  # of one of the five queries
    assert rows["sigma"][:2].to_numpy() == pytest.approx(last.detach().numpy(), rel=0.5)
