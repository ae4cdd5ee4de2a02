"""Laws of the priors: what a log-prior is, whatever its family."""

import math
from functools import partial

import mpmath
import pytest
import torch

from attention_priors.attention import attention
from attention_priors.attention.visible import bidirectional
from attention_priors.positions.encodings import ENCODINGS
from attention_priors.positions.priors import (
    FLOOR,
    GeneralizedGaussian,
    KeyPrior,
    Laplace,
    Prior,
    Product,
    RelativePrior,
    Uniform,
    alibi_slopes,
)
from attention_priors.positions.scaling import Constant

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


def test_every_relative_encoding_is_here() -> None:
    assert {"alibi", "bam", "t5", "kerple-power", "kerple-log", "sandwich"} <= set(RELATIVE)
    assert "goat" not in RELATIVE and of_encoding("goat").split()[1]


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_is_finite_and_depends_on_the_lag_alone(name: str) -> None:
    prior = PRIORS[name]()
    lags = torch.tensor([-70_000, -3, -1, 0, 1, 2, 70_000])
    together = table(prior, lags)
    assert together.shape == (HEADS, len(lags)) and bool(together.isfinite().all())
    for place in range(len(lags)):
        assert torch.equal(table(prior, lags[place : place + 1])[:, 0], together[:, place])


@pytest.mark.parametrize("name", PRIORS)
def test_the_bias_is_a_toeplitz_matrix(name: str) -> None:
    """Moving all positions together changes nothing: p(i + s, j + s) = p(i, j)."""
    q, k, v = inputs()
    here = torch.arange(9)
    for shift in (1, 1000):
        there = here + shift
        moved = attention(q, k, v, prior=PRIORS[name](), positions=(there, there))
        assert torch.equal(moved, attention(q, k, v, prior=PRIORS[name](), positions=(here, here)))


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_says_whether_its_heads_are_independent(name: str) -> None:
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
def test_a_prior_that_is_a_power_says_which(name: str) -> None:
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


class Raised(RelativePrior):
    """A factor that is constant in the lag."""

    def __init__(self, prior: RelativePrior, constant: float) -> None:
        super().__init__()
        self.prior, self.constant, self.heads = prior, constant, prior.heads

    def log_prior(self, lags: torch.Tensor) -> torch.Tensor:
        return self.prior.exact(lags) + self.constant


@pytest.mark.parametrize("backend", ["reference", "sdpa"])
@pytest.mark.parametrize("constant", [-40.0, 3.0])
def test_a_constant_added_to_the_log_prior_changes_nothing(backend: str, constant: float) -> None:
    q, k, v = inputs()
    plain = attention(q, k, v, prior=learned(), backend=backend)
    raised = attention(q, k, v, prior=Raised(learned(), constant), backend=backend)
    torch.testing.assert_close(raised, plain, rtol=1e-12, atol=1e-12)


def test_shape_one_is_laplace_is_alibi() -> None:
    """θ_β = 1, θ_α = ln m: -m (|lag| + ε), that is ALiBi's bias and a constant."""
    lags = torch.arange(-50, 3000)
    bias = table(GeneralizedGaussian.laplace(HEADS), lags)
    alibi = table(Laplace(alibi_slopes(HEADS)), lags)
    oracle = torch.stack([-(2.0 ** (-8 * (head + 1) / HEADS)) * lags.abs().double() for head in range(HEADS)])
    torch.testing.assert_close(alibi.double(), oracle, rtol=1e-6, atol=0)
    torch.testing.assert_close((bias - bias[:, 50:51]).double(), oracle, rtol=1e-6, atol=1e-5)


def test_the_start_of_training_is_uniform() -> None:
    bias = table(GeneralizedGaussian.uniform(HEADS), torch.arange(-9, 5000))
    assert bool((bias == bias[:, :1]).all())
    q, k, v = inputs()
    nope = attention(q, k, v, prior=Uniform(HEADS))
    torch.testing.assert_close(attention(q, k, v, prior=GeneralizedGaussian.uniform(HEADS)), nope, rtol=0, atol=1e-12)
    torch.testing.assert_close(attention(q, k, v), nope, rtol=0, atol=1e-12)


