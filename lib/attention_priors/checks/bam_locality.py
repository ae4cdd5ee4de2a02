"""BAM, Lemmas 3 and 4, Theorems 2 and 4 and the trichotomy: which priors are local, told by tail mass.

A statement is a family of log-priors over the lag, a criterion, or a bound. Independent evidence: scipy's incomplete
gamma function for tails that no sum reaches, and content scores chosen to be as bad as their range allows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import torch
from scipy import special

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions import mass
from attention_priors.theory import generalised_gaussian as theory

LENGTHS = (10**3, 10**5, 10**7)
SLOPES = (0.05, 0.5, 1.0)
SHAPES = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0)


# L3, L4: the weight of the oldest key


def check_oldest(family: Callable) -> Evidence:
    """`family()` gives log-priors; the oldest key's weight must fall to nothing under equal content."""
    worst = 0.0
    for log_prior in family():
        weights = theory.far_density(log_prior, LENGTHS) / LENGTHS
        worst = max(worst, weights[-1] if weights[-1] <= weights[0] <= 1e-2 else 1.0)
    return compare(float(worst), "<=", 1e-6, detail="largest weight of the oldest of 10^7 keys")


def far_content(family: Callable, slope: float, i: int) -> tuple[float, float]:
    """(0, weight of the oldest key) when content scores 2 m d pull towards it."""
    weight = theory.row(family(slope), i, content=2 * slope * np.arange(i))[-1].item()
    return (0.0 if weight > 0.4 else weight), weight


def check_any_content(family: Callable) -> Evidence:
    """The oldest key's weight must vanish for every content: tried with 2 m d, at contexts up to 1000."""
    grid = ({"slope": m, "i": i} for i, m in product((20, 1000), (np.log(2), 0.5, 2.0)))
    found = smallest_counterexample(far_content, family, grid)
    measured = found["actual"] if found else 0.0
    return compare(measured, "==", 0.0, 1e-12, counterexample=found, detail="content f = 2 m d, m = ln 2, 1/2, 2")


def says_local(criterion: Callable, slope: float, window: int) -> tuple[str, str]:
    """What the criterion says of the prior -m d; local if the mass beyond the window stays below 1/2 at 10^5 keys."""
    log_prior, name = theory.laplace(slope), "ALiBi's prior" if slope else "the uniform prior"
    local = bool(theory.tails(log_prior, (10**5,), (window,))[0, 0] < 0.5)
    return tuple(f"{name} is {'local' if answer else 'not local'}" for answer in (criterion(log_prior), local))


def check_criterion(criterion: Callable) -> Evidence:
    """A criterion of locality must accept ALiBi and refuse the uniform prior, whose mass lies beyond every window."""
    grid = ({"slope": m, "window": 100} for m in (0.0, 0.05, 0.5))
    found = smallest_counterexample(says_local, criterion, grid)
    detail = "what a prior is that the criterion calls local; local = mass beyond 100 lags below 1/2 at 10^5 keys"
    said, true = (found["claimed"], found["actual"]) if found else ("local", "local")
    return compare(true, "==", said, counterexample=found, detail=detail)


def check_bounded_content(bound: Callable) -> Evidence:
    """bound(m, D, B) >= P(lag > D) for every context and every content of range B, and attained in the limit."""
    draw, worst, slack = np.random.default_rng(0), -np.inf, 0.0
    for m, window, content in product(SLOPES, (0, 3, 20), (0.0, 1.0, 4.0)):
        claimed = bound(m, window, content)
        for i in (window + 2, 200, 2000):
            lags = np.arange(i)
            scores = [content * (lags > window), content * draw.random(i), content * draw.integers(0, 2, i)]
            tail = [theory.row(theory.laplace(m), i, score)[window + 1 :].sum() for score in scores]
            worst = max(worst, max(tail) - claimed)
        slack = max(slack, claimed - tail[0])
    detail = "largest excess of the bound and largest slack at the worst content, 27 settings"
    return compare(float(max(worst, slack)), "<=", 1e-9, detail=detail)


