"""The op's contract, for every backend: laws of attention, and one line for what it cannot do."""

import inspect
import math
import re
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
import torch

from attention_priors.attention import BACKENDS, Visible, attention, causal, op, window
from attention_priors.attention.visible import bidirectional
from attention_priors.positions.priors import GeneralizedGaussian, Laplace, Prior, RelativePrior, Uniform

from .free import Free, FreeKeys

HEADS = 4
HERE = [name for name in BACKENDS if name not in ("triton", "composite")]  # see test_fused.py, test_composite.py
backends = pytest.mark.parametrize("backend", HERE)
learners = pytest.mark.parametrize("backend", [name for name in HERE if name != "sdpa_skip"])


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


@learners
@pytest.mark.parametrize("both_ways", [False, True])
def test_the_gradient_of_the_table_sums_to_zero(backend: str, both_ways: bool) -> None:
    """A softmax does not feel a constant, so that Σ_j dS_ij = 0 and with it Σ_lag dT[lag] = 0 for every head."""
    length = 37
    prior = Free(drawn(HEADS, 2 * length - 1, seed=9), 1 - length)
    visible = bidirectional(length, length) if both_ways else causal(length)
    q, k, v = (drawn(2, HEADS, length, 4, seed=s) for s in range(3))
    out = attention(q, k, v, prior=prior, visible=visible, backend=backend)
    (out * drawn(*out.shape, seed=7)).sum().backward()
    assert prior.values.grad.abs().max() > 0.1
    assert prior.values.grad.sum(1).abs().max() < 1e-11
    assert both_ways or bool((prior.values.grad[:, : length - 1] == 0).all())


@learners
def test_the_gradient_of_every_row_of_scores_sums_to_zero(backend: str) -> None:
    """With log π = 1 the gradient of the row scale b_i is Σ_j dS_ij itself."""
    length = 21
    prior = Free(drawn(HEADS, 2 * length - 1, seed=9), 1 - length)
    with torch.no_grad():
        prior.values.fill_(1.0)
    scale = drawn(2, HEADS, length, seed=5).requires_grad_()
    q, k, v = (drawn(2, HEADS, length, 4, seed=s) for s in range(3))
    out = attention(q, k, v, prior=prior, prior_scale=scale, backend=backend)
    (out * drawn(*out.shape, seed=7)).sum().backward()
    assert scale.grad.abs().max() < 1e-13


@backends
@pytest.mark.parametrize("last", [1, 3, 19])
@torch.no_grad()
def test_decode_is_the_last_rows_of_prefill(backend: str, last: int) -> None:
    length = 20
    q, k, v = drawn(2, HEADS, length, 4), drawn(2, 2, length, 4, seed=1), drawn(2, 2, length, 4, seed=2)
    visible = window(length, 11)
    scale = visible.count.double().log().expand(HEADS, -1)
    whole = attention(q, k, v, prior=learned(), logit_scale=scale, prior_scale=scale, visible=visible, backend=backend)
    skipped = length - last
    rows = {"visible": visible.rows(skipped), "logit_scale": scale[:, skipped:], "prior_scale": scale[:, skipped:]}
    step = attention(q[:, :, skipped:], k, v, prior=learned(), offset=skipped, backend=backend, **rows)
    torch.testing.assert_close(step, whole[:, :, skipped:], rtol=0, atol=1e-13)
    plain = attention(q[:, :, skipped:], k, v, prior=learned(), offset=skipped, backend=backend)
    torch.testing.assert_close(plain, attention(q, k, v, prior=learned(), backend=backend)[:, :, skipped:])


@backends
@torch.no_grad()
def test_consecutive_heads_share_a_key_head(backend: str) -> None:
    q, k, v = drawn(1, HEADS, 6, 4), drawn(1, 2, 6, 4, seed=1), drawn(1, 2, 6, 4, seed=2)
    grouped = attention(q, k, v, prior=learned(), backend=backend)
    shared = [0, 0, 1, 1]
    torch.testing.assert_close(grouped, attention(q, k[:, shared], v[:, shared], prior=learned(), backend=backend))


@backends
@torch.no_grad()
def test_hidden_keys_have_no_influence(backend: str) -> None:
    """Also where they are NaN's neighbours in size: a hidden key may hold anything finite."""
    q, k, v = (drawn(1, HEADS, 9, 4, seed=s) for s in range(3))
    visible = window(9, 3)
    before = attention(q, k, v, prior=learned(), visible=visible, backend=backend)
    k[:, :, :6], v[:, :, :6] = 1e30, -1e30
    after = attention(q, k, v, prior=learned(), visible=visible, backend=backend)
    assert torch.equal(after[:, :, 8], before[:, :, 8])


@backends
@torch.no_grad()
def test_one_visible_key_gets_all_the_weight(backend: str) -> None:
    """A query that sees one key, with a scale of ln 1 = 0."""
    q, k, v = (drawn(1, HEADS, 1, 4, seed=s) for s in range(3))
    zero = torch.zeros(HEADS, 1)
    torch.testing.assert_close(attention(q, k, v, prior=learned(), logit_scale=zero, backend=backend), v)


