"""Goat, section 5 and appendix D: content moves a prior so far and no farther; sinks by margin; what is off a sink.

Truths: scipy's bounded search and linear program, cvxpy, torch's Jacobian of its attention, autograd, noise drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from math import exp, hypot, log, pi, sqrt, tanh

import numpy as np
import sympy
import torch
from scipy import optimize, special
from torch.nn import functional

from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.spectral import geometric
from attention_priors.theory import inference

ROWS = [{"omega": w, "keys": n, "seed": s} for w, n, s in product((0.01, 0.3, 1.0, 3.0, 10.0), (2, 3, 11), range(8))]
ENDS = [{"mass": m, "omega": w} for m, w in ((0.02, 1.0), (0.3, 3.0), (0.5, 2.0), (0.9, 2.0))]
SMALL = [{"omega": w} for w in (1e-2, 1e-4, 1e-6)]
RANGES = [{"omega": w} for w in (0.1, 1.0, 3.0, 6.0)]
RIVALS = [{"margin": m, "keys": n, "seed": s} for m, n, s in product((0.01, 1.0, 5.0), (2, 10, 40), range(8))]
EQUAL = [{"margin": m, "keys": n} for m, n in product((0.1, 1.0, 5.0), (2, 10, 1000))]
FLOORS = [{"margin": m, "keys": n} for n in (2, 10, 1000) for m in (1.0, 0.5, 5.0)]
MASSES = [{"mass": p, "keys": n} for p, n in product((0.1, 0.5, 0.99), (2, 10, 10**4))]
SEEDS = [{"seed": s} for s in range(8)]
PEAKS = [{"delta": d, "keys": n, "seed": s} for d, n, s in product((0.1, 1.0, 3.0), (2, 9), range(8))]
QUERIES = [{"width": n, "coordinate": c} for n, c in product((4, 64), (1.0, 0.5, 2.0))]
WAVES = [{"keys": n, "seed": s} for n, s in product((2, 8, 17, 300), range(4))]
COHERENT = [{"top": t, "keys": n} for t, n in ((0.25, 4), (0.001, 1000), (0.9, 50))]
LENGTH = sympy.Symbol("L", positive=True)

# How far content moves the prior


def row(omega: float, keys: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(prior, scores of range omega), the scores at the ends of their range for even seeds."""
    draw = np.random.default_rng([keys, seed])
    prior = draw.dirichlet(np.full(keys, 10.0 ** draw.uniform(-1, 1))) + 1e-12
    scores = draw.random(keys) if seed % 2 else draw.integers(0, 2, keys).astype(float)
    scores[draw.permutation(keys)[:2]] = 0.0, 1.0
    return prior / prior.sum(), omega * scores


def posterior(omega: float, keys: int, seed: int) -> np.ndarray:
    prior, scores = row(omega, keys, seed)
    return inference.posterior(scores, prior)


def stretched(omega: float, keys: int, seed: int, times: float = 1.0) -> np.ndarray:
    """pi e^(times omega)."""
    return row(omega, keys, seed)[0] * exp(times * omega)


def moved(omega: float) -> float:
    """max |p - pi| for one row."""
    prior = np.array([0.5, 0.3, 0.2])
    return float(np.abs(inference.posterior(omega * np.array([0.0, 1.0, 0.4]), prior) - prior).max())


def shift_of_sets(omega: float, keys: int, seed: int) -> float:
    """The largest |logit p(A) - logit pi(A)| over all sets A of keys but none and all."""
    prior, _ = row(omega, keys, seed)
    after, sets = posterior(omega, keys, seed), np.array(list(product((0, 1), repeat=keys)))[1:-1]
    odds = [np.log(sets @ mass) - np.log((1 - sets) @ mass) for mass in (after, prior)]
    return float(np.abs(odds[0] - odds[1]).max())


def extremes(mass: float, omega: float) -> tuple[float, float]:
    """Least and largest posterior of a key of this prior, by search over the scores in [0, omega]."""
    prior, found = np.array([mass, 0.6 * (1 - mass), 0.4 * (1 - mass)]), []
    for sign in (1, -1):
        best = optimize.minimize(
            lambda s, sign=sign: sign * inference.posterior(s, prior)[0], np.full(3, omega / 2), bounds=[(0, omega)] * 3
        )
        found.append(sign * best.fun)
    return tuple(found)