def check_gamma_tail(upper: Callable) -> Evidence:
    """lower <= T(D) <= upper(alpha, beta, D) for the sums, and upper -> 0 in D for every beta > 0.

    f falls, so that sum_{d > D} f <= int_D^inf f and sum_{d >= 0} f >= int_0^inf f = I; the other way round, T(D) >=
    I Q(D + 1) / (I + 1). Windows for tails that no sum reaches come from scipy's inverse.
    """
    excess, gone = -np.inf, 0.0
    for alpha, beta in product((1.0, 8.0), (0.3, 0.5, 1.0, 2.0)):
        whole = alpha * special.gamma(1 + 1 / beta)
        windows = (1, 4, 16, 64)
        tails = theory.tails(theory.printed(alpha, beta), (4 * 10**5,), windows)[0]
        for window, tail in zip(windows, tails, strict=True):
            lower = whole / (whole + 1) * special.gammaincc(1 / beta, ((window + 1) / alpha) ** beta)
            claimed = upper(alpha, beta, window)
            # the upper bound may not be loose either: never further above the tail than the lower bound explains
            allowed = special.gammaincc(1 / beta, (window / alpha) ** beta)
            excess = max(excess, tail - claimed, lower - tail, claimed - allowed)
    for beta in SHAPES:
        far = special.gammainccinv(1 / beta, 1e-6) ** (1 / beta)
        gone = max(gone, abs(upper(1.0, beta, far) - 1e-6))
    far = special.gammainccinv(10.0, 0.01) ** 10
    detail = f"largest violation; tail mass at beta = .1, alpha = 1 falls below 1 % only beyond D = {far:.2g}"
    return compare(float(max(excess, gone)), "<=", 1e-9, detail=detail)


# T2: more context than ALiBi


def bias_ratio(m: float, alpha: float, beta: float, lag: float) -> float:
    return (lag / alpha) ** beta / (m * lag)


def check_ratio(form: Callable) -> Evidence:
    """B/A at alpha = m^(-1/beta), mu = 0 against form(d, beta)."""
    grid = product((0.01, 0.3, 2.0), (0.1, 0.5, 0.9), (1, 2, 10, 1000))
    worst = max(abs(bias_ratio(m, m ** (-1 / beta), beta, d) / form(d, beta) - 1) for m, beta, d in grid)
    return compare(worst, "<=", 1e-10, detail="relative difference")


def below_one(claims: Callable, m: float, alpha: float, beta: float, lag: int) -> tuple[str, str]:
    """What is claimed where `claims` admits (m, alpha, beta), and the ratio."""
    ratio = bias_ratio(m, alpha, beta, lag)
    actual = "below 1" if ratio < 1 - 1e-12 else f"{ratio:.4g}"
    return ("below 1" if claims(m, alpha, beta) else actual), actual


def check_every_lag(claims: Callable) -> Evidence:
    """The ratio must be below 1 at every lag from 1 on, for each scale that `claims` admits (at least one of each)."""
    grid, admitted = [], set()
    for lag, m, beta, factor in product((1, 2, 10, 1000), (1.0, 0.1, 2.0), (0.5, 0.1, 0.9), (0.25, 1.0, 4.0)):
        alpha = factor * m ** (-1 / beta)
        grid.append({"m": m, "alpha": alpha, "beta": beta, "lag": lag})
        admitted |= {(m, beta)} if claims(m, alpha, beta) else set()
    found = smallest_counterexample(below_one, claims, grid)
    measured = "below 1" if found is None and len(admitted) == 9 else found["actual"] if found else "no scale admitted"
    return compare(measured, "==", "below 1", counterexample=found, detail="lags 1..1000; at lag 0 the ratio is 0/0")


def means_more(criterion: Callable, m: float, alpha: float, beta: float, keys: int) -> tuple[str, str]:
    """The mean lag that is promised, above ALiBi's, and the mean lag, in a context of `keys`."""
    ours, alibi = (_mean(b, keys) for b in (theory.printed(alpha, beta), theory.laplace(m)))
    promised = f"above {alibi:.3f}"
    return promised, promised if ours > alibi or not criterion(m, alpha, beta, keys) else f"{ours:.3f}"


def check_promise(criterion: Callable) -> Evidence:
    scales = (1.0, 0.25, 0.1, 10.0, 100.0)
    grid = (
        {"m": m, "alpha": a, "beta": b, "keys": n}
        for n, m, a, b in product((3, 6, 10, 100), (1.0, 0.5, 2.0), scales, (0.5, 0.25, 0.9))
    )
    found = smallest_counterexample(means_more, criterion, grid)
    measured, promised = (found["actual"], found["claimed"]) if found else ("above ALiBi's",) * 2
    return compare(measured, "==", promised, counterexample=found, detail="mean lag where the criterion promises more")


