"""Attention whose logits are multiplied by a scale a_n that depends on the context n: entropy, freezing, needed leads.

Float64. Scores z are independent normal with standard deviation sigma unless a prior is given. a = 1 is softmax,
a_n = s ln n scalable softmax (Nakanishi 2025; BAM, section 2.5).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_priors.theory.inference import log_sum_exp


def freezing_scale(n: ArrayLike, sigma: float) -> NDArray[np.float64]:
    """a_c = sqrt(2 ln n) / sigma: above it a handful of keys hold all weight (random energy model, Derrida 1981)."""
    _positive(sigma=sigma)
    return np.sqrt(2 * np.log(np.asarray(n, dtype=np.float64))) / sigma


def entropy(n: ArrayLike, sigma: float, a: ArrayLike) -> NDArray[np.float64]:
    """ln n - (a sigma)^2 / 2 below the freezing scale and 0 above, to leading order in ln n.

    ln Z = ln n + (a sigma)^2 / 2 while the sum obeys the law of large numbers, and H = ln Z - a d(ln Z)/da.
    """
    log_n = np.log(np.asarray(n, dtype=np.float64))
    return np.maximum(log_n - (np.asarray(a) * sigma) ** 2 / 2, 0.0)


def log_total(n: ArrayLike, sigma: float, a: ArrayLike) -> NDArray[np.float64]:
    """ln sum_j exp(a z_j): ln n + (a sigma)^2 / 2, or a sigma sqrt(2 ln n) once frozen; leading order."""
    n, a = np.asarray(n, dtype=np.float64), np.asarray(a, dtype=np.float64)
    free = np.log(n) + (a * sigma) ** 2 / 2
    return np.where(a <= freezing_scale(n, sigma), free, a * sigma * np.sqrt(2 * np.log(n)))


def noisy_lead(n: ArrayLike, sigma: float, a: ArrayLike) -> NDArray[np.float64]:
    """(1/a) ln sum_j exp(a z_j): the score that holds half of the weight against n others; never below the largest.

    Softmax: ln n + sigma^2 / 2. SSMax: 1/s + s sigma^2 ln n / 2 until it freezes, sigma sqrt(2 ln n) after.
    """
    return log_total(n, sigma, a) / np.asarray(a)


def freezing_length(s: float, sigma: float) -> float:
    """n* = exp(2 / (s sigma)^2): SSMax with this s freezes contexts beyond it. ValueError unless s, sigma > 0."""
    _positive(s=s, sigma=sigma)
    exponent = 2 / (s * sigma) ** 2
    return math.exp(exponent) if exponent < 700 else math.inf


def prior_lead(log_prior: ArrayLike, lag: int, content_scale: float = 1.0, prior_scale: float = 1.0) -> float:
    """The content lead that gives the key at `lag` half of the weight against keys of equal content.

    (1/a) [ln sum_{d != lag} e^(c b(d)) - c b(lag)] with content scale a and prior scale c: (1, 1) is softmax,
    (s ln n, 1) SSMax on content, (s ln n, s ln n) SSMax on content and prior. A uniform prior needs ln(n - 1) / a.
    """
    b = prior_scale * np.asarray(log_prior, dtype=np.float64)
    if not 0 <= lag < len(b) or len(b) < 2:
        raise ValueError(f"lag = {lag} of {len(b)} keys: give a lag that is there, and at least 2 keys")
    _positive(content_scale=content_scale)
    return float((log_sum_exp(np.delete(b, lag)) - b[lag]) / content_scale)


# a_n, all equal to 1 at the trained length N
def laws(trained: int) -> dict[str, Callable[[float], float]]:
    """Scales with a_N = 1: softmax, SSMax with s = 1/ln N (Su's log-n scaling), its root, YaRN's (1 + .1 ln(n/N))^2."""
    return {
        "1": lambda n: 1.0,
        "ln n / ln N": lambda n: math.log(n) / math.log(trained),
        "sqrt(ln n / ln N)": lambda n: math.sqrt(math.log(n) / math.log(trained)),
        "(1 + .1 ln(n / N))^2": lambda n: (1 + 0.1 * math.log(max(n / trained, 1.0))) ** 2,
    }


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} = {value}: it must be positive")