def test_auto_is_the_fast_path_or_the_specification() -> None:
    q, k, v = (drawn(1, HEADS, 5, 4, seed=s) for s in range(3))
    place = torch.tensor([0, 3, 3, 9, 20])
    fast = attention(q, k, v, prior=learned())
    assert torch.equal(fast, attention(q, k, v, prior=learned(), backend="sdpa"))
    slow = attention(q, k, v, prior=learned(), positions=(place, place))
    assert torch.equal(slow, attention(q, k, v, prior=learned(), positions=(place, place), backend="reference"))
    assert (slow - fast).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("width", "dtype", "wanted"),
    [
        (64, torch.bfloat16, "triton"),
        (64, torch.float64, "sdpa"),
        (8, torch.float32, "sdpa"),
        (512, torch.half, "sdpa"),
    ],
)
def test_auto_on_a_gpu_takes_the_kernels_where_they_serve(width: int, dtype: torch.dtype, wanted: str) -> None:
    q = SimpleNamespace(is_cuda=True, shape=(1, HEADS, 4, width), dtype=dtype)
    expected = wanted if find_spec("triton") else "sdpa"
    automatic = inspect.unwrap(op._automatic)  # a stand-in for a tensor: there is no GPU
    assert automatic(q, learned(), None) == expected
    assert automatic(q, None, None) == "sdpa"


def test_refuses_what_does_not_fit() -> None:
    q, k, v = (drawn(2, HEADS, 5, 4, seed=s) for s in range(3))
    place = torch.arange(5)
    unchecked = inspect.unwrap(attention)  # in tests the shape check of the annotations would come first
    bad = [
        (q[0], k, v, {}, r"q has shape \[4, 5, 4\]"),
        (q[:, :, :0], k, v, {}, "none 0"),
        (q, k, v[:, :, 1:], {}, "do not fit"),
        (q[:, :3], k[:, :2], v[:, :2], {}, "multiple of kv_heads"),
        (q, k.float(), v, {}, "k is torch.float32"),
        (q, k, v, {"prior": Uniform(3)}, "the prior has 3 heads, q has 4"),
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
        (q, k, v, {"backend": "flash"}, "choose 'auto' or one of 'reference', 'sdpa', 'triton'"),
        (q, k, v, {"backend": "sdpa", "positions": (place, place)}, "use backend='reference' for positions"),
    ]
    for *tensors, arguments, message in bad:
        with pytest.raises(ValueError, match=message) as caught:
            unchecked(*tensors, **arguments)
        assert "\n" not in str(caught.value)
    types = [
        ({"logit_scale": 2.0}, "logit_scale = 2.0 is a float, but a tensor is needed"),
        ({"visible": torch.ones(5, 5) > 0}, r"visible is a Tensor, but intervals are needed: causal\(\), window"),
        ({"prior": torch.zeros(HEADS, 5)}, "prior is a Tensor; give a Prior"),
        ({"offset": 0.0}, "offset = 0.0, .* give an int"),
    ]
    for arguments, message in types:
        with pytest.raises(TypeError, match=message) as caught:
            unchecked(q, k, v, **arguments)
        assert "\n" not in str(caught.value)
    with pytest.raises(TypeError, match=r"k = \[1\] is a list"):
        unchecked(q, [1], v)


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
def test_parameters_that_are_not_finite_give_an_error_or_a_finite_limit(name: str, value: float, backend: str) -> None:
    q, k, v = (drawn(1, HEADS, 6, 4, seed=s) for s in range(3))
    prior = spoilt(name, value)
    refused = r"the log-prior of [\w *]+ reaches \[.*(nan|inf).*\]; give it finite parameters"
    try:
        out = attention(q, k, v, prior=prior, backend=backend)
    except ValueError as error:
        assert re.fullmatch(refused, str(error))
    else:  # θ_α = -∞ is the uniform prior, θ_β = -∞ the prior that leaves nothing at a distance below 1
        assert not math.isnan(value) and out.isfinite().all()


@pytest.mark.parametrize("backend", ["reference", "sdpa"])
@torch.no_grad()
def test_what_nobody_sees_must_be_finite(backend: str) -> None:
    """The limit that the docstring states: 0 times NaN is NaN."""
    q, k, v = (drawn(1, HEADS, 6, 4, seed=s) for s in range(3))
    v[:, :, 5] = torch.nan
    out = attention(q, k, v, prior=learned(), backend=backend)
    assert out.isnan().any() and "must be finite" in " ".join(inspect.getdoc(attention).split())


def test_without_triton_its_backend_says_what_to_do(monkeypatch) -> None:
    monkeypatch.setattr("attention_priors.attention.op.TRITON", False)
    q = drawn(1, HEADS, 5, 4)
    with pytest.raises(ValueError, match="needs the package triton, which is not installed; use backend='sdpa'"):
        attention(q, q, q, backend="triton")
