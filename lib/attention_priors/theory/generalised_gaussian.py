"""Mass of the generalised Gaussian prior by lag: what BAM's Lemmas 3 and 4 and Theorems 2 to 4 are about.

A log-prior here is a function of float64 lags d >= 0. Contexts go to 10^7 keys, so that sums run over blocks and never
hold one array per context.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from attention_priors.positions.priors import GeneralizedGaussian, RelativePrior
from attention_priors.theory.inference import log_generalised_gaussian, softmax

Vector = NDArray[np.float64]
LogPrior = Callable[[Vector], Vector]
BLOCK = 2**20  # lags per block: 8 MB
EPSILON = 1e-5  # BAM, appendix C


def printed(alpha: float, beta: float) -> LogPrior:
    """d -> -|d / alpha|^beta, the bias as BAM prints it (section 2.3, mu = 0); -inf at d = 0 when beta < 0."""

    def log_prior(lags: Vector) -> Vector:
        with np.errstate(divide="ignore"):
            return log_generalised_gaussian(lags, alpha, beta)

    return log_prior


def laplace(m: float) -> LogPrior:
    """d -> -m d (ALiBi); m = 0 is the uniform prior."""
    return lambda lags: -m * np.asarray(lags, dtype=np.float64)


def module(
    theta_alpha: float, theta_beta: float, theta_mu: float = 0.0, epsilon: float = EPSILON
) -> GeneralizedGaussian:
    """The library's one-head prior with float64 parameters (the constructor keeps float32)."""
    prior = GeneralizedGaussian([theta_alpha], [theta_beta], [theta_mu], epsilon, trainable=GeneralizedGaussian.NAMES)
    prior = prior.double()
    with torch.no_grad():
        for name, value in zip(GeneralizedGaussian.NAMES, (theta_alpha, theta_beta, theta_mu), strict=True):
            getattr(prior, name).fill_(value)
    return prior


def coded(theta_alpha: float, theta_beta: float, theta_mu: float = 0.0, epsilon: float = EPSILON) -> LogPrior:
    """d -> -exp(theta_alpha) (|d + mu| + epsilon)^theta_beta: the library's prior, as BAM codes it (appendix C)."""
    return of(module(theta_alpha, theta_beta, theta_mu, epsilon))


def of(prior: RelativePrior, head: int = 0) -> LogPrior:
    """One head of a prior of the library, as a function of lags of any shape."""

    @torch.no_grad()
    def log_prior(lags: Vector) -> Vector:
        flat = torch.as_tensor(np.asarray(lags)).long().flatten()
        return prior.log_prior(flat)[head].double().numpy().reshape(np.shape(lags))

    return log_prior


def row(log_prior: LogPrior, i: int, content: ArrayLike | None = None) -> Vector:
    """p(d) of query i over its lags d = 0..i-1, with content scores [i] by lag (none: all equal)."""
    lags = np.arange(i, dtype=np.float64)
    return softmax(log_prior(lags) + (0.0 if content is None else np.asarray(content)))


def tails(log_prior: LogPrior, lengths: Sequence[int], windows: Sequence[int]) -> Vector:
    """P(lag > D) for each context length and window: [lengths windows]; 0 where the window holds the context.

    Segments between the break points are summed from the far end, so that tails far below 1e-16 keep their digits.
    """
    breaks = sorted({0, *lengths, *(window + 1 for window in windows)})
    segments = [_log_mass(log_prior, low, high) for low, high in pairwise(breaks)]

    def between(low: int, high: int) -> float:
        return float(np.logaddexp.reduce(segments[breaks.index(low) : breaks.index(high)], initial=-np.inf))

    return np.exp([[between(d + 1, n) - between(0, n) for d in windows] for n in lengths])


def far_density(log_prior: LogPrior, lengths: Sequence[int]) -> Vector:
    """n p(d = n - 1): weight of the oldest key relative to the uniform share 1/n, for each context length."""
    totals = np.logaddexp.accumulate([_log_mass(log_prior, low, high) for low, high in pairwise((0, *lengths))])
    oldest = [log_prior(np.array([n - 1.0]))[0] for n in lengths]
    return np.asarray(lengths) * np.exp(np.asarray(oldest) - totals)


def shares(log_prior: LogPrior, n: int, part: float = 0.1) -> tuple[float, float]:
    """Mass of the nearest and of the farthest `part` of a context of n keys; both equal `part` when uniform."""
    weights, count = row(log_prior, n), round(part * n)
    return float(weights[:count].sum()), float(weights[-count:].sum())


def suppression_threshold(x: float, theta_alpha: float, epsilon: float = EPSILON) -> float:
    """ln(ln(1/x) e^-theta_alpha) / ln(1/epsilon): from this |theta_beta| on, the own key weighs x < 1 times a far key.

    From exp(theta_alpha) epsilon^theta_beta = ln(1/x), the far key's bias being 0 (correction of BAM, Theorem 3).
    """
    return float((np.log(np.log(1 / x)) - theta_alpha) / np.log(1 / epsilon))


def peak_weight(n: float, gap: float, scale: float | None = None) -> float:
    """Weight of one key that leads n - 1 equal others by `gap`: e^(a g) / (e^(a g) + n - 1).

    a = 1 without `scale` (softmax), a = s ln n with it (scalable softmax): n^(s g) / (n^(s g) + n - 1).
    """
    a = 1.0 if scale is None else scale * np.log(n)
    return float(1 / (1 + (n - 1) * np.exp(-a * gap)))


def _log_mass(log_prior: LogPrior, low: int, high: int) -> float:
    """ln sum_{low <= d < high} exp(b(d)), block by block."""
    blocks = (np.arange(start, min(start + BLOCK, high), dtype=np.float64) for start in range(low, high, BLOCK))
    return float(np.logaddexp.reduce([_log_sum(log_prior(lags)) for lags in blocks]))


def _log_sum(logits: Vector) -> float:
    """ln sum exp, -inf for keys that all have weight zero (the own key alone, beta < 0)."""
    top = logits.max()
    return float(top + np.log(np.exp(logits - top).sum())) if top > -np.inf else -np.inf
