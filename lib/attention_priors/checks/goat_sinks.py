"""Goat, section 5 and appendix D.2: sinks by margin, the mass off a sink, and what either says about stability.

Independent evidence: sympy's limits, torch's Jacobian of its own attention, Monte Carlo with independent noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from scipy import optimize, special

from attention_priors.checks.evidence import Evidence, compare, smallest_counterexample
from attention_priors.theory import bands
from attention_priors.theory.inference import softmax
from attention_priors.theory.spectra import almost_period

LENGTHS = (2, 10, 10**3, 10**6, 10**9)
RATIO = 1e4 ** (-1 / 4)  # of neighbouring frequencies on a ladder of four modes from 1 down to 1e-3


def logits(draw: np.random.Generator, margin: float, keys: int) -> np.ndarray:
    """Key 0 leads by exactly `margin`: one rival is that near, the others anywhere below."""
    return np.append([margin, 0.0], -draw.exponential(size=keys - 2) * draw.integers(0, 2, keys - 2))


# D5.2: the margin and the floor


def check_split(parts: Callable) -> Evidence:
    """z_sink - z_k = parts(content difference, prior difference) for every key k, and the sink is the row's maximum."""
    draw, worst = np.random.default_rng(0), 0.0
    for _ in range(200):
        s, k = draw.standard_normal((2, 7))
        z = s + k
        worst = max(worst, float(np.abs((z[0] - z[1:]) - parts(s[0] - s[1:], k[0] - k[1:])).max()))
        worst = max(worst, float(((z[0] - z[1:]).min() > 0) != (np.argmax(z) == 0)))
    return compare(worst, "<=", 1e-12, detail="200 rows of 7 keys")


def check_floor(floor: Callable) -> Evidence:
    """p_sink >= floor(m, L) on random rows, with equality for equal rivals."""
    draw, worst = np.random.default_rng(1), -np.inf
    for _ in range(1000):
        margin, keys = float(draw.uniform(0.01, 5)), int(draw.integers(2, 40))
        equal = softmax(np.append(margin, np.zeros(keys - 1)))[0]
        worst = max(worst, floor(margin, keys) - softmax(logits(draw, margin, keys))[0])
        worst = max(worst, abs(floor(margin, keys) - equal))
    return compare(float(worst), "<=", 1e-12, detail="1000 rows of 2..39 keys, and equal rivals")


def least_mass(promise: Callable, margin: float, keys: int) -> tuple[float, float]:
    """(the floor promised, the sink's mass over equal rivals if that is less, else the floor)."""
    promised = promise(margin, keys)
    return promised, min(promised, float(1 - bands.most_noise(margin, keys)))


def check_promise(promise: Callable) -> Evidence:
    """The sink's mass is at least promise(margin, keys) at every length."""
    grid = ({"margin": m, "keys": n} for n in LENGTHS for m in (1.0, 0.5, 5.0))
    found = smallest_counterexample(least_mass, promise, grid)
    mass = ", ".join(f"{1 - bands.most_noise(1.0, n):.3g} ({n:,})" for n in LENGTHS)
    detail = f"mass of a sink of margin 1 by keys: {mass}"
    return compare(found["actual"] if found else "kept", "==", "kept", counterexample=found, detail=detail)


def check_constant_floor(margin: Callable) -> Evidence:
    """margin(p, L) is the least margin that guarantees mass p: equal rivals reach it, at every length."""
    worst = max(
        abs(1 - float(bands.most_noise(margin(p, n), n)) - p) for p in (0.1, 0.5, 0.99) for n in (2, 10, 10**4, 10**8)
    )
    return compare(worst, "<=", 1e-9, detail="mass of the sink over equal rivals, p = .1, .5, .99, up to 1e8 keys")


# D5.3: sensitivity


def check_sensitivity(bound: Callable) -> Evidence:
    """sup |delta o| over |delta v_k| <= 1, k != sink: bound(p); by torch's Jacobian of its attention in the values."""
    import torch
    from torch.nn import functional

    draw, worst = np.random.default_rng(2), 0.0
    for _ in range(20):
        q, k, v = (torch.as_tensor(draw.standard_normal((n, 4))) for n in (1, 9, 9))
        attend = partial(functional.scaled_dot_product_attention, q, k)
        jacobian = torch.autograd.functional.jacobian(attend, v)[0]
        share = jacobian.permute(1, 0, 2).diagonal(dim1=1, dim2=2)  # d o_c / d v_kc by key: the same for every c
        p = softmax((q @ k.T)[0].numpy() / 2)
        direction = draw.standard_normal(4)
        alike = np.einsum("kc,c->c", share[1:].numpy(), direction / np.linalg.norm(direction))
        worst = max(worst, abs(np.linalg.norm(alike) - bound(p)))
        moves = draw.standard_normal((8, 4))
        moves /= np.maximum(np.linalg.norm(moves, axis=1, keepdims=True), 1)
        worst = max(worst, np.linalg.norm(p[1:] @ moves) - bound(p))
    return compare(float(worst), "<=", 1e-12, detail="equal moves reach the bound, random moves stay below it")


