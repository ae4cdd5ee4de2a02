"""BAM, section 2.3, appendices A and C: the generalised Gaussian bias, its parameters, its shape at a fixed scale.

Independent evidence: scipy's gennorm, central differences, and the library's attention against a softmax written out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product

import numpy as np
import torch
from scipy import special, stats

from attention_priors.attention import attention
from attention_priors.bench import interpreted
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions.priors import GeneralizedGaussian
from attention_priors.theory import generalised_gaussian as theory
from attention_priors.theory.inference import log_generalised_gaussian, softmax

LAGS = np.arange(1, 513, dtype=np.float64)
SHAPES = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16)
SCALE, CONTEXT = 10.0, 2**18


# D3: the bias inside attention


def written_out(bias: Callable, q, k, v, alpha, beta, mu):
    """softmax(q K^T / sqrt(d) + M + B) V with B_ij = bias(j - i, ...), in numpy: no code of the library."""
    i, j = np.indices((len(q), len(k)))
    mask = np.where(j <= i, 0.0, -np.inf)
    score = q @ k.T / np.sqrt(q.shape[1]) + mask + bias((j - i).astype(float), alpha, beta, mu)
    weights = np.exp(score - score.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v


def check_attention(bias: Callable) -> Evidence:
    """Outputs, and gradients in (alpha, beta, mu) by central differences of `bias` against autograd of the library."""
    draw, worst = np.random.default_rng(0), 0.0
    for alpha, beta, mu in ((3.0, 1.0, -2.3), (5.0, 0.5, 0.4), (2.0, 2.0, -1.7)):
        q, k, v, up = draw.standard_normal((4, 24, 8))
        prior = theory.module(-beta * np.log(alpha), beta, np.arcsinh(mu / 2), epsilon=1e-12)
        rows = [torch.as_tensor(x)[None, None] for x in (q, k, v)]
        found = attention(*rows, prior=prior, backend="reference")
        worst = max(worst, np.abs(found[0, 0].detach().numpy() - written_out(bias, q, k, v, alpha, beta, mu)).max())
        (found[0, 0] * torch.as_tensor(up)).sum().backward()
        d_alpha, d_beta, d_mu = (float(getattr(prior, name).grad) for name in GeneralizedGaussian.NAMES)
        # chain rule from the parameters as coded: theta_alpha = -beta ln alpha, theta_mu = asinh(mu / 2)
        chained = (-beta / alpha * d_alpha, d_beta - np.log(alpha) * d_alpha, d_mu / np.sqrt(mu**2 + 4))
        for index, gradient in enumerate(chained):
            at, step = np.array([alpha, beta, mu]), 1e-6 * np.eye(3)[index]
            above, below = ((written_out(bias, q, k, v, *theta) * up).sum() for theta in (at + step, at - step))
            worst = max(worst, abs((above - below) / 2e-6 - gradient))
    return compare(float(worst), "<=", 1e-7, detail="largest difference of outputs and of gradients, float64 reference")


@cache
def kernel_results() -> list[tuple[tuple[float, float, float], dict, dict]]:
    """(α, β, μ), the call and what the interpreted kernel returns for it, in float32 and bfloat16."""
    calls, settings = [], ((3.0, 1.0, -2.3), (5.0, 0.5, 0.4))
    for dtype, (alpha, beta, mu) in product((torch.float32, torch.bfloat16), settings):
        generator = torch.Generator().manual_seed(0)
        rows = {name: torch.randn(1, 1, 24, 16, generator=generator).to(dtype) for name in ("q", "k", "v", "up")}
        prior = GeneralizedGaussian([-beta * np.log(alpha)], [beta], [np.arcsinh(mu / 2)], epsilon=1e-12,
                                    trainable=GeneralizedGaussian.NAMES)  # fmt: skip
        calls.append({**rows, "prior": prior})
    return list(zip(settings * 2, calls, interpreted.run(calls), strict=True))


def check_kernel(bias: Callable) -> Evidence:
    """Outputs and the gradients in (α, β, μ) against `written_out`, in units of what the dtype allows."""
    worst = 0.0
    for (alpha, beta, mu), call, found in kernel_results():
        q, k, v, up = (call[name][0, 0].double().numpy() for name in ("q", "k", "v", "up"))
        allowed = 1e-5 if call["q"].dtype == torch.float32 else 2**-5
        out = written_out(bias, q, k, v, alpha, beta, mu)
        worst = max(worst, np.abs(found["out"][0, 0].double().numpy() - out).max() / allowed)
        d_alpha, d_beta, d_mu = (float(found[name]) for name in GeneralizedGaussian.NAMES)
        chained = (-beta / alpha * d_alpha, d_beta - np.log(alpha) * d_alpha, d_mu / np.sqrt(mu**2 + 4))
        for index, gradient in enumerate(chained):
            at, step = np.array([alpha, beta, mu]), 1e-5 * np.eye(3)[index]
            above, below = ((written_out(bias, q, k, v, *theta) * up).sum() for theta in (at + step, at - step))
            worst = max(worst, abs((above - below) / 2e-5 - gradient) / allowed / max(1.0, abs(gradient)))
    detail = "largest difference of outputs and gradients: 1 is 1e-5 in float32, 2^-5 in bfloat16"
    return compare(float(worst), "<=", 1.0, detail=detail)


def check_gennorm(bias: Callable) -> Evidence:
    worst = 0.0
    for alpha, beta, mu in product((2.0, 10.0), (0.5, 1.0, 2.0, 3.0), (0.0, -4.0, 1.5)):
        x = -np.arange(40.0)
        density = stats.gennorm.pdf(x, beta, loc=mu, scale=alpha)
        worst = max(worst, np.abs(softmax(bias(x, alpha, beta, mu)) - density / density.sum()).max())
    return compare(float(worst), "<=", 1e-12, detail="against scipy.stats.gennorm, renormalised on 40 visible lags")


def check_alibi(scale_of: Callable) -> Evidence:
    worst = max(
        float(np.abs(log_generalised_gaussian(-LAGS, scale_of(m), 1.0) + m * LAGS).max()) for m in (0.5, 0.0625, 2**-8)
    )
    return compare(worst, "<=", 1e-9, detail="bias at beta = 1, mu = 0 against -m |j - i|")


# D4: the parameters as coded


def check_parametrisation(parameters: Callable) -> Evidence:
    """coded(theta) against -|(x - mu) / alpha|^beta with (alpha, beta, mu) = parameters(theta), epsilon to zero."""
    worst = 0.0
    for ta, tb, tm in product((-2.0, -0.5, 0.7, 2.0), (-1.5, -0.3, 0.4, 1.0, 2.0), (0.0, -1.1, 0.6)):
        alpha, beta, mu = parameters(ta, tb, tm)
        found, expected = theory.coded(ta, tb, tm, 1e-300)(LAGS), log_generalised_gaussian(-LAGS, alpha, beta, mu)
        worst = max(worst, float(np.abs(found / expected - 1).max()))
    return compare(worst, "<=", 1e-10, detail="largest relative difference, 60 settings, lags 1..512")


def scale_exists(scale: Callable, theta_alpha: float, theta_beta: float) -> tuple[str, str]:
    try:
        value = scale(theta_alpha, theta_beta)
    except ZeroDivisionError:
        return "a scale >= 0", "division by zero"
    return "a scale >= 0", "a scale >= 0" if value >= 0 else f"{value:.3g}"


def check_scale(scale: Callable) -> Evidence:
    """Every finite theta has a scale alpha >= 0."""
    grid = ({"theta_alpha": a, "theta_beta": b} for b, a in product((0.0, 1.0, -1.0, 0.3), (0.0, 1.0, -1.0)))
    found = smallest_counterexample(scale_exists, scale, grid)
    return compare(found["actual"] if found else "a scale >= 0", "==", "a scale >= 0", counterexample=found)


def check_epsilon(epsilon: float) -> Evidence:
    """Bias of the query's own key in float32 for beta < 0, the dtype that attention kernels use."""
    powers = np.array([-0.05, -0.5, -1.0, -3.0, -7.0], dtype=np.float32)
    with np.errstate(divide="ignore"):
        largest = float(np.max(np.power(np.float32(epsilon), powers)))
    return compare(largest, "<", np.inf, detail="largest |bias| at d = 0, theta_beta from -0.05 to -7")


