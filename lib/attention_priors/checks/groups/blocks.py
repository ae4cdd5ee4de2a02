"""The post on one-parameter groups: the motions behind its pictures, and clocks that data set.

Independent evidence: scipy's integrator, recurrent states.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from scipy import integrate

from attention_priors.claims.law import Law, claim, claims

Matrix = np.ndarray
HANDS = [
    {"rate": r, "omega": w, "side": side, "t": t}
    for r, w in ((0.0, 0.9), (0.0, -2.0), (-0.2, 0.9), (-0.5, 1.7))
    for side in ("queries", "keys")
    for t in (0.5, 1.0, 6.0)
]
PORTRAITS = [
    {"rate": r, "x": x, "v": v, "t": t}
    for r in (0.0, -0.3, -1.0)
    for x, v in ((1, 0), (0, 1), (-1, 0.5), (0.5, -1))
    for t in (0.5, 6.0)
]


# OPG-9d: gates as clocks


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


# OPG-F1 and F2: the motions behind the pictures


@functools.cache
def path(rate: float, omega: float, side: str) -> Matrix:
    """F(t) q or G(t) k of the unit vector at t = 0, 1/2, .. 6, integrated: [times 2]."""
    x = np.array([[rate, -omega], [omega, rate]])
    return integrated(x.T if side == "queries" else -x, [1.0, 0.0])


def integrated(x: Matrix, start: list[float]) -> Matrix:
    """The solution of y' = X y at t = 0, 1/2, .. 6 (scipy's integrator): [times n]."""
    times = np.linspace(0, 6, 13)
    return integrate.solve_ivp(lambda _, y: x @ y, (0.0, 6.0), start, t_eval=times, rtol=1e-11, atol=1e-12).y.T


def length_and_angle(rate: float, omega: float, side: str, t: float) -> list[float]:
    points = path(rate, omega, side)[: round(2 * t) + 1]
    return [float(np.linalg.norm(points[-1])), float(np.unwrap(np.arctan2(points[:, 1], points[:, 0]))[-1])]


def stated(sign: int) -> Callable:
    """Length e^{±λt} and angle -ωt."""
    return lambda rate, omega, side, t: [math.exp(sign * (rate if side == "queries" else -rate) * t), -omega * t]


def shear(rate: float, x: float, v: float, t: float) -> list[float]:
    return list(integrated(np.array([[rate, 1.0], [0.0, rate]]), [x, v])[round(2 * t)])


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
    claim(
        "OPG-F1",
        Law(
            "The motion behind the pictures (which are not in the text): F(t) q and G(t) k turn at constant speed; "
            "their lengths are constant (hands of a clock) when lambda = 0, else e^{lambda t} and e^{-lambda t} "
            "(spirals).",
            stated(1),
            length_and_angle,
            HANDS,
            wrong=stated(-1),
            tolerance=1e-7,
        ),
        practice="The spiral of the keys runs outwards: it is the picture of OPG-14's overflow.",
    ),
    claim(
        "OPG-F2",
        Law(
            "The motion behind the pictures (which are not in the text): the block moves (x, v) to e^{lambda t} "
            "(x + vt, v), the puck's shear, with decay if lambda < 0.",
            lambda rate, x, v, t: [math.exp(rate * t) * (x + v * t), math.exp(rate * t) * v],
            shear,
            PORTRAITS,
            wrong=lambda rate, x, v, t: [x + math.exp(rate * t) * v * t, math.exp(rate * t) * v],
            tolerance=1e-8,
        ),
        practice="With lambda < 0 the first coordinate may grow before it decays: its largest value is at lag "
        "1/|lambda| - x/v.",
    ),
)
