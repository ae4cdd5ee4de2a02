"""Goat, section 5 and appendix D: how far content moves the posterior from the prior, printed and sharp.

Independent evidence: cvxpy's minimiser of the transport objective, scipy's global search for the extremes, sympy.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize, special

from attention_priors.checks.evidence import Check, Evidence, Part, compare
from attention_priors.theory import bands
from attention_priors.theory.inference import posterior

DRAWS = 3000


def rows(seed: int = 0):
    """(prior, scores, omega): random rows, half of them with scores at the two ends of their range."""
    draw = np.random.default_rng(seed)
    for k in range(DRAWS):
        keys, omega = int(draw.integers(2, 12)), float(10 ** draw.uniform(-2, 1))
        pi = draw.dirichlet(np.full(keys, 10.0 ** draw.uniform(-1, 1))) + 1e-12
        scores = draw.random(keys) if k % 2 else draw.integers(0, 2, keys).astype(float)
        scores[draw.permutation(keys)[:2]] = 0.0, 1.0
        yield pi / pi.sum(), omega * scores, omega


def violation(low: float, high: float, p: float) -> float:
    """How far p is outside [low, high], relative to p."""
    return max(low / p, p / high) - 1


def check_band(ends: Callable) -> Evidence:
    """ends(pi, omega) holds for one key and for every other set of keys, on random rows."""
    worst, slack = -np.inf, 0.0
    for pi, scores, omega in rows():
        p = posterior(scores, pi)
        for inside in ([0], [len(p) - 1], range(0, len(p), 2)):
            mass, before = p[list(inside)].sum(), pi[list(inside)].sum()
            if before < 1 - 1e-9:
                low, high = ends(before, omega)
                worst = max(worst, violation(float(low), float(high), float(mass)))
                slack = max(slack, float(high))
    detail = f"{DRAWS} rows of 2..11 keys, three sets each; largest upper end {slack:.3g}"
    return compare(float(worst), "<=", 1e-9, detail=detail)


def check_limit(order: float) -> Evidence:
    """max |p - pi| <= c omega^order as omega -> 0: the ratio at omega = 1e-2 and 1e-6 stays bounded."""
    pi, scores = np.array([0.5, 0.3, 0.2]), np.array([0.0, 1.0, 0.4])
    found = [float(np.abs(posterior(omega * scores, pi) - pi).max()) / omega**order for omega in (1e-2, 1e-4, 1e-6)]
    return compare(found[-1], "<=", 2 * found[0], detail=f"max |p - pi| / omega^{order:g} at omega = 1e-2, 1e-4, 1e-6")


def check_attained(ends: Callable) -> Evidence:
    """Both ends are reached: content omega on the set (or beside it), found by search over scores in [0, omega]."""
    worst = 0.0
    for pi_set, omega in ((0.02, 1.0), (0.3, 3.0), (0.5, 2.0), (0.9, 2.0)):
        pi = np.array([pi_set, 0.6 * (1 - pi_set), 0.4 * (1 - pi_set)])
        for sign, end in zip((1, -1), ends(pi_set, omega), strict=True):
            found = optimize.minimize(
                lambda s, sign=sign, pi=pi: sign * posterior(s, pi)[0], np.full(3, omega / 2), bounds=[(0, omega)] * 3
            )
            worst = max(worst, abs(sign * found.fun - float(end)))
    return compare(worst, "<=", 1e-6, detail="scipy's bounded search over the scores, four settings")


def check_variation(most: Callable) -> Evidence:
    """TV <= most(omega), reached: scipy's maximum over pi of sigma(logit pi + omega) - pi, and random rows below it."""
    worst = 0.0
    for omega in (0.1, 1.0, 3.0, 6.0):
        found = optimize.minimize_scalar(
            lambda x, omega=omega: special.expit(x) - special.expit(x + omega), bounds=(-20, 20), method="bounded"
        )
        worst = max(worst, abs(-found.fun - most(omega)))
    for pi, scores, omega in rows(1):
        worst = max(worst, 0.5 * np.abs(posterior(scores, pi) - pi).sum() - most(omega))
    return compare(float(worst), "<=", 1e-8, detail="the maximum lies at logit pi = -omega/2")


