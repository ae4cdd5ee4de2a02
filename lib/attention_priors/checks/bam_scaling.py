"""BAM, section 2.5: scalable softmax, on content alone and on the prior too.

Independent evidence: mpmath at 50 digits with n^(s z) written as a power, and contexts of 10^60 keys, where limits
show.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import pairwise, product

import mpmath
import numpy as np
import torch

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions import mass
from attention_priors.positions.scaling import ScalableSoftmax
from attention_priors.theory import generalised_gaussian as theory
from attention_priors.theory.inference import scalable, softmax

CONTEXTS = (512, 32_768, 524_288)


# D6: the definition


def powers(scores, s: float) -> list:
    """n^(s z_i) / sum_j n^(s z_j), as powers and at 50 digits."""
    with mpmath.workdps(50):
        n = mpmath.mpf(len(scores))
        terms = [n ** (mpmath.mpf(float(s)) * mpmath.mpf(float(z))) for z in scores]
        return [term / mpmath.fsum(terms) for term in terms]


def check_powers(form: Callable) -> Evidence:
    draw, worst = np.random.default_rng(0), 0.0
    for n, s in product((1, 2, 7, 60), (-0.5, 0.0, 0.43, 1.0, 2.0)):
        z = 4 * draw.standard_normal(n)
        pairs = zip(form(z, s), powers(z, s), strict=True)
        worst = max(worst, *(abs(float(mpmath.mpf(float(a)) - b)) for a, b in pairs))
    return compare(worst, "<=", 1e-12, detail="largest difference from n^(s z) / sum n^(s z), n = 1 to 60")


def check_row_factor(factor: Callable) -> Evidence:
    """factor(s, i) against what the library multiplies row i of a causal context with; row 1 has logits 0."""
    module = ScalableSoftmax(3).double()
    with torch.no_grad():
        module.scale.copy_(torch.tensor([0.4, 1.0, 2.5]))
        found = module(torch.arange(1, 101)).numpy()
    claimed = np.array([[factor(s, i) for i in range(1, 101)] for s in module.scale.tolist()])
    worst = max(float(np.abs(found - claimed).max()), float(np.abs(claimed[:, 0]).max()))
    return compare(worst, "<=", 1e-12, detail="rows 1..100, three heads; the first row's factor is 0")


# C4: fading


def check_fades(weight: Callable) -> Evidence:
    """weight(n, gap) of one leading key must tend to 0, and be what softmax gives."""
    worst = 0.0
    for n, gap in product((2, 50), (0.5, 3.0)):
        worst = max(worst, abs(weight(n, gap) - softmax(np.r_[gap, np.zeros(n - 1)])[0]))
    worst = max(worst, *(weight(1e12, gap) for gap in (0.5, 3.0, 10.0)))
    return compare(float(worst), "<=", 1e-6, detail="largest weight among 10^12 keys, gaps .5, 3, 10")


def kept_sharp(weight: Callable, scale: float, gap: float, short: int, long: int) -> tuple[float, float]:
    """(weight of the leading key among `short` keys, which should be kept; its weight among `long` keys)."""
    before, after = weight(short, scale, gap), weight(long, scale, gap)
    return max(before, after), after


def check_kept(weight: Callable) -> Evidence:
    grid = [
        {"scale": s, "gap": g, "short": 4, "long": n}
        for n, s, g in product((16, 10_000), (1.0, 0.5, 2.0), (0.5, 0.25, 2.0))
    ]
    found = smallest_counterexample(kept_sharp, weight, grid)
    detail = "weight of one key that leads n - 1 equal others by a gap g, from 4 keys to 16 and 10^4"
    measured = found["actual"] if found else 1.0
    return compare(measured, ">=", found["claimed"] if found else 0.0, counterexample=found, detail=detail)


def check_limit(limit: Callable) -> Evidence:
    """limit(s g) against n^(s g) / (n^(s g) + n - 1) at n = 10^60, at 200 digits."""
    worst = 0.0
    for product_sg in (0.25, 0.5, 0.9, 1.0, 1.1, 2.0, 3.0):
        with mpmath.workdps(200):
            n = mpmath.mpf(10) ** 60
            lead = n ** mpmath.mpf(product_sg)
            worst = max(worst, abs(float(lead / (lead + n - 1)) - limit(product_sg)))
    return compare(worst, "<=", 1e-5, detail="s g = .25 to 3")


# E13: the prior under the scale


def check_scaled_prior(prior: Callable) -> Evidence:
    """prior(d, n, s, c, beta) up to a factor, against softmax of s ln n times the library's log-prior."""
    worst = 0.0
    for n, s, c, beta in product((2, 64, 4096), (0.4, 1.0), (0.2, 1.0), (0.5, 1.0, -0.5)):
        lags = np.arange(1.0, n)
        found = softmax(s * np.log(n) * theory.coded(np.log(c), beta, epsilon=1e-300)(lags))
        claimed = np.array([prior(d, n, s, c, beta) for d in lags])
        worst = max(worst, float(np.abs(found - claimed / claimed.sum()).max()))
    return compare(worst, "<=", 1e-12, detail="36 settings, lags 1..n-1")


