"""X-3 and X-4: the generalised Gaussian beside KERPLE's power kernel and beside a sliding window."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import sympy
import torch

from attention_priors.attention import window
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions.kerple import KerplePower
from attention_priors.theory import generalised_gaussian as theory
from attention_priors.theory.inference import log_generalised_gaussian, softmax

LAGS = np.arange(513.0)


# KERPLE's power kernel


def check_identity(parameters: Callable) -> Evidence:
    """-r1 d^r2 with (r1, r2) = parameters(alpha, beta) minus -(d / alpha)^beta, simplified by sympy for d > 0."""
    d, alpha, beta = sympy.symbols("d alpha beta", positive=True)
    r1, r2 = parameters(alpha, beta)
    left = sympy.simplify(sympy.expand_log(sympy.log(r1 * d**r2 / (d / alpha) ** beta), force=True))
    return compare(str(left), "==", "0", detail="logarithm of the ratio of the two biases, symbolically")


def check_modules(parameters: Callable) -> Evidence:
    """The two trainable priors of the library, set to the same law, at every lag 0..512."""
    worst = 0.0
    for alpha in (0.5, 1.0, 7.0, 40.0):
        for beta in (0.1, 0.5, 1.0, 1.5, 2.0):
            r1, r2 = parameters(alpha, beta)
            kernel = KerplePower([r1], [r2]).double().log_prior(torch.arange(513))[0].detach().numpy()
            bias = theory.module(-beta * np.log(alpha), beta, epsilon=1e-300).log_prior(torch.arange(513))
            worst = max(worst, float(np.max(np.abs(kernel - bias[0].detach().numpy()) / np.maximum(1, np.abs(kernel)))))
    return compare(worst, "<=", 1e-5, detail="KerplePower against GeneralizedGaussian, 20 settings, float32 parameters")


def least_form(beta: float, epsilon: float = 1e-5, points: int = 65) -> float:
    """Least eigenvalue of -(|x_i - x_j| + epsilon)^beta on vectors that sum to 0, over the largest modulus."""
    x = np.arange(float(points))
    kernel = -((np.abs(x[:, None] - x) + epsilon * (beta < 0)) ** beta)
    basis = np.linalg.svd(np.ones((1, points)))[2][1:]
    values = np.linalg.eigvalsh(basis @ kernel @ basis.T)
    return float(values.min() / np.abs(values).max())


def check_domain(admissible: Callable) -> Evidence:
    """Conditionally positive definite, as KERPLE asks of its kernels, exactly where admissible(beta) says so."""
    shapes = (-2.0, -1.0, -0.5, -0.05, 0.05, 0.5, 1.0, 1.5, 2.0, 2.2, 3.0, 4.0)
    wrong = [beta for beta in shapes if (least_form(beta) >= -1e-9) != admissible(beta)]
    shown = ", ".join(f"{least_form(beta):.2g} at {beta}" for beta in (2.0, 2.2, -0.5))
    detail = f"least value of the form on vectors that sum to 0: {shown}"
    return compare(len(wrong), "==", 0, 0.0, detail=detail)


def check_location(asymmetry: Callable) -> Evidence:
    """b(d) - b(-d): zero for every kernel of a distance, and as stated for the generalised Gaussian."""
    lags = np.arange(1.0, 40.0)
    worst, largest = 0.0, 0.0
    for mu in (0.5, -3.0):
        bias = [log_generalised_gaussian(-sign * lags, 5.0, 1.5, mu) for sign in (1, -1)]
        worst = max(worst, float(np.abs(bias[0] - bias[1] - asymmetry(lags, 5.0, 1.5, mu)).max()))
        largest = max(largest, float(np.abs(bias[0] - bias[1]).max()))
    return compare(worst if largest > 0 else np.inf, "<=", 1e-12, detail=f"largest asymmetry {largest:.3g}")


# a sliding window


def steep(lags, alpha: float, beta: float = 5000.0) -> np.ndarray:
    """The generalised Gaussian prior on some lags; at a large beta its bias overflows to -inf beyond alpha."""
    with np.errstate(over="ignore"):
        return softmax(log_generalised_gaussian(-lags, alpha, beta))


def distance_to(indicator: Callable, alpha: float, beta: float) -> float:
    """Total variation on the lags 0..512 between the prior and the uniform law on the lags that indicator admits."""
    prior = steep(LAGS, alpha, beta)
    seen = np.array([indicator(d, alpha) for d in LAGS], dtype=float)
    return float(np.abs(prior - seen / seen.sum()).sum() / 2)


def check_limit(scales: tuple[float, ...]) -> Callable:
    def check(indicator: Callable) -> Evidence:
        """The distance falls along beta = 2, 8, 50, 200, 5000 and vanishes."""
        paths = [[distance_to(indicator, alpha, beta) for beta in (2, 8, 50, 200, 5000)] for alpha in scales]
        worst = max(path[-1] for path in paths)
        found = None
        if worst > 1e-9:
            grid = ({"alpha": alpha, "d": alpha} for alpha in (1.0, 2.0))
            found = smallest_counterexample(at_the_edge, indicator, grid)
        detail = f"total variation at alpha = {scales[0]}: " + ", ".join(f"{x:.2g}" for x in paths[0])
        return compare(worst, "<=", 1e-9, counterexample=found, detail=detail)

    return check


def at_the_edge(indicator: Callable, alpha: float, d: float) -> tuple[float, float]:
    """(weight that the window gives to lag d, weight of the prior there for every beta), relative to lag 0."""
    return float(indicator(d, alpha)), float(np.exp(log_generalised_gaussian(-d, alpha, 5000.0)))


def check_window(seen: Callable) -> Evidence:
    """seen(lag, keys) as a mask, against the keys that transformers' Mistral gives weight to, and our window."""
    wrong = 0
    for size in (1, 2, 8, 32):
        stated = torch.tensor([[j <= i and bool(seen(i - j, size)) for j in range(64)] for i in range(64)])
        wrong += int((stated != attended(size, 64)).sum()) + int((stated != window(64, size).dense(64)).sum())
    detail = "entries of Mistral's and of the library's mask that differ, windows of 1, 2, 8 and 32 keys"
    return compare(wrong, "==", 0, 0.0, detail=detail)


