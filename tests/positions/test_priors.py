"""Laws of the priors: what a log-prior is, whatever its family."""

import math
from functools import partial

import mpmath
import pytest
import torch

from attention_priors.attention import attention
from attention_priors.positions.composite import SharedSink
from attention_priors.positions.encodings import ENCODINGS
from attention_priors.positions.finite_rank import ExponentialPolynomial
from attention_priors.positions.priors import (
    FLOOR,
    GeneralizedGaussian,
    KerpleLog,
    KerplePower,
    Laplace,
    Prior,
    Product,
    RelativePrior,
    Uniform,
    alibi_slopes,
)
from attention_priors.positions.scaling import Constant
from attention_priors.positions.spectral import Fourier, Sink
from refusals import refused

HEADS = 4


def learned(heads: int = HEADS, location: float = 0.7) -> GeneralizedGaussian:
    """A prior as training leaves it: no parameter at a special value."""
    spread = torch.linspace(-1, 1, heads)
    return GeneralizedGaussian(0.5 * spread, 0.3 + 0.9 * spread, location * spread, trainable=GeneralizedGaussian.NAMES)


PRIORS = {
    "uniform": lambda: Uniform(HEADS),
    "laplace": lambda: Laplace(alibi_slopes(HEADS)),
    "start": lambda: GeneralizedGaussian.uniform(HEADS),
    "start-laplace": lambda: GeneralizedGaussian.laplace(HEADS),
    "learned": learned,
    "gaussian": lambda: GeneralizedGaussian(torch.full((HEADS,), -2.0), torch.full((HEADS,), 2.0)),
    "below-zero": lambda: GeneralizedGaussian(torch.zeros(HEADS), torch.full((HEADS,), -0.5)),
    "product": lambda: Product(Laplace([0.1] * HEADS), learned()),
}


def table(prior: Prior, lags: list[int] | torch.Tensor) -> torch.Tensor:
    relative, keys = prior.split()
    assert not keys
    return sum(factor.log_prior(torch.as_tensor(lags)) for factor in relative)


def inputs(queries: int = 9, width: int = 4) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(1, HEADS, queries, width, dtype=torch.float64, generator=generator) for _ in range(3)]


def of_encoding(name: str) -> Prior:
    torch.manual_seed(0)  # KERPLE starts at random
    return ENCODINGS[name].prior(HEADS)


RELATIVE = [n for n, row in ENCODINGS.items() if row.prior and row.scale is Constant and not of_encoding(n).split()[1]]
PRIORS |= {f"encoding {name}": partial(of_encoding, name) for name in RELATIVE}  # with keys: see test_spectral.py


def test_every_relative_encoding_is_here():
    assert {"alibi", "bam", "t5", "kerple-power", "kerple-log", "sandwich"} <= set(RELATIVE)
    assert "goat" not in RELATIVE and of_encoding("goat").split()[1]


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_is_finite_and_depends_on_the_lag_alone(name):
    prior = PRIORS[name]()
    lags = torch.tensor([-70_000, -3, -1, 0, 1, 2, 70_000])
    together = table(prior, lags)
    assert together.shape == (HEADS, len(lags)) and bool(together.isfinite().all())
    for place in range(len(lags)):
        assert torch.equal(table(prior, lags[place : place + 1])[:, 0], together[:, place])


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_says_whether_its_heads_are_independent(name):
    """`headwise`: a parameter of one head moves the log-prior of that head alone."""
    prior = PRIORS[name]()
    for factor in prior.split()[0]:
        learned = bool(list(factor.parameters()))
        more = name in (
            "encoding t5",
            "encoding t5-quarter",
            "encoding lag-table",
            "encoding goat-no-sink",
        )  # than one number for each head
        assert factor.headwise == (learned and not more)
        if not factor.headwise:
            continue
        for parameter in factor.parameters():
            assert parameter.shape == (HEADS,)
            parameter.requires_grad_()
            for head in range(HEADS):
                (slope,) = torch.autograd.grad(factor.log_prior(torch.arange(-9, 40))[head].sum(), parameter)
                assert not slope[torch.arange(HEADS) != head].any()


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_that_is_a_power_says_which(name):
    prior = PRIORS[name]()
    powers = [factor.power() for factor in prior.split()[0]]
    if name == "laplace" or name.startswith(("start", "learned", "encoding bam")):
        assert None not in powers
    for factor, power in zip(prior.split()[0], powers, strict=True):
        if power is not None:
            lags = torch.arange(-300, 3000)
            numbers = (torch.zeros(()) if x is None else x.double()[:, None] for x in power[:3])
            strength, beta, mu = numbers
            strength, mu = (strength.exp(), 2 * mu.sinh()) if power.exponential else (strength, mu)
            written = -strength * ((lags + mu).abs() + power.epsilon) ** (1 if power.beta is None else beta)
            torch.testing.assert_close(factor.log_prior(lags).double(), written, rtol=1e-5, atol=1e-6)


def test_the_start_of_training_is_uniform():
    bias = table(GeneralizedGaussian.uniform(HEADS), torch.arange(-9, 5000))
    assert bool((bias == bias[:, :1]).all())
    q, k, v = inputs()
    nope = attention(q, k, v, prior=Uniform(HEADS))
    torch.testing.assert_close(attention(q, k, v, prior=GeneralizedGaussian.uniform(HEADS)), nope, rtol=0, atol=1e-12)
    torch.testing.assert_close(attention(q, k, v), nope, rtol=0, atol=1e-12)


