"""The op's contract, for every backend: laws of attention, and one line for what it cannot do."""

import inspect
import math
import re
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
import torch

from attention_priors.attention import BACKENDS, Visible, attention, bidirectional, causal, op, window
from attention_priors.positions.pairs import Counts, LearnedSink
from attention_priors.positions.priors import GeneralizedGaussian, Laplace, Prior, RelativePrior, Uniform

from .free import Free, FreeKeys

HEADS = 4
HERE = [name for name in BACKENDS if name not in ("triton", "composite")]  # see test_fused.py, test_composite.py
backends = pytest.mark.parametrize("backend", HERE)


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def learned() -> GeneralizedGaussian:
    theta = torch.linspace(-0.8, 0.8, HEADS)
    return GeneralizedGaussian(theta, 0.3 + theta, theta, trainable=GeneralizedGaussian.NAMES).double()


class Narrow(RelativePrior):
    """A log-prior of one lag, however many are asked for."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def log_prior(self, lags: torch.Tensor) -> torch.Tensor:
        return torch.zeros(self.heads, 1)

    exact = log_prior  # in tests the shape check of the base class would come first


class Flat(Narrow):
    """A log-prior without heads."""

    def log_prior(self, lags: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(lags))

    exact = log_prior


@backends
@torch.no_grad()
def test_hidden_keys_have_no_influence(backend):
    """Also where they are NaN's neighbours in size: a hidden key may hold anything finite."""
    q, k, v = (drawn(1, HEADS, 9, 4, seed=s) for s in range(3))
    visible = window(9, 3)
    before = attention(q, k, v, prior=learned(), visible=visible, backend=backend)
    k[:, :, :6], v[:, :, :6] = 1e30, -1e30
    after = attention(q, k, v, prior=learned(), visible=visible, backend=backend)
    assert torch.equal(after[:, :, 8], before[:, :, 8])