def check_order(condition: Callable) -> Evidence:
    """condition(m, alpha, beta) against the likelihood-ratio order on contexts of 2 to 4096 keys, and its consequences.

    Where it holds, P(lag > D) under random content is never smaller than ALiBi's; where it fails, content that leaves
    only lags 0 and 1 makes it smaller.
    """
    draw, wrong = np.random.default_rng(0), 0
    for m, alpha, beta in product((0.01, 0.1, 1.0, 2.0), (0.3, 1.0, 3.0, 100.0), (0.1, 0.5, 0.9)):
        claimed = condition(m, alpha, beta)
        for n in (2, 50, 4096):
            lags = np.arange(float(n))
            tables = [torch.as_tensor(b(lags))[None] for b in (theory.printed(alpha, beta), theory.laplace(m))]
            wrong += bool(mass.dominates(*tables)) != claimed
            content = 3 * draw.standard_normal(n) if claimed else np.where(lags < 2, 0.0, -800.0)
            ours, alibi = (np.cumsum(theory.softmax(table[0].numpy() + content)) for table in tables)
            wrong += bool((ours <= alibi + 1e-12).all()) != claimed
    return compare(wrong, "==", 0, 0.0, detail="disagreements, 48 settings x 3 contexts, order and tail masses")


# T4, T4b: below and at zero


def keeps_weight(log_prior_of: Callable, alpha: float, beta: float, floor: float, i: int) -> tuple[str, str]:
    """The weight that the oldest of i keys must keep, `floor` being a candidate for the limit, and its weight."""
    weight, claimed = theory.row(log_prior_of(alpha, beta), i)[-1], f"at least {floor:g}"
    return claimed, claimed if weight >= floor else f"{weight:.5f}"


def check_nonzero(log_prior_of: Callable) -> Evidence:
    """The oldest key's weight must keep away from zero as the context grows."""
    sizes = product((11, 101, 1001), (1.0,), (-1.0, -0.5))
    grid = ({"alpha": a, "beta": b, "floor": 0.01, "i": i} for i, a, b in sizes)
    found = smallest_counterexample(keeps_weight, log_prior_of, grid)
    oldest = theory.far_density(log_prior_of(1.0, -0.5), LENGTHS) / LENGTHS
    detail = "weight of the oldest of 10^3, 10^5, 10^7 keys: " + ", ".join(f"{w:.3g}" for w in oldest)
    kept = float(oldest[-1] / oldest[0]) if oldest[0] else 0.0
    return compare(kept, ">=", 0.5, counterexample=found, detail=detail)


def check_dilution(limits: tuple[float, float]) -> Evidence:
    """(limit of i p_oldest, limit of P(lag > D)) under equal content; with content f, of i p e^-f mean(e^f)."""
    draw, worst = np.random.default_rng(0), 0.0
    for alpha, beta in ((1.0, 0.0), (1.0, -0.5), (2.0, -1.0), (1.0, -2.0)):
        log_prior = theory.laplace(0.0) if beta == 0 else theory.printed(alpha, beta)
        density = theory.far_density(log_prior, LENGTHS)
        tail = theory.tails(log_prior, LENGTHS, (1024,))[-1, 0]
        worst = max(worst, abs(density[-1] - limits[0]), abs(tail - limits[1]))
        content = 2 * draw.random(10**5)
        tilted = theory.row(log_prior, 10**5, content)[-1] * np.exp(-content[-1]) * np.exp(content).sum()
        worst = max(worst, abs(tilted - limits[0]) - 0.02)
    detail = "largest gap at 10^7 keys, D = 1024 (content of range 2: 10^5 keys)"
    return compare(float(worst), "<=", 2e-3, detail=detail)


