"""RoPE's extensions with the factor of the length: what is asked, what acts, and what is refused."""

import math

import pandas as pd
import pytest
import torch

from attention_priors import config
from attention_priors.config import ModelConfig
from attention_priors.experiments import stretches
from attention_priors.model import Transformer
from attention_priors.positions.encodings import encoding, stretched
from attention_priors.training import runs as training
from attention_priors.training.extension import extend

PROFILE = config.profile("full")
SMALL = ModelConfig(encoding="rope", vocabulary=11, width=64, layers=1, heads=2, hidden=16)


def test_tuned_rows_begin_with_ropes_weights_at_four_times_the_length():
    rows = [one for one in stretches.wanted(PROFILE) if one[1]]
    assert {name for name, _, _ in rows} == set(PROFILE.stretches.tuned)
    for name, _, spec in rows:
        assert (spec.model.encoding, spec.start.model.encoding) == (name, "rope")
        assert spec.recipe.length == 4 * spec.start.recipe.length
        assert isinstance(spec, training.RunSpec) and spec.recipe.gate is None
    longer = [(name, steps) for name, steps, spec in rows if steps > PROFILE.stretches.tuning.steps]
    assert set(longer) == set(PROFILE.stretches.longer.items()) and len(longer) == len(PROFILE.main_seeds)


def test_interpolation_by_the_length_is_dynamic_interpolation():
    torch.manual_seed(0)
    model = Transformer(SMALL)
    tokens = torch.randint(11, (1, 96))
    by_factor, dynamic = extend(model, "rope-pi", 32, 3.0), extend(model, "rope-dynamic-linear", 32)
    assert torch.allclose(by_factor(tokens), dynamic(tokens), atol=1e-5)
    assert not torch.allclose(by_factor(tokens), extend(model, "rope-pi", 32)(tokens), atol=1e-3)  # its own is 16


@pytest.mark.parametrize("name", ["rope-dynamic-ntk", "rope-rerope"])
def test_what_goes_by_the_length_itself_takes_no_factor(name):
    assert stretched(encoding(name), 2.0) is None
    with pytest.raises(ValueError, match=r"factor = 2\.0, but .* takes none.*leave it out"):
        extend(Transformer(SMALL), name, 32, 2.0)


def test_a_factor_below_one_is_refused():
    with pytest.raises(ValueError, match=r"factor = 0\.5"):
        extend(Transformer(SMALL), "rope-pi", 32, 0.5)


def test_wide_heads_leave_every_method_something_to_do():
    found = stretches.planes(PROFILE.stretches, PROFILE.passkey.recipe.length)
    assert found["acts"].all() and set(found["encoding"]) == {
        "rope-pi",
        "rope-ntk",
        "rope-partial-ntk",
        "rope-yarn",
        "rope-llama3",
    }
    yarn = found[(found["encoding"] == "rope-yarn") & (found["factor"] == 16)].set_index("plane")
    assert yarn.loc[0, "kind"] == stretches.KEPT and yarn.loc[15, "kind"] == stretches.INTERPOLATED
    assert math.isclose(yarn.loc[0, "turns"], 128 / (2 * math.pi), rel_tol=1e-9)


def test_a_method_that_finds_nothing_to_keep_cannot_act():
    """In a text of 4 tokens no plane turns once: YaRN and Llama 3 are interpolation there."""
    found = stretches.planes(PROFILE.stretches, 4)
    acts = found.groupby("encoding")["acts"].all()
    assert acts["rope-pi"] and acts["rope-ntk"] and not acts["rope-llama3"]


def test_tuned_rows_have_the_gate_of_the_weights_they_began_with():
    rows = [
        {
            "encoding": name,
            "steps": steps,
            "seed": seed,
            "length": length,
            "correct": right,
            "samples": 20,
            "trained": 128,
        }
        for seed, right in ((0, 20), (1, 10))
        for name, steps in (("rope", 0), ("rope-pi-4", 400))
        for length in (96, 128, 256)
    ]
    frame = pd.DataFrame(rows)
    passed = pd.Series(stretches._passed(frame)).groupby(frame["seed"]).all()
    assert passed[0] and not pd.Series(stretches._passed(frame))[frame["seed"] == 1].any()


def test_an_extension_that_breaks_a_model_within_its_length_counts():
    """RoPE's weights pass on seed 0 alone; read with ReRoPE they fail on seed 0, and on seed 1 they would pass."""
    right = {("rope", 0): 20, ("rope", 1): 10, ("rope-rerope", 0): 5, ("rope-rerope", 1): 20, ("alibi", 0): 10}
    frame = pd.DataFrame(
        {"encoding": name, "steps": 0, "seed": seed, "length": 128, "correct": hits, "samples": 20, "trained": 128}
        for (name, seed), hits in right.items()
    )
    assert stretches._passed(frame) == [True, False, True, False, False]
