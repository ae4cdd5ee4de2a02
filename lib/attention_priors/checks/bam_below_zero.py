"""BAM, section 2.4, Theorem 3, Figure 1 and the scale's domain: what the bias is at and below its limits.

Independent evidence: scipy's quadrature of the continuous profile, Python's own arithmetic, the library's coded prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from scipy import integrate

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions import mass
from attention_priors.positions.priors import Uniform
from attention_priors.theory import generalised_gaussian as theory

# T3: the vicinity of the query


@dataclass(frozen=True)
class NoWeight:
    """For every alpha and beta < 0, prior_of(alpha, beta) gives no weight at `lags`, for each of `queries`."""

    prior_of: Callable
    queries: tuple[int, ...]
    lags: tuple[int, ...] = (0,)


def weight_at(statement: NoWeight, alpha: float, beta: float, i: int, lag: int) -> tuple[float, float | str]:
    """(0, weight of query i at a lag under equal content); "0/0" where no key has a weight above zero."""
    logits = statement.prior_of(alpha, beta)(np.arange(float(i)))
    return 0.0, "0/0" if logits.max() == -np.inf else theory.softmax(logits)[lag].item()


def check_no_weight(statement: NoWeight) -> Evidence:
    settings = product(statement.queries, statement.lags, (1.0, 0.5, 10.0), (-1.0, -0.05, -2.0))
    grid = ({"alpha": a, "beta": b, "i": i, "lag": d} for i, d, a, b in settings if d < i)
    found = smallest_counterexample(weight_at, statement, grid, tolerance=1e-6)
    detail = f"queries {statement.queries}, lags {statement.lags}, nine priors"
    return compare(found["actual"] if found else 0.0, "==", 0.0, 1e-6, counterexample=found, detail=detail)


def check_suppression(law: tuple[Callable, Callable]) -> Evidence:
    """(threshold(x, theta_alpha, epsilon), radius(x, alpha, beta)) against the library's coded prior.

    Just beyond the threshold the query's own key weighs less than x times a key at lag 10^300 (bias 0), just before it
    more; lags within the radius weigh less than x times as much, lags beyond it do not.
    """
    (threshold, radius), wrong = law, 0
    for x, ta, epsilon in product((1e-3, 1e-6), (0.0, 1.0, -2.0), (1e-5, 1e-3)):
        size = threshold(x, ta, epsilon)
        for factor, expected in ((1.001, True), (0.999, False)):
            own = theory.coded(ta, -size * factor, epsilon=epsilon)(np.zeros(1))[0]
            wrong += bool(own <= np.log(x)) != expected
    for x, alpha, beta in product((0.5, 1e-3), (3.0, 50.0), (-0.5, -1.0, -2.0)):
        lags = np.arange(1.0, 400.0)
        wrong += int(np.sum((theory.printed(alpha, beta)(lags) < np.log(x)) != (lags < radius(x, alpha, beta))))
    detail = "disagreements; with epsilon = 1e-5 and theta_alpha = 0: " + ", ".join(
        f"x = {x:g} needs |theta_beta| >= {theory.suppression_threshold(x, 0.0):.3f}" for x in (1e-3, 1e-6)
    )
    return compare(wrong, "==", 0, 0.0, detail=detail)


# E3: the far end of the context


def check_scenario(theta: tuple[float, float]) -> Evidence:
    """At these parameters the nearest tenth of 512 keys holds under 1 %, the farthest tenth over half."""
    near, far = theory.shares(theory.coded(*theta), 512)
    return compare(min(0.01 - near, far - 0.5), ">", 0.0, detail=f"nearest tenth {near:.2g}, farthest tenth {far:.3f}")


def far_share(expected: Callable, theta_alpha: float, theta_beta: float, n: int) -> tuple[float, float]:
    """(share of the farthest tenth that the statement expects at least, its share)."""
    share = theory.shares(theory.coded(theta_alpha, theta_beta), n)[1]
    return max(share, expected(theta_alpha, theta_beta)), share


def check_every_negative(expected: Callable) -> Evidence:
    grid = [
        {"theta_alpha": a, "theta_beta": b, "n": n}
        for n, a, b in product((10, 512), (0.0, -2.0, 2.0), (-1.0, -0.05, -0.2, -0.5, -2.0))
    ]
    found = smallest_counterexample(far_share, expected, grid)
    at = [theory.shares(theory.coded(c["theta_alpha"], c["theta_beta"]), 512)[1] for c in grid]
    detail = f"farthest tenth of 512 keys holds {min(at):.3f} to {max(at):.3f}, theta_alpha -2..2, theta_beta -.05..-2"
    measured = found["actual"] if found else min(at)
    return compare(measured, ">=", found["claimed"] if found else 0.0, counterexample=found, detail=detail)


def check_profile(log_weight: Callable) -> Evidence:
    """Mass of the last tenth of exp(log_weight(u, alpha / n, beta)), u = d/n in (0, 1], against sums at n = 20,000.

    The discrete prior with scale alpha in a context of n keys is this one profile, a function of alpha / n alone.
    """
    worst, n, shares = 0.0, 20_000, {}
    for ratio, beta in product((1e-3, 0.1, 1.0, 10.0), (-0.5, -1.0, -2.0)):

        def weight(u: float, ratio: float = ratio, beta: float = beta) -> float:
            return float(np.exp(log_weight(u, ratio, beta) - log_weight(1.0, ratio, beta)))  # the far end weighs 1

        older, rest = (integrate.quad(weight, low, high, limit=200)[0] for low, high in ((0.9, 1.0), (1e-9, 0.9)))
        shares[ratio, beta] = theory.shares(theory.printed(ratio * n, beta), n)[1]
        worst = max(worst, abs(older / (older + rest) - shares[ratio, beta]))
    detail = "farthest tenth at alpha/n = .001, 1, 10 (beta = -1): " + ", ".join(
        f"{shares[r, -1.0]:.3f}" for r in (1e-3, 1.0, 10.0)
    )
    return compare(worst, "<=", 2e-3, detail=detail)


# E2: the scale zero


def bias_value(admits: Callable, alpha: float, beta: float, lag: float) -> tuple[str, str]:
    """(what the condition promises, what the printed formula gives), in Python's own arithmetic."""
    try:
        value = -(abs(lag / alpha) ** beta)
    except ZeroDivisionError:
        value = None
    actual = "division by zero" if value is None else "a number"
    return ("a number" if admits(alpha) else actual), actual