def check_regimes(limit: Callable) -> Evidence:
    """limit(beta) = lim_D T(D): T(D) from sums to 10^7 keys for beta <= 0, from the incomplete gamma function above."""
    worst, below = 0.0, 0.0
    for beta in (0.0, -0.05, -0.5, -1.0, -2.0):
        log_prior = theory.laplace(0.0) if beta == 0 else theory.printed(1.0, beta)
        for tails in theory.tails(log_prior, LENGTHS, (1, 64, 512)).T:
            rising = np.all(np.diff(tails) > 0)
            worst = max(worst, abs(tails[-1] - limit(beta)) if rising else 1.0)
    for beta in SHAPES:
        windows = special.gammainccinv(1 / beta, [0.9, 0.1, 1e-4]) ** (1 / beta)
        tails = special.gammaincc(1 / beta, windows**beta)
        below = max(below, float(tails[0]))
        worst = max(worst, abs(tails[-1] - limit(beta)) if np.all(np.diff(tails) < 0) else 1.0)
    detail = f"largest |T - limit|; for beta > 0 from T = {below:.1f} down, below 1 at every D"
    return compare(float(worst), "<=", 2e-4, detail=detail)


def check_local_density(density: Callable) -> Evidence:
    """Weight at lag d over the weight at lag 10^300, where the bias is below 1e-14."""
    worst = 0.0
    for alpha, beta in product((0.5, 1.0, 20.0), (-0.1, -0.5, -1.0, -2.0)):
        lags = np.array([1.0, 2.0, 10.0, 500.0])
        b, far = theory.printed(alpha, beta)(lags), theory.printed(alpha, beta)(np.array([1e300]))
        worst = max(worst, float(np.abs(np.exp(b - far) - [density(d, alpha, beta) for d in lags]).max()))
    return compare(worst, "<=", 1e-12, detail="lags 1, 2, 10, 500; alpha .5, 1, 20; beta -.1 to -2")


def check_content_odds(bound: Callable) -> Evidence:
    """bound(t, B): the largest tail mass under content of range B, for beta on both sides of zero; attained."""
    draw, worst, i = np.random.default_rng(0), -np.inf, 3000
    for beta, window, content in product((0.5, 1e-9, -0.5), (0, 10, 1000), (0.0, 0.5, 3.0)):
        log_prior, lags = theory.printed(1.0, beta), np.arange(i)
        tail = theory.row(log_prior, i)[window + 1 :].sum()
        extreme = theory.row(log_prior, i, content * (lags > window))[window + 1 :].sum()
        drawn = theory.row(log_prior, i, content * draw.random(i))[window + 1 :].sum()
        worst = max(worst, drawn - bound(tail, content), abs(extreme - bound(tail, content)))
    return compare(float(worst), "<=", 1e-12, detail="largest excess, and gap at the worst content")


def _mean(log_prior, keys):
    return float(theory.row(log_prior, keys) @ np.arange(keys))


def _alibis():
    return [theory.laplace(m) for m in SLOPES]


def _gaussians():
    return [theory.printed(alpha, beta) for alpha, beta in product((1.0,), (0.2, 0.5, 1.0, 2.0))]


def _oldest_vanishes(log_prior):
    """The printed criterion, at contexts of 10^3 and 10^5 keys."""
    first, last = theory.far_density(log_prior, (10**3, 10**5)) / (10**3, 10**5)
    return bool(last < 1e-4 and last <= first)


def _tail_stays_away(log_prior):
    return bool(theory.tails(log_prior, (10**3, 10**5), (100,)).max() < 0.5)


def _geometric_bound(m, window, content):
    return mass.tilted_tail(float(np.exp(-m * (window + 1))), content)


def _density(d, alpha, beta):
    return np.exp(-((alpha / d) ** abs(beta)))


_CRITERION = Part(
    "Local attention: the weight of the oldest key tends to 0.",
    _oldest_vanishes, check_criterion, lambda log_prior: True, says_local, repaired=_tail_stays_away,
)  # fmt: skip

