"""BAM, section 2.3 and appendix C: the generalised Gaussian bias and its parameters.

Truths: scipy's gennorm, central differences, and the library's attention against a softmax written out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
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
        score = q @ k.T / np.sqrt(q.shape[1]) + bias((j - i).astype(float), alpha, beta, mu)
        return special.softmax(np.where(j <= i, score, -np.inf), axis=1) @ v

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
            lambda m, lag: Laplace([m]).double().log_prior(torch.tensor([lag])).item(),
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
                lambda theta_alpha, theta_beta, lag: abs(coded(theta_alpha, theta_beta, lag) + exp(theta_alpha)),
                grid(theta_alpha=(-1.0, 0.0, 1.5), theta_beta=(1e-6, -1e-6, 0.02, -0.02), lag=(0, *LAGS, 100_000)),
                wrong=lambda theta_alpha, theta_beta: 10 * abs(theta_beta) * exp(theta_alpha),
                relation=">=",
            ),
        ),
        practice="The recommended start theta_beta = 0 is exactly where alpha does not exist: log theta_alpha and "
        "theta_beta, not alpha.",
        severity="editorial",
    ),
)
