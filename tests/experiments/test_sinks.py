"""What a sink is made of: content told from the prior, the band, and norms."""

import math

import pandas as pd
import pytest
import torch

from attention_priors.config import ModelConfig
from attention_priors.experiments import sinks
from attention_priors.model import Transformer

SIZE = {"vocabulary": 17, "width": 64, "layers": 2, "heads": 2, "hidden": 32}
FACTORS = (0.0, 0.5, 1.0, 4.0)


def model(name):
    torch.manual_seed(0)
    made = Transformer(ModelConfig(encoding=name, **SIZE)).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.3 * torch.randn_like(parameter) if parameter.ndim == 1 else 0.0
    return made


def found(name, length=24):
    tokens = torch.randint(17, (3, length), generator=torch.Generator().manual_seed(1))
    made = model(name)
    return made, tokens, {part: pd.DataFrame(rows) for part, rows in sinks.look(made, tokens, FACTORS).items()}


@pytest.mark.parametrize("name", ["goat-bump", "goat-code", "goat-no-sink", "alibi", "rope", "nope"])
def test_masses_are_those_of_the_attention_and_lie_in_the_band(name):
    made, tokens, frames = found(name)
    heads, factors = frames["heads"], frames["factors"]
    maps = made.attention_maps(tokens, 12)
    for row in heads.itertuples():
        assert row.mass == pytest.approx(float(maps[row.layer][:, row.head, :, 0].mean()), abs=1e-5)
    at = factors.set_index(["layer", "head", "factor"])
    for row in heads.itertuples():
        one = at.loc[(row.layer, row.head, 1.0)]
        assert one["first"] == pytest.approx(row.mass, abs=2e-6) and one["omega"] == pytest.approx(row.omega, abs=1e-5)
        assert at.loc[(row.layer, row.head, 0.0), "first"] == pytest.approx(row.prior_mass, abs=2e-6)
        assert at.loc[(row.layer, row.head, 0.0), "own"] == pytest.approx(row.own_prior, abs=2e-6)
    for key in ("first", "own"):
        assert (factors[f"{key}_low"] <= factors[key] + 1e-6).all() and (
            factors[key] <= factors[f"{key}_high"] + 1e-6
        ).all()
    assert frames["keys"].empty == (name in ("goat-no-sink", "alibi", "rope", "nope"))
    assert ("spike" in heads) == (not frames["keys"].empty)


def test_a_prior_so_steep_that_weights_vanish_leaves_finite_numbers():
    made, tokens, _ = found("alibi")
    for block in made.blocks:
        block.attention.prior.slopes.fill_(2000.0)
    rows = sinks.look(made, tokens, FACTORS)
    assert all(math.isfinite(value) for part in ("heads", "factors") for row in rows[part] for value in row.values())
    assert {row["prior_mass"] for row in rows["heads"]} == {0.0}


def test_content_alone_is_attention_without_the_prior():
    made, tokens, frames = found("goat-bump")
    with torch.no_grad():
        for parameter in made.blocks[0].attention.prior.parameters():
            parameter.zero_()
    bare = made.attention_maps(tokens, 12)[0][..., 0].mean((0, 2))
    first = frames["heads"][frames["heads"]["layer"] == 0].sort_values("head")["content_mass"]
    assert first.tolist() == pytest.approx(bare.tolist(), abs=1e-5)


def test_a_bump_is_a_spike_and_a_slope_a_rise():
    made, tokens, _ = found("goat-bump")
    bump, sink = made.blocks[0].attention.prior.factors[2], made.blocks[0].attention.prior.factors[1]
    with torch.no_grad():
        for parameter in sink.parameters():
            parameter.zero_()
        bump.height.copy_(torch.tensor([5.0, -5.0]))
        sink.slopes.copy_(torch.tensor([0.5, 0.0]))
    rows = [row for row in sinks.look(made, tokens, FACTORS)["heads"] if row["layer"] == 0]
    assert rows[0]["spike"] > 3 and rows[1]["spike"] < -3
    assert rows[0]["rise"] == pytest.approx(0.5 * 11) and rows[1]["rise"] == 0


def test_norms_are_of_the_content_of_the_first_key():
    made, tokens, frames = found("goat-no-sink")
    with torch.no_grad():
        plain = sinks._norms(made, tokens)[0].mean(0)
        weight = made.blocks[0].attention.key_value.weight.view(2, 2, 32, 64)
        weight[0, :, 22:] *= 100  # components that the prior takes: no part of the content
        assert torch.allclose(sinks._norms(made, tokens)[0].mean(0), plain)
    assert frames["heads"]["norm"].head(2).tolist() == pytest.approx(plain.tolist(), abs=1e-5)
