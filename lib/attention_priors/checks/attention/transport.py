"""Goat, sections 2 and 3, and X-1: attention as entropic transport, and its one solution.

Truths: POT's Sinkhorn with a free target marginal, cvxpy on the printed program, mpmath at 50 digits, torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from math import inf

import mpmath
import numpy as np
import torch
from scipy import special

from attention_priors.attention import attention
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.priors import RelativePrior
from attention_priors.theory import inference, transport

SOLVER, EXACT = 1e-4, 1e-12  # of an interior-point method on probabilities; of float64 algebra
PROBLEMS = [{"tau": tau, "seed": seed} for seed, tau in enumerate((0.25, 1.0, 8.0**0.5))]
MASKED = [case | {"zeros": zeros} for case in PROBLEMS for zeros in (False, True)]
RIVALS = [case | {"draw": draw} for case in PROBLEMS for draw in range(10)]
WIDTHS = [{"width": width} for width in (4, 16, 64)]
WEIGHTS = [{"score": s, "tau": t, "p": p} for s, t, p in product((-1.0, 2.5), (0.25, 1.0, 8.0**0.5), (0.003, 0.4))]


def scores(seed: int) -> np.ndarray:
    """Of seven keys."""
    return 2 * np.random.default_rng(seed).standard_normal(7)


def prior(seed: int, zeros: bool = False) -> np.ndarray:
    """A distribution on them; with `zeros` two have no mass."""
    found = np.random.default_rng(100 + seed).dirichlet(np.ones(7))
    found[: 2 * zeros] = 0.0
    return found / found.sum()


def softmax(tau: float, seed: int) -> np.ndarray:
    return special.softmax(scores(seed) / tau)


def tilted(tau: float, seed: int, zeros: bool = False, power: float = 1.0) -> np.ndarray:
    """softmax(s / tau + ln pi)."""
    with np.errstate(divide="ignore"):
        return special.softmax(scores(seed) / tau + power * np.log(prior(seed, zeros)))


def program(says: Callable, tau: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(cvxpy's minimiser of says(cp, p, s, tau) over distributions, softmax(s / tau))."""
    import cvxpy as cp

    p = cp.Variable(7)
    cp.Problem(cp.Minimize(says(cp, p, scores(seed), tau)), [cp.sum(p) == 1]).solve(solver="CLARABEL")
    return p.value, softmax(tau, seed)


def program_with_prior(says: Callable, tau: float, seed: int, zeros: bool) -> tuple[np.ndarray, np.ndarray]:
    """(cvxpy's minimiser of says(cp, p, s, tau, pi) on the prior's support, softmax(s / tau + ln pi))."""
    import cvxpy as cp

    full, seen = np.zeros(7), prior(seed, zeros) > 0
    p = cp.Variable(int(seen.sum()))
    objective = says(cp, p, scores(seed)[seen], tau, prior(seed, zeros)[seen])
    cp.Problem(cp.Minimize(objective), [cp.sum(p) == 1]).solve(solver="CLARABEL")
    full[seen] = p.value
    return full, tilted(tau, seed, zeros)


def sinkhorn(cost: np.ndarray, tau: float, reference: np.ndarray, kind: str) -> np.ndarray:
    """POT's plan from one source point to the keys: mass 1 fixed at the source, no constraint at the target."""
    import ot

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # POT says that it takes a reference of ones for the entropy
        return ot.unbalanced.sinkhorn_unbalanced(
            np.ones(1), reference, cost[None], reg=tau, reg_m=(inf, 0.0), reg_type=kind, stopThr=1e-15
        )[0]