@pytest.mark.parametrize("lag", [0, 1, 2, 1000, 499_999, 500_000])
@pytest.mark.parametrize("theta", [(0.3, 0.45, 1.3), (-1.2, -0.2, -0.01), (-3.0, 1.1, 0.0), (0.0, 0.001, 5.0)])
def test_the_generalised_gaussian_is_its_formula_at_any_lag(lag, theta):
    """Against 50 digits, at the float32 values of θ: no lag and no location loses a digit that float32 can hold."""
    prior = GeneralizedGaussian(*([value] for value in theta))
    with mpmath.workdps(50):
        alpha, beta, mu = (mpmath.mpf(p.item()) for p in (prior.theta_alpha, prior.theta_beta, prior.theta_mu))
        location = float(torch.tensor(float(mu)).sinh()) * 2  # μ itself is a float32
        wanted = -mpmath.exp(alpha) * (abs(lag + mpmath.mpf(location)) + mpmath.mpf(prior.epsilon)) ** beta
    assert table(prior, [lag]).item() == pytest.approx(float(wanted), rel=2e-7)
    assert prior.mu.item() == pytest.approx(2 * math.sinh(float(mu)), rel=1e-6)


def test_neighbouring_lags_far_out_stay_apart():
    """μ = 0.25 shifts the lag 500,000 by a quarter; in float32 it would shift it by 0.25 or by 0.28."""
    prior = GeneralizedGaussian([0.0], [1.0], [math.asinh(0.125)]).double()
    far = table(prior, [500_000, 499_999, -500_000])[0]
    assert (far[1] - far[0]).item() == pytest.approx(1.0, abs=1e-9)
    assert (far[2] - far[0]).item() == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("beta", [-6.0, 12.0])
def test_no_parameter_makes_the_bias_infinite(beta):
    prior = GeneralizedGaussian([0.0], [beta])
    bias = table(prior, [0, 1, 500_000])
    assert bool(bias.isfinite().all()) and bias.min().item() == pytest.approx(FLOOR)
    bias.sum().backward()
    assert prior.theta_beta.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_parameters_keep_the_lags_apart(dtype):
    for prior in (Laplace([0.5]), GeneralizedGaussian([-0.5], [1.0])):
        far = table(prior.to(dtype), [256, 257, 70_000, 70_001])[0]
        assert far.dtype == torch.float32 and bool(far.isfinite().all())
        assert bool((far.diff() < 0).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "make",
    [
        Laplace,
        Sink,
        SharedSink,
        lambda x: GeneralizedGaussian(x, x, x),
        lambda x: KerplePower(x, x),
        lambda x: KerpleLog(x, x),
        lambda x: Fourier([1.0], x[:, None], x[:, None]),
        lambda x: ExponentialPolynomial(x[:, None, None], x[:, None], x[:, None]),
    ],
)
def test_a_prior_does_not_keep_the_tensor_it_was_given(make, dtype):
    given = torch.full((2,), 0.5, dtype=dtype)
    for parameter in make(given).parameters():
        parameter.data.fill_(3.0)
    assert given.tolist() == [0.5, 0.5]


class Headless(RelativePrior):
    def log_prior(self, lags):
        return -lags.abs()


test_refuses_what_is_outside_the_domain = refused(
    (lambda: Laplace([0.5, -1.0]), r"slopes = \[0.5, -1.0\]", "above 0"),
    (lambda: Laplace([]), "at least one head"),
    (lambda unchecked: Laplace(8), "slopes = 8; give one number per head, alibi_slopes(heads) for ALiBi's"),
    (lambda unchecked: KerpleLog(1.0, 1.0), "r1 = 1.0; give one number per head"),
    (lambda unchecked: GeneralizedGaussian(8, 8), "theta_alpha = 8;", "GeneralizedGaussian.uniform(heads)"),
    (lambda: GeneralizedGaussian([0.0], [0.0], trainable="theta_alpha"), "'theta_alpha'; give a tuple of names"),
    (lambda unchecked: GeneralizedGaussian([0.0], [0.0], trainable=True), "True; give a tuple of names"),
    (lambda: Product(), "at least one factor"),
    (lambda: Headless() * Uniform(2), "Headless has no heads; set self.heads in __init__"),
    (lambda unchecked: Headless().table(torch.arange(3)), "Headless has no heads; set self.heads in __init__"),
    (lambda: Laplace([math.inf]), "finite"),
    (lambda: Uniform(0), "heads = 0"),
    (lambda: alibi_slopes(0), "heads = 0"),
    (lambda: GeneralizedGaussian([0.0], [math.nan]), "theta_beta = "),
    (lambda: GeneralizedGaussian([0.0], [0.0, 1.0]), r"theta_beta \[2\]"),
    (lambda: GeneralizedGaussian([], []), "at least one head"),
    (lambda: GeneralizedGaussian([0.0], [0.0], epsilon=0.0), "epsilon = 0.0"),
    (lambda: GeneralizedGaussian([0.0], [0.0], trainable=("beta",)), "'beta'"),
    (lambda: Uniform(2) * Uniform(3), r"\[2, 3\] heads"),
)
