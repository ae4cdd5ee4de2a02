"""The post on one-parameter groups: growing, constant and decaying blocks of one dimension, and their two factors.

Independent evidence: recurrent states, torch's own attention, singular vectors of score tables, 40-digit exponentials.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import torch

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.theory import groups as theory
from attention_priors.theory.groups import Block

GROWING, DECAYING = (0.05, 0.4), (-0.05, -0.4)


def softmax_weights(scores: list[float]) -> np.ndarray:
    """Weights of one query on keys with these scores, from torch's attention."""
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    keys = torch.tensor(scores, dtype=torch.float64)[None, :, None]
    values = torch.eye(len(scores), dtype=torch.float64)[None]
    return torch.nn.functional.scaled_dot_product_attention(one, keys, values, scale=1.0)[0, 0].numpy()


# Linear attention: the factor of the score


def check_linear_attention(factor: Callable, rates: tuple[float, ...]) -> Evidence:
    """factor(λ, d), the weight of a key of age d, against a recurrent state: z_t = e^λ z_{t-1} + k_t v_t."""
    draw, worst = np.random.default_rng(0), 0.0
    for rate in rates:
        k, v = draw.normal(size=(2, 30))
        state = 0.0
        for t in range(30):
            state = math.exp(rate) * state + k[t] * v[t]
            claimed = sum(factor(rate, t - s) * k[s] * v[s] for s in range(t + 1))
            worst = max(worst, abs(claimed - state) / max(1.0, abs(state)))
    return compare(worst, "<=", 1e-12, detail="largest relative difference of the state over 30 steps")


def check_growth(factor: Callable) -> Evidence:
    return check_linear_attention(factor, GROWING)


def check_decay(factor: Callable) -> Evidence:
    return check_linear_attention(factor, DECAYING)


# Softmax: which way weights move with age


def check_trend(trend: Callable) -> Evidence:
    """trend(c, λ), the sign of the change of weight with age for a key of content score c, against torch's softmax."""
    wrong = 0
    for content, rate, d in product((1.0, 0.2, -1.0), GROWING, (0, 3, 8)):
        weights = softmax_weights([content * math.exp(rate * age) for age in (d, d + 1)] + [0.0])
        wrong += np.sign(weights[1] - weights[0]) != trend(content, rate)
    found = smallest_counterexample(evaluate_trend, trend, [{"c": -1.0, "lambda": 1.0, "lags": [0, 1]}])
    return compare(int(wrong), "==", 0, counterexample=found, detail="wrong signs among 18 cases")


def evaluate_trend(trend: Callable, **inputs) -> tuple[float, float]:
    """Sign of the older key's weight minus the younger one's, both with content score c."""
    younger, older = (inputs["c"] * math.exp(inputs["lambda"] * d) for d in inputs["lags"])
    return float(trend(inputs["c"], inputs["lambda"])), float(np.sign(older - younger))


def check_side(fades: Callable, rates: tuple[float, ...]) -> Evidence:
    """fades(λ, side): does the factor e^{λd} stay bounded on the side the mask shows? Past: d >= 0; future: d < 0."""
    wrong = 0
    for rate, side in product(rates, ("past", "future")):
        lags = np.arange(1, 400) * (1 if side == "past" else -1)
        factors = theory.exponential([[rate]], lags.astype(float))[:, 0, 0]
        wrong += bool(fades(rate, side)) != bool(factors.max() <= 1)
    return compare(wrong, "==", 0, detail="wrong answers, two rates and two sides")


def check_bounded(bounded: Callable) -> Evidence:
    """bounded(λ) against the factor e^{λd} at growing age: does it stay at or below 1?"""
    ages = np.arange(1.0, 400.0)
    wrong = sum(bool(bounded(x)) != bool(theory.exponential([[x]], ages).max() <= 1) for x in GROWING)
    return compare(wrong, "==", 0, detail="wrong answers, two rates, ages to 399")


def check_decaying_side(fades: Callable) -> Evidence:
    return check_side(fades, DECAYING)


# OPG-9b


def check_plain(rate: float) -> Evidence:
    """Attention through F(t) = e^{tX^T}, G(s) = e^{-sX} with X = rate I against torch's attention without encoding."""
    draw = np.random.default_rng(0)
    q, k, v = draw.normal(size=(3, 12, 4))
    f, g = (factor(rate * np.eye(4), np.arange(12.0)) for factor in (theory.query_factor, theory.key_factor))
    encoded = [torch.as_tensor(np.einsum("tab,tb->ta", a, x))[None] for a, x in ((f, q), (g, k))]
    values = torch.as_tensor(v)[None]
    mine = torch.nn.functional.scaled_dot_product_attention(*encoded, values, is_causal=True)
    bare = [torch.as_tensor(x)[None] for x in (q, k)]
    worst = float((mine - torch.nn.functional.scaled_dot_product_attention(*bare, values, is_causal=True)).abs().max())
    return compare(worst, "<=", 1e-12, detail="largest difference of an output, 12 tokens")


