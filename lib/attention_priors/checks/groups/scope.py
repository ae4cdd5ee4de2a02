"""What the classification by one-parameter groups covers: its families, their members, and what lies outside.

Independent evidence: the library's rotations and priors, T5's buckets and ReRoPE, transformers' RoPE and lightning
attention, none of them built from a generator.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import product

import numpy as np
import torch
from scipy.linalg import expm, logm

from attention_priors.checks.groups.axioms import factors_of, score_table
from attention_priors.checks.rotations import oracles
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.absolute import Sinusoidal
from attention_priors.positions.priors import (
    GeneralizedGaussian,
    KerpleLog,
    KerplePower,
    Laplace,
    RelativePrior,
    T5Buckets,
)
from attention_priors.positions.rotary import DampedRotary, Rotary, Spectrum
from attention_priors.positions.spectral import Fourier
from attention_priors.theory import groups as theory
from attention_priors.theory import rerope

INSIDE = ("RoPE", "xPos", "RetNet", "ALiBi", "Goat")
OUTSIDE = ("T5", "KERPLE power", "KERPLE log", "ReRoPE", "sinusoidal")
ALL, MEMBERS, STRANGERS = ([{"encoding": name} for name in names] for names in ((*INSIDE, *OUTSIDE), INSIDE, OUTSIDE))
BLOCKS = {  # (rate, frequency, size) of generators of all four families
    "growth and decay": ((-0.3, 0.0, 1), (0.2, 0.0, 1), (0.0, 0.0, 1)),
    "rotations": ((0.0, 1.0, 1), (-0.2, 2.3, 1)),
    "a chain": ((-0.3, 0.0, 3),),
    "a chain of rotations": ((0.1, 1.4, 2), (-0.5, 0.0, 1)),
}
KINDS = [{"decays": decays, "turns": turns} for decays, turns in product((False, True), repeat=2)]
SHAPES = [{"beta": b, "theta_mu": m} for b in (-2.0, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0) for m in (0.0, 0.5, -1.0)]


def family(rate: float, omega: float, power: int, t: np.ndarray) -> list[np.ndarray]:
    """t^k e^{λt} cos ωt and t^k e^{λt} sin ωt."""
    return [t**power * np.exp(rate * t) * wave for wave in (np.cos(omega * t), np.sin(omega * t))]


def spanned(says: Callable, blocks: str) -> tuple[np.ndarray, np.ndarray]:
    """Every entry of e^{tX} in a random basis, relative: as the functions said span it (least squares), as it is."""
    t, parts = np.linspace(-1, 3, 60), BLOCKS[blocks]
    x = theory.direct_sum([theory.Block(*part) for part in parts])
    s = np.random.default_rng(len(x)).normal(size=x.shape) + 2 * np.eye(len(x))
    entries = np.stack([(s @ expm(u * x) @ np.linalg.inv(s)).ravel() for u in t])
    entries /= np.abs(entries).max()
    basis = np.stack([f for rate, w, size in parts for k in range(size) for f in says(rate, w, k, t)], axis=1)
    return basis @ np.linalg.lstsq(basis, entries, rcond=None)[0], entries


# Real systems by kind, each measured on its own code


def steps() -> dict[str, np.ndarray]:
    """A(1) of one system of each kind: what a key of the token before is multiplied by."""
    from transformers import MiniMaxConfig
    from transformers.models.minimax.modeling_minimax import MiniMaxLightningAttention

    config = MiniMaxConfig(hidden_size=16, num_attention_heads=2, num_hidden_layers=4, block_size=4)
    lightning = MiniMaxLightningAttention(config, layer_idx=1).diagonal_decay[0, :, 1, 0].double().numpy()
    unit, angles = torch.eye(4, dtype=torch.float64)[:, None], torch.tensor([[1.0, 0.01]], dtype=torch.float64)
    turned, _ = oracles.rotate_half(unit, unit, angles)
    retnet = factors_of(DampedRotary(Spectrum((1.0, 0.2), (0.2, 0.2))), np.arange(2))
    return {
        "attention alone": np.eye(4),
        "MiniMax's lightning attention": np.diag(lightning),
        "Llama's RoPE": turned[:, 0].numpy().T,
        "RetNet's rotation": score_table(*retnet)[1, 0],
    }


@functools.cache
def kinds() -> tuple[tuple[bool, bool], ...]:
    """(decays, turns) of every system, from the eigenvalues of log A(1)."""
    values = [np.linalg.eigvals(np.real(logm(step))) for step in steps().values()]
    return tuple((bool((v.real < -1e-6).all()), bool((np.abs(v.imag) > 1e-6).all())) for v in values)


def systems(decays: bool, turns: bool) -> int:
    return kinds().count((decays, turns))


# Which encodings are groups


@functools.cache
def rotations(positions: int) -> dict[str, np.ndarray]:
    """Scores of unit vectors at all pairs of positions, [t, s, n, n], of what acts on queries and keys."""
    spectrum, width, times = Spectrum((1.0, 0.2)), 4, np.arange(positions)
    units = torch.eye(width, dtype=torch.float64)[:, None, None].expand(width, 1, positions, width)
    t = torch.as_tensor(times)
    windowed = [
        rerope.scores(units[a : a + 1], units[b : b + 1], spectrum, t, t, window=2)[0, 0]
        for a, b in product(range(width), repeat=2)
    ]
    shifted = np.eye(width) + Sinusoidal(width)(t).double().numpy()[:, None]  # [time, unit, component]
    return {
        "RoPE": score_table(*factors_of(Rotary(spectrum), times)),
        "xPos": score_table(*factors_of(DampedRotary(Spectrum((1.0, 0.2), (0.3, 0.1))), times)),
        "RetNet": score_table(*factors_of(DampedRotary(Spectrum((1.0, 0.2), (0.2, 0.2))), times)),
        "ReRoPE": torch.stack(windowed, -1).numpy().reshape(positions, positions, width, width),
        "sinusoidal": np.einsum("tac,sbc->tsab", shifted, shifted),
    }


@functools.cache
def log_priors() -> dict[str, RelativePrior]:
    """Additive encodings, in float64."""
    alpha, beta = torch.tensor([[0.7, -0.3]]).double(), torch.tensor([[0.2, 0.5]]).double()
    buckets = T5Buckets(1, buckets=8, farthest=16)
    torch.nn.init.normal_(buckets.values, generator=torch.Generator().manual_seed(0))
    found = {
        "ALiBi": Laplace([0.25]),
        "Goat": Fourier((0.3, 1.1), alpha, beta),
        "T5": buckets,
        "KERPLE power": KerplePower([0.5], [0.5]),
        "KERPLE log": KerpleLog([1.0], [0.7]),
    }
    return {name: prior.double() for name, prior in found.items()}


def is_group(table: np.ndarray) -> bool:
    """Constant diagonals, A(0) = I and A(s + t) = A(s) A(t) on the causal half of a score table."""
    a = table[:, 0]
    laws = [a[s + t] - a[s] @ a[t] for s, t in product(range(len(a)), repeat=2) if s + t < len(a)]
    causal = [table[t, s] - a[t - s] for t, s in product(range(len(a)), repeat=2) if s <= t]
    return max(float(np.abs(gap).max()) for gap in (*laws, *causal, a[0] - np.eye(a.shape[-1]))) < 1e-9


def is_coefficient(prior: RelativePrior) -> bool:
    """Is the log-prior c^T e^{dX} b on causal lags? X from the lags 0 .. 24, tested on the lags to 100."""
    lags = torch.arange(101)
    with torch.no_grad():
        values = prior.log_prior(lags)[0].double().numpy()
    try:
        c, x, b = theory.realise(values[:25, None, None])
    except ValueError:  # the shift is singular: no exponential
        return False
    predicted = np.einsum("ra,dab,bs->d", c.T, theory.exponential(x, lags.double().numpy()), b)
    return bool((np.abs(predicted - values) < 1e-4 * np.abs(values) + 1e-7 * np.abs(values).max()).all())


def group_of(encoding: str) -> bool:
    """Does it obey the axioms (a log-prior: as a coefficient of constant coordinates)?"""
    tables, priors = rotations(7), log_priors()
    return is_group(tables[encoding]) if encoding in tables else is_coefficient(priors[encoding])


def rectified(omega: float, window: int, lag: int) -> float:
    """The score of two equal unit vectors `lag` apart in ReRoPE, one plane."""
    unit, at = torch.tensor([[[[1.0, 0.0]]]], dtype=torch.float64), torch.tensor([lag])
    return round(float(rerope.scores(unit, unit, Spectrum((omega,)), at, 0 * at, window=window)), 12)


def gaussian_of(beta: float, theta_mu: float) -> bool:
    return is_coefficient(GeneralizedGaussian([0.0], [beta], [theta_mu], epsilon=1e-12).double())


def polynomial(beta: float, theta_mu: float) -> bool:
    """|d + μ|^β is a polynomial on d >= 0: β = 0, 2, 4, .., or β = 1, 3, .. and no change of sign (μ has θ_μ's)."""
    return beta >= 0 and (beta % 2 == 0 or (beta % 1 == 0 and theta_mu >= 0))


CHECKS = claims(
    claim(
        "OPG-16",
        Law("The admissible encodings are a handful of families: entries t^k e^{lambda t} cos and sin of omega t, with "
            "or without a frequency, with or without a defect.",
            family, spanned, [{"blocks": name} for name in BLOCKS],
            wrong=lambda rate, omega, power, t: family(rate, omega, 0, t)),
        Law("Each family without growth or defect is found in a real system (at least one decays or does not, turns or "
            "does not, measured on its code).",
            1, systems, KINDS, wrong=2, relation="<=", tolerance=0),
        Law("No encoding that makes sense lies outside of them. ReRoPE then scores lag 2 by A(2) = A(1)^2.",
            lambda omega, window, lag: round(math.cos(lag * min(1, window) * omega), 12), rectified,
            [{"omega": math.pi / n, "window": 1, "lag": 2} for n in (2, 3)],
            wrong=lambda omega, window, lag: round(math.cos((lag + 1) * min(1, window) * omega), 12),
            ours=True),
        Law("Nor does any other encoding in use: T5's buckets, KERPLE, added sinusoids.",
            True, group_of, ALL, wrong=lambda encoding: encoding in OUTSIDE, tolerance=0,
            ours=True),
        corrected=Law("The families are all that there is under the axioms (linear, translation invariant, of finite "
                      "dimension, continuous in real time; in whole time there is more, OPG-7). T5's buckets, KERPLE, "
                      "ReRoPE and added sinusoids are in use and break one each.",
                      lambda encoding: encoding in INSIDE, group_of, ALL,
                      wrong=lambda encoding: encoding in (*INSIDE, "KERPLE log"), tolerance=0,
                      answers=(1, 2)),
        practice="The classification says what one dot product can carry, not what can encode position: a table of "
                 "biases is not bound by it. Notebook 18 compares both sides by their tails.",
    ),
    claim(
        "X-9",
        Law("RoPE, xPos, RetNet, ALiBi and Goat's K_rel satisfy the axioms.",
            True, group_of, MEMBERS, wrong=lambda encoding: encoding != "ALiBi", tolerance=0),
        Law("T5, KERPLE at a non-integer exponent (and its logarithm), ReRoPE and absolute sinusoids do not.",
            False, group_of, STRANGERS, wrong=lambda encoding: encoding == "ReRoPE", tolerance=0),
        Law("The generalised Gaussian does not.",
            False, gaussian_of, SHAPES, witness=[{"beta": 2.0, "theta_mu": 0.0}], wrong=lambda beta: beta == 1.5,
            tolerance=0),
        corrected=Law("On causal lags the generalised Gaussian satisfies the axioms exactly at the shapes beta = 0, 2, "
                      "4, .. and, where mu >= 0, at 1, 3, .. (a Jordan block of size beta + 1). Shape 1 is ALiBi, "
                      "shape 2 a Gaussian.",
                      polynomial, gaussian_of, SHAPES, wrong=lambda beta: beta >= 0 and beta % 1 == 0, tolerance=0),
        practice="At whole shapes BAM's prior needs no bias table: beta + 1 constant coordinates do (squares have no "
                 "third difference: 9 - 3 * 4 + 3 * 1 - 0 = 0). A learned beta leaves that set at once, and then a "
                 "table is exact and coordinates are not.",
    ),
)  # fmt: skip
