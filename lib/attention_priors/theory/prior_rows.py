"""The numbers behind the figures of notebook 04, as rows: one dictionary per point."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from attention_priors.theory import generalised_gaussian as gaussian
from attention_priors.theory.inference import log_generalised_gaussian, softmax

Rows = list[dict[str, float | str]]
SHAPES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
TAIL_SHAPES = (1.0, 0.5, 0.3, 0.2, 0.1, 0.0, -0.5, -1.0)


def curve_rows(keys: int, alpha: float, beta: float, mu: float = 0.0, curve: str = "prior") -> Rows:
    """Weight of key j = 1..keys for the last query under -(|d + mu| / alpha)^beta, times keys: 1 is the uniform share.

    beta = 0 is the uniform prior. mu > 0 puts the peak among the future keys, mu < 0 at the lag -mu.
    """
    lags = np.arange(keys, dtype=np.float64)
    with np.errstate(divide="ignore"):
        logits = np.zeros(keys) if beta == 0 else log_generalised_gaussian(-lags, alpha, beta, mu)
    weights = softmax(logits)
    return [
        {"curve": curve, "alpha": alpha, "beta": beta, "key": int(keys - d), "share": float(keys * w)}
        for d, w in zip(lags, weights, strict=True)
    ]


def shape_rows(keys: int) -> Rows:
    """The priors of BAM's Fig. 1 over `keys` visible keys, scale keys / 16; beta < 0 also with scale 16 keys."""
    scale = keys / 16
    named = (("uniform", scale, 0.0), ("laplace", scale, 1.0), ("fractional", scale, 0.5))
    named += (("negative", scale, -1.0), ("negative, far scale", 16.0 * keys, -1.0))
    return [row for curve, alpha, beta in named for row in curve_rows(keys, alpha, beta, curve=curve)]


def tail_rows(lengths: Iterable[int], windows: Iterable[int], alpha: float = 1.0) -> Rows:
    """P(lag > D) and P(lag <= D) by shape, context length and window D (BAM, Lemmas 3 and 4, Theorem 4)."""
    lengths, windows, rows = tuple(lengths), tuple(windows), []
    for beta in TAIL_SHAPES:
        log_prior = gaussian.laplace(0.0) if beta == 0 else gaussian.printed(alpha, beta)
        for keys, tails in zip(lengths, gaussian.tails(log_prior, lengths, windows), strict=True):
            rows += [
                {"beta": beta, "keys": keys, "window": window, "tail": float(tail), "within": float(1 - tail)}
                for window, tail in zip(windows, tails, strict=True)
            ]
    return rows


def far_rows(keys: int, ratios: Iterable[float], shapes: Iterable[float] = (-0.5, -1.0, -2.0)) -> Rows:
    """Mass of the nearest and farthest tenth of the context by alpha / keys, beta < 0 (BAM, section 2.5)."""
    rows: Rows = []
    ratios = tuple(ratios)
    for beta in shapes:
        for ratio in ratios:
            near, far = gaussian.shares(gaussian.printed(ratio * keys, beta), keys)
            rows.append({"beta": beta, "ratio": ratio, "nearest": near, "farthest": far})
    return rows


def sharpness_rows(alpha: float, keys: int) -> Rows:
    """Weight of the own key, root mean square lag, entropy and tail beyond 2 alpha by shape (BAM, appendix A)."""
    rows: Rows = []
    lags = np.arange(keys, dtype=np.float64)
    for beta in SHAPES:
        p = gaussian.row(gaussian.printed(alpha, beta), keys)
        seen = p[p > 0]
        rows.append(
            {
                "beta": beta,
                "own key": float(p[0]),
                "rms lag": float(np.sqrt(p @ lags**2)),
                "entropy": float(-(seen @ np.log(seen))),
                "beyond 2 alpha": float(p[lags > 2 * alpha].sum()),
            }
        )
    return rows


def epsilon_rows(keys: int, theta_betas: Iterable[float], lags: Iterable[int]) -> Rows:
    """exp(b(d) - b(keys - 1)), the weight relative to the oldest key: the own key by epsilon, near keys by lag."""
    rows: Rows = []
    for epsilon in (1e-3, 1e-5, 1e-7):
        for theta_beta in theta_betas:
            own, oldest = gaussian.coded(0.0, theta_beta, epsilon=epsilon)(np.array([0, keys - 1]))
            rows.append(_relative("own key", epsilon, theta_beta, 0, own - oldest))
    lags = np.array([*lags, keys - 1])
    for theta_beta in (-0.05, -0.1, -0.2, -0.5, -1.0):
        values = gaussian.coded(0.0, theta_beta)(lags)
        for lag, value in zip(lags[:-1], values, strict=False):
            rows.append(_relative("near keys", gaussian.EPSILON, theta_beta, int(lag), value - values[-1]))
    return rows


def gradient_rows(lags: Iterable[int], lengths: Iterable[int]) -> Rows:
    """d b / d theta by lag at the uniform start, and the own key's part in the variance of theta_beta's gradient."""
    rows: Rows = []
    for lag in lags:
        prior = gaussian.module(0.0, 0.0)
        prior.log_prior(torch.tensor([lag]))[0, 0].backward()
        for name in prior.NAMES:
            rows.append({"panel": "slope", "series": name, "x": int(lag), "value": float(getattr(prior, name).grad)})
    for keys in lengths:
        share = gaussian.self_share_of_gradient(int(keys))
        rows.append({"panel": "share", "series": "own key", "x": int(keys), "value": share})
    return rows


def scaled_rows(lengths: Iterable[int]) -> Rows:
    """SSMax with s = 1 on content alone or on the prior too: mean lag for beta = 1/2, keys p(d = 1) for beta = -1/2."""
    rows: Rows = []
    for keys in lengths:
        lags = np.arange(keys, dtype=np.float64)
        for reading, scale in (("content only", 1.0), ("content and prior", float(np.log(keys)))):
            near, far = (softmax(scale * gaussian.coded(0.0, beta)(lags)) for beta in (0.5, -0.5))
            rows.append(
                {"reading": reading, "keys": keys, "mean lag": float(near @ lags), "lag 1 share": float(keys * far[1])}
            )
    return rows


def fading_rows(lengths: Iterable[int], gaps: Iterable[float] = (0.5, 1.0, 2.0)) -> Rows:
    """Weight of a key that leads all others by a gap, by context length, with softmax and with SSMax at s = 1."""
    lengths = tuple(lengths)
    return [
        {"softmax": name, "gap": gap, "keys": keys, "weight": gaussian.peak_weight(keys, gap, scale)}
        for name, scale in (("softmax", None), ("SSMax", 1.0))
        for gap in gaps
        for keys in lengths
    ]


def _relative(panel: str, epsilon: float, theta_beta: float, lag: int, log_weight: float) -> dict[str, float | str]:
    weight = float(np.exp(log_weight))
    return {"panel": panel, "epsilon": epsilon, "theta_beta": float(theta_beta), "lag": lag, "weight": weight}