def ends(mass: float, omega: float) -> tuple[float, float]:
    """pi e^(-+omega) / (pi e^(-+omega) + 1 - pi)."""
    return tuple(mass * exp(x) / (mass * exp(x) + 1 - mass) for x in (-omega, omega))


def most_variation(omega: float) -> float:
    """Of two keys, over all priors, by scipy: content omega on one of them moves the most mass."""
    gap = optimize.minimize_scalar(
        lambda x: special.expit(x) - special.expit(x + omega), bounds=(-20, 20), method="bounded"
    )
    return -gap.fun


def variation(omega: float, keys: int, seed: int) -> float:
    return 0.5 * float(np.abs(posterior(omega, keys, seed) - row(omega, keys, seed)[0]).sum())


def divergence(omega: float, keys: int, seed: int) -> float:
    return float(special.rel_entr(posterior(omega, keys, seed), row(omega, keys, seed)[0]).sum())


def divergence_of_two(omega: float) -> float:
    """KL over omega^2 for two keys of prior 1/2."""
    return float(special.rel_entr(inference.posterior([omega, 0.0], [0.5, 0.5]), [0.5, 0.5]).sum()) / omega**2


def minimiser(says: Callable, peak: float, tilt: float) -> tuple[np.ndarray, np.ndarray]:
    """(says(s, pi), cvxpy's minimiser of -<p, s> + KL(p, pi))."""
    import cvxpy as cp

    prior, scores = np.array([peak, (1 - peak) / 3, 2 * (1 - peak) / 3]), np.array([0.0, tilt, tilt / 2])
    p = cp.Variable(3, nonneg=True)
    objective = cp.Minimize(-scores @ p + cp.sum(cp.rel_entr(p, prior)))
    cp.Problem(objective, [cp.sum(p) == 1]).solve(solver="CLARABEL")
    return says(scores, prior), p.value


def breaking(delta: float, keys: int, seed: int) -> float:
    """The least range of content at which a prior's peak of margin delta is no longer the largest, by linear program.

    Variables: content of each key in [0, r], then r.
    """
    prior = np.append([delta, 0.0], -np.random.default_rng(seed).exponential(size=keys - 2))
    best = np.inf
    for rival in range(1, keys):
        beats = np.zeros(keys + 1)
        beats[[0, rival]] = 1, -1  # s_0 - s_rival <= prior_rival - prior_0
        inside = np.column_stack([np.eye(keys), -np.ones(keys)])
        found = optimize.linprog(
            np.eye(keys + 1)[-1], np.vstack([beats, inside]), np.append(prior[rival] - prior[0], np.zeros(keys))
        )
        best = min(best, found.fun)
    return float(best)


def weakened(delta: float, keys: int, seed: int) -> float:
    """Mass of the peak under content of range delta / 2 that favours its rivals, all of them in even rows."""
    content = np.random.default_rng(seed).random(keys - 1) if seed % 2 else np.ones(keys - 1)
    return float(special.softmax(np.append(delta, delta / 2 * content))[0])


# Sinks and what is off them


def logits(margin: float, keys: int, seed: int) -> np.ndarray:
    """Key 0 leads by exactly `margin`: one rival is that near, the others anywhere below."""
    draw = np.random.default_rng([keys, seed])
    return np.append([margin, 0.0], -draw.exponential(size=keys - 2) * draw.integers(0, 2, keys - 2))


def mass_of_sink(margin: float, keys: int, seed: int) -> float:
    return float(special.softmax(logits(margin, keys, seed))[0])


def beside_equals(margin: float, keys: int) -> float:
    """Mass of a sink over equal rivals."""
    return float(special.softmax(np.append(margin, np.zeros(keys - 1)))[0])


def floor(margin: float, keys: int) -> float:
    return 1 / (1 + (keys - 1) * exp(-margin))


def least_margin(mass: float, keys: int) -> float:
    """At which a sink over equal rivals has this mass, by root finding."""
    return float(optimize.brentq(lambda margin: beside_equals(margin, keys) - mass, -30, 60, xtol=1e-12))


def difference(seed: int) -> np.ndarray:
    """z_sink - z_k for all other keys k of a row of 7, z = s + K."""
    s, k = np.random.default_rng(seed).standard_normal((2, 7))
    z = s + k
    return z[0] - z[1:]


def parts(seed: int, sign: int = 1) -> np.ndarray:
    """The contribution of content plus that of the prior."""
    s, k = np.random.default_rng(seed).standard_normal((2, 7))
    return (s[0] - s[1:]) + sign * (k[0] - k[1:])


