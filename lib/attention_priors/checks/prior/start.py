"""The start of BAM's prior (appendix F), and labels on which the paper disagrees with itself."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import exp, log

import torch

from attention_priors.attention import attention
from attention_priors.claims.law import Law, Reading, claim, claims
from attention_priors.model import PAPER_MODELS
from attention_priors.positions.priors import GeneralizedGaussian, alibi_slopes
from attention_priors.theory import generalised_gaussian as theory

ALPHA, BETA, MU = GeneralizedGaussian.NAMES
EPSILON = 1e-5  # BAM, appendix C
LAGS = [{"lag": d, "theta_alpha": ta} for ta in (0.0, -1.0, 0.7) for d in (0, 1, 2, 100, 511)]
HEADS = [{"heads": n, "layer": layer, "head": h} for n in (2, 8, 16) for layer in (1, 2) for h in range(1, n + 1)]


def slope(parameter: str) -> Callable[[int, float], float]:
    """d b(lag) / d parameter at theta_beta = theta_mu = 0, by autograd in float64."""

    def at(lag: int, theta_alpha: float) -> float:
        prior = theory.module(theta_alpha, 0.0)
        prior.log_prior(torch.tensor([lag]))[0, 0].backward()
        return getattr(prior, parameter).grad.item()

    return at


def silent(ssmax: bool) -> set[str]:
    """Parameters that a random loss on 64 queries does not reach from the uniform start, through attention."""
    draw = torch.Generator().manual_seed(0)
    q, k, v, up = (torch.randn(1, 1, 64, 8, generator=draw, dtype=torch.float64) for _ in range(4))
    prior = theory.module(0.0, 0.0)
    scale = torch.arange(1, 65, dtype=torch.float64).log()[None] if ssmax else None
    out = attention(q, k, v, prior=prior, logit_scale=scale, prior_scale=scale, backend="reference")
    found = dict(zip(GeneralizedGaussian.NAMES, torch.autograd.grad((out * up).sum(), prior.parameters()), strict=True))
    most = max(abs(gradient) for gradient in found.values())
    return {name for name, gradient in found.items() if abs(gradient) <= 1e-12 * most}


def alpha_gradient(upstream: list[list[int]]) -> Fraction:
    """d loss / d theta_alpha at the uniform start in rationals: -sum_i sum_j p_ij (g_ij - sum_z p_iz g_iz)."""
    means = [Fraction(sum(row), len(row)) for row in upstream]
    return -sum(Fraction(1, len(row)) * (g - mean) for row, mean in zip(upstream, means, strict=True) for g in row)


def roles(trained: set[str], fixed: set[str]) -> Callable[[str], set[str]]:
    """What a caption makes of each parameter."""
    return lambda parameter: {role for role, names in (("trained", trained), ("fixed", fixed)) if parameter in names}


def roles_of_two(parameter: str) -> set[str]:
    """What a prior that trains theta_alpha and theta_beta makes of it."""
    prior = GeneralizedGaussian.uniform(16, trainable=[ALPHA, BETA])
    return {"trained"} if getattr(prior, parameter).requires_grad else {"fixed"}


def trained_scalars(parameters: list[str]) -> int:
    """Of the 120M model's priors, 12 layers of 16 heads."""
    prior = GeneralizedGaussian.uniform(16, trainable=parameters)
    return 12 * sum(each.numel() for each in prior.parameters() if each.requires_grad)


def fall(lag: int, theta_alpha: float) -> float:
    """b(lag) - b(lag + 1) at theta_beta = 1, theta_mu = 0 as coded (epsilon adds a constant)."""
    here, next_ = theory.coded(theta_alpha, 1.0)([lag, lag + 1])
    return here - next_


def alibi(heads: int, head: int) -> float:
    return alibi_slopes(heads)[head - 1]


def millions(layers: int) -> int:
    """Embedding, head, final norm, and per layer four projections, SwiGLU's three matrices and two norms."""
    size = PAPER_MODELS["bam-432m"]
    width, hidden = size["width"], size["hidden"]
    layer = 4 * width**2 + 3 * width * hidden + 2 * width
    return round((2 * size["vocabulary"] * width + width + layers * layer) / 1e6)


