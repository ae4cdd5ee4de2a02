"""BAM's prior as ablations need it: closed forms, and what other starts and subsets amount to."""

import math

import pytest
import torch

from attention_priors.positions.encodings import encoding
from attention_priors.positions.priors import GeneralizedGaussian, KerplePower, alibi_slopes
from attention_priors.positions.variants import Bounded, Misread, signed, unlogged

LAGS = torch.arange(-3, 400)


def flat(prior):
    bias = prior.log_prior(LAGS)
    return torch.equal(bias, bias[:, :1].expand_as(bias))


def test_a_slope_without_its_logarithm_is_steeper_than_alibi():
    prior = unlogged(4)
    slopes = -prior.log_prior(torch.tensor([100]))[:, 0] / 100
    assert slopes.tolist() == pytest.approx([math.exp(m) for m in alibi_slopes(4)], rel=1e-6)
    assert slopes.min() > max(alibi_slopes(4))


def test_signs_are_fixed_and_the_scale_is_trained():
    for sign, betas in (
        ("negative", [-0.25, -0.5, -0.75, -1]),
        ("positive", [0.25, 0.5, 0.75, 1]),
        ("mixed", [-0.25, 0.5, -0.75, 1]),
    ):
        prior = signed(4, sign)
        assert prior.beta.tolist() == betas
        assert [name for name, p in prior.named_parameters() if p.requires_grad] == ["theta_alpha"]
    with pytest.raises(ValueError, match="sign = 'both'; choose one of negative, positive, mixed"):
        signed(4, "both")


def test_bounded_exponents_are_kerples_powers_and_bams_where_it_has_none_below_zero():
    prior, alpha, beta = Bounded(4), [-2.0, 0.0, 0.5, 1.0], [0.3, -0.7, 1.5, 9.0]
    with torch.no_grad():
        prior.theta_alpha.copy_(torch.tensor(alpha))
        prior.theta_beta.copy_(torch.tensor(beta))
    assert prior.beta.tolist() == pytest.approx([0.3, 0.7, 1.5, 2.0])
    bam = GeneralizedGaussian(alpha, [0.3, 0.7, 1.5, 2.0])
    assert torch.equal(prior.log_prior(LAGS), bam.log_prior(LAGS))
    kerple = KerplePower([math.exp(value) for value in alpha], [0.3, 0.7, 1.5, 2.0])
    far = torch.arange(1, 400)
    assert torch.allclose(prior.exact(far), kerple.exact(far), rtol=1e-4)


def test_bounded_exponents_begin_next_to_bams_start_and_can_move():
    prior, start = Bounded(4), GeneralizedGaussian.uniform(4)
    near = torch.arange(1, 128)
    spread = prior.exact(near).amax(1) - prior.exact(near).amin(1)
    assert bool((start.exact(near) == start.exact(near)[:, :1]).all()) and 0 < spread.max().item() < 0.06
    (prior.exact(near) * torch.linspace(-1, 1, len(near))).sum().backward()
    assert bool((prior.theta_beta.grad != 0).all())


def test_from_the_uniform_start_the_scale_alone_changes_nothing():
    """θα multiplies a constant: training it alone is NoPE, whatever it becomes."""
    prior = encoding("bam-scale-ssmax").prior(4)
    with torch.no_grad():
        prior.theta_alpha.copy_(torch.tensor([-3.0, 0.0, 1.0, 4.0]))
    assert flat(prior)
    shape = encoding("bam-shape-ssmax").prior(4)
    with torch.no_grad():
        shape.theta_beta.fill_(0.5)
    assert not flat(shape)


def test_from_alibis_slopes_with_nothing_trained_it_is_alibi():
    for name in ("bam-laplace-scale-ssmax", "bam-laplace-shape-ssmax", "bam-code-a-ssmax"):
        bias = encoding(name).prior(4).log_prior(LAGS)
        assert torch.allclose(bias, encoding("alibi-ssmax-prior").prior(4).log_prior(LAGS), atol=1e-4)


TRAINED = {
    "bam-shape-ssmax": {"theta_beta"},
    "bam-scale-ssmax": {"theta_alpha"},
    "bam-laplace-shape-ssmax": {"theta_beta"},
    "bam-laplace-scale-ssmax": {"theta_alpha"},
    "bam-code-a-ssmax": {"theta_alpha", "theta_beta", "theta_mu"},
    "bam-code-b-ssmax": {"theta_alpha", "theta_beta", "theta_mu"},
    "bam-code-c-ssmax": {"theta_alpha", "theta_beta"},
}


@pytest.mark.parametrize("name", TRAINED)
def test_rows_train_what_they_say(name):
    row = encoding(name)
    assert {n for n, p in row.prior(4).named_parameters() if p.requires_grad} == TRAINED[name]
    assert row.scales_prior and row.shared == (name == "bam-code-a-ssmax")


def test_the_formula_that_was_evaluated_scales_by_alpha_times_beta():
    alpha, beta = torch.tensor([1.5, -1.0, 0.3]), torch.tensor([0.5, -0.7, 1.0])
    trained = GeneralizedGaussian(alpha, beta)
    lags = torch.arange(1, 300)
    bias = Misread(trained).log_prior(lags)
    as_if = GeneralizedGaussian(alpha * beta, beta).log_prior(lags)
    assert torch.allclose(bias, as_if, rtol=1e-4)
    own = trained.log_prior(lags)
    assert torch.allclose(bias[2], own[2], rtol=1e-4), "equal at β = 1"
    assert not torch.allclose(bias[0], own[0], rtol=0.1) and not torch.allclose(bias[1], own[1], rtol=0.1)
