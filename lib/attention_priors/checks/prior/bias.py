"""BAM, section 2.3, appendices A and C: the generalised Gaussian bias, its parameters, its shape at a fixed scale.

Truths: scipy's gennorm, central differences, and the library's attention against a softmax written out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from math import exp, log, sinh
from typing import Any

import numpy as np
import torch
from scipy import special, stats

from attention_priors.attention import attention
from attention_priors.attention.bench import interpreted
from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.positions.priors import GeneralizedGaussian, Laplace
from attention_priors.theory import generalised_gaussian as theory
from attention_priors.theory.inference import log_generalised_gaussian

SHAPES = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16)
SETTINGS = [{"alpha": a, "beta": b, "mu": m} for a, b, m in ((3.0, 1.0, -2.3), (5.0, 0.5, 0.4), (2.0, 2.0, -1.7))]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
LAGS = (1, 2, 9, 511)
THETA = grid(
    theta_alpha=(-2.0, -0.5, 0.7, 2.0), theta_beta=(-1.5, -0.3, 0.4, 1.0, 2.0), theta_mu=(0.0, -1.1, 0.6), lag=LAGS
)
ROWS = {"float64": (24, 8), "float32": (24, 16), "bfloat16": (24, 16)}
Bias = Callable[..., np.ndarray]


def printed(x: np.ndarray, alpha: float, beta: float, mu: float) -> np.ndarray:
    """-|(x - mu) / alpha|^beta, x = j - i."""
    return -(np.abs((x - mu) / alpha) ** beta)


def mirrored(x: np.ndarray, alpha: float, beta: float, mu: float) -> np.ndarray:
    return printed(x, alpha, beta, -mu)


def rows(dtype: str) -> dict[str, torch.Tensor]:
    """q, k, v and an upstream gradient, [1 1 tokens width]."""
    draw = torch.Generator().manual_seed(0)
    made = {name: torch.randn(1, 1, *ROWS[dtype], generator=draw) for name in ("q", "k", "v", "up")}
    return {name: each.to(getattr(torch, dtype)) for name, each in made.items()}


def output(bias: Bias) -> Callable[..., np.ndarray]:
    """softmax(q K^T / sqrt(d) + M + B) V with B_ij = bias(j - i, ...), in numpy: no code of the library."""

    def written_out(dtype: str, alpha: float, beta: float, mu: float) -> np.ndarray:
        q, k, v = (rows(dtype)[name][0, 0].double().numpy() for name in ("q", "k", "v"))
        i, j = np.indices((len(q), len(k)))
        mask = np.where(j <= i, 0.0, -np.inf)
        score = q @ k.T / np.sqrt(q.shape[1]) + mask + bias((j - i).astype(float), alpha, beta, mu)
        weights = np.exp(score - score.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True) @ v

    return written_out


def gradients(bias: Bias) -> Callable[..., list[float]]:
    """d <output, up> / d (alpha, beta, mu) by central differences of what is written out."""
    written_out = output(bias)

    def differences(dtype: str, alpha: float, beta: float, mu: float) -> list[float]:
        up, at = rows(dtype)["up"][0, 0].double().numpy(), np.array([alpha, beta, mu])
        steps = 1e-6 * np.eye(3)
        return [
            float(((written_out(dtype, *(at + h)) - written_out(dtype, *(at - h))) * up).sum()) / 2e-6 for h in steps
        ]

    return differences


def thetas(alpha: float, beta: float, mu: float) -> tuple[float, float, float]:
    return -beta * np.log(alpha), beta, np.arcsinh(mu / 2)


def chained(found: Mapping[str, Any], alpha: float, beta: float, mu: float) -> list[float]:
    """From the parameters as coded to (alpha, beta, mu): theta_alpha = -beta ln alpha, theta_mu = asinh(mu / 2)."""
    d_alpha, d_beta, d_mu = (float(found[name]) for name in GeneralizedGaussian.NAMES)
    return [-beta / alpha * d_alpha, d_beta - log(alpha) * d_alpha, d_mu / (mu**2 + 4) ** 0.5]


@cache
def reference(alpha: float, beta: float, mu: float) -> tuple[np.ndarray, list[float]]:
    """Output of the library's attention in float64, and its gradients by autograd."""
    prior, given = theory.module(*thetas(alpha, beta, mu), epsilon=1e-12), rows("float64")
    out = attention(given["q"], given["k"], given["v"], prior=prior, backend="reference")
    (out * given["up"]).sum().backward()
    found = {name: getattr(prior, name).grad for name in GeneralizedGaussian.NAMES}
    return out[0, 0].detach().numpy(), chained(found, alpha, beta, mu)