def published_slopes(heads: int) -> list[float]:
    """Press et al.'s `get_slopes`, from its description: a geometric sequence, and every second of the next size's."""
    if heads & (heads - 1) == 0:
        first = 2 ** (-(2 ** -(heads.bit_length() - 1 - 3)))
        return [first ** (power + 1) for power in range(heads)]
    lower = 1 << (heads.bit_length() - 1)
    return published_slopes(lower) + published_slopes(2 * lower)[0::2][: heads - lower]


@pytest.mark.parametrize("heads", range(1, 66))
def test_alibi_slopes_for_any_number_of_heads(heads: int) -> None:
    assert alibi_slopes(heads) == pytest.approx(published_slopes(heads), rel=1e-12)
    assert len(set(alibi_slopes(heads))) == heads and all(0 < slope < 1 for slope in alibi_slopes(heads))


def test_alibi_slopes_that_can_be_checked_by_hand() -> None:
    assert alibi_slopes(8) == [2.0**-power for power in range(1, 9)]
    assert alibi_slopes(12)[8:] == [2.0**-0.5, 2.0**-1.5, 2.0**-2.5, 2.0**-3.5]


@pytest.mark.parametrize("lag", [0, 1, 2, 1000, 499_999, 500_000])
@pytest.mark.parametrize("theta", [(0.3, 0.45, 1.3), (-1.2, -0.2, -0.01), (-3.0, 1.1, 0.0), (0.0, 0.001, 5.0)])
def test_the_generalised_gaussian_is_its_formula_at_any_lag(lag: int, theta: tuple[float, float, float]) -> None:
    """Against 50 digits, at the float32 values of θ: no lag and no location loses a digit that float32 can hold."""
    prior = GeneralizedGaussian(*([value] for value in theta))
    with mpmath.workdps(50):
        alpha, beta, mu = (mpmath.mpf(p.item()) for p in (prior.theta_alpha, prior.theta_beta, prior.theta_mu))
        location = float(torch.tensor(float(mu)).sinh()) * 2  # μ itself is a float32
        wanted = -mpmath.exp(alpha) * (abs(lag + mpmath.mpf(location)) + mpmath.mpf(prior.epsilon)) ** beta
    assert table(prior, [lag]).item() == pytest.approx(float(wanted), rel=2e-7)
    assert prior.mu.item() == pytest.approx(2 * math.sinh(float(mu)), rel=1e-6)


def test_neighbouring_lags_far_out_stay_apart() -> None:
    """μ = 0.25 shifts the lag 500,000 by a quarter; in float32 it would shift it by 0.25 or by 0.28."""
    prior = GeneralizedGaussian([0.0], [1.0], [math.asinh(0.125)]).double()
    far = table(prior, [500_000, 499_999, -500_000])[0]
    assert (far[1] - far[0]).item() == pytest.approx(1.0, abs=1e-9)
    assert (far[2] - far[0]).item() == pytest.approx(0.5, abs=1e-6)


def test_a_negative_location_moves_the_peak_into_the_past() -> None:
    prior = GeneralizedGaussian([0.0], [2.0], [math.asinh(-4.0)])
    assert prior.mu.item() == pytest.approx(-8.0, rel=1e-6)
    assert table(prior, torch.arange(20)).argmax().item() == 8


def test_alpha_and_beta_are_the_papers() -> None:
    prior = GeneralizedGaussian([0.7, 0.7], [0.5, 0.0])
    assert prior.alpha[0].item() == pytest.approx(math.exp(-0.7 / 0.5), rel=1e-6)
    assert math.isnan(prior.alpha[1].item())
    lag = 37
    by_alpha = -((lag / prior.alpha[0].item()) ** 0.5)
    assert table(prior, [lag])[0].item() == pytest.approx(by_alpha, rel=1e-5)


@pytest.mark.parametrize("beta", [-6.0, 12.0])
def test_no_parameter_makes_the_bias_infinite(beta: float) -> None:
    prior = GeneralizedGaussian([0.0], [beta])
    bias = table(prior, [0, 1, 500_000])
    assert bool(bias.isfinite().all()) and bias.min().item() == pytest.approx(FLOOR)
    bias.sum().backward()
    assert prior.theta_beta.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_parameters_keep_the_lags_apart(dtype: torch.dtype) -> None:
    for prior in (Laplace([0.5]), GeneralizedGaussian([-0.5], [1.0])):
        far = table(prior.to(dtype), [256, 257, 70_000, 70_001])[0]
        assert far.dtype == torch.float32 and bool(far.isfinite().all())
        assert bool((far.diff() < 0).all())


