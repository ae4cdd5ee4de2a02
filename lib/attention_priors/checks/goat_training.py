"""Goat, sections 1 and 5: where training starts, what the first steps do, and how large the sink's gradient is.

Independent evidence: torch's own attention and optimisers, cvxpy's entropy maximiser, gradients by hand on two keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch.nn import functional

from attention_priors.attention import attention
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions.priors import Laplace
from attention_priors.positions.spectral import Fourier, Sink, geometric

KEYS = 40


# C-2: starts


def inputs() -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(1, 2, KEYS, 8, generator=draw, dtype=torch.float64) for _ in range(3)]


def start(slope: float) -> torch.Tensor:
    """Attention with Goat's prior as it is before training: zero waves, u(j) = slope * j."""
    torch.manual_seed(0)
    prior = Fourier.uniform(2, geometric(4)).double() * Sink(torch.full((2,), slope)).double()
    with torch.no_grad():
        return attention(*inputs(), prior=prior, backend="reference")


def check_uniform_start(slope: float) -> Evidence:
    plain = functional.scaled_dot_product_attention(*inputs(), is_causal=True)
    worst = float((start(slope) - plain).abs().max())
    return compare(worst, "<=", 1e-12, detail="outputs against torch's attention without any prior")


def check_recency_start(slope_of: Callable) -> Evidence:
    """u(j) = slope_of(m) j against ALiBi with slope m, and ALiBi's weights against cvxpy's entropy maximiser."""
    import cvxpy

    worst = 0.0
    for m in (0.5, 0.0625):
        with torch.no_grad():
            alibi = attention(*inputs(), prior=Laplace([m, m]).double(), backend="reference")
        worst = max(worst, float((start(slope_of(m)) - alibi).abs().max()))
    weights, lags = np.exp(-0.5 * np.arange(12.0)), np.arange(12.0)
    weights /= weights.sum()
    p = cvxpy.Variable(12)
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.entr(p))), [cvxpy.sum(p) == 1, lags @ p == lags @ weights])
    problem.solve(solver=cvxpy.CLARABEL)
    gap = float(np.abs(p.value - weights).max())
    detail = f"outputs against ALiBi: {worst:.1e}; its law against the entropy maximiser (cvxpy): {gap:.1e}"
    return compare(max(worst, gap / 1e4), "<=", 1e-8, detail=detail)


def gain_of_step(rule: Callable, rate: float, target: int) -> tuple[str, str]:
    """One step of `rule` from u = 0 on the example `target`, judged by the mean loss over both targets 0 and 1.

    Two keys with values 1 and 0 and flat content: the output is sigma(u), the loss (sigma(u) - target)^2. The mean loss
    is least at u = 0, the uniform prior.
    """
    u = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimiser = rule([u], rate)
    (torch.sigmoid(u) - target).square().sum().backward()
    optimiser.step()
    out = 1 / (1 + math.exp(-u.item()))
    mean = (out**2 + (out - 1) ** 2) / 2
    fine = u.item() == 0 or mean < 0.25
    return "no bias, or a gain", "no bias, or a gain" if fine else f"bias {u.item():.3g}, a loss"


def check_gain(rule: Callable) -> Evidence:
    found = smallest_counterexample(gain_of_step, rule, ({"rate": 1.0, "target": t} for t in (1, 0)))
    measured = found["actual"] if found else "no bias, or a gain"
    return compare(measured, "==", "no bias, or a gain", counterexample=found, detail="two keys, two targets")


def check_first_step(rise: Callable) -> Evidence:
    """After one step of size `rate` the mean loss has risen by rise(u) at the bias u reached, to second order."""
    worst = 0.0
    for rate in (1e-2, 1e-3):
        u = rate * 0.25  # the gradient at u = 0 is 2 (1/2 - 1)/4
        out = 1 / (1 + math.exp(-u))
        worst = max(worst, abs(((out**2 + (out - 1) ** 2) / 2 - 0.25) / rise(u) - 1))
    return compare(worst, "<=", 1e-4, detail="rates .01 and .001")


# SINKGRAD


def check_inner_product(ratio: Callable) -> Evidence:
    """|dz/du| / |dz/d<q, k>| by autograd against ratio(d_c)."""
    worst = 0.0
    for width in (4, 16, 64):
        inner, u = (torch.zeros((), dtype=torch.float64, requires_grad=True) for _ in range(2))
        d_u, d_inner = torch.autograd.grad(inner / width**0.5 + u, (u, inner))
        worst = max(worst, abs(d_u.item() / d_inner.item() - ratio(width)))
    return compare(worst, "<=", 1e-12, detail="d_c = 4, 16, 64")


