"""The post on one-parameter groups: growing, constant and decaying blocks, clocks that data set, their two factors.

Independent evidence: recurrent states, torch's own attention, singular vectors of score tables, 40-digit exponentials.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import torch
from scipy.linalg import expm

from attention_priors.checks.groups.axioms import exact
from attention_priors.claims.law import Law, claim, claims

GROWING, DECAYING = (0.05, 0.4), (-0.05, -0.4)
AGES = 400


def cases(rates: tuple[float, ...]) -> list[dict[str, float]]:
    """A key's content score, the rate of its block, and the younger of two ages."""
    return [{"content": c, "rate": r, "age": d} for r in rates for c in (1.0, 0.2, -1.0, -5.0) for d in (0, 3, 8)]


def states(rates: tuple[float, ...]) -> list[dict[str, float]]:
    return [{"rate": r, "t": t} for r in rates for t in (0, 1, 29)]


# Linear attention: the factor of the score


def state(says: Callable, rate: float, t: int) -> tuple[float, float]:
    """Σ factor(λ, age) k v with the factor said, and the recurrent state z_t = e^λ z_{t-1} + k_t v_t."""
    (k, v), z = np.random.default_rng(0).normal(size=(2, 30)), 0.0
    for u in range(t + 1):
        z = math.exp(rate) * z + k[u] * v[u]
    scale = max(1.0, abs(z))
    return sum(says(rate, t - s) * k[s] * v[s] for s in range(t + 1)) / scale, z / scale


def factor(rate: float, age: int) -> float:
    return math.exp(rate * age)


def half_rate(rate: float, age: int) -> float:
    return math.exp(rate * age / 2)


def bounded(rate: float, side: str = "past") -> bool:
    """Does the factor, multiplied up (or divided down) step by step, stay at or below 1 on the side a mask shows?"""
    step, found = math.exp(rate) if side == "past" else 1 / math.exp(rate), [1.0]
    for _ in range(AGES):
        found.append(found[-1] * step)
    return max(found) <= 1


# Softmax: which way weights move with age


def trend(content: float, rate: float, age: int) -> int:
    """Sign of an older key's weight less that of one a step younger, both of this content, beside one of score 0."""
    scores = [content * math.exp(rate * d) for d in (age, age + 1)]
    keys = torch.tensor([*scores, 0.0], dtype=torch.float64)[None, :, None]
    one, values = torch.ones(1, 1, 1, dtype=torch.float64), torch.eye(3, dtype=torch.float64)[None]
    weights = torch.nn.functional.scaled_dot_product_attention(one, keys, values, scale=1.0)[0, 0]
    return int(np.sign(float(weights[1] - weights[0])))


def sign(x: float) -> int:
    return int(np.sign(x))