def attended(seed: int) -> tuple[torch.Tensor, ...]:
    return torch.as_tensor(np.random.default_rng(seed).standard_normal((19, 4))).split([1, 9, 9])


def off_sink(seed: int, power: int = 1) -> float:
    """1 - p_sink, the weights by scipy."""
    q, k, _ = attended(seed)
    return float((1 - special.softmax((q @ k.T)[0].numpy() / 2)[0]) ** power)


def largest_move(seed: int) -> float:
    """sup |delta o| over |delta v_k| <= 1, k != sink: the spectral norms of torch's Jacobian in the values, summed."""
    q, k, v = attended(seed)
    jacobian = torch.autograd.functional.jacobian(partial(functional.scaled_dot_product_attention, q, k), v)[0]
    return float(sum(np.linalg.norm(jacobian[:, key].numpy(), 2) for key in range(1, 9)))


def uniform_noise(keys: int) -> float:
    return float(1 - special.softmax(np.zeros(keys))[0])


def largest_margin(margin_of_two: float, keys: int) -> float:
    """Of one u(0..keys-1), u(0) - u(1) = margin_of_two: the largest margin of key 0, by a linear program."""
    rival = np.eye(keys)[1:] - np.eye(keys)[0]  # u(k) - u(0) + margin <= 0
    found = optimize.linprog(
        np.append(np.zeros(keys), -1.0), np.column_stack([rival, np.ones(keys - 1)]), np.zeros(keys - 1),
        np.append(-rival[:1], [[0.0]], axis=1), [margin_of_two], bounds=(None, None),
    )  # fmt: skip
    return round(-found.fun, 9)


def above_waves(keys: int, seed: int) -> float:
    """Mass off key 0, whose bias leads by 2 a sum of waves on the geometric ladder, from 2 to 300 keys."""
    alpha = np.random.default_rng(seed).standard_normal(4)
    bias = np.cos(np.outer(np.arange(keys)[::-1], geometric(4))) @ alpha
    bias[0] = bias[1:].max() + 2.0
    return float(1 - special.softmax(bias)[0])


def nearest_return(modes: int, lags: int) -> float:
    """How near, in radians, all waves of the geometric ladder come to where they began at some lag 1..lags."""
    turns = np.outer(np.arange(1, lags + 1), geometric(modes)) / (2 * pi)
    return float(2 * pi * np.abs(turns - np.round(turns)).max(axis=1).min())


def pushed(top: float, keys: int) -> float:
    """How far the output moves when all values but the sink's move by one unit vector."""
    draw = np.random.default_rng(keys)
    p, values = np.append(top, (1 - top) * draw.dirichlet(np.ones(keys - 1))), draw.standard_normal((keys, 3))
    after = values + np.array([0.0, 0.6, 0.8]) * (np.arange(keys) > 0)[:, None]
    return float(np.linalg.norm(p @ after - p @ values))


def averaged(keys: int) -> float:
    """Root mean square change under a uniform prior, independent noise of variance 1 in all values but one: exact."""
    return sqrt((keys - 1) * (1 / keys) ** 2)


def simulated(keys: int) -> float:
    """The same from 20,000 draws of noise."""
    noise = np.random.default_rng(keys).standard_normal((20_000, keys - 1))
    return float(np.sqrt(np.mean((noise.sum(axis=1) / keys) ** 2)))


# How large the sink's gradient is


def gradients(width: int) -> float:
    """|dz/du| / |dz/d<q, k>| by autograd."""
    inner, u = (torch.zeros((), dtype=torch.float64, requires_grad=True) for _ in range(2))
    d_u, d_inner = torch.autograd.grad(inner / width**0.5 + u, (u, inner))
    return d_u.item() / d_inner.item()