def attended(size: int, length: int) -> torch.Tensor:
    """The keys that get weight in transformers' Mistral with a sliding window of `size`. Bool [length, length]."""
    from transformers import MistralConfig, MistralModel

    sizes = {"vocab_size": 8, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 1, "num_key_value_heads": 1, "sliding_window": size}
    model = MistralModel(MistralConfig(**sizes, **heads, attn_implementation="eager")).eval()
    with torch.no_grad():
        return model(torch.ones(1, length, dtype=torch.int64), output_attentions=True).attentions[0][0, 0] > 0


def check_limits(weight: Callable) -> Evidence:
    """weight(d, alpha), relative to lag 0, against scipy's density and the prior at beta = 5000, beside and at lags."""
    from scipy.stats import gennorm

    worst, lags = 0.0, np.arange(64.0)
    for alpha in (0.5, 1.0, 7.5, 7.1, 8.0, 31.5):
        prior, stated = steep(lags, alpha), np.array([weight(d, alpha) for d in range(64)])
        with np.errstate(over="ignore"):
            density = gennorm.logpdf(lags, 5000.0, scale=alpha)
        for found in (prior / prior[0], np.exp(density - density[0])):
            worst = max(worst, float(np.abs(found - stated).max()))
    return compare(worst, "<=", 1e-9, detail="weights relative to lag 0, six scales, beta = 5000; scipy's and ours")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "X-3",
            (
                Part("-r1 d^r2 with r1 = alpha^-beta, r2 = beta is -(d / alpha)^beta.",
                     lambda alpha, beta: (alpha**-beta, beta), check_identity,
                     lambda alpha, beta: (alpha**beta, beta)),
                Part("So the two trainable priors agree at every lag.", lambda alpha, beta: (alpha**-beta, beta),
                     check_modules, lambda alpha, beta: (1 / alpha, beta)),
                Part("BAM's beta <= 0 and beta > 2 lie outside KERPLE's kernels: conditionally positive definite "
                     "exactly for 0 < beta <= 2.", lambda beta: 0 < beta <= 2, check_domain,
                     lambda beta: 0 < beta <= 3),
                Part("And so does mu != 0, which is not symmetric in the lag.",
                     lambda d, alpha, beta, mu: (np.abs(d - mu) / alpha) ** beta - (np.abs(d + mu) / alpha) ** beta,
                     check_location, lambda d, alpha, beta, mu: 0 * d),
            ),
            practice="A result for KERPLE's power kernel holds for a BAM head with 0 < beta <= 2 and mu = 0; retrieval "
                     "heads (beta < 0) have no counterpart there.",
        ),
        Check(
            "X-4",
            (
                Part("As beta grows, the prior tends to the window |d| < alpha (no lag equals alpha).",
                     lambda d, alpha: d < alpha, check_limit((31.5, 0.5, 7.25)), lambda d, alpha: d < alpha + 1),
                Part("The same where a lag equals alpha.", lambda d, alpha: d < alpha, check_limit((32.0, 1.0, 7.0)),
                     lambda d, alpha: d <= alpha, at_the_edge,
                     repaired=lambda d, alpha: float(d < alpha) + np.exp(-1) * (d == alpha)),
                Part("A sliding window of w keys shows the lags |d| < w.", lambda d, size: d < size, check_window,
                     lambda d, size: d <= size),
            ),
            Part("The limit is the window of w keys for w - 1 < alpha < w. A lag equal to alpha keeps exp(-1) of the "
                 "weight of lag 0, whatever beta is.", lambda d, alpha: float(d < alpha) + np.exp(-1) * (d == alpha),
                 check_limits, lambda d, alpha: float(d <= alpha)),
            practice="A head can learn a soft window: alpha is its width, beta its steepness; keep alpha between lags.",
        ),
    )
}  # fmt: skip
