"""Goat, sections 2 and 3, and X-1: attention as entropic transport, and its one solution.

Independent evidence: POT's Sinkhorn with a free target marginal, cvxpy on the printed program, mpmath at 50 digits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product

import mpmath
import numpy as np
import torch

from attention_priors.attention import attention
from attention_priors.checks.evidence import Check, Evidence, Part, compare
from attention_priors.positions.priors import RelativePrior
from attention_priors.theory import inference, transport

SOLVER, EXACT = 1e-4, 1e-12  # of an interior-point method on probabilities; of float64 algebra
TEMPERATURES = (0.25, 1.0, 8.0**0.5)


def problems(keys: int = 7, zeros: bool = False):
    """(scores, tau, prior) at each temperature; with `zeros`, some keys have prior 0."""
    draw = np.random.default_rng(0)
    for tau in TEMPERATURES:
        prior = draw.dirichlet(np.ones(keys))
        if zeros:
            prior[:2] = 0.0
        yield 2 * draw.standard_normal(keys), tau, prior / prior.sum()


def minimiser(objective: Callable, scores, tau: float, prior) -> np.ndarray:
    """argmin of a cvxpy expression objective(cp, p, s, tau, prior) over distributions on the prior's support."""
    import cvxpy as cp

    seen = prior > 0
    p = cp.Variable(int(seen.sum()))
    problem = cp.Problem(cp.Minimize(objective(cp, p, scores[seen], tau, prior[seen])), [cp.sum(p) == 1])
    problem.solve(solver="CLARABEL")
    full = np.zeros(len(scores))
    full[seen] = p.value
    return full


def sinkhorn(scores, tau: float, prior, kind: str) -> np.ndarray:
    """POT's plan from one source point to the keys: mass 1 fixed at the source, no constraint at the target."""
    import ot

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # POT says that it takes a reference of ones for the entropy
        found = ot.unbalanced.sinkhorn_unbalanced(
            np.ones(1), prior, -scores[None], reg=tau, reg_m=(float("inf"), 0.0), reg_type=kind, stopThr=1e-15
        )
    return found[0]


# D2.1, P2.2: the program and its solution


def check_program(objective: Callable) -> Evidence:
    """The minimiser of the printed program against attention's weights softmax(s / tau)."""
    worst = max(
        float(np.abs(minimiser(objective, s, tau, prior) - inference.softmax(s / tau)).max())
        for s, tau, prior in problems()
    )
    return compare(worst, "<=", SOLVER, detail="cvxpy's minimiser against softmax(s / tau), 7 keys, 3 temperatures")


def check_source_mass(cost_of: Callable) -> Evidence:
    """The plan of POT for the cost matrix, whose only fixed marginal is the query's unit mass."""
    worst = 0.0
    for s, tau, prior in problems():
        found = sinkhorn(-cost_of(s), tau, prior, "entropy")
        worst = max(worst, float(np.abs(found - inference.softmax(s / tau)).max()), abs(found.sum() - 1))
    return compare(worst, "<=", EXACT, detail="POT's one-sided plan against softmax(s / tau), and its mass against 1")


def check_stationary(formula: Callable) -> Evidence:
    """The gradient -s_j + tau (ln p_j + 1) is one number for all keys, and p sums to one; at 50 digits."""
    worst = mpmath.mpf(0)
    with mpmath.workdps(50):
        for s, tau, _ in problems():
            p = formula([mpmath.mpf(x) for x in s], mpmath.mpf(tau))
            gradient = [-mpmath.mpf(x) + tau * (mpmath.log(w) + 1) for x, w in zip(s, p, strict=True)]
            worst = max(worst, max(gradient) - min(gradient), abs(mpmath.fsum(p) - 1))
    return compare(float(worst), "<=", 1e-40, detail="KKT residual at 50 digits")


def check_curvature(curvature: Callable) -> Evidence:
    """Second differences of the cost along every key: equal to the stated curvature, which is positive."""
    worst, least = 0.0, np.inf
    with mpmath.workdps(60):
        for s, tau, prior in problems():
            for value, w in zip(s, prior, strict=True):
                x, h = mpmath.mpf(w), mpmath.mpf("1e-20")
                low, middle, high = (-y * value + tau * y * mpmath.log(y) for y in (x - h, x, x + h))
                second = (high - 2 * middle + low) / h**2
                stated = curvature(w, tau)
                worst, least = max(worst, abs(float(second) / stated - 1)), min(least, stated)
    return compare(worst if least > 0 else np.inf, "<=", 1e-9, detail=f"relative; the least curvature is {least:.3g}")