# OPG-14: the two factors of a damped block


def check_growth_rate(exponent: Callable) -> Evidence:
    """exponent(λ) against the growth of |G(s)| and the fall of |F(t)| per step, exponentials in 40 digits."""
    import mpmath

    worst = 0.0
    for block in (Block(-0.3), Block(-0.05), Block(-0.3, 0.9)):
        x, norms = block.generator(), {}
        for s in (40, 60):
            with mpmath.workdps(40):
                for name, matrix in (("G", -x), ("F", x.T)):
                    entries = mpmath.expm(mpmath.matrix(matrix.tolist()) * s).tolist()
                    norms[name, s] = np.linalg.norm(np.array(entries, dtype=float), 2)
        growth = math.log(norms["G", 60] / norms["G", 40]) / 20
        fall = math.log(norms["F", 60] / norms["F", 40]) / 20
        worst = max(worst, abs(growth - exponent(block.rate)), abs(fall + exponent(block.rate)))
    return compare(worst, "<=", 1e-9, detail="difference in the exponent, two decays and a damped rotation")


def check_any_factors(exponent: Callable) -> Evidence:
    """exponent(λ) against factors that know no generator: singular vectors of the table of scores A(t - s)."""
    worst = 0.0
    for block in (Block(-0.3), Block(-0.1), Block(-0.2, 0.9)):
        n, width = 48, block.width
        lags = np.subtract.outer(np.arange(n), np.arange(n)).astype(float)
        table = block.group(lags).transpose(0, 2, 1, 3).reshape(n * width, n * width)
        keys = np.linalg.svd(table)[2][:width].reshape(width, n, width)
        norms = np.log([np.linalg.norm(keys[:, s], 2) for s in range(n)])
        slope = np.polyfit(np.arange(n // 2, n), norms[n // 2 :], 1)[0]
        worst = max(worst, abs(slope - exponent(block.rate)))
    return compare(worst, "<=", 0.01, detail="difference in the exponent of the keys' singular vectors, 48 positions")


def exponential_factor(rate: float, lag: float) -> float:
    return math.exp(rate * lag)


def half_rate(rate: float, lag: float) -> float:
    return math.exp(rate * lag / 2)


CHECKS = {
    check.id: check
    for check in (
        Check(
            "OPG-9a",
            (
                Part("With lambda > 0 the score's factor e^{lambda d} grows exponentially with the age d.",
                     exponential_factor, check_growth, half_rate),
                Part("So an older key counts more (in softmax).", lambda c, rate: 1, check_trend, lambda c, rate: -1,
                     evaluate_trend),
                Part("The case is of no use under a causal mask: the factor blows up as the gap grows.",
                     lambda rate: False, check_bounded, lambda rate: True),
            ),
            Part("An older key gains weight in softmax when its content score is positive and loses it when negative "
                 "(the logit grows in size).", lambda c, rate: np.sign(c * rate), check_trend,
                 lambda c, rate: np.sign(rate)),
            practice="Drop lambda > 0 under a causal mask and lambda < 0 under the reversed one, as in the "
                     "backward half of a bidirectional model. Within a bounded "
                     "window either sign is a legal far or near bias.",
        ),
        Check(
            "OPG-9b",
            (Part("lambda = 0 gives A = 1 at every lag: NoPE.", 0.0, check_plain, 1e-3),),
            practice="NoPE is a member of every family here: a learned X can switch position off.",
        ),
        Check(
            "OPG-9c",
            (
                Part("With lambda < 0 a key fades exponentially in linear attention: this is its decay.",
                     exponential_factor, check_decay, half_rate),
                Part("It makes sense under a causal mask only: on keys after the query the factor grows without bound.",
                     lambda rate, side: side == "past", check_decaying_side, lambda rate, side: True),
            ),
            practice="A damped rotation in softmax attention makes old keys neutral, not invisible: n of them share "
                     "what NoPE would give them. Linear attention and unbounded "
                     "additive priors (ALiBi, Gaussian, KERPLE) forget.",
        ),
        Check(
            "OPG-14",
            (
                Part("F(t) = e^{tX^T} decays like e^{lambda t} and G(s) = e^{-sX} grows like e^{|lambda| s}.", abs,
                     check_growth_rate, lambda rate: 2 * abs(rate)),
                Part("Separate factors cannot avoid it: whatever factorises the scores grows at this rate.", abs,
                     check_any_factors, lambda rate: 0.0),
            ),
            practice="The keys of RetNet's fastest head (decay 1 - 2^-5) overflow fp16 at position 350, fp32 and bf16 "
                     "at 2,795. Take F(t - c) and G(s - c) with c at the first query of a block, or keep a state.",
        ),
    )
}  # fmt: skip