def check_domain(admits: Callable) -> Evidence:
    grid = ({"alpha": a, "beta": b, "lag": 1} for a, b in product((0, 1, 2.5, 1e-3, 1e3), (1, 0.5, -1)))
    found = smallest_counterexample(bias_value, admits, grid)
    refused = [a for a in (1e-300, 1e-3, 1.0, 1e3) if not admits(a)]
    measured = found["actual"] if found else f"refuses alpha = {refused[0]:g}" if refused else "a number"
    return compare(measured, "==", "a number", counterexample=found, detail="-|d/alpha|^beta")


# F1: the picture


def check_flat(weight: Callable) -> Evidence:
    log_prior = Uniform(1).log_prior(torch.arange(40))
    prior = mass.normalised(log_prior)[0].flip(0).numpy()
    drawn = np.array([weight(j, 40) for j in range(1, 61)])
    return compare(float(np.abs(drawn - np.r_[prior, np.zeros(20)]).max()), "<=", 1e-12, detail="query 40 of 60")


def check_decay(ratio: Callable) -> Evidence:
    """p(d + 1) / p(d) of the Laplace curve."""
    p = theory.row(theory.laplace(0.2), 40)
    return compare(float(np.abs(p[1:] / p[:-1] - ratio(0.2)).max()), "<=", 1e-12)