# P2.2b: the largest entropy at a given expected score


def check_largest_entropy(family: Callable) -> Evidence:
    """cvxpy: max H(p) with <p, s> = c, against the stated member with that expected score."""
    import cvxpy as cp

    worst = 0.0
    for s, tau, _ in problems():
        stated = family(s, tau)
        p = cp.Variable(len(s))
        constraints = [cp.sum(p) == 1, s @ p == float(stated @ s)]
        cp.Problem(cp.Maximize(cp.sum(cp.entr(p))), constraints).solve(solver="CLARABEL")
        worst = max(worst, float(np.abs(p.value - stated).max()))
    return compare(worst, "<=", SOLVER, detail="cvxpy's maximiser of the entropy against softmax(s / tau)")


def check_entropy_gap(gap: Callable) -> Evidence:
    """H(p*) - H(p) for other p with the same expected score: the stated gap, which is above 0."""
    draw, worst, least = np.random.default_rng(1), 0.0, np.inf
    for s, tau, _ in problems():
        best = transport.plan(s, tau)
        free = np.linalg.svd(np.stack([np.ones_like(s), s]))[2][2:]  # directions that keep mass and expected score
        for _ in range(20):
            step = draw.standard_normal(len(free)) @ free
            other = best + step * (0.9 * np.min(best[step < 0] / -step[step < 0]))
            worst = max(worst, abs(transport.entropy(best) - transport.entropy(other) - gap(other, best)))
            least = min(least, gap(other, best))
    return compare(worst if least > 0 else np.inf, "<=", EXACT, detail=f"60 competitors; the least gap is {least:.3g}")


# EQ3 and P3.1: the uniform prior, and any other


def check_negative_entropy(constant: Callable) -> Evidence:
    """-H(p) - KL(p || U) at 50 digits against the stated constant, for p with and without zeros."""
    worst = mpmath.mpf(0)
    with mpmath.workdps(50):
        for keys, zeros in product((1, 2, 7, 40), (False, True)):
            p = np.random.default_rng(keys).dirichlet(np.ones(keys))
            if zeros and keys > 1:
                p[0] = 0.0
            exact = [mpmath.mpf(x) for x in p]
            total = mpmath.fsum(exact)
            exact = [x / total for x in exact if x > 0]
            negative = mpmath.fsum(x * mpmath.log(x) for x in exact)
            from_uniform = mpmath.fsum(x * mpmath.log(x * keys) for x in exact)
            worst = max(worst, abs(negative - from_uniform - constant(keys)))
    return compare(float(worst), "<=", 1e-40, detail="1 to 40 keys, at 50 digits")


def check_prior_program(objective: Callable) -> Evidence:
    worst = max(
        float(np.abs(minimiser(objective, s, tau, prior) - transport.plan(s, tau, prior)).max())
        for zeros in (False, True)
        for s, tau, prior in problems(zeros=zeros)
    )
    return compare(worst, "<=", SOLVER, detail="cvxpy's minimiser against softmax(s / tau + ln prior), with zeros too")


def check_prior_plan(solution: Callable) -> Evidence:
    worst = max(
        float(np.abs(sinkhorn(s, tau, prior, "kl") - solution(s, tau, prior)).max()) for s, tau, prior in problems()
    )
    return compare(worst, "<=", EXACT, detail="POT's one-sided plan with a KL penalty")


def check_excess(excess: Callable) -> Evidence:
    """cost(p) - cost(p*) = tau KL(p || p*) > 0: no second minimiser."""
    draw, worst, least = np.random.default_rng(2), 0.0, np.inf
    for s, tau, prior in problems():
        best = transport.plan(s, tau, prior)
        for other in draw.dirichlet(np.ones(len(s)), 20):
            found = transport.cost(other, s, tau, prior) - transport.cost(best, s, tau, prior)
            worst, least = max(worst, abs(found - excess(other, best, tau))), min(least, found)
    detail = f"60 competitors; the least excess is {least:.3g}"
    return compare(worst if least > 0 else np.inf, "<=", 1e-11, detail=detail)