def test_only_what_is_named_is_trained() -> None:
    lags = torch.arange(30)
    for names in (("theta_alpha",), ("theta_beta", "theta_mu"), ()):
        prior = GeneralizedGaussian([0.1], [0.4], [0.2], trainable=names)
        assert {name for name, p in prior.named_parameters() if p.requires_grad} == set(names)
        if names:
            prior.log_prior(lags).sum().backward()
    assert not any(p.requires_grad for p in Laplace([1.0]).parameters())
    assert Laplace([1.0], trainable=True).slopes.requires_grad


class Table(torch.nn.Module):
    """The table of a prior as a module, so that its parameters can be replaced."""

    def __init__(self, prior: Prior) -> None:
        super().__init__()
        self.prior = prior

    def forward(self, lags: list[int]) -> torch.Tensor:
        return table(self.prior, lags)


@pytest.mark.parametrize("name", ["learned", "product"])
def test_gradients_of_the_log_prior_in_float64(name: str) -> None:
    module = Table(PRIORS[name]().double())
    names, values = zip(*module.named_parameters(), strict=True)

    def by_parameters(*replaced: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(module, dict(zip(names, replaced, strict=True)), ([-2, 0, 1, 5, 40],))

    assert torch.autograd.gradcheck(by_parameters, [p.detach().requires_grad_() for p in values])


def test_a_product_adds_logs_and_splits_into_its_factors() -> None:
    lags = torch.arange(12)
    first, second, third = Laplace([0.3, 0.1]), GeneralizedGaussian([0.0, 0.2], [0.5, 0.7]), Uniform(2)
    product = first * second * third
    assert product.split()[0] == [first, second, third]
    torch.testing.assert_close(table(product, lags), first.log_prior(lags) + second.log_prior(lags))
    assert {id(p) for p in product.parameters()} == {id(p) for f in (first, second) for p in f.parameters()}


class Sink(KeyPrior):
    """The first key weighs e^2 times as much."""

    heads = HEADS

    def log_prior(self, keys: torch.Tensor, length: int) -> torch.Tensor:
        return 2.0 * (keys == 0).double().expand(HEADS, -1)


def test_a_key_prior_adds_to_a_relative_one() -> None:
    q, k, v = inputs()
    sunk = attention(
        torch.zeros_like(q), k, v, prior=Sink() * Uniform(HEADS), visible=bidirectional(9, 9), backend="reference"
    )
    weights = torch.full((9,), 1.0, dtype=torch.float64)
    weights[0] = math.e**2
    torch.testing.assert_close(sunk[0, :, 3], (v * (weights / weights.sum())[:, None]).sum(2)[0])


def test_refuses_what_is_outside_the_domain() -> None:
    bad = [
        (lambda: Laplace([0.5, -1.0]), "slope above 0"),
        (lambda: Laplace([]), "slope above 0"),
        (lambda: Laplace([math.inf]), "finite"),
        (lambda: Uniform(0), "heads = 0"),
        (lambda: alibi_slopes(0), "heads = 0"),
        (lambda: GeneralizedGaussian([0.0], [math.nan]), "theta_beta = "),
        (lambda: GeneralizedGaussian([0.0], [0.0, 1.0]), r"theta_beta \[2\]"),
        (lambda: GeneralizedGaussian([], []), "at least one head"),
        (lambda: GeneralizedGaussian([0.0], [0.0], epsilon=0.0), "epsilon = 0.0"),
        (lambda: GeneralizedGaussian([0.0], [0.0], trainable=("beta",)), "'beta'"),
        (lambda: Uniform(2) * Uniform(3), r"\[2, 3\] heads"),
    ]
    for make, message in bad:
        with pytest.raises(ValueError, match=message) as caught:
            make()
        assert "\n" not in str(caught.value)
    with pytest.raises(TypeError):
        Uniform(2) * 2.0