@cache
def kernel() -> dict[tuple[str, float], tuple[np.ndarray, list[float]]]:
    """Output and gradients of the interpreted kernel, by dtype and alpha."""
    asked = [(dtype, each) for dtype in DTYPES for each in SETTINGS[:2]]
    priors = [
        GeneralizedGaussian(
            *([float(each)] for each in thetas(**setting)), epsilon=1e-12, trainable=GeneralizedGaussian.NAMES
        )
        for _, setting in asked
    ]
    runs = interpreted.run([rows(dtype) | {"prior": prior} for (dtype, _), prior in zip(asked, priors, strict=True)])
    return {
        (dtype, setting["alpha"]): (found["out"][0, 0].double().numpy(), chained(found, **setting))
        for (dtype, setting), found in zip(asked, runs, strict=True)
    }


def loose(dtype: str) -> float:
    """What the dtype allows: 1e-4 in float32, 2^-5 in bfloat16."""
    return 1e-4 if dtype == "float32" else 2**-5


def visible(bias: Bias) -> Callable[..., np.ndarray]:
    """The prior on 40 visible lags, normalised."""

    def prior(alpha: float, beta: float, mu: float) -> np.ndarray:
        weights = np.exp(bias(-np.arange(40.0), alpha, beta, mu))
        return weights / weights.sum()

    return prior


def gennorm(alpha: float, beta: float, mu: float) -> np.ndarray:
    density = stats.gennorm.pdf(-np.arange(40.0), beta, loc=mu, scale=alpha)
    return density / density.sum()


def alibi(m: float, lag: int) -> float:
    return Laplace([m]).double().log_prior(torch.tensor([lag])).item()


def log_size(theta_alpha: float, theta_beta: float, theta_mu: float, lag: int) -> float:
    """ln |b| of the bias as coded, epsilon to zero."""
    return float(np.log(-theory.coded(theta_alpha, theta_beta, theta_mu, 1e-300)([lag])[0]))


def scale(theta_alpha: float, theta_beta: float) -> str:
    try:
        return "a scale" if exp(-(theta_alpha / theta_beta)) >= 0 else "none"
    except ZeroDivisionError:
        return "division by zero"


def finite(says: float, theta_beta: float) -> tuple[bool, bool]:
    """epsilon^theta_beta, the bias of the query's own key, in float32, the dtype that attention kernels use."""
    with np.errstate(divide="ignore"):
        return True, bool(np.isfinite(np.power(np.float32(says), np.float32(theta_beta))))


def scalars(heads: int) -> float:
    prior = GeneralizedGaussian.uniform(heads, trainable=GeneralizedGaussian.NAMES)
    return sum(each.numel() for each in prior.parameters() if each.requires_grad) / heads


def coded(theta_alpha: float, theta_beta: float, lag: int) -> float:
    return theory.coded(theta_alpha, theta_beta)([lag])[0]


def off_the_limit(theta_alpha: float, theta_beta: float, lag: int) -> float:
    return abs(coded(theta_alpha, theta_beta, lag) + exp(theta_alpha))


def prior_of(alpha: float, beta: float, keys: int) -> tuple[np.ndarray, np.ndarray]:
    lags = np.arange(float(keys))
    weights = np.exp(-((lags / alpha) ** beta))
    return weights / weights.sum(), lags


def tail(alpha: float, beta: float, keys: int, reach: float = 2.0) -> float:
    weights, lags = prior_of(alpha, beta, keys)
    return float(weights[lags > reach * alpha].sum())


def entropy(alpha: float, beta: float, keys: int) -> float:
    return float(special.entr(prior_of(alpha, beta, keys)[0]).sum())


def own(alpha: float, beta: float, keys: int) -> float:
    return float(prior_of(alpha, beta, keys)[0][0])


def spread(alpha: float, beta: float, keys: int) -> float:
    weights, lags = prior_of(alpha, beta, keys)
    return float(weights @ lags**2)


def at(end: str, statistic: Callable[..., float]) -> Callable[..., float]:
    """A statistic at the lower or at the higher shape of a case."""

    def value(alpha: float, keys: int, low: float, high: float) -> float:
        return statistic(alpha, low if end == "low" else high, keys)

    return value


