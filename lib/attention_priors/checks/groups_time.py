"""The post on one-parameter groups: continuity, clocks that data set, and what plain attention knows of positions.

Independent evidence: exact arithmetic, scipy's quadrature, torch's own attention, sequential recurrences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import torch

from attention_priors.checks.evidence import Check, Evidence, Part, compare
from attention_priors.theory.groups import Block

# OPG-6: discontinuous solutions


def pell(count: int) -> list[tuple[int, int]]:
    """(p, q) with p^2 - 2 q^2 = ±1, so that p - q sqrt(2) = ±1 / (p + q sqrt(2)) tends to 0."""
    pairs = [(1, 1)]
    while len(pairs) < count:
        p, q = pairs[-1]
        pairs.append((p + 2 * q, p + q))
    return pairs


def check_additive(f: Callable) -> Evidence:
    """f(a, b), a function of the time a + b sqrt(2): additive, and not small at small times (so discontinuous at 0)."""
    whole = range(-3, 4)
    additive = all(abs(f(a + c, b + d) - f(a, b) - f(c, d)) < 1e-9 for a, b, c, d in product(whole, repeat=4))
    p, q = pell(20)[-1]
    return compare(abs(f(p, -q)) if additive else 0.0, ">", 1.0, detail=f"|f| at the time {p} - {q} sqrt(2)")


def check_regular(sides: Callable) -> Evidence:
    """A(t) times the integral of A over [0, h] against the integral over [t, t + h] (scipy), three blocks."""
    from scipy import integrate

    worst = 0.0
    for block in (Block(-0.3), Block(-0.1, 0.7), Block(0.0, size=2)):

        def over(low: float, high: float, block: Block = block) -> np.ndarray:
            return integrate.quad_vec(block.group, low, high)[0]

        for t, h in ((0.7, 0.5), (-2.0, 1.5)):
            left, right = sides(block.group, over, t, h)
            worst = max(worst, float(np.abs(left - right).max()))
    return compare(worst, "<=", 1e-9, detail="largest entry")


# OPG-9d: gates as clocks


def check_clock(clock: Callable) -> Evidence:
    """e^{-(tau(t) - tau(s))} with tau = clock(steps) against the product of the gates between, one after the other."""
    draw, worst = np.random.default_rng(0), 0.0
    for steps in draw.gamma(1.0, 0.3, size=(5, 40)):
        tau, gates = clock(steps), np.exp(-steps)
        for s in range(40):
            product_of_gates = 1.0
            for t in range(s, 40):
                product_of_gates *= gates[t] if t > s else 1.0
                worst = max(worst, abs(product_of_gates - math.exp(-(tau[t] - tau[s]))))
    return compare(worst, "<=", 1e-12, detail="largest difference of a weight, five rows of 40 steps")


def check_rate(advance: Callable) -> Evidence:
    """A gated recurrence, channel by channel, against fixed rates with the clocks advance(gate, rate) summed up."""
    draw, worst = np.random.default_rng(1), 0.0
    gates, k, v = draw.uniform(0.2, 1, size=(30, 4)), *draw.normal(size=(2, 30, 4))
    rates = np.array([-0.1, -1.0, -2.0, -0.5])
    tau = np.cumsum(advance(gates, rates), axis=0)
    state = np.zeros((4, 4))
    for t in range(30):
        state = gates[t][:, None] * state + np.outer(k[t], v[t])
        weights = np.exp(rates * (tau[t] - tau[: t + 1]))
        worst = max(worst, float(np.abs(state - (weights * k[: t + 1]).T @ v[: t + 1]).max()))
    return compare(worst, "<=", 1e-10, detail="largest entry of the state of four channels, 30 steps")


# OPG-17: what plain attention knows of positions


def check_first_layer(score: Callable) -> Evidence:
    """score(q, k) of torch's attention (logarithms of its weights) under every order of four tokens."""
    from itertools import permutations

    draw = torch.Generator().manual_seed(0)
    x, worst = torch.randn(4, 3, generator=draw, dtype=torch.float64), 0.0
    for order in permutations(range(4)):
        y = x[list(order)]
        values = torch.eye(4, dtype=torch.float64)[None]
        logits = torch.nn.functional.scaled_dot_product_attention(y[None], y[None], values, scale=1.0)[0].log().numpy()
        mine = np.array([[score(x[a], x[b], i, j) for j, b in enumerate(order)] for i, a in enumerate(order)])
        gap = mine - logits
        worst = max(worst, float(np.abs(gap - gap[:, :1]).max()))
    return compare(worst, "<=", 1e-9, detail="largest difference of two logits of a row, 24 orders")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "OPG-6",
            (
                Part("Over the reals, solutions that are not continuous exist: e^{f(t)}, f additive with "
                     "f(a + b sqrt 2) = a. (Computed on these times; that f extends to all reals is read: a basis of R "
                     "over Q.)",
                     lambda a, b: a, check_additive, lambda a, b: a + b * math.sqrt(2)),
                Part("Over the reals they take the axiom of choice. (Read; what it rests on is computed: A(t) times "
                     "the integral of A over [0, h] is its integral over [t, t + h], continuous in t, whenever A is "
                     "measurable.)", lambda a, over, t, h: (a(t) @ over(0, h), over(t, t + h)), check_regular,
                     lambda a, over, t, h: (a(t) @ over(0, h), over(t, t + 2 * h))),
            ),
            practice="With token indices continuity says nothing: a learned A(1) may have negative eigenvalues. One "
                     "coordinate that alternates in sign is an encoding, which RoPE needs two coordinates for.",
        ),
        Check(
            "OPG-9d",
            (
                Part("The product of the gates e^{-Delta_u}, s < u <= t, is the decay over the time tau(t) - tau(s) of "
                     "the clock tau = Delta_1 + ... + Delta_t.", np.cumsum, check_clock,
                     lambda steps: np.cumsum(steps) - steps),
                Part("The rate stays put: a gate g advances the clock of its channel by ln(g) / lambda, at any fixed "
                     "rate lambda < 0.", lambda gate, rate: np.log(gate) / rate, check_rate,
                     lambda gate, rate: np.log(gate) * rate),
            ),
            practice="One gate per head is one clock, and RoPE may run on it too. Gates per channel are one clock per "
                     "channel. A gate of 0 puts all of the past infinitely far away; one below 0 is no clock.",
        ),
        Check(
            "OPG-17",
            (
                Part("The dot product of a query and a key does not depend on where they stand.",
                     lambda q, k, i, j: float(q @ k), check_first_layer,
                     lambda q, k, i, j: float(q @ k) - 0.1 * (i - j)),
            ),
            practice="Under a causal mask the outputs of a layer depend on the position, and they are the next one's "
                     "queries and keys: a decoder without any encoding (NoPE) is not blind, an encoder is.",
        ),
    )
}  # fmt: skip
