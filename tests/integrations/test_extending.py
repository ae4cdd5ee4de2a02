"""Extensions of other people's models, against transformers' own and against the whole mask written out."""

import copy
import math
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import (
    DynamicCache,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    StaticCache,
)

from attention_priors.integrations import extending
from attention_priors.integrations.extending import Sight
from attention_priors.integrations.transformers import add_prior
from attention_priors.parallel.hf import HuggingFace
from attention_priors.theory import rerope
from refusals import refused

TRAINED, LONG, LAYERS, HEADS = 32, 1100, 2, 4  # LONG: more than two blocks of queries
SIZE = {
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 32,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": 2,
    "max_position_embeddings": TRAINED,
}
TOKENS = torch.randint(64, (1, LONG), generator=torch.Generator().manual_seed(1))


def llama(weight: float = 40, **changes: Any) -> PreTrainedModel:
    """A random one whose attention is far from uniform, so that what it sees matters."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**SIZE, **changes)).eval().double()
    for layer in model.model.layers:
        layer.self_attn.q_proj.weight.data *= weight
        layer.self_attn.k_proj.weight.data *= weight
    return model


@torch.inference_mode()
def logits(model: PreTrainedModel, tokens: Tensor = TOKENS) -> Tensor:
    return model(tokens, use_cache=False).logits[0]


THEIRS: dict[str, tuple[dict[str, Any], Callable[[PreTrainedModel], PreTrainedModel]]] = {
    "linear": ({"rope_type": "linear", "factor": 3.0}, lambda model: extending.interpolate(model, 3)),
    "dynamic": ({"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": TRAINED},
                lambda model: extending.dynamic_ntk(model, 2)),
    "yarn": ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": TRAINED},
             lambda model: extending.yarn(model, 4)),
    "llama3": ({"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": TRAINED}, lambda model: extending.llama3(model, 4)),
}  # fmt: skip


@pytest.mark.parametrize("theirs", THEIRS)
def test_models_are_those_of_transformers(theirs):
    """Whole models agree; only "dynamic" looks at the length of a call, which is a long one here."""
    given, change = THEIRS[theirs]
    expected = logits(llama(rope_parameters={**given, "rope_theta": 1e4}), TOKENS[:, :200])
    found = logits(change(llama()), TOKENS[:, :200])
    assert (found - logits(llama(), TOKENS[:, :200])).abs().max() > 0.1
    assert (found - expected).abs().max() < 0.02


def test_other_bases():
    expected = logits(llama(rope_parameters={"rope_type": "default", "rope_theta": 5e5}))
    assert (logits(extending.rebase(llama(), 50)) - expected).abs().max() < 0.05
    torch.testing.assert_close(logits(extending.ntk(llama(), 1)), logits(extending.rebase(llama(), 1)))


def test_slow_planes_stand_still():
    """p-RoPE: half of the planes turn as before, the others not at all; a share of 1 is the identity."""
    model = extending.p_rope(llama(), 0.5)
    cos, sin = model.model.rotary_emb(torch.zeros(1, dtype=torch.float64), torch.tensor([[7]]))
    assert (cos[0, 0, 4:8] == 1).all() and (sin[0, 0, 4:8] == 0).all() and (sin[0, 0, :4] != 0).all()
    assert (logits(extending.p_rope(llama(), 1)) - logits(llama())).abs().max() < 0.02


SIGHTS = [Sight(), Sight(40), Sight(40, 3), Sight(700, 2), Sight(skipped=5), Sight(gap=30), Sight(100, 4, gap=8)]


@pytest.mark.parametrize("sight", SIGHTS, ids=str)
def test_blocks_are_the_whole_mask(sight):
    i, j = torch.arange(LONG)[:, None], torch.arange(LONG)
    lag = i - j
    near = (lag < sight.window) | (j < sight.sinks) if sight.window else torch.tensor(True)
    seen = (lag >= 0) & (((lag > sight.gap) & near & (j >= sight.skipped)) | (lag == 0))
    with torch.inference_mode():
        expected = llama()(TOKENS, attention_mask=seen[None, None], use_cache=False).logits[0]
    model = extending.see(llama(), sight)
    torch.testing.assert_close(logits(model), expected, atol=1e-8, rtol=0)
    torch.testing.assert_close(logits(extending.restore(model)), logits(llama()))


def test_some_heads_see_less():
    """Limiting every head of a layer gives what limiting the layer gives, and limiting half of them does not."""
    whole = logits(extending.see(llama(), Sight(40), layers=[1]))
    torch.testing.assert_close(logits(extending.window(llama(), 40, heads={1: range(HEADS)})), whole, atol=1e-8, rtol=0)
    half = logits(extending.window(llama(), 40, heads={1: [0, 3]}))
    assert (half - whole).abs().max() > 1e-3 and (half - logits(llama())).abs().max() > 1e-3


READINGS: dict[str, Callable[[PreTrainedModel], PreTrainedModel]] = {
    "window": lambda model: extending.window(model, 40, 3),
    "heads": lambda model: extending.window(model, 40, heads={0: [0, 3]}),
    "rerope": lambda model: extending.rerope(model, 30),
    "scalable softmax": extending.scalable_softmax,
}
ROTATIONS: dict[str, Callable[[PreTrainedModel], PreTrainedModel]] = {
    name: partial(getattr(extending, name), **how)
    for name, how in {
        "interpolate": {"factor": 2},
        "ntk": {"factor": 2},
        "dynamic_ntk": {"factor": 2},
        "yarn": {"factor": 2},
        "llama3": {"factor": 2},
        "rebase": {"factor": 2},
        "p_rope": {"share": 0.5},
    }.items()
}
reading = pytest.mark.parametrize("reading", READINGS)


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("change", [*READINGS, "yarn"])
@torch.inference_mode()
def test_a_cache_changes_nothing(change, static):
    """A static one has room for keys that are not there yet."""
    model = (READINGS | ROTATIONS)[change](llama())
    cache = StaticCache(model.config, max_cache_len=128) if static else DynamicCache(config=model.config)
    steps = []
    for start, stop in ((0, 90), (90, 91), (91, 92), (92, 100)):
        steps.append(model(TOKENS[:, start:stop], past_key_values=cache, use_cache=True).logits[0])
    torch.testing.assert_close(torch.cat(steps), logits(model, TOKENS[:, :100]), atol=1e-6, rtol=0)


@pytest.mark.parametrize("change", READINGS | ROTATIONS)
def test_a_changed_model_can_be_pickled(change):
    model = (READINGS | ROTATIONS)[change](llama())
    copied = pickle.loads(pickle.dumps(model))
    assert torch.equal(logits(copied, TOKENS[:, :50]), logits(model, TOKENS[:, :50]))
    torch.testing.assert_close(logits(extending.restore(copied), TOKENS[:, :50]), logits(llama(), TOKENS[:, :50]))


@reading
def test_autocast(reading):
    model = READINGS[reading](llama(weight=1).float())
    wanted = logits(model, TOKENS[:, :100])
    with torch.autocast("cpu", torch.bfloat16):
        assert (logits(model, TOKENS[:, :100]).float() - wanted).std() < 0.1 * wanted.std()


def attention_of(model: PreTrainedModel, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    attention = model.model.layers[0].self_attn
    mask = extending._keys(len(q), q.shape[2], k.shape[2])
    return extending._attend(attention, q, k, v, mask, scaling=None)[0].transpose(1, 2)


def test_rerope_is_its_definition():
    draw = torch.Generator().manual_seed(2)
    q, k, v = (torch.randn(1, heads, LONG, 16, generator=draw).double() for heads in (4, 2, 2))
    model = extending.rerope(llama(), 30)
    expected = rerope.attention(q, k, v, extending.spectrum_of(model), window=30)
    torch.testing.assert_close(attention_of(model, q, k, v), expected, atol=1e-8, rtol=0)
    assert (logits(model)[:30] - logits(llama())[:30]).abs().max() < 0.02


def test_logits_grow_with_the_keys():
    """ln n / ln T beyond T, 1 up to it."""
    draw = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(1, HEADS, 100, 16, generator=draw).double() for _ in range(3))
    found = attention_of(extending.scalable_softmax(llama()), q, k, v)
    grown = q[:, :, -1:] * math.log(100) / math.log(TRAINED)
    torch.testing.assert_close(found[:, :, -1:], F.scaled_dot_product_attention(grown, k, v))
    plain = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(found[:, :, :TRAINED], plain[:, :, :TRAINED])


def test_a_sight_of_some_heads_is_theirs_with_every_reading():
    """ReRoPE turns what the other heads see, and SSMax counts what each sees."""
    free = logits(extending.rerope(llama(), 9))
    some, every = (extending.window(extending.rerope(llama(), 9), 8, heads={0: heads}) for heads in ([0], range(4)))
    assert not torch.allclose(logits(some), logits(every)) and not torch.allclose(logits(some), free)
    narrow = extending.scalable_softmax(extending.window(llama(), 8, 2))  # at most 10 of 32 keys: no factor
    torch.testing.assert_close(logits(narrow), logits(extending.window(llama(), 8, 2)))
    i = torch.arange(40)
    for sight in (Sight(), Sight(8, 3), Sight(8, 3, 1), Sight(4, 6, 2, 7), Sight(gap=5), Sight(1)):
        assert torch.equal(sight.count(i), sight.sees(i[:, None], i).sum(1)), sight


def test_restoring_restores():
    model = llama()
    before, names = copy.deepcopy(model.state_dict()), dict(model.named_modules()).keys()
    for change in (extending.yarn, extending.ntk):
        extending.window(extending.scalable_softmax(change(model, 2)), 20)
    extending.rerope(model, 10)
    assert (logits(model) - logits(llama())).abs().max() > 1e-3
    extending.restore(extending.restore(model))
    assert dict(model.named_modules()).keys() == names and model.state_dict().keys() == before.keys()
    assert model.config._attn_implementation == "sdpa"
    torch.testing.assert_close(logits(model), logits(llama()))


test_one_line_for_bad_input = refused(
    (lambda: extending.yarn(llama(), 0.5), "factor = 0.5"),
    (lambda: extending.p_rope(llama(), 0), "share = 0"),
    (lambda: extending.rerope(llama(), 0), "within = 0"),
    (lambda: extending.window(llama(), 0), "window = 0"),
    (lambda: extending.window(llama(), 5, -1), "not negative"),
    (lambda: extending.see(llama(), Sight(4), layers=[2]), "layer 2"),
    (lambda: extending.see(llama(), Sight(4), layers=[0], heads={1: [0]}), "layers and heads are both given"),
    (lambda: add_prior(extending.window(llama(), 5), "bam"), r"call restore\(model\) first"),
    (lambda: HuggingFace(extending.rerope(llama(), 5).eval()), r"chunks would leave out; call restore\(model\)"),
    (lambda: extending.window(llama(), 5, heads={0: [4]}), "has 2 layers of 4 heads"),
    (
        lambda: extending.yarn(llama(rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}), 2),
        "extended or partial already",
    ),
    (
        lambda: extending.window(MistralForCausalLM(MistralConfig(**SIZE, sliding_window=8)), 5),
        "sliding window of 8",
    ),
)


PADDED = torch.ones(1, 20, dtype=torch.long)
PADDED[0, 0] = 0
NOT_READ: dict[str, tuple[dict[str, Any], str]] = {
    "padding": ({"attention_mask": PADDED}, "one text per row, without padding; give one text at a time"),
    "packed": ({"position_ids": torch.arange(20)[None] % 12}, "got position_ids that restart; give one text"),
    "a mask": ({"attention_mask": torch.ones(1, 1, 20, 20).bool()}, r"of shape \[1, 1, 20, 20\]; leave it out"),
    "weights": ({"output_attentions": True}, "output_attentions = True, .* leave it out"),
}


@pytest.mark.parametrize("use_cache", [False, True])
@pytest.mark.parametrize("what", NOT_READ)
@reading
def test_what_no_reading_serves_is_refused(reading, what, use_cache):
    given, said = NOT_READ[what]
    with pytest.raises(ValueError, match=said):
        READINGS[reading](llama())(TOKENS[:, :20], use_cache=use_cache, **given)


@reading
def test_dropout_is_refused(reading):
    model = READINGS[reading](llama(attention_dropout=0.5))
    assert logits(model, TOKENS[:, :20]).isfinite().all(), "none outside of training"
    with pytest.raises(ValueError, match=r"attention_dropout = 0.5, .* set it to 0"):
        model.train()(TOKENS[:, :20])
