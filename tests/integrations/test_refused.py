"""What cannot be added or called: one line that names the value and the remedy, and a model that is as it was."""

import importlib
import inspect
import sys

import pytest
import torch
from transformers import AutoModelForCausalLM, BertConfig, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaModel

from attention_priors import integrations, parallel
from attention_priors.integrations import attending
from attention_priors.integrations.transformers import MODELS, PriorLlamaConfig, Settings, add_prior
from attention_priors.positions.encodings import ENCODINGS, Encoding
from attention_priors.positions.priors import GeneralizedGaussian, Uniform
from refusals import refused

from .tiny import SIZES, made, plain, tokens

MINE = Encoding("mine", "Mine", prior=Uniform)
SEEN = torch.ones(1, 1, 4, 4, dtype=torch.bool).tril()


def gpt2() -> GPT2LMHeadModel:
    return GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=20))


def called(encoding: str = "bam", length: int = 4, **given: object) -> None:
    made(encoding)(tokens(1, length), **given)


def config(**changes: object) -> PriorLlamaConfig:
    sizes = SIZES | {"attention_prior": "bam", "attention_prior_heads": 4}
    return PriorLlamaConfig(**sizes | changes)


def opened(**how: object) -> None:
    AutoModelForCausalLM.from_config(config(), **how)


def set_to(kind: str) -> None:
    made("bam").set_attn_implementation(kind)


def unset() -> None:
    model = plain()
    model.set_attn_implementation(attending.NAME)
    model(tokens(1, 4))


def dropping() -> None:
    model = made("bam").train()
    model.model.layers[0].self_attn.attention_dropout = 0.1
    model(tokens(1, 4))


@pytest.fixture(autouse=True)
def _three_heads():
    before = set(ENCODINGS)
    ENCODINGS["three-heads"] = Encoding("three-heads", "Three", prior=lambda heads: GeneralizedGaussian.uniform(3))
    yield
    for name in set(ENCODINGS) - before:
        del ENCODINGS[name]


test_one_line = refused(
    (lambda: add_prior(gpt2(), "bam"), "GPT2LMHeadModel", "can are LlamaForCausalLM"),
    (lambda: add_prior(BertConfig(), "bam"), "BertConfig", "can are LlamaForCausalLM"),
    (lambda: add_prior(LlamaModel(LlamaConfig(**SIZES)), "bam"), "LlamaModel", "can are LlamaForCausalLM"),
    (lambda: add_prior("a name", "bam"), "str", "can are LlamaForCausalLM"),
    (lambda: add_prior(made("bam"), "alibi"), "'bam' already", "begin with one that has none"),
    (lambda: add_prior(made("bam").config, "alibi"), "'bam' already", "begin with one that has none"),
    (lambda: add_prior(plain(), "rope"), "'rope' has no prior", "that are a prior are alibi, bam"),
    (lambda: add_prior(plain(), "nope-ssmax"), "'nope-ssmax' has no prior", "that are a prior are alibi, bam"),
    (lambda: add_prior(plain(), "rope-bam"), "'rope-bam' is more than a prior", "rope=True"),
    (lambda: add_prior(plain(), "half-rope-window-bam"), "is more than a prior", "rope=True"),
    (lambda: add_prior(plain(), "goat-composite"), "is more than a prior", "rope=True"),
    (lambda: add_prior(plain(), "bamm"), r"'bamm' is not registered \(nearest: bam\)", "ENCODINGS['bamm'] = "),
    (lambda: add_prior(plain(), "BAM"), r"'BAM' is not registered \(nearest: bam\)", "give a name of available()"),
    (
        lambda: add_prior(plain(), GeneralizedGaussian.uniform(4)),
        "a GeneralizedGaussian, but each layer",
        "give a name",
    ),
    (lambda: add_prior(plain(), MINE), "'mine' is not registered", "ENCODINGS['mine'] = Encoding(...)"),
    (lambda: add_prior(plain(), Encoding("bam", "Mine", prior=Uniform)), "'bam' is not registered", "ENCODINGS['bam']"),
    (lambda: AutoModelForCausalLM.from_config(config(attention_prior="mine")), "'mine'", "before from_pretrained"),
    (lambda: AutoModelForCausalLM.from_config(config(attention_prior=None)), "None", "add_prior"),
    (lambda: AutoModelForCausalLM.from_config(config(attention_prior_heads=8)), "8 heads", "make them equal"),
    (lambda: add_prior(plain(), "three-heads"), "a prior of 3 heads, but the model has 4", "must keep to it"),
    (lambda: add_prior(plain(attention_dropout=0.1), "bam"), "attention_dropout = 0.1", "set it to 0"),
    (dropping, "attention_dropout = 0.1", "set it to 0"),
    (lambda: add_prior(plain("mistral", sliding_window=5), "goat"), "window of 5", "sliding_window=None"),
    (lambda: opened(attn_implementation="flash_attention_2"), "'flash_attention_2'", "leave it unset"),
    (lambda: opened(attn_implementation="sdpa"), "'sdpa'", "leave it unset"),
    (lambda: set_to("flash_attention_3"), "'flash_attention_3'", "leave it unset"),
    (lambda: set_to("flex_attention"), "'flex_attention'", "leave it unset"),
    (lambda: set_to("eager"), "'eager'", "leave it unset"),
    (unset, "LlamaAttention has no prior", "add_prior(model, ...)"),
    (lambda: called(attention_mask=torch.tensor([[1, 0, 1, 1]])), "between others", "pad on one side only"),
    (lambda: called(attention_mask=SEEN[..., :3]), "3 keys, but there are 4", "as many columns"),
    (lambda: parallel.open_reader(made("bam")).attend(tokens(1, 4)[0], None, 0), "_parallel'", "prior out"),
)


def test_a_model_that_is_refused_is_as_it_was():
    model = plain(attention_dropout=0.1)
    before = (type(model), type(model.config), model.config.to_dict(), model.config._attn_implementation)
    with pytest.raises(ValueError, match="attention_dropout"):
        add_prior(model, "bam")
    assert (type(model), type(model.config), model.config.to_dict(), model.config._attn_implementation) == before


def test_without_transformers(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"in a clone, pip install '\.\[transformers\]'"):
        importlib.reload(integrations)


def test_what_is_registered_has_the_arguments_of_transformers():
    """Its masks name what they are given, so that a new argument cannot be lost in silence."""
    from transformers.masking_utils import sdpa_mask

    ours, theirs = (set(inspect.signature(f).parameters) for f in (attending.intervals, sdpa_mask))
    assert theirs - ours <= {"local_size", "allow_is_causal_skip", "allow_is_bidirectional_skip", "kwargs"}
    assert {made.plain.__name__ for made in MODELS} == {
        "LlamaForCausalLM",
        "Qwen2ForCausalLM",
        "Qwen3ForCausalLM",
        "MistralForCausalLM",
        "GPTNeoXForCausalLM",
    }


@pytest.mark.parametrize("made", MODELS, ids=lambda made: made.__name__)
def test_help_says_what_the_classes_add(made):
    assert made.plain.__name__ in made.__doc__ and "logits [batch, length, vocabulary]" in made.__doc__
    said = made.config_class.__doc__
    assert all(name in said for name in (made.plain_config.__name__, *Settings.__annotations__))
