"""Heads, maps and edits of a model whose priors are known."""

import math

import pytest
import torch

from attention_priors import config
from attention_priors.config import ModelConfig
from attention_priors.experiments import learned
from attention_priors.experiments.arms import passkey_run
from attention_priors.experiments.heads import FIGURE_LENGTH, heads_and_maps
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
    for edit, left in (("as trained", [-0.5, 0.7]), ("negative to uniform", [0, 0.7]),
                       ("positive to uniform", [-0.5, 0]), ("all uniform", [0, 0])):  # fmt: skip
        built.load_state_dict(state)
        edited = learned.edited(built, edit)
        for block in edited.blocks:
            assert block.attention.prior.theta_beta.tolist() == pytest.approx(left)
    with pytest.raises(ValueError, match="unknown edit 'none'"):
        learned.edited(built, "none")


def test_a_second_reading_gives_the_same_rows_in_the_same_order_of_columns(tmp_path):
    profile = config.profile("smoke")
    run = passkey_run(profile, "bam-ssmax", 0)
    asked = (run, str(tmp_path), "cpu", (128,))
    fresh = learned.examine(*asked)
    stored = learned.examine(*asked)
    assert fresh == stored and {name: list(rows[0]) for name, rows in fresh.items()} == {
        name: list(rows[0]) for name, rows in stored.items()
    }
