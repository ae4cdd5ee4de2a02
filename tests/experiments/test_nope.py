"""What a model without positional encoding knows of position: exact laws of random models, and a run on some text."""

import math

import numpy as np
import pytest
import torch

from attention_priors.config import ModelConfig
from attention_priors.experiments import corpus, nope
from attention_priors.model import Transformer

VOCABULARY, LENGTH = 50, 24


def model(encoding, causal, seed=0):
    torch.manual_seed(seed)
    settings = {"vocabulary": VOCABULARY, "width": 32, "layers": 2, "heads": 4, "hidden": 32}
    return Transformer(ModelConfig(encoding=encoding, causal=causal, **settings)).eval()


@pytest.fixture(scope="module")
def tokens():
    """Token 0 at the first place and nowhere else."""
    drawn = torch.randint(1, VOCABULARY, (256, LENGTH), generator=torch.Generator().manual_seed(1))
    drawn[:, 0] = 0
    return drawn


@pytest.mark.parametrize("seed", [0, 1])
def test_an_encoder_without_positions_moves_with_its_tokens(tokens, seed):
    assert nope.reordering(model("nope", False, seed).double(), tokens) < 1e-12
    assert nope.reordering(model("nope", False, seed), tokens) < 1e-4
    assert nope.reordering(model("rope", False, seed), tokens) > 1e-2
    assert nope.reordering(model("nope", True, seed), tokens) > 1e-2, "the mask tells the order"


def test_a_probe_finds_positions_where_they_are_and_nowhere_else(tokens):
    blind, masked, placed = (
        nope.probe(model(*of), tokens) for of in (("nope", False), ("nope", True), ("sinusoidal", False))
    )
    assert len(blind) == len(masked) == 3, "the embedding and two blocks"
    assert max(blind) < 0.02, "no encoder knows the place of a token without an encoding"
    assert masked[0] < 0.02 < 0.05 < masked[1], "a causal one dilutes the first token among all others"
    assert placed[0] > 0.7, "a sinusoidal embedding holds it from the start"


def test_the_probe_is_least_squares_on_the_other_half(tokens):
    made = model("nope", True)
    x = [layer.numpy() for layer in nope.activations(made, tokens)][2]
    places = np.tile(np.arange(1, LENGTH) - LENGTH / 2, 128)
    fitted, held = (np.c_[part[:, 1:].reshape(-1, 32), np.ones(len(places))] for part in (x[:128], x[128:]))
    weights = np.linalg.lstsq(fitted, places, rcond=None)[0]
    expected = 1 - np.square(held @ weights - places).mean() / np.square(places).mean()
    assert nope.probe(made, tokens)[2] == pytest.approx(expected, abs=1e-4)


def test_activations_are_those_of_the_forward_pass(tokens):
    made = model("rope", True)
    layers = nope.activations(made, tokens[:3])
    torch.testing.assert_close(layers[0].float(), made.embedding(tokens[:3]))
    torch.testing.assert_close(made.head(made.norm(layers[-1].float())), made(tokens[:3]), rtol=0, atol=1e-5)
    assert not made.blocks[0]._forward_hooks and not made.blocks[0]._forward_pre_hooks


def test_shuffled_windows_hold_the_same_tokens_elsewhere(tokens):
    mixed = nope.shuffled(tokens, 77)
    assert mixed.shape == tokens.shape and (mixed[:, 0] == 77).all()
    assert torch.equal(mixed[:, 1:].sort(1).values, tokens[:, :-1].sort(1).values)
    assert float((mixed[:, 1:] == tokens[:, :-1]).float().mean()) < 0.1
    assert len((mixed[:, 1:] == 0).float().argmax(1).unique()) == LENGTH - 1, "what stood first stands anywhere"


def test_a_run_on_a_little_text(small, tmp_path, cache):
    found = nope.study(small, tmp_path / "runs", cache)
    layers = small.nope.size.layers + 1
    trained = found[found["encoding"] != "untrained"]
    assert trained.groupby(["kind", "encoding"]).size().to_dict() == {
        (kind, name): layers + 2 for kind in ("causal", "masked") for name in ("nope", "rope")
    }
    control = found[found["encoding"] == "untrained"]
    assert set(control["quantity"]) == {"probe"} and set(control["kind"]) == {"causal"} and len(control) == layers
    assert found["run"].nunique() == 5


def test_losses_are_those_of_the_scored_tokens(small, cache):
    """A model that knows nothing but the frequencies of tokens loses exactly the reference; a uniform one ln V."""
    packed, path = corpus(small, cache)
    text, ids = nope.validation(packed, 16, 16)
    assert text.shape == (16, 17) and ids.shape == (16, 16)
    numbers = packed.documents("train")
    stream = packed.tokens[packed.offsets[numbers.start] : packed.offsets[numbers.stop]]
    log_share = torch.from_numpy(np.log((np.bincount(stream, minlength=300) + 1) / (len(stream) + 300))).float()
    for kind, more in (("causal", 0), ("masked", 1)):
        made = Transformer(nope.spec(small, kind, "rope", 0, packed, path).model)
        made.head.register_forward_hook(lambda *io, n=more: torch.cat([log_share, torch.full((n,), -99.0)]) + 0 * io[2])
        found, reference = nope.loss(made, text, ids, packed)
        assert found == pytest.approx(reference, abs=1e-5) and 0 < reference < math.log(300)
        made.head.register_forward_hook(lambda *io: torch.zeros_like(io[2]))
        found, _ = nope.loss(made, text, ids, packed)
        assert found == pytest.approx(math.log(300 + more), abs=1e-5)


def test_masked_models_have_one_id_more_and_say_so(small, cache):
    from attention_priors.tasks.masking import MaskedBatches

    packed, path = corpus(small, cache)
    spec = nope.spec(small, "masked", "nope", 0, packed, path)
    assert spec.model.vocabulary == 301 and not spec.model.causal
    assert nope.spec(small, "causal", "nope", 0, packed, path).model.vocabulary == 300
    short = spec.model_copy(update={"model": spec.model.model_copy(update={"vocabulary": 300})})
    with pytest.raises(ValueError, match="the model has 300 ids; 300 of the corpus and a mask make 301"):
        MaskedBatches(short)