def check_effective_score(effective: Callable) -> Evidence:
    """The plan without a prior at the effective score is the plan with the prior."""
    worst = max(
        float(np.abs(inference.softmax(effective(s, tau, prior) / tau) - transport.plan(s, tau, prior)).max())
        for s, tau, prior in problems()
    )
    return compare(worst, "<=", EXACT, detail="softmax(effective / tau) against the plan with the prior")


# E7: which s goes with which tau


def departure(convention: Callable) -> float:
    """Largest difference of the weights softmax(convention(<q, k>, width)) from torch's attention, widths 4 to 64."""
    worst = 0.0
    draw = torch.Generator().manual_seed(0)
    for width in (4, 16, 64):
        q, k = torch.randn(2, 1, 1, 5, width, dtype=torch.float64, generator=draw)
        values = torch.eye(5, dtype=torch.float64)[None, None]
        weights = torch.nn.functional.scaled_dot_product_attention(q, k, values)[0, 0]
        stated = torch.tensor([[convention(float(a @ b), width) for b in k[0, 0]] for a in q[0, 0]]).double()
        worst = max(worst, float((stated.softmax(-1) - weights).abs().max()))
    return worst


def check_convention(convention: Callable) -> Evidence:
    """The convention's logits give the weights of scaled dot-product attention."""
    return compare(departure(convention), "<=", 1e-6, detail="weights against torch's attention, widths 4 to 64")


def check_scaled_twice(convention: Callable) -> Evidence:
    """They do not: the conventions cannot be mixed."""
    return compare(departure(convention), ">", 1e-6, detail="weights against torch's attention, widths 4 to 64")


# three roads to one posterior


class _Table(RelativePrior):
    """A log-prior given by its values at the lags 0 .. n - 1."""

    def __init__(self, values: np.ndarray) -> None:
        super().__init__()
        self.heads, self.values = 1, torch.as_tensor(values)[None]

    def log_prior(self, lags):
        return self.values[:, lags]