def check_count(per_head: int) -> Evidence:
    prior = GeneralizedGaussian.uniform(16, trainable=GeneralizedGaussian.NAMES)
    return compare(sum(p.numel() for p in prior.parameters() if p.requires_grad) / 16, "==", float(per_head), 0.0)


def check_uniform_limit(limit: Callable) -> Evidence:
    """b at theta_beta = 0, and its continuity there at every lag 0..512, the query's own key included."""
    lags, worst = np.arange(513.0), 0.0
    for ta in (-1.0, 0.0, 1.5):
        worst = max(worst, float(np.abs(theory.coded(ta, 0.0)(lags) - limit(ta)).max()))
        for tb in (1e-6, -1e-6):
            # |x^tb - 1| <= 1.1 |tb ln x|, and |ln x| <= ln(1/epsilon) = 11.6 at the own key
            worst = max(worst, float(np.abs(theory.coded(ta, tb)(lags) - limit(ta)).max()) - 13 * abs(tb) * np.exp(ta))
    return compare(worst, "<=", 1e-12, detail="largest |b - limit| beyond 13 |theta_beta| e^theta_alpha")


# C-BETA: what the shape does at a fixed scale


@dataclass(frozen=True)
class Monotone:
    """`statistic(weights, lags, alpha)` rises (sign +1) or falls (-1) with beta at a fixed scale."""

    name: str
    statistic: Callable
    sign: int


