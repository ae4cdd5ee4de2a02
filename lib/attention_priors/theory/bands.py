"""How far content can move a prior, and a prior a uniform row: the logit of any mass moves by at most the range.

One inequality in several dresses. Scores of range max - min <= ω change the odds of every set of keys by at most e^ω
either way, |logit p(A) - logit π(A)| <= ω. With content as the scores it is the band around the prior (Goat, Theorem
5.1 made sharp); with a margin δ over a uniform row it is the sink's floor (Theorem 5.4); with a log-prior bounded by B,
whose range is 2 B, it is the most that the prior can give to m of L keys.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from attention_priors.theory.inference import posterior

Vector = NDArray[np.float64]


def shifted(mass: ArrayLike, shift: ArrayLike) -> Vector:
    """σ(logit m + s) = m e^s / (m e^s + 1 - m): the mass whose odds are e^s times those of m."""
    m = np.asarray(mass, dtype=np.float64)
    if ((m < 0) | (m > 1)).any():
        raise ValueError(f"mass = {m[(m < 0) | (m > 1)].flat[0]}, but a probability lies in [0, 1]")
    return special.expit(special.logit(m) + shift)


def band(mass: ArrayLike, omega: float) -> tuple[Vector, Vector]:
    """[σ(logit π - ω), σ(logit π + ω)]: the least and the largest posterior mass, content of range ω.

    Both ends are reached at every π: content ω on the set and 0 elsewhere, or the reverse.
    """
    _range(omega)
    return shifted(mass, -omega), shifted(mass, omega)


def printed_band(mass: ArrayLike, omega: float) -> tuple[Vector, Vector]:
    """[π e^-ω, π e^ω] (Goat, equation 25): valid, reached only as π -> 0, and above 1 once π > e^-ω."""
    _range(omega)
    return np.asarray(mass) * np.exp(-omega), np.asarray(mass) * np.exp(omega)


def most_variation(omega: float) -> float:
    """tanh(ω/4): the largest total variation of prior and posterior, at logit π(A) = -ω/2."""
    _range(omega)
    return float(np.tanh(omega / 4))


def most_divergence(omega: float) -> float:
    """ω²/8 >= KL(p‖π): KL = ∫_0^1 t Var_t(s) dt along p_t ∝ π e^(ts), and Var <= ω²/4. Tight as ω -> 0."""
    _range(omega)
    return omega**2 / 8


def divergence(p: ArrayLike, q: ArrayLike) -> float:
    """KL(p‖q) = sum_j p_j ln(p_j / q_j)."""
    return float(special.rel_entr(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)).sum())


def most_noise(margin: ArrayLike, keys: ArrayLike) -> Vector:
    """(L - 1)/(e^δ + L - 1) >= Ψ, the mass off a sink of margin δ among L keys (Goat, equation 31); reached."""
    return special.expit(np.log(np.asarray(keys, dtype=np.float64) - 1) - margin)


def margin_for(noise: ArrayLike, keys: ArrayLike) -> Vector:
    """ln(L - 1) + ln((1 - η)/η): the least margin that holds Ψ <= η whatever the other keys are."""
    return np.log(np.asarray(keys, dtype=np.float64) - 1) - special.logit(noise)


def most_share(bound: float, keys: ArrayLike, count: int = 1) -> Vector:
    """m e^(2B)/(m e^(2B) + L - m): the most that a log-prior within [-B, B] gives to m of L keys; reached."""
    if bound < 0:
        raise ValueError(f"bound = {bound}, but it bounds an absolute value: give at least 0")
    return shifted(count / np.asarray(keys, dtype=np.float64), 2 * bound)


def spread(p: ArrayLike) -> float:
    """(Σ p_k²)^(1/2): the output's root mean square under independent noise of size 1 in every value."""
    return float(np.linalg.norm(np.asarray(p, dtype=np.float64)))


def band_rows(omegas: Iterable[float], draws: int, keys: int = 8, steps: int = 201, seed: int = 0) -> list[dict]:
    """Both bands over π in [0, 1], and random rows: content uniform on [0, ω] or at its two ends, one key each.

    Rows {kind: band, omega, prior, sharp low, sharp high, printed low, printed high} and {kind: draw, omega, prior,
    posterior}.
    """
    grid, draw = np.linspace(0, 1, steps), np.random.default_rng(seed)
    names = ("sharp low", "sharp high", "printed low", "printed high")
    rows: list[dict] = []
    for omega in omegas:
        ends = np.stack([*band(grid, omega), *printed_band(grid, omega)])
        for pi, at in zip(grid, ends.T, strict=True):
            row = {"kind": "band", "omega": float(omega), "prior": float(pi)}
            rows.append(row | dict(zip(names, map(float, at), strict=True)))
        for k in range(draws):
            pi = draw.dirichlet(np.full(keys, 10.0 ** draw.uniform(-1.5, 0.5)))
            scores = omega * (draw.random(keys) if k % 2 else draw.integers(0, 2, keys))
            j = int(draw.choice(keys, p=pi))
            found = float(posterior(scores, pi)[j])
            rows.append({"kind": "draw", "omega": float(omega), "prior": float(pi[j]), "posterior": found})
    return rows


def sink_rows(lengths: Iterable[int], margins: Iterable[float], decay: float, bound: float, sink: float) -> list[dict]:
    """What is off the sink, and what noise in values does, by context length. Rows {panel, series, .., keys, value}.

    noise: mass off the sink at a fixed `margin` over equal rivals (0 is uniform), at the slope u(k) = -c k (`decay`),
    at the margin ln(L - 1) + ln 9 (`logarithmic`), and the least under a log-prior within [-B, B] (`bounded`).
    response: the output's change when values change by 1, alike or independently, under a uniform prior and under one
    that keeps the mass `sink` on one key, whose value changes only in `independent, all keys`.
    """
    rows: list[dict] = []

    def add(panel: str, series: str, keys: int, value: float, **more: float | str) -> None:
        rows.append({"panel": panel, "series": series, "keys": int(keys), "value": float(value), **more})

    for keys in lengths:
        for delta in margins:
            add("noise", "margin", keys, most_noise(delta, keys), parameter=float(delta))
        left = np.exp(-decay) * np.expm1(-decay * (keys - 1)) / np.expm1(-decay * keys)
        add("noise", "decay", keys, left, parameter=decay)
        add("noise", "logarithmic", keys, most_noise(margin_for(0.1, keys), keys), parameter=0.1)
        add("noise", "bounded", keys, 1 - most_share(bound, keys), parameter=bound)
        for name, top in (("uniform", 1 / keys), ("peaked", sink)):
            rest = (1 - top) / (keys - 1)
            add("response", name, keys, 1 - top, kind="alike")
            add("response", name, keys, rest * np.sqrt(keys - 1), kind="independent")
            add("response", name, keys, np.hypot(top, rest * np.sqrt(keys - 1)), kind="independent, all keys")
    return rows


def _range(omega: float) -> None:
    if not omega >= 0:
        raise ValueError(f"omega = {omega}, but it is max - min of the scores: give at least 0")