def by_bias(scores: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
    """The library's attention of one query at position n - 1 over n keys whose dot products are the scores."""
    n = len(scores)
    q = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    k = torch.as_tensor(scores.copy())[None, None, :, None]
    mix = [
        attention(q, k, torch.eye(n, dtype=torch.float64)[None, None, :, [j]], prior=_Table(log_prior[::-1].copy()),
                  offset=n - 1, backend="reference")
        for j in range(n)
    ]  # fmt: skip
    return np.array([float(x) for x in mix])


ROADS = {
    "Bayes' rule": lambda s, prior: inference.posterior(s, prior),
    "transport with a KL penalty": lambda s, prior: sinkhorn(s, 1.0, prior, "kl"),
    "additive bias": lambda s, prior: by_bias(s, np.log(prior)),
}


def check_road(name: str) -> Callable:
    def check(posterior: Callable) -> Evidence:
        """posterior(s, prior) at 50 digits against what the named derivation computes."""
        worst = 0.0
        for s, _, prior in problems():
            with mpmath.workdps(50):
                stated = posterior([mpmath.mpf(x) for x in s], [mpmath.mpf(x) for x in prior])
                total = mpmath.fsum(stated)
                exact = np.array([float(x / total) for x in stated])
            worst = max(worst, float(np.abs(ROADS[name](s, prior) - exact).max()))
        return compare(worst, "<=", EXACT, detail=f"{name} against pi_j exp(s_j) at 50 digits")

    return check


def _entropic(cp, p, s, tau, prior):
    return -s @ p - tau * cp.sum(cp.entr(p))


def _penalised(cp, p, s, tau, prior):
    return -s @ p + tau * cp.sum(cp.kl_div(p, prior))


def _softmax(s, tau):
    total = mpmath.fsum(mpmath.exp(x / tau) for x in s)
    return [mpmath.exp(x / tau) / total for x in s]


def _tilted(s, prior):
    return [w * mpmath.exp(x) for x, w in zip(s, prior, strict=True)]


def _tilted_wrongly(s, prior):
    return [w * mpmath.exp(-x) for x, w in zip(s, prior, strict=True)]


CHECKS = {
    check.id: check
    for check in (
        Check(
            "GOAT-D2.1",
            (
                Part("Attention minimises <p, -s> - tau H(p) over distributions.", _entropic, check_program,
                     lambda cp, p, s, tau, prior: s @ p - tau * cp.sum(cp.entr(p))),
                Part("It is a transport of one unit of mass at the query with the cost c = -s.", lambda s: -s,
                     check_source_mass, lambda s: s),
            ),
            practice="Whatever is known about transport plans (costs, regularisers, marginals) applies to attention.",
        ),
        Check(
            "GOAT-P2.2",
            (
                Part("The minimiser is exp(s_j / tau) / sum_k exp(s_k / tau).", _softmax, check_stationary,
                     lambda s, tau: _softmax(s, 1 / tau)),
                Part("There is exactly one: the cost is strictly convex, with second derivatives tau / p_j.",
                     lambda p, tau: tau / p, check_curvature, lambda p, tau: 1 / p),
            ),
            practice="Softmax is not a choice among several: the entropy as regulariser fixes it.",
        ),
        Check(
            "GOAT-P2.2b",
            (
                Part("Of all distributions with its expected score, softmax(s / tau) has the largest entropy.",
                     lambda s, tau: transport.plan(s, tau), check_largest_entropy,
                     lambda s, tau: transport.plan(s**2, tau)),
                Part("No other attains it: it exceeds p's entropy by KL(p || softmax), which is 0 for p alone.",
                     transport.divergence, check_entropy_gap, lambda p, best: transport.divergence(best, p)),
            ),
            practice="A head's entropy is the largest that its expected score allows; the temperature sets the trade.",
        ),
        Check(
            "GOAT-EQ3",
            (
                Part("-H(p) = KL(p || U) - ln L for every p on L keys.", lambda keys: -mpmath.log(keys),
                     check_negative_entropy, lambda keys: mpmath.log(keys)),
            ),
            practice="Plain attention has a prior too, the uniform one; at query i of a causal model over i keys.",
        ),
        Check(
            "GOAT-P3.1",
            (
                Part("min -<p, s> + tau KL(p || pi) is solved by softmax(s / tau + ln pi).", _penalised,
                     check_prior_program, lambda cp, p, s, tau, prior: -s @ p + cp.sum(cp.kl_div(p, prior)) / tau),
                Part("The same by an iteration that knows no softmax.", transport.plan, check_prior_plan,
                     lambda s, tau, prior: transport.plan(s, tau, prior**tau)),
                Part("The solution is unique: any other p costs tau KL(p || solution) more.",
                     lambda p, best, tau: tau * transport.divergence(p, best), check_excess,
                     lambda p, best, tau: transport.divergence(p, best)),
                Part("The prior acts as the effective score s + tau ln pi.",
                     lambda s, tau, prior: s + tau * np.log(prior), check_effective_score,
                     lambda s, tau, prior: s + np.log(prior)),
            ),
            practice="A bias added to logits is ln pi, one added to scores is tau ln pi. A key of prior 0 is masked.",
        ),
        Check(
            "GOAT-E7",
            (
                Part("Definition 2.1: s is unscaled, and s / tau with tau = sqrt(d) is attention's logit.",
                     lambda dot, width: dot / width**0.5, check_convention, lambda dot, width: dot / width),
                Part("Equation 11: the logit is <q, k> / sqrt(d), here called s.",
                     lambda dot, width: dot / width**0.5, check_convention, lambda dot, width: dot),
                Part("So one letter is two quantities: equation 11's s in definition 2.1's s / tau, with the tau = "
                     "sqrt(d) that section 4 names, scales twice.",
                     lambda dot, width: dot / width**0.5 / width**0.5, check_scaled_twice,
                     lambda dot, width: dot / width**0.5),
            ),
            practice="Unscaled scores go with tau = sqrt(d), scaled ones with tau = 1. Scaling twice flattens a head: "
                     "at width 64 all logits shrink by 8.",
        ),
        Check(
            "X-1",
            tuple(
                Part(f"{name[0].upper()}{name[1:]} gives the posterior proportional to pi_j exp(s_j).", _tilted,
                     check_road(name), _tilted_wrongly)
                for name in ROADS
            ),
            practice="A result about one of the three holds for all: argue in the one where the argument is short.",
        ),
    )
}  # fmt: skip