def by_shape(statement: Monotone, alpha: float, keys: int, low: float, high: float) -> tuple[float, float]:
    """(nearest value that the statement allows at the higher beta, value there)."""
    lags = np.arange(float(keys))
    before, after = (
        statement.statistic(softmax(log_generalised_gaussian(lags, alpha, beta)), lags, alpha) for beta in (low, high)
    )
    return (max if statement.sign > 0 else min)(before, after), after


def check_monotone(statement: Monotone) -> Evidence:
    lags = np.arange(float(CONTEXT))
    values = [statement.statistic(softmax(log_generalised_gaussian(lags, SCALE, b)), lags, SCALE) for b in SHAPES]
    worst = float(np.min(statement.sign * np.diff(values)))
    found = None
    if worst < 0:
        sizes = ((2.0, 2, 1, 2), (2.0, 3, 1, 2), (SCALE, 100, 2, 4), (SCALE, 100, 8, 16))
        keys = ("alpha", "keys", "low", "high")
        found = smallest_counterexample(by_shape, statement, (dict(zip(keys, s, strict=True)) for s in sizes))
    detail = f"alpha = 10: {statement.name} from {values[0]:.4g} (beta = .25) to {values[-1]:.4g} (beta = 16)"
    if worst < 0:
        detail += f", the wrong way from beta = {SHAPES[int(np.argmax(statement.sign * np.diff(values) < 0))]} on"
    return compare(worst, ">=", 0.0, counterexample=found, detail=detail)


def check_pointwise(sign: Callable) -> Evidence:
    """sign(d, alpha) of the change of exp(-(d / alpha)^beta) as beta grows; 0 where it never changes."""
    wrong = 0
    for alpha, (low, high) in product((0.5, 2.0, 10.0), pairwise(SHAPES)):
        d = np.arange(0.0, 4 * alpha, 0.25)
        change = log_generalised_gaussian(d, alpha, high) - log_generalised_gaussian(d, alpha, low)
        wrong += int(np.sum(np.sign(change) != [sign(lag, alpha) for lag in d]))
    return compare(wrong, "==", 0, 0.0, detail="lags at which the weight relative to the own key's moves the other way")


def _bias(x, alpha, beta, mu):
    return log_generalised_gaussian(x, alpha, beta, mu)


def _tail(p, lags, alpha):
    return float(p[lags > 2 * alpha].sum())


def _entropy(p, lags, alpha):
    return float(special.entr(p).sum())


def _own(p, lags, alpha):
    return float(p[0])


def _spread(p, lags, alpha):
    return float(p @ lags**2)