# T5.4: lengths


def check_uniform_limit(noise: Callable) -> Evidence:
    """noise(L) against 1 - 1/L from the softmax of equal logits, and its limit at infinity (sympy) against 1."""
    import sympy

    keys = sympy.Symbol("L", positive=True)
    limit = float(sympy.limit(noise(keys), keys, sympy.oo))
    worst = max(abs(1 - softmax(np.zeros(n))[0] - float(noise(n))) for n in (1, 2, 7, 1000))
    return compare(max(float(worst), abs(limit - 1)), "<=", 1e-12, detail=f"limit {limit:g}")


def check_noise_bound(bound: Callable) -> Evidence:
    """Psi <= bound(delta, L) on random rows of margin delta, with equality for equal rivals."""
    draw, worst = np.random.default_rng(4), -np.inf
    for _ in range(1000):
        delta, keys = float(draw.uniform(0, 6)), int(draw.integers(2, 60))
        worst = max(worst, 1 - softmax(logits(draw, delta, keys))[0] - bound(delta, keys))
        worst = max(worst, abs(1 - softmax(np.append(delta, np.zeros(keys - 1)))[0] - bound(delta, keys)))
    table = ", ".join(f"{float(bands.most_noise(10, n)):.2g} ({n:.0e})" for n in (1e2, 1e3, 1e4, 1e5, 1e6))
    return compare(float(worst), "<=", 1e-12, detail=f"bound at delta = 10 by keys: {table}")


def largest_margin(claim: Callable, margin_of_two: float, keys: int) -> tuple[float, float]:
    """Of one u(0..keys-1), u(0) - u(1) = margin_of_two: (margin of key 0 claimed, the largest by a linear program)."""
    rival = np.eye(keys)[1:] - np.eye(keys)[0]  # u(k) - u(0) + margin <= 0
    found = optimize.linprog(
        np.append(np.zeros(keys), -1.0), np.column_stack([rival, np.ones(keys - 1)]), np.zeros(keys - 1),
        np.append(-rival[:1], [[0.0]], axis=1), [margin_of_two], bounds=(None, None),
    )  # fmt: skip
    return float(claim(margin_of_two, keys)), float(round(-found.fun, 9))


def check_growth(claim: Callable) -> Evidence:
    """claim(first, L): the largest margin over L keys of a u(j), fixed for all lengths, of margin `first` over two."""
    grid = [{"margin_of_two": m, "keys": n} for n in (2, 10, 100) for m in (1.0, 3.0)]
    found = smallest_counterexample(largest_margin, claim, grid, 1e-6)
    pairs = [largest_margin(claim, **case) for case in grid]
    worst = max(abs(claimed - actual) for claimed, actual in pairs)
    return compare(worst, "<=", 1e-6, counterexample=found, detail="scipy's largest margins, 2 to 100 keys")


def check_exponential(rate: float) -> Evidence:
    """Psi <= (L - 1) exp(-rate delta), and that rate is reached as delta grows."""
    worst = max(
        math.log(bands.most_noise(d, n)) - math.log(n - 1) + rate * d for d in (0.1, 1, 5, 40) for n in (2, 10, 10**4)
    )
    slope = math.log(bands.most_noise(40.0, 100) / bands.most_noise(41.0, 100))
    return compare(max(float(worst), abs(slope - rate)), "<=", 1e-9, detail=f"d ln Psi / d delta at 40: {-slope:.6f}")


def check_required(margin: Callable) -> Evidence:
    """The noise over equal rivals at margin(eta, L) is eta, and this margin less ln L tends to a constant."""
    worst = max(
        abs(float(bands.most_noise(margin(eta, n), n)) - eta) for eta in (0.01, 0.5, 0.9) for n in (2, 10**3, 10**7)
    )
    drift = max(abs(margin(eta, 10**9) - margin(eta, 10**6) - math.log(1e3)) for eta in (0.01, 0.5, 0.9))
    worst = max(float(worst), float(drift) - 1e-5)
    return compare(worst, "<=", 1e-9, detail=f"equal rivals, 2 to 1e7 keys; less ln L it moves by {drift:.0e}")


# T5.4p: a period


def check_period(ladder: Callable) -> Evidence:
    """Some lag P <= 20,000 is a period of the sum: every omega_r P is a multiple of 2 pi."""
    found = almost_period(ladder(), 1e-9, 20_000)
    return compare("period" if found else "none", "==", "period",
                   detail=f"P = {found}" if found else "nothing within 1e-9 rad up to 20,000")  # fmt: skip


