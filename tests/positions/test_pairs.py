"""Biases of single pairs against their papers' formulas, pair by pair."""

import math

import pytest
import torch

from attention_priors.attention import attention
from attention_priors.config import ModelConfig
from attention_priors.model import Cache, Transformer
from attention_priors.positions.encodings import ENCODINGS, Encoding
from attention_priors.positions.pairs import Counts, Fire, LearnedSink

PAIRED = [name for name, row in ENCODINGS.items() if row.pairs]


def model(name, kv_heads=None, **more):
    torch.manual_seed(0)
    size = {"vocabulary": 11, "width": 24, "layers": 2, "heads": 4, "hidden": 16, "kv_heads": kv_heads}
    made = Transformer(ModelConfig(encoding=name, **size, **more)).double().eval()
    with torch.no_grad():  # what starts at 0 says nothing
        for p in made.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return made


def fire(own, q, k, v, h, i):
    """Li et al. 2024: b(i, j) = f(psi(i - j) / psi(max(L, i))), psi(x) = log(c x + 1)."""
    c, threshold = abs(own.rate.item()), 32 * abs(own.stretch.item())
    first, _, second = own.network

    def bias(j):
        x = math.log(c * (i - j) + 1) / math.log(c * max(threshold, i) + 1)
        hidden = [max(0.0, w.item() * x + b.item()) for w, b in zip(first.weight[:, 0], first.bias, strict=True)]
        return second.bias[h] + sum(w * x for w, x in zip(second.weight[h], hidden, strict=True))

    return softmax([q[i] @ k[j] / len(q[i]) ** 0.5 + bias(j) for j in range(i + 1)], v)


def cope(own, q, k, v, h, i):
    """Golovneva et al. 2024: p_ij = sum_{l=j..i} g_il, e[p] between its neighbours, in the place of a relative lag."""
    gates = [torch.sigmoid(q[i] @ k[j] / len(q[i]) ** 0.5) for j in range(i + 1)]
    logits = []
    for j in range(i + 1):
        p = min(float(sum(gates[j:])), len(own.vectors) - 1)
        up, down = math.ceil(p), math.floor(p)
        e = own.vectors[down] if up == down else (p - down) * own.vectors[up] + (up - p) * own.vectors[down]
        logits.append(q[i] @ (k[j] + e) / len(q[i]) ** 0.5)
    return softmax(logits, v)


def stick(own, q, k, v, h, i):
    """Tan et al. 2024: from the nearest key on, each takes sigma(z) of what is left of a stick of length 1."""
    left, out = 1.0, torch.zeros_like(v[0])
    for j in reversed(range(i)):
        share = torch.sigmoid(q[i] @ k[j] / len(q[i]) ** 0.5)
        out = out + left * share * v[j]
        left = left * (1 - share)
    return out


def sink(own, q, k, v, h, i):
    """gpt-oss: a column with the head's logit is appended before softmax and dropped behind it."""
    logits = [q[i] @ k[j] / len(q[i]) ** 0.5 for j in range(i + 1)] + [own.logits[h]]
    return softmax(logits, torch.cat([v[: i + 1], torch.zeros_like(v[:1])]))


def dape(own, q, k, v, h, i):
    """Zheng et al. 2024: A + B + f(A, B), f over the scores and biases of all heads: `q`, `k` have all of them."""
    first, _, second = own.network
    logits = []
    for j in range(i + 1):
        scores = torch.stack([q[g, i] @ k[g, j] / q.shape[-1] ** 0.5 for g in range(len(q))])
        biases = -own.prior.r1 * torch.log(1 + own.prior.r2 * (i - j))
        hidden = torch.nn.functional.leaky_relu(first.weight @ torch.cat([scores, biases]) + first.bias)
        logits.append(scores[h] + biases[h] + second.weight[h] @ hidden + second.bias[h])
    return softmax(logits, v)


def softmax(logits, v):
    return torch.stack(logits).softmax(0) @ v[: len(logits)]


FORMULAS = {"fire": fire, "cope": cope, "stick-breaking": stick, "rope-sinks": sink, "dape": dape}


@pytest.mark.parametrize("kv_heads", [None, 2])
@pytest.mark.parametrize("name", PAIRED)
def test_attention_is_the_papers_formula(name, kv_heads):
    own = model(name, kv_heads).blocks[0].attention
    length = 40 if name == "fire" else 12  # beyond FIRE's threshold of 32
    q, k, v = (torch.randn(1, heads, length, 6).double() for heads in (4, kv_heads or 4, kv_heads or 4))
    found = attention(q, k, v, pairs=own.pairs)[0]
    k, v = (x[0].repeat_interleave(4 // x.shape[1], 0) for x in (k, v))
    for h in range(4):
        for i in range(length):
            heads = (q[0], k) if name == "dape" else (q[0, h], k[h])
            expected = FORMULAS[name](own.pairs, *heads, v[h], h, i)
            torch.testing.assert_close(found[h, i], expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", PAIRED)
def test_reading_in_parts_is_reading_at_once(name, monkeypatch):
    """From a cache, and in blocks of queries; 40 tokens are more than FIRE's threshold."""
    made, cache, tokens = model(name), Cache(), torch.randint(11, (2, 40))
    whole = made(tokens)
    parts = torch.cat([made(tokens[:, :9], cache=cache), *(made(tokens[:, [i]], cache=cache) for i in range(9, 40))], 1)
    torch.testing.assert_close(parts, whole)
    monkeypatch.setattr("attention_priors.model.BLOCK", 7)
    torch.testing.assert_close(made(tokens), whole)
    torch.testing.assert_close(made(tokens, last=3), whole[:, -3:])


@pytest.mark.parametrize("name", PAIRED)
def test_every_parameter_learns(name):
    made = model(name)
    made(torch.randint(11, (2, 50))).square().sum().backward()
    pairs = made.blocks[1].attention.pairs
    assert all(p.grad.isfinite().all() and p.grad.any() for p in made.parameters()), name
    assert name == "stick-breaking" or list(pairs.parameters())


def test_what_does_not_fit_is_said():
    q = torch.randn(1, 2, 5, 4)
    with pytest.raises(ValueError, match="'sdpa' has tables of lags, which cannot hold Fire; use backend='reference'"):
        attention(q, q, q, pairs=Fire(2, 4), backend="sdpa")
    for name in ("cope", "stick-breaking"):
        with pytest.raises(ValueError, match=f"'{name}' sums over the keys up to the query; give an encoder another"):
            model(name, causal=False)
        made, cache = model(name), Cache()
        made(torch.randint(11, (1, 12)), cache=cache)
        cache.select(torch.tensor([0, 5, 11]))
        with pytest.raises(ValueError, match="sums over every key, but some have been dropped; keep the whole cache"):
            made(torch.zeros(1, 1, dtype=torch.int64), cache=cache)
    with pytest.raises(ValueError, match="'mine' has pair biases beside a window or a forget gate; give one"):
        Encoding("mine", "Mine", pairs=LearnedSink, forgets=True)
    with pytest.raises(ValueError, match="threshold = 0 positions; give a number above 0"):
        Fire(2, 4, threshold=0)
    with pytest.raises(ValueError, match="longest = 1 rows of counts; give at least 2"):
        Counts(2, 4, longest=1)