def check_more_local(relation: Callable) -> Evidence:
    """relation(mean lag at a longer context, at a shorter one) for a head with beta > 0, the prior being scaled."""
    lags = [_mean(np.log(n), 0.5, n) for n in CONTEXTS]
    plain = [_mean(1.0, 0.5, n) for n in CONTEXTS]
    detail = "mean lag at n = 512, 32768, 524288, beta = .5: scaled " + ", ".join(f"{x:.3g}" for x in lags)
    detail += "; content only " + ", ".join(f"{x:.3g}" for x in plain)
    holds = all(relation(after, before) for before, after in pairwise(lags))
    return compare(holds, "==", True, detail=detail)


def check_radius(radius: Callable) -> Evidence:
    """Lags below radius(s, c, n, beta, x) weigh less than x times a far key, the prior being scaled; none beyond."""
    wrong = 0
    for n, beta, x in product(CONTEXTS, (-0.5, -1.0), (0.5, 1e-3)):
        lags = np.arange(1.0, 512.0)
        below = 0.7 * np.log(n) * theory.coded(np.log(2.0), beta, epsilon=1e-300)(lags) < np.log(x)
        wrong += int(np.sum(below != (lags < radius(0.7, 2.0, n, beta, x))))
    ours = {name: _near(scale, -0.5, 32_768) for name, scale in (("content only", 1.0), ("scaled", np.log(32_768)))}
    detail = "lags judged wrongly; n p(1) at beta = -.5, n = 32768: "
    detail += ", ".join(f"{name} {value:.2g}" for name, value in ours.items())
    return compare(wrong, "==", 0, 0.0, detail=detail)


def check_coincide(theta_beta: float) -> Evidence:
    """Largest difference between scaling content alone and content plus prior, at this theta_beta."""
    draw, n = np.random.default_rng(0), 300
    content, b = draw.standard_normal(n), theory.coded(0.3, theta_beta)(np.arange(float(n)))
    gap = np.abs(softmax(np.log(n) * content + b) - softmax(np.log(n) * (content + b))).max()
    return compare(float(gap), "<=", 1e-12)


def _mean(scale, beta, n):
    table = torch.as_tensor(scale * theory.coded(0.0, beta)(np.arange(float(n))))[None]
    return mass.mean_lag(table).item()


def _near(scale, beta, n):
    return n * softmax(scale * theory.coded(0.0, beta)(np.arange(float(n))))[1]


def _radius(s, c, n, beta, x):
    return (s * c * np.log(n) / np.log(1 / x)) ** (1 / abs(beta))


CHECKS = {
    check.id: check
    for check in (
        Check(
            "BAM-D6",
            (
                Part("n^(s z) / sum n^(s z) = softmax((s ln n) z).", scalable, check_powers,
                     lambda z, s: softmax(s * np.log2(len(z)) * np.asarray(z))),
                Part("Row i of a causal context has n = i, and each head its s.", lambda s, i: s * np.log(i),
                     check_row_factor, lambda s, i: s * np.log(i + 1)),
            ),
            practice="Silent about what z is: content alone, or content plus prior (BAM-E13). Both are encodings here.",
        ),
        Check(
            "BAM-C4",
            (
                Part("Softmax: the largest of n weights tends to 0 when its lead is bounded.",
                     theory.peak_weight, check_fades, lambda n, g: theory.peak_weight(n, g, 1.0)),
                Part("SSMax keeps it, whatever n.", lambda n, s, g: theory.peak_weight(n, g, s), check_kept,
                     lambda n, s, g: theory.peak_weight(n, g), kept_sharp,
                     repaired=lambda n, s, g: theory.peak_weight(n, max(g, 2.0 / s), s)),
            ),
            Part("With scale s and lead g the weight n^(sg) / (n^(sg) + n - 1) tends to 1, 1/2 or 0 as s g is above, "
                 "at or below 1: SSMax turns fading into a threshold on the lead.",
                 lambda sg: 1.0 if sg > 1 else 0.5 if sg == 1 else 0.0, check_limit,
                 lambda sg: 1.0 if sg > 2 else 0.5 if sg == 2 else 0.0),
            practice="At the start s = 1 a retrieved key needs a lead above 1 in the logit; the rest still fades.",
        ),
        Check(
            "BAM-E13",
            (
                Part("The prior becomes proportional to n^(-s c d^beta), c = e^theta_alpha.",
                     lambda d, n, s, c, b: float(n) ** (-s * c * d**b), check_scaled_prior,
                     lambda d, n, s, c, b: float(n) ** (-s * c * d ** (2 * b))),
                Part("Heads with beta > 0 become more local as n grows.", operator.lt, check_more_local, operator.gt),
                Part("With beta < 0 the suppressed radius grows like (s c ln n)^(1/|beta|).", _radius, check_radius,
                     lambda s, c, n, b, x: (s * c * np.log(n) / np.log(1 / x)) ** abs(b)),
                Part("At theta_beta = 0 both readings of SSMax coincide.", 0.0, check_coincide, -0.2),
            ),
            practice="A comparison that scales BAM's prior but not ALiBi's compares two things at once.",
        ),
    )
}  # fmt: skip