def key_ratio(ratio: Callable, width: int, coordinate: float) -> tuple[float, float]:
    """(ratio claimed, |dz/du| / |dz/dk|) for a query whose `width` coordinates all have the given size."""
    q = torch.full((width,), coordinate, dtype=torch.float64)
    k = torch.zeros(width, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(q @ k / width**0.5, k)
    return float(ratio(width, q.norm().item())), 1 / gradient.norm().item()


def check_key(ratio: Callable) -> Evidence:
    grid = ({"width": n, "coordinate": c} for n in (4, 64) for c in (1.0, 0.5, 2.0))
    found = smallest_counterexample(key_ratio, ratio, grid)
    pairs = [key_ratio(ratio, n, c) for n in (4, 64) for c in (1.0, 0.5, 2.0)]
    worst = max(abs(claimed - actual) for claimed, actual in pairs)
    detail = f"unit coordinates, d_c = 64: {key_ratio(ratio, 64, 1.0)[1]:g}"
    return compare(worst, "<=", 1e-12, counterexample=found, detail=detail)


def direction(claim: Callable, width: int, target: int) -> tuple[str, str]:
    """(claimed, actual) move of u(sink) in one step of gradient descent; the sink's value is 1, the other key's 0."""
    u = torch.zeros((), dtype=torch.float64, requires_grad=True)
    loss = (torch.softmax(torch.stack([u, torch.zeros_like(u)]), 0)[0] - target).square()
    (gradient,) = torch.autograd.grad(loss, u)
    return claim(width, target), "up" if gradient.item() < 0 else "down"


def check_direction(claim: Callable) -> Evidence:
    grid = ({"width": n, "target": t} for t in (1, 0) for n in (4, 64))
    found = smallest_counterexample(direction, claim, grid)
    return compare(found["actual"] if found else "as claimed", "==", "as claimed", counterexample=found,
                   detail="the loss is the square of output - target")  # fmt: skip


def check_consequence(scale: Callable) -> Evidence:
    """AdamW's first step for gradients of size 1 and sqrt(64): `scale(factor)` times as long."""
    moves = []
    for size in (1.0, 8.0):
        u = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        u.grad = torch.full_like(u, size)
        torch.optim.AdamW([u], lr=0.1, weight_decay=0.0).step()
        moves.append(abs(u.item()))
    worst = abs(moves[1] / moves[0] - scale(8.0))
    pairs = [key_ratio(lambda n, norm: n**0.5 / norm, n, c) for n in (4, 64) for c in (1.0, 0.5)]
    return compare(max(worst, *(abs(a - b) for a, b in pairs)), "<=", 1e-6,
                   detail=f"AdamW's first steps for gradients 1 and 8: {moves[0]:.4f} and {moves[1]:.4f}")  # fmt: skip


def _sgd(parameters, rate):
    return torch.optim.SGD(parameters, lr=rate)


def _adam(parameters, rate):
    return torch.optim.Adam(parameters, lr=rate)


def _still(parameters, rate):
    return torch.optim.SGD(parameters, lr=0.0 * rate)


CHECKS = {
    check.id: check
    for check in (
        Check(
            "GOAT-C-2",
            (
                Part("Zero coefficients and u = 0 start training from plain attention.", 0.0, check_uniform_start,
                     0.01),
                Part("u(j) = m j starts it from maximum-entropy recency, which is ALiBi.", lambda m: m,
                     check_recency_start, lambda m: -m),
                Part("A bias appears only where it brings a gain.", _sgd, check_gain, _adam, gain_of_step,
                     repaired=_still),
            ),
            Part("A step follows the gradient of its batch. Where the uniform prior is optimal for the data, sampling "
                 "still moves the bias, and the mean loss rises: on two keys by u^2/16.", lambda u: u**2 / 16,
                 check_first_step, lambda u: u**2 / 8),
            practice="Complex learned priors are no proof of a gain: retrain with the prior frozen at its start.",
        ),
        Check(
            "GOAT-SINKGRAD",
            (
                Part("dz/du = 1 and dz/d<q, k> = 1/sqrt(d_c): a factor of sqrt(d_c).", lambda n: n**0.5,
                     check_inner_product, lambda n: float(n)),
                Part("u's gradient is sqrt(d_c) times that of the content channel, the key vector that is trained.",
                     lambda n, norm: n**0.5, check_key, lambda n, norm: float(n), key_ratio,
                     repaired=lambda n, norm: n**0.5 / norm),
                Part("This \"effectively guarantees\" the preference for the default: descent raises u(sink).",
                     lambda n, target: "up", check_direction, lambda n, target: "down", direction,
                     repaired=lambda n, target: "up" if target else "down"),
            ),
            Part("|dz/du| / |dz/dk| = sqrt(d_c)/|q|, and AdamW takes a first step of the same length for gradients of "
                 "size 1 and 8.",
                 lambda factor: 1.0, check_consequence, lambda factor: factor),
            practice="The loss decides the direction. What favours u(j) is that all queries push one scalar the same "
                     "way, not the factor sqrt(d_c).",
        ),
    )
}  # fmt: skip