CHECKS = {
    check.id: check
    for check in (
        Check(
            "BAM-L3",
            (
                Part("With equal content the weight of the oldest key tends to 0.", _alibis, check_oldest,
                     lambda: [theory.laplace(-m) for m in SLOPES]),
                Part("And with any content.", theory.laplace, check_any_content, lambda m: theory.laplace(m / 2),
                     far_content, repaired=lambda m: lambda lags: -m * lags**2),
                _CRITERION,
            ),
            Part("For m > 0 and content scores of range at most B: P(|i-j| > D) <= t e^B / (t e^B + 1 - t), "
                 "t = e^(-m(D+1)), for every i. It tends to 0 in D; for the uniform prior t -> 1 instead.",
                 _geometric_bound, check_bounded_content, lambda m, d, b: _geometric_bound(m, d, b / 2)),
            practice="Normalised queries and keys bound B; without that a head can outvote ALiBi.",
        ),
        Check(
            "BAM-L4",
            (
                Part("With equal content and alpha > 0 the weight of the oldest key tends to 0.", _gaussians,
                     check_oldest, lambda: [lambda d: np.sqrt(d)]),
                _CRITERION,
            ),
            Part("The weight of every key tends to 0 under the uniform prior too, so that this is no sign of locality. "
                 "For beta > 0, alpha > 0 (not 0) and content of range B the tail mass beyond D is at most the tilted "
                 "Q(1/beta, (D/alpha)^beta), which tends to 0 in D, uniformly in i.",
                 mass.continuous_tail, check_gamma_tail, lambda alpha, beta, d: special.gammaincc(1 / beta, d / alpha)),
            practice="Local only asymptotically: at alpha = 1, beta = .1, 99.98 % of the mass lies beyond 8,192 lags.",
        ),
        Check(
            "BAM-T2",
            (
                Part("mu = 0, alpha = m^(-1/beta): the ratio is |j - i|^(beta - 1).", lambda d, b: d ** (b - 1.0),
                     check_ratio, lambda d, b: d**b),
                Part("With that scale it is below 1 at every lag.", lambda m, a, b: abs(m * a**b - 1) < 1e-9,
                     check_every_lag, lambda m, a, b: m * a**b < 1 - 1e-9, below_one,
                     repaired=lambda m, a, b: m * a**b > 1 + 1e-9),
                Part("Necessarily: for every scale.", lambda m, a, b: True, check_every_lag,
                     lambda m, a, b: m * a**b < 1 + 1e-9, below_one, repaired=lambda m, a, b: m * a**b > 1 + 1e-9),
                Part("A ratio below 1 at a distant key means more context.",
                     lambda m, a, b, n: bias_ratio(m, a, b, n - 1) < 1, check_promise, lambda m, a, b, n: True,
                     means_more, repaired=lambda m, a, b, n: m * a**b >= 1),
            ),
            Part("For 0 < beta < 1, mu = 0 and any content, the prior dominates ALiBi's in likelihood ratio over the "
                 "lag (so that P(|i-j| > D) is at least as large for every D) exactly when m alpha^beta >= 1.",
                 lambda m, a, b: m * a**b >= 1 - 1e-12, check_order, lambda m, a, b: m * a >= 1 - 1e-12),
            practice="Being heavier-tailed is a matter of the pair (alpha, beta): log m alpha^beta, not beta alone.",
        ),
        Check(
            "BAM-T4",
            (
                Part("For beta < 0 the oldest key's weight does not tend to 0.", theory.printed, check_nonzero,
                     lambda a, b: theory.printed(a, -b), keeps_weight, repaired=lambda a, b: theory.laplace(-1.0)),
                Part("Because it tends to that of softmax(QK^T + M), which does not.",
                     lambda a, b: theory.laplace(0.0), check_nonzero, lambda a, b: theory.laplace(1.0), keeps_weight,
                     repaired=lambda a, b: theory.laplace(-1.0)),
            ),
            Part("For beta <= 0 and content of bounded range the weight tends to 0 like 1/i. What survives is (a) the "
                 "density relative to uniform, i p -> e^f / mean(e^f) at the oldest key; (b) P(|i-j| > D) -> 1 for all "
                 "D. beta = 0 has both.",
                 (1.0, 1.0), check_dilution, (1.0, 0.5)),
            practice="Arbitrarily long context is right in the sense of (b), but NoPE has it too; beta < 0 adds "
                     "the suppression of the vicinity.",
        ),
        Check(
            "BAM-T4b",
            (
                Part("T(D) -> 0 for beta > 0, T(D) = 1 for beta = 0 and beta < 0.", lambda b: 0.0 if b > 0 else 1.0,
                     check_regimes, lambda b: 0.0 if b >= 0 else 1.0),
                Part("beta < 0: relative density e^-(alpha/d)^|beta| at lag d.", _density, check_local_density,
                     lambda d, alpha, beta: np.exp(-((alpha / d) ** (2 * abs(beta))))),
                Part("Content of range B multiplies the odds of the tail by at most e^B.", mass.tilted_tail,
                     check_content_odds, lambda t, b: mass.tilted_tail(t, b / 2)),
            ),
            practice="At 10^7 keys beta = .1 keeps .9999 of its mass beyond lag 64; its limit lies beyond any context.",
        ),
    )
}  # fmt: skip