def check_heavier(shape_and_scale: Callable) -> Evidence:
    """Tail mass beyond every lag against Laplace of slope m, at beta and alpha = shape_and_scale(m)."""
    worst = np.inf
    for m in (0.05, 0.2, 1.0):
        beta, alpha = shape_and_scale(m)
        gaussian, straight = (np.cumsum(theory.row(b, 60)) for b in (theory.printed(alpha, beta), theory.laplace(m)))
        worst = min(worst, float((straight - gaussian)[:-1].min()))
    return compare(worst, ">", 0.0, detail="smallest P(d > D) minus Laplace's, m in {.05, .2, 1}, D = 0..58")


def far_tenth(expected: Callable, alpha: float, beta: float, n: int) -> tuple[float, float]:
    """(share that the statement expects of the oldest tenth, its share)."""
    share = theory.shares(theory.printed(alpha, beta), n)[1]
    return max(share, expected(alpha, beta, n)), share


def check_black_curve(expected: Callable) -> Evidence:
    """The beta < 0 curve holds at least expected(alpha, beta, n) on the oldest tenth of the context."""
    grid = ({"alpha": a, "beta": b, "n": n} for n, a, b in product((10, 60, 512), (1, 10, 5120), (-1, -0.5, -2)))
    grid = list(grid)
    found = smallest_counterexample(far_tenth, expected, grid)
    least = min(far_tenth(expected, **inputs)[1] for inputs in grid)
    detail = f"oldest tenth holds from {least:.3f} up, over alpha in (1, 10, 5120), beta in (-.5, -1, -2), n = 10..512"
    if found:
        return compare(found["actual"], ">=", found["claimed"], counterexample=found, detail=detail)
    return compare(least, ">=", 0.0, detail=detail)


def check_rise(curve: Callable) -> Evidence:
    """p(d + 1) / p(d) against curve(d, alpha, beta): above 1, and 1 in the limit."""
    worst = 0.0
    for alpha, beta in product((1.0, 10.0, 5120.0), (-0.5, -1.0, -2.0)):
        with np.errstate(invalid="ignore"):
            steps = np.diff(theory.printed(alpha, beta)(np.arange(1.0, 600.0)))
        expected = np.array([curve(d, alpha, beta) for d in np.arange(1.0, 599.0)])
        worst = max(worst, float(np.max(np.abs(steps - expected) / np.maximum(1.0, np.abs(steps)))))
        worst = max(worst, float(-steps.min()), abs(curve(1e12, alpha, beta)) - 1e-3)
    return compare(worst, "<=", 1e-9, detail="ln p(d+1)/p(d) > 0 at every lag, below 1e-3 at d = 1e12")


def _mirrored(alpha, beta):
    return theory.printed(alpha, -beta)


def _coded(alpha, beta):
    return theory.coded(-beta * np.log(alpha), beta)


def _profile(u, ratio, beta):
    return -((ratio / u) ** abs(beta))


def _rise(d, alpha, beta):
    size = abs(beta)
    return (alpha / d) ** size - (alpha / (d + 1)) ** size


def _positive(alpha):
    return alpha > 0


def _nonnegative(alpha):
    return alpha >= 0