def test_auto_is_the_fast_path():
    q, k, v = (drawn(1, HEADS, 5, 4, seed=s) for s in range(3))
    assert torch.equal(attention(q, k, v, prior=learned()), attention(q, k, v, prior=learned(), backend="sdpa"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("length", [20, 400])  # one block of backend "sdpa", and several
@pytest.mark.parametrize("slopes", [None, [1.0, 0.5]])
@pytest.mark.parametrize("backend", [*HERE, "backward inside"])
def test_autocast_rounds_nothing(backend, slopes, length, dtype):
    """Under it a bias of -257 would become -256. Also where the backward pass of "sdpa" runs inside it."""
    inside, backend = backend == "backward inside", backend.replace("backward inside", "sdpa")
    learns = backend != "sdpa_skip"
    q, k, v = (drawn(1, 2, length, 8, seed=s).to(dtype).requires_grad_(learns) for s in range(3))
    prior = None if slopes is None else Laplace(slopes, trainable=learns)
    leaves, found = [q, k, v, *([] if prior is None else prior.parameters())], []
    for enabled in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            out = attention(q, k, v, prior=prior, backend=backend)
            total = out.sin().sum()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled and inside):
            found.append([out, *(torch.autograd.grad(total, leaves) if learns else ())])
    assert all(torch.equal(cast, plain) for plain, cast in zip(*found, strict=True))


@pytest.mark.parametrize("backend", ["reference", "sdpa"])
def test_only_the_reference_is_differentiated_twice_and_by_torch_func(backend):
    q, k, v = (drawn(1, HEADS, 5, 4, seed=s) for s in range(3))
    prior = learned()

    def total(x: torch.Tensor) -> torch.Tensor:
        return attention(x, k, v, prior=prior, backend=backend).sin().sum()

    def twice(x: torch.Tensor) -> torch.Tensor:
        x = x.clone().requires_grad_()
        once = torch.autograd.grad(total(x), x, create_graph=True)[0]
        return torch.autograd.grad(once.sum(), x)[0]

    for call in (twice, torch.func.grad(total), lambda x: torch.func.jvp(total, (x,), (x,))):
        if backend == "reference":
            call(q)
        else:
            with pytest.raises(RuntimeError):
                call(q)


@torch.no_grad()
def test_positions_that_are_given_make_the_lags():
    q, k, v, scale = (
        drawn(2, HEADS, 3, 4),
        drawn(2, 2, 5, 4, seed=1),
        drawn(2, 2, 5, 4, seed=2),
        drawn(HEADS, 3, seed=3),
    )
    places = torch.tensor([9, 2, 50]), torch.tensor([0, 2, 2, 7, 30])
    visible = Visible(torch.tensor([0, 2, 1]), torch.tensor([4, 2, 3]))
    found = attention(q, k, v, prior=learned(), prior_scale=scale, visible=visible, positions=places)
    lags = places[0][:, None] - places[1]
    bias = learned().table(lags.flatten()).unflatten(1, lags.shape) * scale[..., None]
    logits = q @ k.repeat_interleave(2, 1).mT / 2 + bias.masked_fill(~visible.dense(5), -torch.inf)
    torch.testing.assert_close(found, logits.softmax(-1) @ v.repeat_interleave(2, 1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("width", "dtype", "wanted"),
    [
        (64, torch.bfloat16, "triton"),
        (64, torch.float64, "sdpa"),
        (8, torch.float32, "sdpa"),
        (512, torch.half, "sdpa"),
    ],
)
def test_auto_on_a_gpu_takes_the_kernels_where_they_serve(width, dtype, wanted):
    q = SimpleNamespace(is_cuda=True, shape=(1, HEADS, 4, width), dtype=dtype)
    expected = wanted if find_spec("triton") else "sdpa"
    automatic = inspect.unwrap(op._automatic)  # a stand-in for a tensor: there is no GPU
    assert automatic(q, learned(), None) == expected
    assert automatic(q, None, None) == "sdpa"


def test_refuses_what_does_not_fit():
    q, k, v = (drawn(2, HEADS, 5, 4, seed=s) for s in range(3))
    place = torch.arange(5)
    unchecked = inspect.unwrap(attention)  # in tests the shape check of the annotations would come first
    bad = [
        (q[0], k, v, {}, r"q has shape \[4, 5, 4\]"),
        (q[:, :, :0], k, v, {}, "and no dimension may be 0"),
        (q, k, v[:, :, 1:], {}, "do not fit"),
        (q[:, :3], k[:, :2], v[:, :2], {}, "multiple of kv_heads"),
        (q, k.float(), v, {}, "k is torch.float32"),
        (q, k, v, {"prior": Uniform(3)}, r"the prior has 3 heads, q \[2, 4, 5, 4\] has 4 .* build the prior with 4"),
        (q, k, v, {"prior": Uniform(5)}, r"the prior has 5 heads, .* give q.transpose\(1, 2\)"),
        (q, k, v, {"prior": Uniform(HEADS).to("meta")}, r"the prior is on meta, q on cpu; move it: prior.to\('cpu'\)"),
        (q, k, v, {"logit_scale": torch.ones(HEADS, 5, device="meta")}, "logit_scale is on meta, q on cpu"),
        (q, k, v, {"visible": causal(5, device=torch.device("meta"))}, "visible is on meta, q on cpu; make it with"),
        (q[:, :, :1], k, v, {"visible": causal(1, 4)}, "made for offset 4, but offset = 0; give both the same"),
        (q[:, :, :1], k, v, {"visible": window(1, 2), "offset": 4}, "made for offset 0, but offset = 4"),
        (q[:, :, 4:], k, v, {"visible": causal(5).rows(4) & window(1, 2, 4)}, "made for offset 4, but offset = 0"),
        (q, k, v, {"visible": bidirectional(5, 5), "pairs": Counts(HEADS, 4)}, "Counts sums .* use causal"),
        (q, k, v, {"logit_scale": torch.ones(HEADS, 4)}, r"logit_scale has shape \[4, 4\]"),
        (q, k, v, {"prior_scale": torch.ones(5)}, r"prior_scale has shape \[5\]"),
        (q, k, v, {"offset": -1}, "offset = -1"),
        (q, k, v, {"offset": 3}, "5 queries from offset 3 on stand outside the 5 keys"),
        (q[:, :, :1], k, v, {}, r"leave 4 of the 5 keys unseen; give offset=4, or say visible=causal\(1, 0\)"),
        (q[:, :, :2], k, v, {"offset": 1}, "leave 2 of the 5 keys unseen; give offset=3"),
        (q.long(), k.long(), v.long(), {}, "q is torch.int64, but attention needs one of torch.float64"),
        (q > 0, k > 0, v > 0, {}, "q is torch.bool"),
        (q.cfloat(), k.cfloat(), v.cfloat(), {}, "q is torch.complex64"),
        (q, k, v, {"logit_scale": torch.ones(HEADS, 5).long()}, "logit_scale is torch.int64"),
        (q, k, v, {"prior": Narrow(HEADS)}, r"of Narrow has shape \[4, 1\], but \[heads, positions\] = \[4, 5\]"),
        (q, k, v, {"prior": Free(drawn(HEADS, 5), 0) * Flat(HEADS)}, r"of Flat has shape \[5\]"),
        (q, k, v, {"visible": causal(4)}, r"visible has shape \[4\]"),
        (q, k, v, {"visible": Visible(place, place - 1)}, "without any key"),
        (q, k, v, {"visible": Visible(place, place + 1)}, "outside"),
        (
            q,
            k,
            v,
            {"positions": (place[:3], place)},
            r"positions have shapes \[3\] .* and \[5\] .*, but .* \[keys\] = \[5\]",
        ),
        (q, k, v, {"positions": (place, place[:1])}, r"and \[1\] \(torch.int64\)"),
        (q, k, v, {"positions": (place[None], place)}, r"have shapes \[1, 5\]"),
        (q, k, v, {"positions": (place.float(), place)}, r"\[5\] \(torch.float32\) and .* integers"),
        (q, k, v, {"pairs": LearnedSink(1, 4)}, "pairs has 1 heads, q has 4; build it with 4"),
        (q, k, v, {"pairs": LearnedSink(HEADS, 8)}, "pairs is for heads of width 8, q has 4; build it with 4"),
        (q, k, v, {"backend": "flash"}, "choose 'auto' or one of 'reference', 'sdpa', 'triton'"),
        (q, k, v, {"backend": "sdpa", "positions": (place, place)}, "use backend='reference' for positions"),
    ]
    for *tensors, arguments, message in bad:
        with pytest.raises(ValueError, match=message) as caught:
            unchecked(*tensors, **arguments)
        assert "\n" not in str(caught.value)
    types = [
        ({"logit_scale": 2.0}, "logit_scale is a float; give a tensor"),
        ({"visible": torch.ones(5, 5) > 0}, r"visible is a torch.Tensor, but intervals are needed: causal\(\), window"),
        (
            {"prior": torch.zeros(HEADS, 5)},
            r"prior is a torch.Tensor; give a prior such as Laplace\(alibi_slopes\(4\)\)",
        ),
        ({"offset": 0.0}, r"offset = 0.0 is a float; give a whole number \(int\)"),
        ({"offset": "0"}, "offset = '0' is a str"),
        ({"positions": place}, "positions is a torch.Tensor; give a pair of tensors: those of the queries and"),
        ({"positions": (place,) * 3}, "positions is a tuple; give a pair"),
        ({"positions": ([0], [0])}, "positions is a tuple; give a pair"),
        ({"pairs": 3}, "pairs is a int; give a PairBias"),
    ]
    for arguments, message in types:
        with pytest.raises(TypeError, match=message) as caught:
            unchecked(q, k, v, **arguments)
        assert "\n" not in str(caught.value)
    for given, message in ((q.numpy(), "k is a numpy.ndarray; give a tensor"), ([1], "k is a list; give a tensor")):
        with pytest.raises(TypeError, match=f"^{message}$"):
            unchecked(q, given, v)


def spoilt(name: str, value: float) -> Prior:
    prior = (
        learned() if hasattr(learned(), name) else Laplace([0.5] * HEADS).double() * FreeKeys(drawn(HEADS, 6, seed=8))
    )
    with torch.no_grad():
        dict(prior.named_parameters())[name][..., 1] = value
    return prior


@backends
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["theta_alpha", "theta_beta", "theta_mu", "factors.0.slopes", "factors.1.values"])
@torch.no_grad()
def test_parameters_that_are_not_finite_give_an_error_or_a_finite_limit(name, value, backend):
    q, k, v = (drawn(1, HEADS, 6, 4, seed=s) for s in range(3))
    prior = spoilt(name, value)
    refused = r"the log-prior of [\w *]+ reaches \[.*(nan|inf).*\]; give it finite parameters"
    try:
        out = attention(q, k, v, prior=prior, backend=backend)
    except ValueError as error:
        assert re.fullmatch(refused, str(error))
    else:  # θ_α = -∞ is the uniform prior, θ_β = -∞ the prior that leaves nothing at a distance below 1
        assert not math.isnan(value) and out.isfinite().all()
