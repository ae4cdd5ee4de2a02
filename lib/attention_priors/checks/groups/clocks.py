"""The post on one-parameter groups: gates as clocks that data set.

Independent evidence: recurrent states.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from attention_priors.claims.law import Law, claim, claims

Matrix = np.ndarray


def between(says: Callable, row: int, s: int, t: int) -> tuple[float, float]:
    """e^{-(tau(t) - tau(s))} by the clock said, and the product of the gates e^{-Delta_u}, s < u <= t."""
    steps = np.random.default_rng(row).gamma(1.0, 0.3, size=40)
    tau, gates = says(steps), 1.0
    for u in range(s + 1, t + 1):
        gates *= math.exp(-steps[u])
    return math.exp(-(tau[t] - tau[s])), gates


def gated(says: Callable, t: int) -> tuple[Matrix, Matrix]:
    """A state of four channels at fixed rates with the clocks said summed up, and by the gates one after another."""
    draw, rates, z = np.random.default_rng(1), np.array([-0.1, -1.0, -2.0, -0.5]), np.zeros((4, 4))
    gates, (k, v) = draw.uniform(0.2, 1, size=(30, 4)), draw.normal(size=(2, 30, 4))
    tau = np.cumsum(says(gates, rates), axis=0)
    for u in range(t + 1):
        z = gates[u][:, None] * z + np.outer(k[u], v[u])
    return (np.exp(rates * (tau[t] - tau[: t + 1])) * k[: t + 1]).T @ v[: t + 1], z


CHECKS = claims(
    claim(
        "OPG-9d",
        Law(
            "The product of the gates e^{-Delta_u}, s < u <= t, is the decay over the time tau(t) - tau(s) of the "
            "clock tau = Delta_1 + ... + Delta_t.",
            np.cumsum,
            between,
            [{"row": row, "s": s, "t": t} for row in range(5) for s, t in ((0, 0), (0, 1), (3, 9), (0, 39))],
            wrong=lambda steps: np.cumsum(steps) - steps,
        ),
        Law(
            "The rate stays put: a gate g advances the clock of its channel by ln(g) / lambda, at any fixed rate "
            "lambda < 0.",
            lambda gate, rate: np.log(gate) / rate,
            gated,
            [{"t": t} for t in (0, 1, 5, 29)],
            wrong=lambda gate, rate: np.log(gate) * rate,
        ),
        practice="One gate per head is one clock, and RoPE may run on it too. Gates per channel are one clock per "
        "channel. A gate of 0 puts all of the past infinitely far away; one below 0 is no clock.",
    ),
)