CHECKS = claims(
    claim(
        "BAM-E14",
        Law("d b / d theta_beta = -e^theta_alpha ln(|d| + epsilon).",
            lambda lag, theta_alpha: -exp(theta_alpha) * log(lag + EPSILON), slope(BETA), LAGS,
            wrong=lambda lag, theta_alpha: -exp(theta_alpha) * log(lag + 1)),
        Law("At theta_alpha = 0 that is +11.5 at lag 0, 0 at lag 1 and -6.2 at lag 511.",
            lambda lag: {0: 11.5, 1: 0.0, 511: -6.2}[lag], slope(BETA),
            [{"lag": d, "theta_alpha": 0.0} for d in (0, 1, 511)],
            wrong=lambda lag: {0: -11.5, 1: 0.0, 511: 6.2}[lag], tolerance=0.05),
        Law("d b / d theta_alpha = -e^theta_alpha at every lag.",
            lambda theta_alpha: -exp(theta_alpha), slope(ALPHA), LAGS,
            wrong=lambda lag, theta_alpha: -exp(theta_alpha) * (lag + EPSILON)),
        Law("So a loss reaches neither theta_alpha nor theta_mu, with or without SSMax (float64 leaves rounding).",
            {ALPHA, MU}, silent, [{"ssmax": False}, {"ssmax": True}], wrong={ALPHA, BETA}),
        Law("Exactly so: in rationals the gradient in theta_alpha is 0, since softmax ignores a row's constant.",
            0, alpha_gradient, [{"upstream": rows} for rows in ([[3]], [[3], [1, -2]], [[3], [1, -2], [5, 0, 7]])],
            wrong=lambda upstream: -sum(Fraction(sum(row), len(row)) for row in upstream), tolerance=0),
        practice="theta_alpha waits until theta_beta has moved. The outlier +11.5 at the own key leads the first step "
                 "of theta_beta in rows of up to some 280 keys; at 512 it has a third of the variance.",
    ),
    claim(
        "BAM-E4",
        Law("Fig. 9: theta_beta and theta_alpha are trained, theta_beta = 0 is fixed.",
            roles({ALPHA, BETA}, {BETA}), roles_of_two, [{"parameter": name} for name in (BETA, ALPHA, MU)],
            wrong=roles({ALPHA, BETA, MU}, {BETA})),
        corrected=(
            Law("The variant trains theta_beta and theta_alpha and fixes theta_mu = 0:",
                roles({ALPHA, BETA}, {MU}), roles_of_two, [{"parameter": name} for name in (BETA, ALPHA, MU)],
                wrong=roles({ALPHA, BETA}, {ALPHA})),
            Law("2 x 16 x 12 = 384 scalars, as F.2 counts.",
                384, trained_scalars, [{"parameters": [ALPHA, BETA]}], wrong=576, tolerance=0),
        ),
        practice="A slip in a caption; the experiment is the two-parameter one.",
    ),
    claim(
        "BAM-E5",
        Law("theta_beta = 1, theta_mu = 0 is a Laplace start of slope e^theta_alpha.",
            lambda theta_alpha: exp(theta_alpha), fall,
            [{"lag": d, "theta_alpha": ta} for d, ta in product(range(50), (-4.0, -0.5, 0.5))],
            wrong=lambda theta_alpha: theta_alpha),
        Law("ALiBi's start has one theta_alpha per layer, ln m_l.",
            lambda heads, layer: 2 ** (-8 * layer / heads), alibi, HEADS,
            wrong=lambda heads, layer: 2 ** (-4 * layer / heads)),
        Reading("F.1 describes two of the three starts of Fig. 8.", "two … three", "F.1 and the caption of Fig. 8"),
        corrected=Law("ALiBi's start has one theta_alpha per head, the same in every layer: ln m_h, m_h ALiBi's slope "
                      "of head h.",
                      lambda heads, head: 2 ** (-8 * head / heads), alibi, HEADS,
                      wrong=lambda heads, head: exp(2 ** (-8 * head / heads))),
        practice="The logarithm matters: with m_h itself as theta_alpha, the slopes of 16 heads start 3 to 257 times "
                 "too steep.",
    ),
    claim(
        "BAM-E15",
        *(Law(f"{place}: {label}M.", label, millions, [{"layers": 14}], wrong=label + 2, tolerance=0)
          for place, label in (("Table 5", 431), ("Table 1", 432), ("Table 6", 430))),
        Reading("One corpus has two names.", "Wikitext", "section 3.1 against appendix D"),
        Reading("Theorem 2 is credited with what Lemma 3 states.", "As demonstrated in Theorem 2", "section 2.5"),
        corrected=Law("The model has 431M parameters (50.3M embedding + 380.7M).",
                      431, millions, [{"layers": 14}], wrong=432, tolerance=0),
        practice="Editorial.",
    ),
)  # fmt: skip