def check_from_range(most: Callable) -> Evidence:
    """Scores of range omega: KL(p, pi) <= most(omega) on random rows, and equality to first order as omega -> 0."""
    worst = max(bands.divergence(posterior(s, pi), pi) - most(omega) for pi, s, omega in rows(2))
    half = np.array([0.5, 0.5])
    ratio = bands.divergence(posterior([1e-3, 0.0], half), half) / most(1e-3)
    measured = max(float(worst), abs(ratio - 1) - 1e-6)
    return compare(measured, "<=", 1e-9, detail=f"two keys of prior 1/2 at omega = 1e-3: KL / bound = {ratio:.6f}")


# C-4: the minimiser when content is weak


def check_minimiser(optimum: Callable) -> Evidence:
    """cvxpy's minimiser of -<p, s> + KL(p, pi) against optimum(s, pi), content of range 0.1 and 0."""
    import cvxpy

    worst = 0.0
    peaked, other = [0.7, 0.2, 0.1], [0.05, 0.9, 0.05]
    for pi, scores in ((peaked, [0.0, 0.1, 0.05]), (peaked, [0.0, 0.0, 0.0]), (other, [0.1, 0.0, 0.0])):
        p = cvxpy.Variable(3, nonneg=True)
        objective = cvxpy.Minimize(-np.array(scores) @ p + cvxpy.sum(cvxpy.rel_entr(p, np.array(pi))))
        cvxpy.Problem(objective, [cvxpy.sum(p) == 1]).solve(solver=cvxpy.CLARABEL)
        worst = max(worst, float(np.abs(p.value - optimum(np.array(scores), np.array(pi))).max()))
    return compare(worst, "<=", 1e-4, detail="cvxpy (Clarabel, whose own tolerance is 1e-8 in the objective)")


def check_threshold(threshold: Callable) -> Evidence:
    """Content of range below threshold(delta) leaves the prior's peak a sink; a little above, some content does not."""
    draw, wrong = np.random.default_rng(3), 0
    for _ in range(500):
        keys, delta = int(draw.integers(2, 9)), float(draw.uniform(0.1, 3))
        prior = np.append([delta, 0.0], -draw.exponential(size=keys - 2))
        worst = np.append(0.0, np.ones(keys - 1))
        for factor in (0.99, 1.01):
            z = prior + factor * threshold(delta) * worst
            wrong += int((z[0] > z[1:].max()) != (factor < 1))
        z = prior + 0.99 * threshold(delta) * draw.random(keys)
        wrong += int(z[0] <= z[1:].max())
    return compare(wrong, "==", 0, 0.0, detail="500 rows; content that favours the rivals, and random content")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "GOAT-T5.1",
            (
                Part("pi e^-omega <= p <= pi e^omega.", bands.printed_band, check_band,
                     lambda pi, omega: bands.printed_band(pi, omega / 2)),
                Part("p tends to pi as omega -> 0 (at the rate of omega).", 1.0, check_limit, 2.0),
            ),
            practice="The printed upper end exceeds 1 once pi > e^-omega; use the sharp band.",
        ),
        Check(
            "GOAT-T5.1t",
            (
                Part("|logit p(A) - logit pi(A)| <= omega for every set A of keys.", bands.band, check_band,
                     lambda pi, omega: bands.band(pi, 0.9 * omega)),
                Part("Both ends are reached.", bands.band, check_attained, bands.printed_band),
                Part("TV(p, pi) <= tanh(omega/4), reached.", bands.most_variation, check_variation,
                     lambda omega: math.tanh(omega / 2)),
                Part("KL(p, pi) <= omega^2/8, omega the range of the scores; reached as omega -> 0.",
                     bands.most_divergence, check_from_range, lambda omega: omega**2 / 16),
            ),
            practice="A head's measured score range and its prior bound every attention weight. The KL bound needs the "
                     "scores' range; a band known of the masses alone does not give it.",
        ),
        Check(
            "GOAT-C-4",
            (
                Part("The minimiser of the transport objective is pi e^s / Z, the prior itself where content is flat.",
                     posterior, check_minimiser, lambda s, pi: posterior(-s, pi**0.5)),
                Part("Where the prior has a peak of margin delta, content of range omega < delta leaves it a sink.",
                     lambda delta: delta, check_threshold, lambda delta: 2 * delta),
            ),
            practice="The optimum returns the prior that was put in. It does not say where the peak comes from, and so "
                     "does not explain the sinks of models whose prior is uniform.",
        ),
    )
}  # fmt: skip
