"""Trained rotations at longer contexts."""

import math
import pickle

import pytest
import torch

from attention_priors.config import ModelConfig
from attention_priors.model import Cache, Transformer
from attention_priors.positions.encodings import ENCODINGS, FACTOR, encoding
from attention_priors.positions.rotary import rope
from attention_priors.theory import rerope
from attention_priors.training.extension import extend

TRAINED, VOCABULARY = 16, 11
BORROWED = [name for name, row in ENCODINGS.items() if row.trained_as and not row.local]


def small(name: str = "rope", **changes: int) -> Transformer:
    torch.manual_seed(1)
    sizes = {"width": 16, "layers": 2, "heads": 2, "hidden": 16} | changes
    return Transformer(ModelConfig(vocabulary=VOCABULARY, encoding=name, **sizes)).double().eval()


def tokens(length: int) -> torch.Tensor:
    return torch.randint(VOCABULARY, (2, length), generator=torch.Generator().manual_seed(3))


def owner(name: str) -> str:
    return encoding(name).trained_as


@torch.no_grad()
@pytest.mark.parametrize("name", BORROWED)
def test_extensions_change_long_texts_and_no_weight(name):
    model = small(owner(name))
    made = extend(model, name, TRAINED)
    own, other = model.state_dict(), made.state_dict()
    assert all(
        torch.equal(other[key.replace("attention.", "attention.inner.") if key not in other else key], value)
        for key, value in own.items()
    )
    long = tokens(5 * TRAINED)
    assert (made(long) - model(long)).abs().max() > 1e-3
    assert torch.equal(pickle.loads(pickle.dumps(made))(long), made(long))


UNCHANGED = dict.fromkeys(("rope-dynamic-linear", "rope-dynamic-ntk", "rope-ssmax-dynamic-ntk"), TRAINED)
UNCHANGED |= dict.fromkeys(("rope-rerope", "rope-leaky-rerope", "rope-ssmax-rerope"), TRAINED // 2 + 1)


@torch.no_grad()
@pytest.mark.parametrize("name", UNCHANGED)
def test_dynamic_extensions_and_rectified_lags_leave_short_texts_alone(name):
    model, text = small(owner(name)), tokens(UNCHANGED[name])
    torch.testing.assert_close(extend(model, name, TRAINED)(text), model(text), rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("factor, name", [(math.inf, "rope-rerope"), (FACTOR, "rope-leaky-rerope")])
def test_blocks_of_rectified_attention_give_the_specification(factor, name, monkeypatch):
    model, long = small(kv_heads=1), tokens(3 * TRAINED)
    monkeypatch.setattr("attention_priors.training.extension.ROWS", 7)
    block = extend(model, name, TRAINED).blocks[0]
    x = block.attention_norm(model.embedding(long))
    inner = model.blocks[0].attention
    rows = model._rows(long, None, None, None, "auto")
    inner.rotary = None
    q, k, v, _ = inner.project(x, rows, 0)
    expected = rerope.attention(q, k, v, rope(8), window=TRAINED // 2, factor=factor)
    expected = inner.output(expected.transpose(1, 2).flatten(2))
    torch.testing.assert_close(block.attention(x, rows, 0), expected, rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("name", ["rope-yarn", "rope-rerope", "rope-ssmax-leaky-rerope"])
def test_decoding_documents_and_last_queries(name):
    made, text = extend(small(owner(name)), name, TRAINED), tokens(2 * TRAINED)
    whole = made(text)
    cache = Cache()
    pieces = torch.cat([made(text[:, :9], cache=cache), made(text[:, 9:], cache=cache)], 1)
    torch.testing.assert_close(pieces, whole, rtol=0, atol=1e-10)
    torch.testing.assert_close(made(text, last=3), whole[:, -3:], rtol=0, atol=1e-10)
    ids = torch.tensor([[0] * 11 + [1] * 21]).expand(2, -1)
    apart = torch.cat([made(text[:, :11]), made(text[:, 11:])], 1)
    torch.testing.assert_close(made(text, document_ids=ids), apart, rtol=0, atol=1e-10)


def test_refuses_what_does_not_extend():
    with pytest.raises(ValueError, match="'rope-yarn' extends 'rope', but the model is 'alibi'"):
        extend(small("alibi"), "rope-yarn", TRAINED)
    with pytest.raises(ValueError, match="'bam' is trained by itself, but the model is 'rope'"):
        extend(small(), "bam", TRAINED)
    with pytest.raises(ValueError, match="trained = 1"):
        extend(small(), "rope-yarn", 1)
    for name in ("rope-yarn", "rope-rerope"):
        with pytest.raises(ValueError, match=r"attention_priors\.training\.extension\.extend"):
            small(name)(tokens(4))
