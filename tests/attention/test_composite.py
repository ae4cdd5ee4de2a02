"""One plain call with the prior inside it: what the reference computes, without anything of queries x keys."""

import pytest
import torch

from attention_priors.attention import GoatAttention, attention, bidirectional, causal, documents, window
from attention_priors.positions.encodings import encoding
from attention_priors.positions.priors import Laplace
from attention_priors.positions.spectral import Fourier, geometric

from .largest import Largest

NAMES = ["goat-composite", "goat-seeded", "goat-code", "goat-no-sink", "goat-rope", "goat-eight-bump"]
HEADS, WIDTH = 2, 24 + 24


def inputs(name, queries, keys, dtype=torch.float64, kv_heads=HEADS):
    """q, k with room for the prior, v, and a prior that is not its start."""
    torch.manual_seed(3)
    row = encoding(name)
    prior = row.prior(HEADS).to(dtype)
    with torch.no_grad():
        for parameter in prior.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    q = torch.randn(2, HEADS, queries, WIDTH, dtype=dtype)
    k, v = (torch.randn(2, kv_heads, keys, WIDTH, dtype=dtype) for _ in "kv")
    q, k = row.rotary(WIDTH, 10_000.0)(q, k, torch.arange(keys - queries, keys), torch.arange(keys))
    return [x.requires_grad_() for x in (q, k, v)], prior


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_the_plain_call_is_the_reference_and_so_are_its_gradients(name, dtype, close):
    (q, k, v), prior = inputs(name, 40, 40, dtype)
    learned, found = [q, k, v, *prior.parameters()], []
    for backend in ("reference", "composite"):
        out = attention(q, k, v, prior=prior, backend=backend)
        found.append([out, *torch.autograd.grad(out.sin().sum(), learned)])
    for place, (one, other) in enumerate(zip(*found, strict=True)):
        # What the last components of q and k are does not matter to the plain call: they are written over.
        if place in (1, 2):
            room = encoding(name).rotary(WIDTH, 1e4).content
            one, other = one[..., :room], other[..., :room]
        scale = max(1.0, float(one.detach().abs().max()))
        assert float((one - other).detach().abs().max()) <= close * scale * (1 if place == 0 else 20), place


@pytest.mark.parametrize("name", NAMES)
def test_row_scales_grouped_heads_and_all_keys(name):
    (q, k, v), prior = inputs(name, 30, 30, kv_heads=1)
    scales = {"logit_scale": 1 + torch.rand(HEADS, 30).double(), "prior_scale": 1 + torch.rand(2, HEADS, 30).double()}
    for visible in (None, bidirectional(30, 30)):
        one, other = (
            attention(q, k, v, prior=prior, visible=visible, backend=backend, **scales)
            for backend in ("reference", "composite")
        )
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in NAMES if not encoding(name).whole])
def test_decoding_gives_the_last_row_of_prefill(name):
    (q, k, v), prior = inputs(name, 25, 25)
    whole = attention(q, k, v, prior=prior, backend="composite")
    for n in (1, 7, 25):
        last = attention(q[:, :, n - 1 : n], k[:, :, :n], v[:, :, :n], prior=prior, offset=n - 1, backend="composite")
        torch.testing.assert_close(last[:, :, 0], whole[:, :, n - 1], rtol=0, atol=1e-12)


@torch.no_grad()
def test_the_module_is_the_formula():
    torch.manual_seed(0)
    module, x = GoatAttention(48, HEADS).double(), torch.randn(2, 15, 48, dtype=torch.float64)
    for parameter in module.prior.parameters():
        parameter += 0.3 * torch.randn_like(parameter)
    q, k, v = (f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (module.query, module.key, module.value))
    assert q.shape[-1] == 24 - 10 and v.shape[-1] == 24
    lags = torch.arange(15)[:, None] - torch.arange(15)
    bias = (
        module.prior.table(lags.flatten()).unflatten(1, (15, 15)) + module.prior.of_keys(torch.arange(15), 15)[:, None]
    )
    logits = (q @ k.mT / 14**0.5 + bias).masked_fill(lags < 0, -torch.inf)
    expected = module.output((logits.softmax(-1) @ v).transpose(1, 2).flatten(2))
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("autocast", [True, False])
def test_half_precision_rounds_content_and_no_position(autocast):
    """At 1,000 keys a bfloat16 sink of -500 is known to 2, and every weight to a factor of e^2."""
    torch.manual_seed(0)
    module, x = GoatAttention(48, HEADS), torch.randn(1, 1000, 48)
    module.prior.factors[1].slopes.copy_(torch.tensor([0.5, 0.0625]))
    exact = module(x)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        found = module(x) if autocast else module.bfloat16()(x.bfloat16())
    assert found.dtype == torch.bfloat16
    assert (found - exact).abs().max() < 0.02 * exact.abs().max()


@torch.no_grad()
def test_autocast_rounds_nothing():
    (q, k, v), prior = inputs("goat-seeded", 300, 300, torch.float32)
    plain = attention(q, k, v, prior=prior, backend="composite")
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(attention(q, k, v, prior=prior, backend="composite"), plain)


@pytest.mark.parametrize("learning", [False, True])
def test_nothing_of_queries_times_keys_is_made(learning):
    """Twice the length makes the largest tensor twice as large; the reference's is four times as large."""
    found = {}
    for backend in ("composite", "reference"):
        for length in (256, 512):
            (q, k, v), prior = inputs("goat-code", length, length, torch.float32)
            with Largest() as seen, torch.set_grad_enabled(learning):
                out = attention(q, k, v, prior=prior, backend=backend)
                if learning:
                    out.sum().backward()
            found.setdefault(backend, []).append(seen.bytes)
    assert found["composite"][1] == 2 * found["composite"][0] < found["reference"][1] / 4
    assert found["reference"][1] >= 3.9 * found["reference"][0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prior": None}, "carries a prior, and there is none; use backend='sdpa'"),
        ({"prior": Laplace([0.5, 0.25])}, "the prior Laplace has no finite rank"),
        ({"prior": Fourier.uniform(2, geometric(23))}, "heads of width 48 leave no content beside the prior's 48"),
        ({"prior": Fourier.uniform(2, geometric(6))}, "the last 14 components of q and k hold content"),
        ({"visible": window(9, 3)}, "use backend='sdpa' for windows, documents and part of the queries"),
        ({"visible": documents(torch.tensor([[0] * 4 + [1] * 5] * 2)) & causal(9)}, "use backend='sdpa' for windows"),
    ],
)
def test_bad_input_is_named(change, message):
    (q, k, v), prior = inputs("goat-composite", 9, 9)
    with pytest.raises(ValueError, match=message) as caught:
        attention(q, k, v, backend="composite", **({"prior": prior} | change))
    assert "\n" not in str(caught.value)


def test_the_module_takes_a_batch():
    with pytest.raises(ValueError, match=r"x has shape \[9, 48\], but \[batch, length, 48\] is needed"):
        GoatAttention(48, HEADS)(torch.randn(9, 48))


def test_a_module_needs_heads_wide_enough():
    with pytest.raises(ValueError, match="width = 40, heads = 4, modes = 4: give heads that divide the width and are"):
        GoatAttention(40, 4)