def plan(says: Callable, tau: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(POT's plan at the cost says(s), softmax(s / tau))."""
    return sinkhorn(says(scores(seed)), tau, prior(seed), "entropy"), softmax(tau, seed)


def plan_with_prior(tau: float, seed: int) -> np.ndarray:
    """POT's plan with a KL penalty, by an iteration that knows no softmax."""
    return sinkhorn(-scores(seed), tau, prior(seed), "kl")


def stationary(says: Callable, tau: float, seed: int) -> tuple[float, float]:
    """(0, how far the gradient -s_j + tau (ln p_j + 1) is from one number and p from sum 1), at 50 digits."""
    with mpmath.workdps(50):
        s = [mpmath.mpf(x) for x in scores(seed)]
        p = says(s, mpmath.mpf(tau))
        gradient = [-x + tau * (mpmath.log(w) + 1) for x, w in zip(s, p, strict=True)]
        return 0.0, float(max(max(gradient) - min(gradient), abs(mpmath.fsum(p) - 1)))


def boltzmann(s: list[mpmath.mpf], tau: mpmath.mpf) -> list[mpmath.mpf]:
    total = mpmath.fsum(mpmath.exp(x / tau) for x in s)
    return [mpmath.exp(x / tau) / total for x in s]


def curvature(score: float, tau: float, p: float) -> float:
    """Second difference of the cost along one key, at 60 digits."""
    with mpmath.workdps(60):
        x, h = mpmath.mpf(p), mpmath.mpf("1e-20")
        low, middle, high = (-y * score + tau * y * mpmath.log(y) for y in (x - h, x, x + h))
        return float((high - 2 * middle + low) / h**2)


def largest_entropy(says: Callable, tau: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(says(s, tau), cvxpy: the distribution of largest entropy with the same expected score)."""
    import cvxpy as cp

    s, stated, p = scores(seed), says(scores(seed), tau), cp.Variable(7)
    cp.Problem(cp.Maximize(cp.sum(cp.entr(p))), [cp.sum(p) == 1, s @ p == float(stated @ s)]).solve(solver="CLARABEL")
    return stated, p.value


def rival(tau: float, seed: int, draw: int) -> np.ndarray:
    """Another distribution with the expected score of softmax(s / tau)."""
    best, s = softmax(tau, seed), scores(seed)
    free = np.linalg.svd(np.stack([np.ones_like(s), s]))[2][2:]  # directions that keep mass and expected score
    step = np.random.default_rng(draw).standard_normal(len(free)) @ free
    return best + step * (0.9 * np.min(best[step < 0] / -step[step < 0]))


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    return float((p * np.log(p / q)).sum())


def entropy_gap(tau: float, seed: int, draw: int) -> float:
    return float(special.entr(softmax(tau, seed)).sum() - special.entr(rival(tau, seed, draw)).sum())


def other(draw: int) -> np.ndarray:
    return np.random.default_rng(draw).dirichlet(np.ones(7))


def excess(tau: float, seed: int, draw: int) -> float:
    """cost(p) - cost(solution), the library's cost <p, -s> + tau KL(p || pi)."""
    s, pi = scores(seed), prior(seed)
    best = transport.plan(s, tau, pi)
    return transport.cost(other(draw), s, tau, pi) - transport.cost(best, s, tau, pi)


def from_uniform(says: Callable, keys: int, zeros: bool) -> tuple[float, float]:
    """(0, -H(p) - KL(p || U) less the constant), at 50 digits, for p with and without zeros."""
    p = np.random.default_rng(keys).dirichlet(np.ones(keys))
    p[: int(zeros)] = 0.0
    with mpmath.workdps(50):
        exact = [mpmath.mpf(x) / mpmath.fsum(map(mpmath.mpf, p)) for x in p if x > 0]
        negative = mpmath.fsum(x * mpmath.log(x) for x in exact)
        uniform = mpmath.fsum(x * mpmath.log(x * keys) for x in exact)
        return 0.0, float(abs(negative - uniform - says(keys)))


def queries_and_keys(width: int) -> torch.Tensor:
    draw = torch.Generator().manual_seed(width)
    return torch.randn(2, 5, width, dtype=torch.float64, generator=draw)


def weights(width: int) -> np.ndarray:
    """Those of torch's attention."""
    q, k = queries_and_keys(width)[:, None, None]
    values = torch.eye(5, dtype=torch.float64)[None, None]
    return torch.nn.functional.scaled_dot_product_attention(q, k, values)[0, 0].numpy()


def scaled(width: int, power: float) -> np.ndarray:
    """Softmax of <q, k> / d^power."""
    q, k = queries_and_keys(width).numpy()
    return special.softmax(q @ k.T / width**power, axis=1)


class _Table(RelativePrior):
    """A log-prior given by its values at the lags 0 .. n - 1."""

    def __init__(self, values: np.ndarray) -> None:
        super().__init__()
        self.heads, self.values = 1, torch.as_tensor(values)[None]

    def log_prior(self, lags):
        return self.values[:, lags]


def by_bias(seed: int) -> np.ndarray:
    """The library's attention of one query at position 6 over 7 keys whose dot products are the scores."""
    q = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    k = torch.as_tensor(scores(seed))[None, None, :, None]
    table = _Table(np.log(prior(seed))[::-1].copy())
    units = torch.eye(7, dtype=torch.float64)[None, None]
    mix = (attention(q, k, units[..., [j]], prior=table, offset=6, backend="reference") for j in range(7))
    return np.array([float(x) for x in mix])


def by_bayes(seed: int) -> np.ndarray:
    return inference.posterior(scores(seed), prior(seed))


def by_transport(seed: int) -> np.ndarray:
    return plan_with_prior(1.0, seed)


def posterior(seed: int, sign: int = 1) -> np.ndarray:
    """pi_j exp(s_j), normalised, at 50 digits."""
    with mpmath.workdps(50):
        both = zip(map(mpmath.mpf, scores(seed)), map(mpmath.mpf, prior(seed)), strict=True)
        joint = [w * mpmath.exp(sign * x) for x, w in both]
        return np.array([float(x / mpmath.fsum(joint)) for x in joint])


ROADS = {"Bayes' rule": by_bayes, "Transport with a KL penalty": by_transport, "Additive bias": by_bias}

CHECKS = claims(
    claim(
        "GOAT-D2.1",
        Law("Attention minimises <p, -s> - tau H(p) over distributions.",
            lambda cp, p, s, tau: -s @ p - tau * cp.sum(cp.entr(p)), program, PROBLEMS,
            wrong=lambda cp, p, s, tau: s @ p - tau * cp.sum(cp.entr(p)), tolerance=SOLVER),
        Law("It is a transport of one unit of mass at the query with the cost c = -s.",
            lambda s: -s, plan, PROBLEMS, wrong=lambda s: s, tolerance=EXACT),
        practice="Whatever is known about transport plans (costs, regularisers, marginals) applies to attention.",
    ),
    claim(
        "GOAT-P2.2",
        Law("The minimiser is exp(s_j / tau) / sum_k exp(s_k / tau).",
            boltzmann, stationary, PROBLEMS, wrong=lambda s, tau: boltzmann(s, 1 / tau), tolerance=1e-40),
        Law("There is exactly one: the cost is strictly convex, with second derivatives tau / p_j.",
            lambda tau, p: tau / p, curvature, WEIGHTS, wrong=lambda p: 1 / p,
            tolerance=lambda tau, p: 1e-9 * tau / p),
        practice="Softmax is not a choice among several: the entropy as regulariser fixes it.",
    ),
    claim(
        "GOAT-P2.2b",
        Law("Of all distributions with its expected score, softmax(s / tau) has the largest entropy.",
            lambda s, tau: special.softmax(s / tau), largest_entropy, PROBLEMS,
            wrong=lambda s, tau: special.softmax(s**2 / tau), tolerance=SOLVER),
        Law("No other attains it: it exceeds p's entropy by KL(p || softmax), which is 0 for p alone.",
            lambda tau, seed, draw: divergence(rival(tau, seed, draw), softmax(tau, seed)), entropy_gap, RIVALS,
            wrong=lambda tau, seed, draw: divergence(softmax(tau, seed), rival(tau, seed, draw)), tolerance=EXACT),
        practice="A head's entropy is the largest that its expected score allows; the temperature sets the trade.",
    ),
    claim(
        "GOAT-EQ3",
        Law("-H(p) = KL(p || U) - ln L for every p on L keys.",
            lambda keys: -mpmath.log(keys), from_uniform,
            [{"keys": n, "zeros": z} for n, z in product((2, 7, 40), (False, True))],
            wrong=lambda keys: mpmath.log(keys), tolerance=1e-40),
        practice="Plain attention has a prior too, the uniform one; at query i of a causal model over i keys.",
    ),
    claim(
        "GOAT-P3.1",
        Law("min -<p, s> + tau KL(p || pi) is solved by softmax(s / tau + ln pi).",
            lambda cp, p, s, tau, pi: -s @ p + tau * cp.sum(cp.kl_div(p, pi)), program_with_prior, MASKED,
            wrong=lambda cp, p, s, tau, pi: -s @ p + cp.sum(cp.kl_div(p, pi)) / tau, tolerance=SOLVER),
        Law("The same by an iteration that knows no softmax.",
            tilted, plan_with_prior, PROBLEMS, wrong=partial(tilted, power=2.0), tolerance=EXACT),
        Law("The solution is unique: any other p costs tau KL(p || solution) more.",
            lambda tau, seed, draw: tau * divergence(other(draw), tilted(tau, seed)), excess, RIVALS,
            wrong=lambda tau, seed, draw: divergence(other(draw), tilted(tau, seed)), tolerance=1e-11),
        Law("The prior acts as the effective score s + tau ln pi.",
            lambda tau, seed: special.softmax((scores(seed) + tau * np.log(prior(seed))) / tau), plan_with_prior,
            PROBLEMS, wrong=lambda tau, seed: special.softmax((scores(seed) + np.log(prior(seed))) / tau),
            tolerance=EXACT),
        practice="A bias added to logits is ln pi, one added to scores is tau ln pi. A key of prior 0 is masked.",
    ),
    claim(
        "GOAT-E7",
        Law("Definition 2.1: s is unscaled, and s / tau with tau = sqrt(d) is attention's logit.",
            partial(scaled, power=0.5), weights, WIDTHS, wrong=partial(scaled, power=1.0), tolerance=1e-6),
        Law("Equation 11: the logit is <q, k> / sqrt(d), here called s.",
            partial(scaled, power=0.5), weights, WIDTHS, wrong=partial(scaled, power=0.0), tolerance=1e-6),
        Law("So one letter is two quantities: equation 11's s in definition 2.1's s / tau, with the tau = sqrt(d) that "
            "section 4 names, scales twice.",
            partial(scaled, power=0.5 + 0.5), weights, WIDTHS, relation="!=", wrong=partial(scaled, power=0.5),
            tolerance=1e-6),
        practice="Unscaled scores go with tau = sqrt(d), scaled ones with tau = 1. Scaling twice flattens a head: "
                 "at width 64 all logits shrink by 8.",
    ),
    claim(
        "X-1",
        *(Law(f"{name} gives the posterior proportional to pi_j exp(s_j).", posterior, road,
              [{"seed": s} for s in range(3)], wrong=partial(posterior, sign=-1), tolerance=EXACT)
          for name, road in ROADS.items()),
        practice="A result about one of the three holds for all: argue in the one where the argument is short.",
    ),
)  # fmt: skip
