"""Other rotations in models of Hugging Face: equal to those of our models, and to what transformers has of them."""

import math

import pytest
import torch
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM

from attention_priors.model import Transformer
from attention_priors.parallel import Options, baselines
from attention_priors.parallel.baselines import Direct, Streaming, by_interpolation, by_ntk, by_yarn
from attention_priors.parallel.hf import HuggingFace
from attention_priors.parallel.unrotated import Unrotated, rectified, spectrum_of, streaming, stretched
from attention_priors.positions.rotary import rope
from parallel.tiny import FAMILIES, SIZES, export, ours, theirs, whole

EXACT = {"atol": 2e-5, "rtol": 0}
TRAINED = 100
TEXT = Options(window=None)
STRETCHES = {"pi": by_interpolation, "dynamic-ntk": by_ntk, "yarn": by_yarn}
WAYS = {"pi": (1.0, 0.25), "dynamic-ntk": (2.0, 4.0), "yarn": (1.0, 0.5), "rerope": (math.inf, 16.0)}


def opened(reader: HuggingFace, text: torch.Tensor, name: str, number: float | None = None) -> Unrotated:
    number = WAYS[name][0] if number is None else number
    if name == "rerope":
        return rectified(reader, text, text[:0], TEXT, number=number)
    return stretched(reader, text, text[:0], TEXT, how=STRETCHES[name], number=number)


def of_ours(model: Transformer, name: str, number: float) -> Transformer:
    if name == "rerope":
        return baselines.rectified(model, TRAINED, number)
    return baselines.stretched(model, TRAINED, STRETCHES[name], number)


@pytest.fixture(scope="module")
def model():
    return ours("rope", width=64)


@pytest.mark.parametrize("length", [60, 1500])
@pytest.mark.parametrize("name", WAYS)
def test_they_are_those_of_our_models(name, length, model, tokens):
    """1,500 tokens are more than one piece; the question is fed in two parts, the second at another length."""
    text, question = tokens(length), tokens(9)
    for number in WAYS[name]:
        expected = Direct(of_ours(model, name, number), text)
        found = opened(HuggingFace(export(model, longest=TRAINED)), text, name, number)
        for part in (question[:5], question[5:]):
            torch.testing.assert_close(found.feed(part), expected.feed(part), **EXACT)


@pytest.mark.parametrize("length", [25, 1500])
def test_streaming_is_that_of_our_models(length, model, tokens):
    text, question = tokens(length), tokens(9)
    expected = Streaming(model, text, 40)
    found = streaming(HuggingFace(export(model)), text, question, Options(window=40))
    for part in (question[:5], question[5:]):
        torch.testing.assert_close(found.feed(part), expected.feed(part), **EXACT)
    assert found.entries == expected.entries and len(found.at) == min(length + 9, 39)


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_changes_up_to_the_length_of_the_model(family, tokens):
    model, text, question = theirs(family, max_position_embeddings=256), tokens(90), tokens(9)
    expected = whole(model, torch.cat([text, question]))[-9:]
    before = model.config._attn_implementation
    reader = HuggingFace(model)
    sessions = [opened(reader, text, name) for name in WAYS] + [streaming(reader, text, question, Options(window=256))]
    for session in sessions:
        torch.testing.assert_close(session.feed(question), expected, **EXACT)
    assert model.config._attn_implementation == before


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("name", "kind"), [("pi", "linear"), ("yarn", "yarn"), ("dynamic-ntk", "dynamic")])
def test_they_are_those_of_transformers(name, kind, family, tokens):
    """Their factor is L / T for PI and YaRN; for dynamic NTK it is α."""
    factor = 2.0 if name == "dynamic-ntk" else 4.0
    given = {"rope_theta": 10_000.0, "rope_type": kind, "factor": factor, "original_max_position_embeddings": 64}
    own = theirs(family, max_position_embeddings=64, head_dim=32)
    other = theirs(family, max_position_embeddings=64, head_dim=32, rope_parameters=given)
    text, question = tokens(247), tokens(9)
    found = opened(HuggingFace(own), text, name).feed(question)
    assert (found - whole(own, torch.cat([text, question]))[-9:]).abs().max() > 1e-2
    torch.testing.assert_close(found, whole(other, torch.cat([text, question]))[-9:], atol=1e-4, rtol=0)


def test_a_begin_stands_before_the_text(model, tokens):
    text, question, reader = tokens(30), tokens(5), HuggingFace(export(model))
    for way in (rectified, streaming):
        found = way(reader, text, question, Options(window=256, bos=7)).feed(question)
        plain = way(reader, torch.cat([torch.tensor([7]), text]), question, Options(window=256)).feed(question)
        assert torch.equal(found, plain)


def test_a_spectrum_is_that_of_the_model():
    assert spectrum_of(HuggingFace(theirs("llama", head_dim=32))) == rope(32)
    scaled = {
        "rope_type": "llama3",
        "rope_theta": 1e4,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    }
    omega = spectrum_of(HuggingFace(theirs("llama", head_dim=32, rope_parameters=scaled))).omega
    assert omega[-1] == pytest.approx(rope(32).omega[-1] / 8, rel=1e-6)


def test_what_turns_otherwise_is_refused(tokens):
    text, question = tokens(30), tokens(5)
    partial = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=50,
            hidden_size=64,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25},
        )
    ).eval()
    with pytest.raises(ValueError, match=r"GPTNeoXForCausalLM turns 4 of 16 widths of a head; read it in a way that"):
        rectified(HuggingFace(partial), text, question, TEXT)
    backwards = theirs("llama")
    backwards.model.rotary_emb.register_forward_hook(lambda _, given, found: (found[0], -found[1]))
    with pytest.raises(ValueError, match=r"LlamaForCausalLM turns its planes in another layout than Llama; read it"):
        rectified(HuggingFace(backwards), text, question, TEXT)
    both = theirs("llama")
    both.other = torch.nn.Module()
    both.other.inv_freq = torch.ones(4)
    with pytest.raises(ValueError, match=r"has 2 sets of rotary frequencies, but one is needed"):
        streaming(HuggingFace(both), text, question, Options(window=40))


def test_bad_sizes_are_refused(tokens):
    text, question = tokens(30), tokens(5)
    reader = HuggingFace(theirs("llama"))
    for window in (None, 4):
        with pytest.raises(ValueError, match=rf"sinks = 4 of a window of {window}; leave room for recent keys"):
            streaming(reader, text, question, Options(window=window))
    silent = LlamaForCausalLM(LlamaConfig(**SIZES)).eval()
    silent.config.max_position_embeddings = 0
    with pytest.raises(ValueError, match=r"does not say for how many positions it is made; set config.max_position"):
        stretched(HuggingFace(silent), text, question, TEXT, how=by_ntk, number=2.0)