def check_across_periods(bound: Callable) -> Evidence:
    """The bound at margin delta, below and above the period of a periodic prior plus sink, and without any period."""
    draw, worst = np.random.default_rng(5), -np.inf
    periodic = dyadic()
    for omega in (periodic, rope()):
        for keys in (2, 8, 15, 16, 17, 40, 300):
            lags = keys - 1.0 - np.arange(keys)
            bias = np.cos(np.outer(lags, omega)) @ draw.standard_normal(len(omega))
            if omega is periodic and keys > 16:
                worst = max(worst, bias[0] - bias[1:].max())
            bias[0] = bias[1:].max() + 2.0
            worst = max(worst, 1 - softmax(bias)[0] - bound(2.0, keys))
            worst = max(worst, abs(1 - softmax(np.append(2.0, np.zeros(keys - 1)))[0] - bound(2.0, keys)))
    detail = "2..300 keys; period 16, and none; beyond the period the oldest key of the waves alone has no margin"
    return compare(float(worst), "<=", 1e-12, detail=detail)


# C-5: kinds of noise


def check_coherent(change: Callable) -> Evidence:
    """change(mass of the sink) is what the output moves by when all other values move by the same unit vector."""
    draw, worst = np.random.default_rng(8), 0.0
    for top, keys in ((0.001, 1000), (0.25, 4), (0.9, 50), (1e-4, 10**4)):
        p = np.append(top, (1 - top) * draw.dirichlet(np.ones(keys - 1)))
        values = draw.standard_normal((keys, 3))
        moved = values + np.array([0.0, 0.6, 0.8]) * (np.arange(keys) > 0)[:, None]
        worst = max(worst, abs(float(np.linalg.norm(p @ moved - p @ values)) - change(top)))
    return compare(worst, "<=", 1e-12, detail="4 to 10,000 keys, masses of the sink .0001 to .9")


def response(formula: Callable, keys: int) -> tuple[float, float]:
    """(formula, root mean square of the output's change) under a uniform prior, independent noise of variance 1."""
    return float(formula(np.full(keys, 1 / keys))), math.sqrt(keys - 1) / keys


def check_independent(formula: Callable) -> Evidence:
    """formula(p) is the output's root mean square change when the values beside the sink carry independent noise."""
    draw = np.random.default_rng(6)
    p = np.full(101, 1 / 101)
    simulated = float(np.sqrt(np.mean((draw.standard_normal((20_000, 100)) @ p[1:]) ** 2)))
    exact = max(abs(np.subtract(*response(formula, n))) for n in (5, 17, 101))
    claimed = float(formula(p))
    detail = f"uniform over 101 keys: simulated {simulated:.4f} with 20,000 draws, formula {claimed:.4f}"
    return compare(max(abs(simulated / claimed - 1), exact), "<=", 0.02, detail=detail)


def least_response(share: Callable, keys: int) -> tuple[float, float]:
    """(what must come through of independent noise under a uniform prior, that or what does if it is less)."""
    promised = float(share(keys))
    return promised, min(promised, response(lambda p: 0.0, keys)[1])


def check_not_averaged(share: Callable) -> Evidence:
    """Under a uniform prior at least share(L) of independent noise comes through, at every length."""
    grid = ({"keys": n} for n in (5, 17, 101, 10**4, 10**8))
    found = smallest_counterexample(least_response, share, grid, 1e-12)
    measured = ", ".join(f"{response(lambda p: 0.0, n)[1]:.2g} ({n:,})" for n in (5, 101, 10**4, 10**8))
    return compare(found["actual"] if found else "stays", "==", "stays", counterexample=found,
                   detail=f"root mean square change by keys: {measured}")  # fmt: skip


# E8: the rows of a causal model


def row_prior(statement: Callable, row: int, length: int) -> tuple[float, float]:
    """(exp of the log-prior claimed, the uniform weight) of row i = 0..L-1 that sees keys 0..i."""
    return float(np.exp(statement(row, length))), float(Fraction(1, row + 1))


def check_whole_row(statement: Callable) -> Evidence:
    """One query that sees all L keys, as section 5 fixes it."""
    worst = max(abs(np.subtract(*row_prior(statement, n - 1, n))) for n in (1, 2, 3, 50))
    return compare(float(worst), "<=", 1e-12, detail="probability of a key, 1 to 50 keys")


def check_constant(bias: Callable) -> Evidence:
    """Adding bias(row, key) to the logits of a causal row leaves the weights as they are."""
    draw, worst = np.random.default_rng(7), 0.0
    for row in range(1, 30):
        s = draw.standard_normal(row + 1)
        added = np.array([bias(row, j) for j in range(row + 1)])
        worst = max(worst, float(np.abs(softmax(s + added) - special.softmax(s)).max()))
    return compare(worst, "<=", 1e-12, detail="29 causal rows, random content, scipy's softmax")


def dyadic() -> Sequence[float]:
    return 2 * math.pi / 2 ** np.arange(1, 5)


def rope() -> Sequence[float]:
    return RATIO ** np.arange(4)
