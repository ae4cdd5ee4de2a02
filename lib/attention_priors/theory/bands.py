"""How far content can move a prior, and a prior a uniform row: the logit of any mass moves by at most the range.

One inequality in several dresses. Scores of range max - min <= ω change the odds of every set of keys by at most e^ω
either way, |logit p(A) - logit π(A)| <= ω. With content as the scores it is the band around the prior (Goat, Theorem
5.1 made sharp); with a margin δ over a uniform row it is the sink's floor (Theorem 5.4); with a log-prior bounded by B,
whose range is 2 B, it is the most that the prior can give to m of L keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

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


def divergence(p: ArrayLike, q: ArrayLike) -> float:
    """KL(p‖q) = sum_j p_j ln(p_j / q_j) in nats: infinite where p has mass and q has none."""
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


def _range(omega: float) -> None:
    if not omega >= 0:
        raise ValueError(f"omega = {omega}, but it is max - min of the scores: give at least 0")
