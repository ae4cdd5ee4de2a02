"""Across the documents: which priors are local, how far content can move them, what retrieval takes.

Independent evidence: sympy's integrals and limits, mpmath's zeta and gamma, scipy's root finding, all vertices of a
cube of contents.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions.mass import tilted_tail
from attention_priors.theory.bands import band
from attention_priors.theory.inference import posterior, scalable, softmax

CONTEXT = 10**6


# the limit of the tail mass


def converges(weight) -> bool:
    """The integral of `weight(sympy, x)` over x >= 1 is finite, by sympy."""
    import sympy

    x, end = sympy.symbols("x end", positive=True)
    density = weight(sympy, x)
    if sympy.limit(density, x, sympy.oo) != 0:
        return False
    return bool(sympy.limit(sympy.integrate(density, (x, 1, end)), end, sympy.oo).is_finite)


def check_shapes(local) -> Evidence:
    """`local(beta)`: exp(-(x / 2)^beta) has a finite normaliser; beta = 1 is ALiBi, 0 the uniform prior."""
    wrong = []
    for over, under in ((-2, 1), (-1, 2), (0, 1), (1, 3), (1, 2), (1, 1), (2, 1)):

        def weight(sympy, x, power=(over, under)):
            return sympy.exp(-((x / 2) ** sympy.Rational(*power))) if power[0] else sympy.Integer(1)

        if converges(weight) != local(over / under):
            wrong.append(over / under)
    return compare(len(wrong), "==", 0, 0, detail=f"of 7 shapes judged otherwise by the integral test: {wrong or '-'}")


def check_powers(local) -> Evidence:
    """`local(r1)`: (1 + r2 x)^(-r1) has a finite normaliser, for r2 = 1/3 and 4."""
    wrong = []
    for r1, r2 in itertools.product(((1, 2), (9, 10), (1, 1), (11, 10), (3, 1)), ((1, 3), (4, 1))):

        def weight(sympy, x, r1=r1, r2=r2):
            return (1 + sympy.Rational(*r2) * x) ** -sympy.Rational(*r1)

        if converges(weight) != local(r1[0] / r1[1]):
            wrong.append((r1, r2))
    return compare(len(wrong), "==", 0, 0, detail=f"of 10 laws judged otherwise by the integral test: {wrong or '-'}")


def check_bounded(bound) -> Evidence:
    """`bound(range, D, L)`: the most that the D + 1 nearest keys hold under a log-prior of that range.

    200 random sums of cosines (Goat's bounded priors), and the step that has its high side there; the bound vanishes.
    """
    draw, excess = np.random.default_rng(0), -np.inf
    for _ in range(200):
        length, window = int(draw.integers(50, 5000)), int(draw.integers(0, 40))
        lags = np.arange(length)
        a, omega, phase = draw.normal(size=(3, 4)) * np.array([[1.0], [2.0], [3.0]])
        bias = (a[:, None] * np.cos(omega[:, None] * lags + phase[:, None])).sum(0)
        step = np.where(lags <= window, np.ptp(bias), 0.0)
        within = max(softmax(table)[: window + 1].sum() for table in (bias, step))
        excess = max(excess, float(within - bound(float(np.ptp(bias)), window, length)))
    far = bound(5.0, 64, 1e12)
    return compare(max(excess, far - 1e-6), "<=", 1e-12, detail="mass of the window above the bound, 200 priors")


# content against any set of keys


def logit(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def extreme_shift(prior, members, content_range: float) -> float:
    """max |logit P(S) - logit pi(S)| over contents in [0, range]^n; the odds are monotone in each, so at a vertex."""
    prior_mass = prior[members].sum()
    found = 0.0
    for corner in itertools.product((0.0, content_range), repeat=len(prior)):
        found = max(found, abs(logit(float(posterior(corner, prior)[members].sum())) - logit(float(prior_mass))))
    return found


def check_shift(most) -> Evidence:
    """`most(omega)` bounds the shift of every set, for random priors, sets and the worst content."""
    draw, excess = np.random.default_rng(1), -np.inf
    for omega in (0.1, 1.0, 4.0):
        for _ in range(12):
            prior = draw.dirichlet(np.full(6, 0.5)) * 0.94 + 0.01
            members = draw.permutation(6)[: draw.integers(1, 6)]
            excess = max(excess, extreme_shift(prior, members, omega) - most(omega))
    return compare(excess, "<=", 1e-9, detail="shift of the log-odds above the bound, all 64 vertices, 36 sets")


PRIORS = {
    "ALiBi": lambda d: -d / 16,
    "KERPLE-log": lambda d: -1.5 * np.log1p(d),
    "GGD": lambda d: -np.sqrt(d),
    "GGD below 0": lambda d: -((1 / np.maximum(d, 1e-3)) ** 0.5),
    "uniform": lambda d: 0 * d,
}


def check_tails_with_content(limits) -> Evidence:
    """`limits(T, omega)` = (low, high) holds the tail mass under random and worst contents of range omega."""
    draw, excess = np.random.default_rng(2), -np.inf
    lags = np.arange(512.0)
    for log_prior, window, omega in itertools.product(PRIORS.values(), (3, 64, 300), (0.5, 3.0)):
        table = log_prior(lags)
        low, high = limits(float(softmax(table)[window + 1 :].sum()), omega)
        far = lags > window
        for content in (omega * far, omega * ~far, *draw.uniform(0, omega, (20, 512))):
            mass = float(softmax(table + content)[window + 1 :].sum())
            excess = max(excess, float(mass - high), float(low - mass))
    return compare(excess, "<=", 1e-9, detail="tail mass outside the band, 5 priors, 3 windows, 22 contents")


# the margin that retrieval needs


def check_threshold(margin) -> Evidence:
    """`margin(pi_d)` against the lead at which scipy finds weight 1/2, over uniform competitors."""
    from scipy.optimize import brentq

    worst, draw = 0.0, np.random.default_rng(3)
    for _ in range(40):
        prior = draw.dirichlet(np.full(20, 0.3)) * 0.98 + 1e-3
        lag = int(draw.integers(20))
        one = np.eye(20)[lag]
        found = brentq(lambda lead, p=prior, e=one, d=lag: posterior(lead * e, p)[d] - 0.5, -50, 50, xtol=1e-13)
        worst = max(worst, abs(found - margin(float(prior[lag]))))
    return compare(worst, "<=", 1e-9, detail="against the root of weight = 1/2, 40 random priors")


def check_alibi(margin) -> Evidence:
    """`margin(m, d)` within 1 % of the exact one where m d >= 6, over 10^6 keys."""
    worst = 0.0
    for m in (0.5, 0.0625, 2**-8):
        for d in (6 / m, 50 / m, 1000 / m):
            d = round(d)
            total = -math.expm1(-m * CONTEXT) / -math.expm1(-m)  # sum of exp(-m d) over the context
            exact = m * d + math.log(total - math.exp(-m * d))
            worst = max(worst, abs(margin(m, d) / exact - 1))
    return compare(worst, "<=", 0.01, detail="relative error where m d >= 6")


def margin_of_gaussian(margin, beta, alpha, d, keys):
    """(claimed, actual) margin for the key at lag d of `keys` under exp(-(lag / alpha)^beta)."""
    fall = (np.arange(keys, dtype=np.float64) / alpha) ** beta
    others = np.exp(-fall).sum() - math.exp(-fall[d])
    return float(margin(d, keys, alpha, beta)), float(fall[d] + math.log(others))


def check_gaussian(margin) -> Evidence:
    """`margin(d, L, alpha, beta)` as KERPLE's below: within 10 % at lags 10^3 and 10^6 - 1 of 10^6 keys."""
    worst = 0.0
    for beta, alpha, d in itertools.product((0.1, 0.5, 1.0, 2.0), (1.0, 50.0), (1000, CONTEXT - 1)):
        claimed, actual = margin_of_gaussian(margin, beta, alpha, d, CONTEXT)
        worst = max(worst, abs(claimed / actual - 1))
    grid = [{"beta": 1.0, "alpha": 50.0, "d": 1000, "keys": CONTEXT}]
    found = smallest_counterexample(margin_of_gaussian, margin, grid, tolerance=2.0)
    return compare(worst, "<=", 0.1, counterexample=found, detail="relative error, beta .1 to 2, alpha 1 and 50")


def margin_of_power(margin, r1, d, keys):
    """(claimed, actual) margin for the key at lag d of `keys` under (1 + lag)^(-r1)."""
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -r1
    return float(margin(d, keys, r1)), float(math.log((weights.sum() - weights[d]) / weights[d]))


def check_power_margin(margin) -> Evidence:
    """`margin(d, L, r1)` to leading order: within 10 % at lags 10^3 and 10^6 - 1 of 10^6 keys, r2 = 1."""
    worst = 0.0
    for r1, d in itertools.product((0.5, 1.5, 3.0), (1000, CONTEXT - 1)):
        claimed, actual = margin_of_power(margin, r1, d, CONTEXT)
        worst = max(worst, abs(claimed / actual - 1))
    grid = ({"r1": 0.5, "d": keys - 1, "keys": keys} for keys in (4, 100, CONTEXT))
    found = smallest_counterexample(margin_of_power, margin, grid, tolerance=0.1 * math.log(100))
    return compare(worst, "<=", 0.1, counterexample=found, detail="relative error, r1 = .5, 1.5, 3")


def check_normalised(margins) -> Evidence:
    """(of the power law, of the generalised Gaussian): sums in mpmath's zeta and harmonic numbers; sums over 10^6 lags.

    The power law (d, L, r1) on both sides of 1 and at 1; the Gaussian (d, L, alpha, beta) for beta .1 to 2.
    """
    import mpmath

    power, gaussian = margins
    worst = 0.0
    for r1, keys in itertools.product((0.5, 1.0, 1.5, 3.0), (100, 10**4, 10**8)):
        total = mpmath.harmonic(keys) if r1 == 1 else mpmath.zeta(r1) - mpmath.zeta(r1, keys + 1)
        for d in (1, keys // 2, keys - 1):
            own = mpmath.mpf(1 + d) ** -mpmath.mpf(r1)
            worst = max(worst, abs(float(mpmath.log((total - own) / own)) - power(d, keys, r1)))
    for beta, alpha, d in itertools.product((0.1, 0.5, 1.0, 2.0), (1.0, 50.0), (1000, CONTEXT - 1)):
        claimed, actual = margin_of_gaussian(gaussian, beta, alpha, d, CONTEXT)
        worst = max(worst, abs(claimed - actual))
    return compare(worst, "<=", 1.0, detail="nats, up to 10^8 keys under power laws, 10^6 under generalised Gaussians")


def check_flat(margin) -> Evidence:
    """`margin(L)` with L others within 10 %: the uniform prior, and beta = -1/2, -2 at lags beyond the scale 1."""
    worst = 0.0
    lags = np.arange(CONTEXT + 1, dtype=np.float64)
    for beta in (0.0, -0.5, -2.0):
        with np.errstate(divide="ignore"):
            weights = np.exp(-(lags**beta)) if beta else np.ones(CONTEXT + 1)
        for d in (10, 1000, CONTEXT):
            exact = math.log((weights.sum() - weights[d]) / weights[d])
            worst = max(worst, abs(margin(CONTEXT) / exact - 1))
    return compare(worst, "<=", 0.1, detail="relative error at 10^6 others")


def check_scalable(lead) -> Evidence:
    """`lead(s, n)`: log-odds that SSMax gives a key whose score leads by 1 among n."""
    worst = 0.0
    for s, n in itertools.product((0.3, 1.0, 2.0), (2, 100, 10**4)):
        p = scalable(np.eye(n)[0], s)
        worst = max(worst, abs(float(np.log(p[0] / p[1])) - lead(s, n)))
    return compare(worst, "<=", 1e-9, detail="against the odds of two keys, up to 10^4 keys")


def normalised_power(d, keys, r1):
    """r1 ln(1 + d) plus the log of the normaliser by integral: L^(1 - r1) for r1 < 1, bounded for r1 > 1."""
    integral = ((1 + keys) ** (1 - r1) - 1) / (1 - r1) if r1 != 1 else math.log(1 + keys)
    return r1 * math.log1p(d) + math.log(integral + 0.5)


def normalised_gaussian(d, keys, alpha, beta):
    """(d / alpha)^beta plus the log of alpha Γ(1 + 1/beta) P(1/beta, (L/alpha)^beta), P the regularised incomplete Γ.

    The half is Euler and Maclaurin's, as above. P tends to 1 in an endless context.
    """
    from scipy.special import gamma, gammainc

    integral = alpha * gamma(1 + 1 / beta) * gammainc(1 / beta, (keys / alpha) ** beta)
    return (d / alpha) ** beta + math.log(integral + 0.5)


LOCAL = Check(
    "X-10",
    (
        Part(
            "exp(-(d / alpha)^beta) is local for beta > 0, ALiBi (beta = 1) among them, and has limit tail mass 1 for "
            "beta <= 0, the uniform prior (beta = 0) among them",
            lambda beta: beta > 0,
            check_shapes,
            false=lambda beta: beta >= 0.5,
        ),
        Part(
            "KERPLE-log is local exactly for r1 > 1",
            lambda r1: r1 > 1,
            check_powers,
            false=lambda r1: r1 >= 1,
        ),
        Part(
            "a bounded log-prior has limit tail mass 1: a window of D + 1 keys holds at most what the range allows, "
            "(D + 1) e^range against L - D - 1",
            lambda spread, window, length: tilted_tail((window + 1) / length, spread),
            check_bounded,
            false=lambda spread, window, length: tilted_tail((window + 1) / length, spread / 2),
        ),
    ),
    practice="KERPLE-log with r1 <= 1 attends over any context without a negative exponent; a finite Fourier prior can "
    "never be local, whatever its coefficients",
)

BAND = Check(
    "X-13",
    (
        Part(
            "content of range omega moves the log-odds of any set of keys by at most omega",
            lambda omega: omega,
            check_shift,
            false=lambda omega: 0.9 * omega,
        ),
        Part(
            "so the tail mass under any content lies between the tail masses shifted by -omega and omega in log-odds",
            band,
            check_tails_with_content,
            false=lambda tail, omega: band(tail, omega / 2),
        ),
    ),
    practice="a head whose prior leaves mass t beyond a window needs content of range |logit t| to put half of its "
    "weight there, whatever it learned",
)

MARGIN = Check(
    "X-14",
    (
        Part(
            "half of the weight takes a lead of ln((1 - pi_d) / pi_d) over uniform competitors",
            lambda p: math.log((1 - p) / p),
            check_threshold,
            false=lambda p: -math.log(p),
        ),
        Part(
            "ALiBi: m d + ln(1 / (1 - e^-m))",
            lambda m, d: m * d - math.log(-math.expm1(-m)),
            check_alibi,
            false=lambda m, d: m * d / 2 - math.log(-math.expm1(-m)),
        ),
        Part(
            "GGD, beta > 0: (d / alpha)^beta to leading order",
            lambda d, keys, alpha, beta: (d / alpha) ** beta,
            check_gaussian,
            false=lambda d, keys, alpha, beta: d**beta / alpha,
            evaluate=margin_of_gaussian,
            repaired=normalised_gaussian,
        ),
        Part(
            "KERPLE-log: r1 ln d to leading order, for every r1",
            lambda d, keys, r1: r1 * math.log(d),
            check_power_margin,
            false=lambda d, keys, r1: r1 * math.log(d) / 2,
            evaluate=margin_of_power,
            repaired=lambda d, keys, r1: r1 * math.log(d) + max(0.0, 1 - r1) * math.log(keys),
        ),
        Part(
            "uniform prior or beta < 0: ln L to leading order",
            math.log,
            check_flat,
            false=lambda others: math.log(others) / 2,
        ),
        Part(
            "SSMax supplies s ln n per unit of lead in the raw score",
            lambda s, n: s * math.log(n),
            check_scalable,
            false=lambda s, n: s * math.log(n) / 2,
        ),
    ),
    corrected=Part(
        "-ln of the weight plus ln of the normaliser: KERPLE-log (r2 = 1) needs r1 ln(1 + d) + ln N_L, where N_L grows "
        "like L^(1 - r1) for r1 < 1 and like ln L at 1, so that at r1 = 1/2 a key at the far end costs ln L, as under "
        "the uniform prior; the GGD needs (d / alpha)^beta + ln(alpha Γ(1 + 1/beta)), times P(1/beta, (L/alpha)^beta) "
        "inside the logarithm while the context is too short for that.",
        (normalised_power, normalised_gaussian),
        check_normalised,
        false=(normalised_power, lambda d, keys, alpha, beta: (d / alpha) ** beta),
    ),
    practice="of any k keys one costs ln(k - 1) or more, whatever the prior: only a lead that grows with ln L keeps a "
    "fixed share of the context readable at every length (SSMax with s x lead >= 1 does, under a flat prior)",
)

CHECKS = {check.id: check for check in (LOCAL, BAND, MARGIN)}