CHECKS = {
    check.id: check
    for check in (
        Check(
            "BAM-T3",
            (
                Part("Without epsilon the query's own key has weight 0, from the second query on.",
                     NoWeight(theory.printed, (2, 3, 100)), check_no_weight, NoWeight(_mirrored, (2, 3, 100))),
                Part("For every query, the first included.", NoWeight(theory.printed, (1, 2, 100)), check_no_weight,
                     NoWeight(_mirrored, (1, 2, 100)), weight_at, repaired=NoWeight(theory.printed, (2, 100))),
                Part("Local context is ignored, not only the key itself.", NoWeight(theory.printed, (3, 100), (1,)),
                     check_no_weight, NoWeight(_mirrored, (3, 100), (1,)), weight_at,
                     repaired=NoWeight(theory.printed, (3, 100), (0,))),
                Part("As coded, with epsilon = 1e-5.", NoWeight(_coded, (2, 100)), check_no_weight,
                     NoWeight(_mirrored, (2, 100)), weight_at, repaired=NoWeight(theory.printed, (2, 100))),
            ),
            Part("Without epsilon only the key at lag 0 (in general at -mu) loses all weight, where another key is "
                 "visible; lags below alpha / ln(1/x)^(1/|beta|) weigh less than x times a far key. As coded, the own "
                 "key keeps exp(-e^theta_alpha epsilon^theta_beta) of a far key's weight: at most x exactly from "
                 "|theta_beta| = ln(ln(1/x) e^-theta_alpha) / ln(1/epsilon) on.",
                 (theory.suppression_threshold, theory.suppression_radius), check_suppression,
                 (lambda x, ta, e: theory.suppression_threshold(x, -ta, e), theory.suppression_radius)),
            practice="A head at theta_beta = -.05 still sees itself: judge suppression by theta_alpha and epsilon too.",
        ),
        Check(
            "BAM-E3",
            (
                Part("There are parameters for which it holds on 512 keys: theta_alpha = 10, theta_beta = -1.",
                     (10.0, -1.0), check_scenario, (0.0, -1.0)),
                Part("It holds for beta < 0: at least half of the mass lies on the farthest tenth.", lambda ta, tb: 0.5,
                     check_every_negative, lambda ta, tb: 0.9, far_share, repaired=lambda ta, tb: 0.09),
            ),
            Part("The prior is one profile exp(-(alpha/n)^|beta| (d/n)^-|beta|) of d/n: uniform apart from the "
                 "vicinity while alpha << n, and concentrated on the far end only while alpha >> n.",
                 _profile, check_profile, lambda u, ratio, beta: -((ratio / u) ** (2 * abs(beta)))),
            practice="As the context grows past alpha = exp(-theta_alpha/theta_beta) such a head tends to NoPE without "
                     "its vicinity; it does not point to the oldest keys.",
        ),
        Check(
            "BAM-E2",
            (
                Part("Main text: alpha >= 0.", _nonnegative, check_domain, lambda alpha: alpha >= -1, bias_value),
                Part("Appendix B: alpha > 0.", _positive, check_domain, _nonnegative, bias_value),
            ),
            Part("The condition is alpha > 0, as in the appendix. (In the form |alpha/d|^|beta| of the proofs for "
                 "beta < 0, alpha = 0 gives bias 0 for d > 0: NoPE, which suppresses nothing.)",
                 _positive, check_domain, lambda alpha: alpha > 1e-2, bias_value),
            practice="theta_alpha / theta_beta = +infinity would be needed to reach the excluded value.",
        ),
        Check(
            "BAM-F1",
            (
                Part("Uniform: 1/i up to the query, nothing beyond.", lambda j, i: 1 / i if j <= i else 0.0,
                     check_flat, lambda j, i: 1 / 60),
                Part("Laplace: highest at the query, each older key lower by e^-m.", lambda m: np.exp(-m), check_decay,
                     lambda m: np.exp(-2 * m)),
                Part("Fractional beta: more mass beyond every lag than Laplace (beta = 1/2, alpha = m^-2).",
                     lambda m: (0.5, m**-2.0), check_heavier, lambda m: (0.5, 0.01 * m**-2.0)),
                Part("beta < 0: sharply concentrated at the far end (half of the mass on the oldest tenth).",
                     lambda alpha, beta, n: 0.5, check_black_curve, lambda alpha, beta, n: 0.9, far_tenth,
                     repaired=lambda alpha, beta, n: 0.1),
            ),
            Part("beta < 0: rising towards the past, ln p(d+1)/p(d) = (alpha/d)^|beta| - (alpha/(d+1))^|beta| > 0, and "
                 "flattening to uniform; the far end looks like a peak only in contexts much shorter than alpha.",
                 _rise, check_rise, lambda d, alpha, beta: -_rise(d, alpha, beta)),
            practice="A head with beta < 0 discards the vicinity; it does not select the oldest key unless alpha >> n.",
        ),
    )
}  # fmt: skip