def further(alpha: float, beta: float, keys: int) -> float:
    """The mass beyond 3 alpha."""
    return tail(alpha, beta, keys, 3.0)


def pair(alpha: float, keys: int, low: float, high: float) -> dict[str, float]:
    return {"alpha": alpha, "keys": keys, "low": low, "high": high}


def moves(lag: float, alpha: float, low: float, high: float) -> float:
    """Sign of the change of the log-weight relative to the own key's."""
    before, after = (log_generalised_gaussian(np.array([lag]), alpha, beta)[0] for beta in (low, high))
    return float(np.sign(after - before))


def expected(lag: float, alpha: float) -> float:
    return 0.0 if lag == 0 else float(np.sign(alpha - lag))


LONG = [pair(10.0, 2**18, low, high) for low, high in pairwise(SHAPES)]
SMALL = [pair(2.0, 2, 1, 2), pair(2.0, 3, 1, 2), pair(10.0, 100, 2, 4), *LONG]
FUSED = [{"dtype": dtype, **each} for dtype in DTYPES for each in SETTINGS[:2]]

CHECKS = claims(
    claim(
        "BAM-D3",
        Law(
            "The bias -|(j - i - mu)/alpha|^beta is added to the masked score.",
            output(printed),
            lambda alpha, beta, mu: reference(alpha, beta, mu)[0],
            [{"dtype": "float64", **each} for each in SETTINGS],
            wrong=output(mirrored),
        ),
        Law(
            "Its gradients in alpha, beta and mu follow.",
            gradients(printed),
            lambda alpha, beta, mu: reference(alpha, beta, mu)[1],
            [{"dtype": "float64", **each} for each in SETTINGS],
            wrong=gradients(mirrored),
            tolerance=1e-7,
        ),
        Law(
            "Its prior is the GGD in j - i, on the visible keys.",
            visible(printed),
            gennorm,
            grid(alpha=(2.0, 10.0), beta=(0.5, 1.0, 2.0, 3.0), mu=(0.0, -4.0, 1.5)),
            wrong=visible(mirrored),
            tolerance=1e-12,
        ),
        Law(
            "beta = 1, mu = 0, alpha = 1/m is ALiBi.",
            lambda m, lag: printed(-lag, 1 / m, 1, 0),
            alibi,
            grid(m=(0.5, 0.0625, 2**-8), lag=LAGS),
            wrong=lambda m, lag: printed(-lag, m, 1, 0),
        ),
        *(
            (
                Law(
                    "The fused kernel adds the same bias (float32 and bfloat16).",
                    output(printed),
                    lambda dtype, alpha: kernel()[dtype, alpha][0],
                    FUSED,
                    wrong=output(mirrored),
                    tolerance=loose,
                ),
                Law(
                    "Its gradients are the same.",
                    gradients(printed),
                    lambda dtype, alpha: kernel()[dtype, alpha][1],
                    FUSED,
                    wrong=gradients(mirrored),
                    tolerance=loose,
                ),
            )
            if interpreted.AVAILABLE
            else ()
        ),
        practice="The float64 reference is the specification that every faster backend is held to.",
        missing="" if interpreted.AVAILABLE else interpreted.MISSING,
    ),
    claim(
        "BAM-D4",
        Law(
            "mu = 2 sinh(theta_mu), beta = theta_beta, alpha = exp(-theta_alpha/theta_beta); here ln |b|.",
            lambda theta_alpha, theta_beta, theta_mu, lag: (
                theta_beta * log(abs(lag + 2 * sinh(theta_mu)) / exp(-theta_alpha / theta_beta))
            ),
            log_size,
            THETA,
            wrong=lambda theta_alpha, theta_beta, theta_mu, lag: (
                theta_beta * log(abs(lag + 2 * sinh(theta_mu)) / exp(-theta_alpha))
            ),
        ),
        Law(
            "Every theta gives a scale alpha >= 0.",
            "a scale",
            scale,
            grid(theta_beta=(0.0, 1.0, -1.0, 0.3), theta_alpha=(0.0, 1.0, -1.0)),
            wrong="none",
            quote=r"$\alpha=e^{-\frac{\theta_{\alpha}}{\theta_{\beta}}}$, that ensures $\alpha\geq "
            r"0$",
            place="App. C",
            boundary="θ_β = 0",
        ),
        Law(
            "epsilon = 1e-5 keeps the bias finite for beta < 0.",
            1e-5,
            finite,
            grid(theta_beta=(-0.05, -0.5, -1.0, -3.0, -7.0)),
            wrong=0.0,
        ),
        Law("Three scalars per head.", 3, scalars, grid(heads=(1, 16)), wrong=2),
        corrected=(
            Law(
                "alpha = exp(-theta_alpha/theta_beta) > 0 for theta_beta != 0.",
                "a scale",
                scale,
                grid(theta_beta=(1.0, -1.0, 0.3), theta_alpha=(0.0, 1.0, -1.0)),
                wrong="none",
            ),
            Law(
                "At theta_beta = 0 the bias is the constant -exp(theta_alpha), a uniform prior without a scale,",
                lambda theta_alpha: -exp(theta_alpha),
                coded,
                grid(theta_alpha=(-1.0, 0.0, 1.5), theta_beta=[0.0], lag=(0, *LAGS)),
                wrong=lambda theta_alpha: -exp(-theta_alpha),
            ),
            Law(
                "continuously so thanks to epsilon: within 13 |theta_beta| e^theta_alpha for |theta_beta| <= 0.02 and "
                "lags up to 100,000.",
                lambda theta_alpha, theta_beta: 13 * abs(theta_beta) * exp(theta_alpha),
                off_the_limit,
                grid(theta_alpha=(-1.0, 0.0, 1.5), theta_beta=(1e-6, -1e-6, 0.02, -0.02), lag=(0, *LAGS, 100_000)),
                wrong=lambda theta_alpha, theta_beta: 10 * abs(theta_beta) * exp(theta_alpha),
                relation=">=",
            ),
        ),
        practice="The recommended start theta_beta = 0 is exactly where alpha does not exist: log theta_alpha and "
        "theta_beta, not alpha.",
        severity="needs a repair",
    ),
    claim(
        "BAM-C-BETA",
        Law(
            "The mass beyond 2 alpha falls as beta grows.",
            at("low", tail),
            at("high", tail),
            LONG,
            wrong=at("low", further),
            relation=">=",
        ),
        Law(
            "In a context far longer than alpha the entropy falls as beta grows.",
            at("low", entropy),
            at("high", entropy),
            LONG,
            wrong=lambda alpha, keys, low: entropy(alpha, low, keys) - 0.1,
            relation=">=",
        ),
        Law(
            "Up to the Normal distribution (beta = 2) it is sharper there: the query's own key gains weight.",
            at("low", own),
            at("high", own),
            [case for case in LONG if case["high"] <= 2],
            wrong=lambda alpha, keys, low: own(alpha, low, keys) + 0.1,
            relation="<=",
        ),
        Law(
            "Sharper for every larger beta: the weight of the query's own key grows.",
            at("low", own),
            at("high", own),
            SMALL,
            witness=[pair(10.0, 2**18, 2, 3)],
            wrong=lambda alpha, keys, low: own(alpha, low, keys) + 0.1,
            relation="<=",
            repaired=0,
            quote=r"larger values of $\beta$ yield sharper, more localized priors",
            place="App. A",
        ),
        Law(
            "More localised: E[d^2] falls as beta grows.",
            at("low", spread),
            at("high", spread),
            SMALL,
            witness=[pair(10.0, 2**18, 8, 12)],
            wrong=lambda alpha, keys, low: spread(alpha, low, keys) / 2,
            relation=">=",
            repaired=lambda keys: keys**2,
            quote=r"larger values of $\beta$ yield sharper, more localized priors",
            place="App. A",
        ),
        corrected=Law(
            "In a context far longer than alpha a larger beta is more localised (entropy, mass beyond 2 alpha), and "
            "sharper up to beta = 2. At a fixed alpha, relative to the own key, every lag 0 < d < alpha gains and "
            "every lag beyond alpha loses: the prior tends to a flat window of width alpha, with the lightest tail, "
            "not the sharpest peak.",
            expected,
            moves,
            [
                {"lag": d, "alpha": a, "low": low, "high": high}
                for a in (0.5, 2.0, 10.0)
                for low, high in pairwise(SHAPES)
                for d in np.arange(0, 4 * a, a / 4)
            ],
            wrong=lambda lag, alpha: -expected(lag, alpha),
            answers=(1, 2),
        ),
        practice="Within a context shorter than alpha a larger beta flattens the prior; compare shapes at equal "
        "reach, not at equal alpha.",
        severity="needs a repair",
    ),
)
