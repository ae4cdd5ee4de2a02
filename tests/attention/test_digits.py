"""Digits that a large log-prior must not cost, where float32 alone would lose them: the backends of the CPU.

The kernels of backend "triton" stay in float32: there the bound grows with a row's best log-prior (test_properties).
"""

import pytest
import torch

from attention_priors.attention import attention, sdpa
from attention_priors.attention.visible import Visible
from attention_priors.positions.priors import GeneralizedGaussian

BACKENDS = ("reference", "sdpa", "sdpa_skip")


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_visible_far_below_a_prior_s_peak_keeps_its_digits(backend):
    """Queries see lags 2,000 to 2,016 alone, 30,000 below lag 0: in float32 a log-prior there is known to 0.002.

    The formula in float64, less each row's peak, whose gradient no row feels: θ_β's is a sum that nearly cancels.
    """
    alpha, beta, window_, after = 12.47, 0.01, 17, 2000
    queries, keys = 16, 16 + after + window_ - 1
    q, k, v, w = (
        torch.randn(1, 1, n, 16, generator=torch.Generator().manual_seed(i))
        for i, n in enumerate((queries, keys, keys, queries))
    )
    rows = torch.arange(queries)
    visible = Visible(rows, rows + window_ - 1)
    lags = ((keys - queries + rows)[:, None] - torch.arange(keys)).double()
    mask = visible.dense(keys)
    theta = [torch.tensor(x).double().requires_grad_() for x in (alpha, beta)]  # as float32 has them
    seen = (-theta[0].exp() * (lags.abs() + 1e-5) ** theta[1]).masked_fill(~mask, -torch.inf)
    peak = seen.detach().amax(-1, keepdim=True)
    assert float(-theta[0].detach().exp() * 1e-5 ** theta[1].detach() - peak.max()) > 20_000
    dots = q.double() @ k.double().transpose(-1, -2) / 4
    exact = (dots + seen - peak).softmax(-1) @ v.double()
    prior = GeneralizedGaussian([alpha], [beta])
    learns = backend != "sdpa_skip"
    with torch.set_grad_enabled(learns):
        out = attention(q, k, v, prior=prior, visible=visible, offset=keys - queries, backend=backend)
    assert (out - exact).abs().max() < 2e-5
    if learns:
        (exact * w).sum().backward()
        (out * w).sum().backward()
        for name, x in zip(("theta_alpha", "theta_beta"), theta, strict=True):
            assert torch.allclose(getattr(prior, name).grad.double(), x.grad, rtol=2e-3), name


@pytest.mark.parametrize("whole", [True, False])
def test_a_row_that_sees_one_key_teaches_its_prior_nothing(whole, monkeypatch):
    """Its weight is 1 whatever the prior says: dS is 0, and what rounding leaves of it must not grow."""
    if not whole:
        for name, size in (("WHOLE", 0), ("BLOCK_QUERIES", 8), ("BLOCK_KEYS", 16)):
            monkeypatch.setattr(sdpa, name, size)
    rows = torch.arange(33)
    q, k, v, w = (
        torch.randn(1, 1, 65, 16, generator=torch.Generator().manual_seed(i))[..., :n, :]
        for i, n in enumerate((33, 65, 65, 33))
    )
    prior = GeneralizedGaussian([9.0], [1.0])
    out = attention(q, k, v, prior=prior, visible=Visible(rows, rows), offset=32, backend="sdpa")
    assert torch.allclose(out, v[..., :33, :], atol=1e-6)
    (out * w).sum().backward()
    assert max(float(x.grad.abs().max()) for x in (prior.theta_alpha, prior.theta_beta)) < 1e-6
