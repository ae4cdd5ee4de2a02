"""What surrounds the kernels: decoding, tile skipping, compilation, checkpoints, DDP, and one line for bad input."""

import functools
import math
import sys

import pytest
import torch
from torch import nn

from attention_priors.attention import attention, causal, documents, launch, window
from attention_priors.attention.fused import fused, table_attention
from attention_priors.attention.kernels import BACK, FRONT
from attention_priors.attention.visible import Visible
from attention_priors.positions.priors import GeneralizedGaussian, KerpleLog, Laplace, Prior, Uniform, alibi_slopes
from attention_priors.positions.spectral import Sink

FUSED = sys.modules["attention_priors.attention.fused"]
HEADS, WIDTH = 2, 16


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def cache(queries: int, keys: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """q, k, v; keys and values as views of longer memory, as caches are."""
    k, v = (drawn(1, 1, 2 * keys, WIDTH, seed=seed, dtype=dtype)[:, :, :keys] for seed in (1, 2))
    return drawn(1, HEADS, queries, WIDTH, dtype=dtype), k, v


def learned() -> GeneralizedGaussian:
    return GeneralizedGaussian([0.1, -0.4], [0.5, -0.3], [0.3, -1.0], trainable=GeneralizedGaussian.NAMES)


def noisy_sink() -> Sink:
    torch.manual_seed(3)
    made = Sink(torch.tensor([0.01, -0.02]))
    nn.init.normal_(made.network[-1].weight)
    return made


PRIORS = {
    "none": lambda: None,
    "formula": learned,
    "laplace": lambda: Laplace(alibi_slopes(HEADS)),
    "table": lambda: KerpleLog([1.0, 0.3], [0.5, 2.0]),
    "table and keys": lambda: learned() * noisy_sink(),
}


def exact(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, prior: Prior | None, **rest: object) -> torch.Tensor:
    q, k, v = (x.detach().double() for x in (q, k, v))
    return attention(q, k, v, prior=prior, backend="reference", **rest)


@torch.no_grad()
@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize(("queries", "dtype"), [(1, torch.float32), (3, torch.bfloat16)])
def test_decode_equals_the_reference(name, queries, dtype):
    q, k, v = cache(queries, 300, dtype)
    prior, scale = PRIORS[name](), drawn(HEADS, queries, seed=4).exp()
    seen = causal(queries, 300 - queries) if name != "table" else window(queries, 150, 300 - queries)
    given = {"logit_scale": scale, "prior_scale": scale, "visible": seen, "offset": 300 - queries}
    assert FUSED.decodes(q, k, v)
    found, wanted = attention(q, k, v, prior=prior, backend="triton", **given), exact(q, k, v, prior, **given)
    error = (found.double() - wanted).norm() / wanted.norm()
    assert error < (2e-6 if dtype == torch.float32 else 6e-3)


@torch.no_grad()
def test_the_number_of_splits_does_not_matter():
    q, k, v = cache(1, 300)
    table = drawn(HEADS, 300, seed=5)
    parts = [table_attention(q, k, v, table=table, offset=299, splits=splits) for splits in (1, 2, 7)]
    assert all(torch.allclose(parts[0], part, rtol=1e-6, atol=1e-7) for part in parts)


def skipped(q, k, v, prior, tolerance, monkeypatch, **given) -> tuple[torch.Tensor, torch.Tensor]:
    """Output at a tolerance, and the first keys needed."""
    kept, right = [], FUSED.first_needed
    monkeypatch.setattr(FUSED, "first_needed", lambda *x: kept.append(right(*x)) or kept[-1])
    given = {"logit_scale": None, "prior_scale": None, "offset": 0} | given
    return fused(q, k, v, prior=prior, tolerance=tolerance, **given), kept[0]


LOCAL = GeneralizedGaussian([0.0, 0.5], [1.0, 0.8], [0.5, -1.0])


@pytest.mark.parametrize("prior_scale", [None, 0.6, 1.7, -1.0])
@pytest.mark.parametrize("tolerance", [2**-4, 2**-10])
def test_skipping_keeps_its_promise(prior_scale, tolerance, monkeypatch):
    """The true weight of what may be skipped, the output and Σ_j |dS_ij| against the bounds of `skipping`."""
    length = 160
    q, k, v = (0.5 * drawn(1, HEADS, length, WIDTH, seed=seed) for seed in range(3))
    scale = None if prior_scale is None else torch.full((HEADS, length), prior_scale)
    given = {"visible": causal(length), "prior_scale": scale, "logit_scale": drawn(HEADS, length, seed=8)}
    out, needed = skipped(q, k, v, LOCAL, tolerance, monkeypatch, **given)
    score = (q @ k.transpose(-1, -2) * WIDTH**-0.5 * given["logit_scale"][..., None]).double()
    lags = torch.arange(length)[:, None] - torch.arange(length)
    bias = LOCAL.log_prior(lags.flatten()).unflatten(1, lags.shape).double()
    score += bias * (1 if prior_scale is None else prior_scale)
    weights = score.masked_fill(lags < 0, -torch.inf).softmax(-1)
    lost = (weights * (torch.arange(length) < needed[..., None])).sum(-1)
    assert lost.max() <= tolerance
    assert (out - weights @ v.double()).norm(dim=-1).max() <= 2 * tolerance * v.norm(dim=-1).max() + 1e-5
    skips = bool((needed[..., -1] > 40).any())
    assert skips == (prior_scale != -1.0), "rows with a negative scale keep everything, the others do not"


def test_skipping_is_exact_when_off_and_in_both_passes_when_on():
    length = 96
    tensors = [(0.3 * drawn(1, HEADS, length, WIDTH, seed=seed)).requires_grad_() for seed in range(3)]
    given = {"prior": Laplace([0.15, 0.3]), "logit_scale": None, "prior_scale": None, "offset": 0}
    given["visible"] = causal(length)
    found = {}
    for tolerance in (0.0, 2**-4):
        with pytest.MonkeyPatch.context() as patch:
            calls = []
            for name in ("forward", "backward_queries", "backward_keys"):
                kernel = getattr(launch, name)
                patch.setattr(launch, name, Recorded(kernel, calls))
            out = fused(*tensors, tolerance=tolerance, **given)
            found[tolerance] = [out, *torch.autograd.grad(out.sin().sum(), tensors)]
        assert len(calls) == 3 and all(call.get("SKIP", bool(tolerance)) == bool(tolerance) for call in calls)
    assert torch.equal(found[0.0][0], fused(*tensors, **given))
    for off, on in zip(found[0.0], found[2**-4], strict=True):
        assert not torch.equal(off, on)
        assert (off - on).abs().max() < 2**-4


class Recorded:
    """A kernel that notes its constants."""

    def __init__(self, kernel: object, calls: list[dict]) -> None:
        self.kernel, self.calls = kernel, calls

    def __getitem__(self, grid: object) -> object:
        def run(*arguments: object, **constants: object) -> None:
            self.calls.append(constants)
            self.kernel[grid](*arguments, **constants)

        return run


def test_skipping_leaves_tiles_out():
    """Keys that no tile of a row needs may hold NaN."""
    q, k, v = (0.1 * drawn(1, HEADS, 160, WIDTH, seed=seed) for seed in range(3))
    last = {"logit_scale": None, "prior_scale": None, "visible": causal(160).rows(128), "offset": 128}
    given = {"prior": Laplace([2.0, 1.0]), "tolerance": 2**-10}
    with torch.enable_grad():
        wanted = fused(q[:, :, 128:].requires_grad_(), k, v, **given, **last)
        v[:, :, :64] = torch.nan
        assert torch.equal(fused(q[:, :, 128:].requires_grad_(), k, v, **given, **last), wanted)


def test_the_padding_of_the_table_is_never_used_and_nothing_beyond_it_read():
    """1e30 in the padding changes no bit; NaN around every row stays where it is."""
    length = 45
    q, k, v, d_out = (drawn(2, HEADS, length, WIDTH, seed=seed) for seed in range(4))
    scale = drawn(2, HEADS, length, seed=6)
    first, last = (
        x.to(torch.int32)
        for x in (lambda v: (v.first, v.last))(causal(length) & documents(torch.arange(length).expand(2, -1) // 19))
    )
    found = []
    for padding in (0.0, 1e30):
        wide = torch.full((HEADS, 3, FRONT + length + BACK), torch.nan)
        wide[:, 1] = padding
        wide[:, 1, FRONT : FRONT + length] = drawn(HEADS, length, seed=7)
        table = wide[:, 1]
        slopes = nn.functional.pad(drawn(HEADS, 2, length, seed=9), (FRONT, BACK))
        place = (first, last, None, -1)
        out, lse = launch.fused_forward(q, k, v, table, None, None, scale, *place, None, None, FRONT, 0.25)
        grads = [True, False, False, True, True]
        back = launch.fused_backward(
            d_out, q, k, v, out, lse, table, None, None, scale, *place, slopes, grads, FRONT, 0.25
        )
        found.append([out, *back])
    assert all(torch.equal(a, b) and not a.isnan().any() for a, b in zip(*found, strict=True))


SEEN = causal(20)


def call(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    given = {"logit_scale": scale, "prior_scale": scale, "visible": SEEN}
    return table_attention(q, k, v, table=table, lowest=1 - q.shape[2], **given)


def arguments() -> list[torch.Tensor]:
    shapes = [(1, HEADS, 20, WIDTH), (1, 1, 20, WIDTH), (1, 1, 20, WIDTH), (HEADS, 39), (HEADS, 20)]
    return [drawn(*shape, seed=seed).requires_grad_() for seed, shape in enumerate(shapes)]


def test_works_under_compile_without_a_break():
    compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
    results = []
    for function in (call, compiled):
        inputs = arguments()
        out = function(*inputs)
        results.append([out, *torch.autograd.grad(out.sin().sum(), inputs)])
    assert all(torch.allclose(a, b, rtol=1e-6, atol=1e-7) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize(("queries", "keys", "seen"), [(20, 20, SEEN), (1, 300, None)], ids=["at once", "decoding"])
def test_no_prior_works_under_compile(queries, keys, seen):
    q, k, v = (drawn(1, HEADS, n, WIDTH, seed=n) for n in (queries, keys, keys))
    scale = torch.ones(HEADS, queries)
    given = {"prior": None, "logit_scale": scale, "prior_scale": None, "visible": seen, "offset": keys - queries}
    plain = functools.partial(fused, **given)
    with torch.no_grad():
        found = torch.compile(plain, backend="aot_eager", fullgraph=True)(q, k, v)
        torch.testing.assert_close(found, plain(q, k, v))


def test_the_operators_are_what_torch_expects():
    """Schema, fake implementation (shapes and strides) and the registration of autograd."""
    q, k, v = (drawn(1, 20, HEADS, WIDTH, seed=seed).transpose(1, 2).requires_grad_() for seed in range(3))
    first, last = torch.zeros(1, 20, dtype=torch.int32), torch.arange(20, dtype=torch.int32)[None]
    of_keys, none = drawn(HEADS, 20).requires_grad_(), (None, -1, None, None)
    inputs = (q, k, v, None, of_keys, None, None, first, last, *none, FRONT, 0.25)
    kinds = ("test_schema", "test_faketensor", "test_autograd_registration")
    torch.library.opcheck(launch.fused_forward, inputs, test_utils=kinds)
    out, lse = launch.fused_forward(*inputs)
    assert out.stride() == q.stride()
    grads = [False, True, False, False, False]
    back = (out, q, k, v, out, lse, *inputs[3:7], first, last, None, -1, None, grads, FRONT, 0.25)
    torch.library.opcheck(
        launch.fused_backward,
        tuple(x.detach() if isinstance(x, torch.Tensor) else x for x in back),
        test_utils=kinds[:2],
    )


def test_a_second_derivative_is_refused():
    inputs = arguments()
    (first,) = torch.autograd.grad(call(*inputs).sum(), inputs[:1], create_graph=True)
    with pytest.raises(NotImplementedError, match="use backend='reference' for gradients of gradients"):
        first.sum().backward()


def test_minus_infinity_is_the_floor_and_strides_do_not_matter():
    q, k, v = (drawn(1, HEADS, 9, 2 * WIDTH, seed=seed)[..., ::2] for seed in range(3))
    table = drawn(HEADS, 9)
    table[:, 5:] = -torch.inf
    found = table_attention(q, k, v, table=table)
    wanted = exact(q, k, v, None, visible=window(9, 5))
    prior = table_attention(*(x.contiguous() for x in (q, k, v)), table=table.clamp(min=-1e9))
    assert torch.equal(found, prior)
    lone = table_attention(q, k, v, table=torch.where(table == -torch.inf, table, 0))
    torch.testing.assert_close(lone.double(), wanted, rtol=1e-5, atol=1e-6)


def test_refuses_what_it_cannot_do():
    q, k, v = (drawn(1, HEADS, 5, WIDTH, seed=seed) for seed in range(3))
    table, place = torch.zeros(HEADS, 5), torch.arange(5)
    nan = table.clone()
    nan[0, 3] = math.nan
    bad = [
        (q.double(), k.double(), v.double(), {}, "q is torch.float64.*use backend='sdpa'"),
        (q[..., :8], k[..., :8], v[..., :8], {}, "head width = 8"),
        (drawn(1, 2, 5, 257), drawn(1, 2, 5, 257), drawn(1, 2, 5, 257), {}, "head width = 257"),
        (q[0], k, v, {}, r"q has shape \[2, 5, 16\]"),
        (q, k, v, {"table": table[:, :4]}, r"table has shape \[2, 4\]"),
        (q, k, v, {"table": table[:1]}, r"table has shape \[1, 5\]"),
        (q, k, v, {"table": nan}, "table holds NaN"),
        (q, k, v, {"of_keys": nan}, "of_keys holds NaN"),
        (q, k, v, {"of_keys": table[:, :4]}, r"of_keys has shape \[2, 4\]"),
        (q, k, v, {"table": table, "visible": Visible(place * 0, place * 0 + 4)}, "start the table at -4"),
        (q, k, v, {"visible": Visible(place, place - 1)}, "without any key"),
        (q, k, v, {"logit_scale": torch.ones(3, 5)}, "logit_scale has shape"),
        (q, k, v, {"table": table, "jacobian": torch.zeros(2, 5, 5), "theta": torch.zeros(5, 2)}, "5 parameters"),
        (q, k, v, {"table": table, "jacobian": torch.zeros(2, 1, 4), "theta": torch.zeros(1, 2)}, "do not fit a table"),
        (q, k, v, {"table": table, "theta": torch.zeros(1, 2)}, "belong together"),
        (q, k, v, {"tolerance": 1.0}, "tolerance = 1.0"),
        (q, k, v, {"splits": 2}, "belong to decoding"),
        (q, k, v, {"offset": -1}, "offset = -1"),
    ]
    for *tensors, given, message in bad:
        with pytest.raises(ValueError, match=message) as caught:
            table_attention(*tensors, **given)
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="backend 'triton' takes an integer offset only"):
        attention(q, k, v, prior=Uniform(HEADS), positions=(place, place), backend="triton")