def _sign(d, alpha):
    return 0.0 if d in (0, alpha) else float(np.sign(alpha - d))


CHECKS = {
    check.id: check
    for check in (
        Check(
            "BAM-D3",
            (
                Part("The bias -|(j - i - mu)/alpha|^beta is added to the masked score (outputs, gradients).",
                     _bias, check_attention, lambda x, alpha, beta, mu: _bias(x, alpha, beta, -mu)),
                Part("Its prior is the GGD in j - i, on the visible keys.", _bias, check_gennorm,
                     lambda x, alpha, beta, mu: -(np.abs(x - mu) ** beta) / alpha),
                Part("beta = 1, mu = 0, alpha = 1/m is ALiBi.", lambda m: 1 / m, check_alibi, lambda m: m),
                *((Part("The fused kernel adds the same bias (float32 and bfloat16, outputs, gradients).", _bias,
                        check_kernel, lambda x, alpha, beta, mu: _bias(x, alpha, beta, -mu)),)
                  if interpreted.AVAILABLE else ()),
            ),
            practice="The float64 reference is the specification that every faster backend is held to.",
            missing="" if interpreted.AVAILABLE else interpreted.MISSING,
        ),
        Check(
            "BAM-D4",
            (
                Part("mu = 2 sinh(theta_mu), beta = theta_beta, alpha = exp(-theta_alpha/theta_beta).",
                     lambda ta, tb, tm: (np.exp(-ta / tb), tb, 2 * np.sinh(tm)), check_parametrisation,
                     lambda ta, tb, tm: (np.exp(-ta), tb, 2 * np.sinh(tm))),
                Part("Every theta gives a scale alpha >= 0.", lambda ta, tb: float(np.exp(-(ta / tb))), check_scale,
                     lambda ta, tb: -float(np.exp(-(ta / tb))), scale_exists,
                     repaired=lambda ta, tb: float(np.exp(ta))),
                Part("epsilon = 1e-5 keeps the bias finite for beta < 0.", 1e-5, check_epsilon, 0.0),
                Part("Three scalars per head.", 3, check_count, 2),
            ),
            Part("alpha = exp(-theta_alpha/theta_beta) > 0 for theta_beta != 0. At theta_beta = 0 the bias is the "
                 "constant -exp(theta_alpha), a uniform prior without a scale, continuously so thanks to epsilon.",
                 lambda ta: -np.exp(ta), check_uniform_limit, lambda ta: -np.exp(-ta)),
            practice="The recommended start theta_beta = 0 is exactly where alpha does not exist: log theta_alpha and "
                     "theta_beta, not alpha.",
        ),
        Check(
            "BAM-C-BETA",
            (
                Part("The mass beyond 2 alpha falls as beta grows.", Monotone("P(d > 2 alpha)", _tail, -1),
                     check_monotone, Monotone("P(d > 2 alpha)", _tail, 1)),
                Part("In a context far longer than alpha the entropy falls as beta grows.",
                     Monotone("entropy", _entropy, -1), check_monotone, Monotone("entropy", _entropy, 1)),
                Part("Sharper: the weight of the query's own key grows with beta.", Monotone("p(0)", _own, 1),
                     check_monotone, Monotone("p(0)", _own, -1), by_shape,
                     repaired=Monotone("P(d <= 2 alpha)", lambda p, d, a: 1 - _tail(p, d, a), 1)),
                Part("More localised: E[d^2] falls as beta grows.", Monotone("E[d^2]", _spread, -1), check_monotone,
                     Monotone("E[d^2]", _spread, 1), by_shape,
                     repaired=Monotone("entropy", _entropy, -1)),
            ),
            Part("At a fixed alpha, relative to the own key, every lag 0 < d < alpha gains and every lag beyond alpha "
                 "loses as beta grows: the prior tends to a flat window of width alpha, with the lightest tail, not "
                 "the sharpest peak.",
                 _sign, check_pointwise, lambda d, alpha: -_sign(d, alpha)),
            practice="Within a context shorter than alpha a larger beta flattens the prior; compare shapes at equal "
                     "reach, not at equal alpha.",
        ),
    )
}  # fmt: skip