def plain(says: float, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """torch's attention through F(t) = e^{rate t}, G(s) = e^{-rate s}, and without encoding."""
    q, k, v = torch.randn(3, 1, tokens, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    growth = torch.exp(says * torch.arange(tokens, dtype=torch.float64))[:, None]
    attend = functools.partial(torch.nn.functional.scaled_dot_product_attention, is_causal=True)
    return attend(q * growth, k / growth, v).numpy(), attend(q, k, v).numpy()


# OPG-9d: gates as clocks


def between(says: Callable, row: int, s: int, t: int) -> tuple[float, float]:
    """e^{-(tau(t) - tau(s))} by the clock said, and the product of the gates e^{-Delta_u}, s < u <= t."""
    steps = np.random.default_rng(row).gamma(1.0, 0.3, size=40)
    tau, gates = says(steps), 1.0
    for u in range(s + 1, t + 1):
        gates *= math.exp(-steps[u])
    return math.exp(-(tau[t] - tau[s])), gates


def gated(says: Callable, t: int) -> tuple[np.ndarray, np.ndarray]:
    """A state of four channels at fixed rates with the clocks said summed up, and by the gates one after another."""
    draw, rates, z = np.random.default_rng(1), np.array([-0.1, -1.0, -2.0, -0.5]), np.zeros((4, 4))
    gates, (k, v) = draw.uniform(0.2, 1, size=(30, 4)), draw.normal(size=(2, 30, 4))
    tau = np.cumsum(says(gates, rates), axis=0)
    for u in range(t + 1):
        z = gates[u][:, None] * z + np.outer(k[u], v[u])
    return (np.exp(rates * (tau[t] - tau[: t + 1])) * k[: t + 1]).T @ v[: t + 1], z


# OPG-14: the two factors of a damped block


def block(rate: float, omega: float) -> np.ndarray:
    return np.array([[rate, -omega], [omega, rate]]) if omega else np.array([[rate]])


def exponents(rate: float, omega: float) -> list[float]:
    """Growth of |G(s)| and fall of |F(t)| per step, between 40 and 60, in 40 digits."""
    x = block(rate, omega)

    def norm(matrix: np.ndarray, s: int) -> float:
        return math.log(np.linalg.norm(exact(matrix, s), 2))

    return [(norm(-x, 60) - norm(-x, 40)) / 20, (norm(x.T, 40) - norm(x.T, 60)) / 20]


def any_factors(rate: float, omega: float, positions: int) -> float:
    """Growth per step of the keys' singular vectors of the table of scores A(t - s): they know no generator."""
    x, n = block(rate, omega), positions
    powers = {lag: expm(lag * x) for lag in range(-n, n)}
    table = np.block([[powers[t - s] for s in range(n)] for t in range(n)])
    keys = np.linalg.svd(table)[2][: len(x)].reshape(len(x), n, len(x))
    norms = np.log([np.linalg.norm(keys[:, s], 2) for s in range(n)])
    return float(np.polyfit(np.arange(n // 2, n), norms[n // 2 :], 1)[0])


CHECKS = claims(
    claim(
        "OPG-9a",
        Law("With lambda > 0 the score's factor e^{lambda d} grows exponentially with the age d.",
            factor, state, states(GROWING), wrong=half_rate),
        Law("So an older key counts more (in softmax).",
            1, trend, cases((1.0, *GROWING)), wrong=-1, tolerance=0,
            ours=True),
        Law("The case is of no use under a causal mask: the factor blows up as the gap grows.",
            False, bounded, [{"rate": r} for r in GROWING], wrong=True, tolerance=0),
        corrected=Law("An older key gains weight in softmax when its content score is positive and loses it when "
                      "negative (the logit grows in size).",
                      lambda content, rate: sign(content * rate), trend, cases(GROWING),
                      wrong=lambda rate: sign(rate), tolerance=0),
        practice="Drop lambda > 0 under a causal mask and lambda < 0 under the reversed one, as in the backward half "
                 "of a bidirectional model. Within a bounded window either sign is a legal far or near bias.",
    ),
    claim(
        "OPG-9b",
        Law("lambda = 0 gives A = 1 at every lag: NoPE.",
            0.0, plain, [{"tokens": 12}], wrong=1e-3),
        practice="NoPE is a member of every family here: a learned X can switch position off.",
    ),
    claim(
        "OPG-9c",
        Law("With lambda < 0 a key fades exponentially in linear attention: this is its decay.",
            factor, state, states(DECAYING), wrong=half_rate),
        Law("A key fades in softmax too: an older one has less weight.",
            -1, trend, cases((-1.0, *DECAYING)), wrong=1, tolerance=0,
            ours=True),
        Law("It makes sense under a causal mask only: on keys after the query the factor grows without bound.",
            lambda side: side == "past", bounded,
            [{"rate": r, "side": side} for r in DECAYING for side in ("past", "future")], wrong=True, tolerance=0),
        corrected=(
            Law("With lambda < 0 a key fades exponentially in linear attention.",
                factor, state, states(DECAYING), wrong=half_rate),
            Law("In softmax its logit shrinks to 0: it loses weight with age when its content score is positive, and "
                "gains when negative.",
                lambda content, rate: sign(content * rate), trend, cases(DECAYING),
                wrong=lambda rate: sign(rate), tolerance=0),
        ),
        practice="A damped rotation in softmax attention makes old keys neutral, not invisible: n of them share what "
                 "NoPE would give them. Linear attention and unbounded additive priors (ALiBi, Gaussian, KERPLE) "
                 "forget.",
    ),
    claim(
        "OPG-9d",
        Law("The product of the gates e^{-Delta_u}, s < u <= t, is the decay over the time tau(t) - tau(s) of the "
            "clock tau = Delta_1 + ... + Delta_t.",
            np.cumsum, between,
            [{"row": row, "s": s, "t": t} for row in range(5) for s, t in ((0, 0), (0, 1), (3, 9), (0, 39))],
            wrong=lambda steps: np.cumsum(steps) - steps),
        Law("The rate stays put: a gate g advances the clock of its channel by ln(g) / lambda, at any fixed rate "
            "lambda < 0.",
            lambda gate, rate: np.log(gate) / rate, gated, [{"t": t} for t in (0, 1, 5, 29)],
            wrong=lambda gate, rate: np.log(gate) * rate),
        practice="One gate per head is one clock, and RoPE may run on it too. Gates per channel are one clock per "
                 "channel. A gate of 0 puts all of the past infinitely far away; one below 0 is no clock.",
    ),
    claim(
        "OPG-14",
        Law("F(t) = e^{tX^T} decays like e^{lambda t} and G(s) = e^{-sX} grows like e^{|lambda| s}.",
            lambda rate: [abs(rate), abs(rate)], exponents,
            [{"rate": r, "omega": w} for r, w in ((-0.3, 0.0), (-0.05, 0.0), (-0.3, 0.9))],
            wrong=lambda rate: [abs(rate), 2 * abs(rate)]),
        Law("Separate factors cannot avoid it: whatever factorises the scores grows at this rate.",
            lambda rate: abs(rate), any_factors,
            [{"rate": r, "omega": w, "positions": 48} for r, w in ((-0.3, 0.0), (-0.1, 0.0), (-0.2, 0.9))],
            wrong=lambda rate: abs(rate) / 2, tolerance=0.01),
        practice="The keys of RetNet's fastest head (decay 1 - 2^-5) overflow fp16 at position 350, fp32 and bf16 at "
                 "2,795. Take F(t - c) and G(s - c) with c at the first query of a block, or keep a state.",
    ),
)  # fmt: skip