def key_gradient(width: int, coordinate: float) -> float:
    """|dz/du| / |dz/dk| for a query whose coordinates all have the given size."""
    q = torch.full((width,), coordinate, dtype=torch.float64)
    k = torch.zeros(width, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(q @ k / width**0.5, k)
    return 1 / gradient.norm().item()


def descent(target: int) -> str:
    """Where one step moves u(sink): the loss is (output - target)^2, the sink's value 1, the other key's 0."""
    u = torch.zeros((), dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad((torch.softmax(torch.stack([u, 0 * u]), 0)[0] - target).square(), u)
    return "up" if gradient.item() < 0 else "down"


def first_step(gradient: float) -> float:
    """Length of AdamW's first step at rate .1, over the rate."""
    u = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    u.grad = torch.full_like(u, gradient)
    torch.optim.AdamW([u], lr=0.1, weight_decay=0.0).step()
    return abs(u.item()) / 0.1


def causal(row: int) -> float:
    """Weight of a key in row i = 0, 1, .. of torch's causal attention without content."""
    q = torch.zeros(1, 1, row + 1, 4, dtype=torch.float64)
    values = torch.eye(row + 1, dtype=torch.float64)[None, None]
    return float(functional.scaled_dot_product_attention(q, q, values, is_causal=True)[0, 0, row, 0])


def biased(says: Callable, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights of a row with says(row, key) added to its logits, and without."""
    s = np.random.default_rng(row).standard_normal(row + 1)
    return special.softmax(s + [says(row, j) for j in range(row + 1)]), special.softmax(s)


CHECKS = claims(
    claim(
        "GOAT-T5.1",
        Law("pi e^-omega <= p", partial(stretched, times=-1.0), posterior, ROWS, relation="<=",
            wrong=partial(stretched, times=-0.5)),
        Law("and p <= pi e^omega.", stretched, posterior, ROWS, relation=">=", wrong=partial(stretched, times=0.5)),
        Law("p tends to pi as omega -> 0 (at the rate of omega: within omega / 4).",
            lambda omega: omega / 4, moved, SMALL, relation=">=", wrong=lambda omega: omega**2 / 4),
        practice="The printed upper end exceeds 1 once pi > e^-omega; use the sharp band.",
    ),
    claim(
        "GOAT-T5.1t",
        Law("|logit p(A) - logit pi(A)| <= omega for every set A of keys.",
            lambda omega: omega, shift_of_sets, ROWS, relation=">=", wrong=lambda omega: 0.9 * omega),
        Law("Both ends are reached.", ends, extremes, ENDS, tolerance=1e-6,
            wrong=lambda mass, omega: (mass * exp(-omega), mass * exp(omega))),
        Law("TV(p, pi) <= tanh(omega/4),", lambda omega: tanh(omega / 4), variation, ROWS, relation=">=",
            wrong=lambda omega: tanh(omega / 8)),
        Law("reached.", lambda omega: tanh(omega / 4), most_variation, RANGES, tolerance=1e-8,
            wrong=lambda omega: tanh(omega / 2)),
        Law("KL(p, pi) <= omega^2/8, omega the range of the scores;",
            lambda omega: omega**2 / 8, divergence, ROWS, relation=">=", wrong=lambda omega: omega**2 / 64),
        Law("reached as omega -> 0.", 1 / 8, divergence_of_two, [{"omega": 1e-2}], wrong=1 / 16, tolerance=1e-4),
        practice="A head's measured score range and its prior bound every attention weight. The KL bound needs the "
                 "scores' range; a band known of the masses alone does not give it.",
    ),
    claim(
        "GOAT-D5.2",
        Law("z_sink - z_k is a difference of content plus one of the prior.",
            parts, difference, SEEDS, wrong=partial(parts, sign=-1), tolerance=1e-12),
        Law("A margin delta > 0 gives the sink at least 1/(1 + (L - 1) e^-delta);",
            floor, mass_of_sink, RIVALS, relation="<=",
            wrong=lambda margin, keys: floor(2 * margin, keys)),
        Law("over equal rivals, that.", floor, beside_equals, EQUAL,
            wrong=lambda margin, keys: floor(margin, keys + 1)),
        Law("That floor is independent of the sequence length: it is what two keys give.",
            lambda margin: floor(margin, 2), beside_equals, FLOORS, relation="<=",
            wrong=lambda margin: floor(2 * margin, 2), repaired=floor),
        corrected=Law("A margin guarantees mass p at length L exactly from delta = ln(L - 1) + ln(p/(1 - p)) on: a "
                      "constant floor needs a margin that grows with ln L.",
                      lambda mass, keys: log(keys - 1) + log(mass / (1 - mass)), least_margin, MASSES,
                      wrong=lambda mass, keys: log(keys) + log(mass / (1 - mass))),
        practice="Report a sink's margin beside ln L. At margin 5 and 32k keys the floor is .0045.",
    ),
    claim(
        "GOAT-SINKGRAD",
        Law("dz/du = 1 and dz/d<q, k> = 1/sqrt(d_c): a factor of sqrt(d_c).",
            lambda width: width**0.5, gradients, [{"width": n} for n in (4, 16, 64)], wrong=lambda width: width),
        Law("u's gradient is sqrt(d_c) times that of the content channel, the key vector that is trained.",
            lambda width: width**0.5, key_gradient, QUERIES, wrong=lambda width: width),
        Law('This "effectively guarantees" the preference for the default: descent raises u(sink).',
            "up", descent, [{"target": 1}, {"target": 0}], wrong="down"),
        corrected=(
            Law("|dz/du| / |dz/dk| = sqrt(d_c)/|q|,",
                lambda width, coordinate: width**0.5 / hypot(*[coordinate] * width), key_gradient, QUERIES,
                wrong=lambda width, coordinate: width / hypot(*[coordinate] * width)),
            Law("and AdamW takes a first step of the same length for gradients of size 1 and 8.",
                1.0, first_step, [{"gradient": 1.0}, {"gradient": 8.0}], wrong=lambda gradient: gradient,
                tolerance=1e-6),
        ),
        practice="The loss decides the direction. What favours u(j) is that all queries push one scalar the same "
                 "way, not the factor sqrt(d_c).",
    ),
    claim(
        "GOAT-D5.3",
        Law("Psi = 1 - p_sink bounds the output's change per unit change of the other values, and is reached.",
            off_sink, largest_move, SEEDS, wrong=partial(off_sink, power=2), tolerance=1e-12),
        practice="A worst case: all values move alike, the sink's value not at all.",
    ),
    claim(
        "GOAT-T5.4a",
        Law("Uniform prior, no content: Psi = 1 - 1/L,", lambda keys: 1 - 1 / keys, uniform_noise,
            [{"keys": n} for n in (1, 2, 7, 1000)], wrong=lambda keys: 1 - 1 / keys**2, tolerance=1e-12),
        Law("which tends to 1.", sympy.Integer(1), sympy.limit(1 - 1 / LENGTH, LENGTH, sympy.oo),
            wrong=sympy.Integer(0), symbolic=True),
        practice="Row i of a causal model has 1 - 1/(i + 1). The limit is 1 under every bounded prior (X-8), not "
                 "only under the uniform one.",
    ),
    claim(
        "GOAT-T5.4b",
        Law("Psi <= (L - 1)/(e^delta + L - 1),", lambda margin, keys: (keys - 1) / (exp(margin) + keys - 1),
            lambda margin, keys, seed: 1 - mass_of_sink(margin, keys, seed), RIVALS, relation=">=",
            wrong=lambda margin, keys: (keys - 1) / (exp(2 * margin) + keys - 1)),
        Law("which falls at an exponential rate in delta: it is at most (L - 1) e^-delta.",
            lambda margin, keys: (keys - 1) * exp(-margin), lambda margin, keys: 1 - beside_equals(margin, keys), EQUAL,
            relation=">=", wrong=lambda margin, keys: (keys - 1) * exp(-2 * margin)),
        Law("Keeping it away from 1 as L grows takes logarithmic margin growth, delta ~ ln L.",
            lambda mass, keys: log(keys - 1) - log((1 - mass) / mass), least_margin, MASSES,
            wrong=lambda mass, keys: log(keys - 1) - log((1 - mass) / mass) - 0.01),
        Law("That growth with L is trivially achievable by a key bias u(j).",
            lambda margin_of_two, keys: margin_of_two + log(keys - 1), largest_margin,
            [{"margin_of_two": m, "keys": n} for n in (2, 10, 100) for m in (1.0, 3.0)],
            wrong=lambda margin_of_two, keys: margin_of_two + log(keys), tolerance=1e-6),
        corrected=Law("The margin of one u(j) is a minimum over the keys and does not grow with their number: at most "
                      "u(j*) - u(k) for any key k.", lambda margin_of_two: margin_of_two, largest_margin,
                      [{"margin_of_two": m, "keys": n} for n in (2, 10, 100) for m in (1.0, 3.0)],
                      wrong=lambda margin_of_two: 0.5 * margin_of_two, tolerance=1e-6),
        practice="u(0) = 10 is enough at 100 keys (.0045) and not at a million (.98). A slope u(k) = -c k works at "
                 "every length (e^-c) at a fixed margin c, because its other keys fall ever further behind.",
    ),
    claim(
        "GOAT-T5.4p",
        Law("Below the period the bound of Theorem 5.4 holds (margin 2).",
            lambda keys: (keys - 1) / (exp(2) + keys - 1), above_waves, WAVES, relation=">=",
            wrong=lambda keys: (keys - 1) / (exp(4) + keys - 1)),
        Law("The geometric frequencies (the code's, 1 among them) have a period to be below: at some lag all waves are "
            "where they began.",
            0.0, nearest_return, [{"modes": r, "lags": n} for r, n in ((1, 20_000), (4, 20_000))], wrong=1.0,
            tolerance=1e-9),
        corrected=(
            Law("No wave of frequency 1 has a period in whole lags: 44 of them miss seven turns by .0177, 710 miss 113 "
                "turns by 6e-5.",
                lambda lags: {44: 0.0177, 710: 6.03e-5}[lags],
                partial(nearest_return, 1), [{"lags": 44}, {"lags": 710}], wrong=0.0, tolerance=1e-5),
            Law("The bound rests on the margin alone and holds at every length.",
                lambda keys: (keys - 1) / (exp(2) + keys - 1), above_waves, WAVES, relation=">=",
                wrong=lambda keys: (keys - 1) / (exp(4) + keys - 1)),
        ),
        practice="Geometric does not imply periodic: only a ladder such as 2 pi 2^-r has a period, 2^R.",
    ),
    claim(
        "GOAT-C-4",
        Law("The minimiser of the transport objective is pi e^s / Z, the prior itself where content is flat.",
            inference.posterior, minimiser,
            [{"peak": p, "tilt": t} for p in (0.7, 0.05) for t in (0.1, 0.0)],
            wrong=lambda s, prior: inference.posterior(-s, prior**0.5), tolerance=1e-4),
        Law("Where the prior has a peak of margin delta, content of range omega < delta leaves it a sink by Definition "
            "5.2, that is, ahead of all keys.",
            lambda delta: delta, breaking, PEAKS, wrong=lambda delta: 2 * delta, tolerance=1e-8),
        Law("Its mass is then at least 1/(1 + (L - 1) e^(omega - delta)), here omega = delta / 2: less with every key.",
            lambda delta, keys: floor(delta / 2, keys), weakened, PEAKS, relation="<=",
            wrong=lambda delta, keys: floor(delta, keys)),
        practice="The optimum returns the prior that was put in. It does not say where the peak comes from, and so "
                 "does not explain the sinks of models whose prior is uniform.",
    ),
    claim(
        "GOAT-C-5",
        Law("The output moves by up to Psi = 1 - p_sink, and by that if the other values move alike.",
            lambda top: 1 - top, pushed, COHERENT, wrong=lambda top: top, tolerance=1e-12),
        Law("The prior must be peaked rather than uniform: a uniform one does not damp noise, here independent noise, "
            "as keys are added to five.",
            0.4, averaged, [{"keys": n} for n in (5, 17, 101, 10**4)], relation="<=", wrong=0.3, repaired=0.0),
        corrected=(
            Law("Independent noise comes through by (sum over k != sink of p_k^2)^(1/2): under a uniform prior about "
                "1/sqrt(L),", lambda keys: sqrt((keys - 1) * (1 / keys) ** 2), simulated,
                [{"keys": n} for n in (5, 17, 101)], wrong=lambda keys: (keys - 1) / keys**2,
                tolerance=lambda keys: 0.02 / sqrt(keys)),
            Law("which tends to 0. Averaging is stable as well.", sympy.Integer(0),
                sympy.limit(sympy.sqrt(LENGTH - 1) / LENGTH, LENGTH, sympy.oo), wrong=sympy.Integer(1), symbolic=True),
        ),
        practice="A peak protects against values that drift together and against nothing if its own value is noisy "
                 "too: then all of it comes through.",
    ),
    claim(
        "GOAT-E8",
        Law("As an unnormalised log-prior K = -log L changes nothing: attention stays plain.",
            lambda row, key: -log(30), biased, [{"row": i} for i in range(1, 30)],
            wrong=lambda row, key: -log(30 + key), tolerance=1e-12),
        Law("The implicit prior of the fixed query, which sees all L keys, is K = -log L.",
            lambda row: exp(-log(row + 1)), causal, [{"row": n - 1} for n in (1, 2, 3, 50)],
            wrong=lambda row: exp(-log(row + 2)), tolerance=1e-12),
        practice="Row i = 0..L-1 of a causal model sees i + 1 keys: its uniform prior is -log(i + 1), Psi = 1 - "
                 "1/(i + 1). Averages over rows mix priors of different sizes.",
    ),
)  # fmt: skip
