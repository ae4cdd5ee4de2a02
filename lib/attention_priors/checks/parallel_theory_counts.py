"""ParallelComp, Theorem 3.1 (Part 3), A.2, A.3, A.5, A.6: how many weights of a row exceed a threshold.

Independent evidence: exact fractions and scipy's mixed-integer programs, simulation with exact binomial intervals,
sympy for limits, scipy's normal law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.checks.parallel_theory import by_search
from attention_priors.theory import parallel
from attention_priors.theory.inference import softmax

DELTA = 0.05
THRESHOLDS = (Fraction(1, 2), Fraction(2, 5), Fraction(1, 3), Fraction(3, 20), Fraction(1, 10), Fraction(1, 17))


# The largest count: T3.1, A.3, A.6


def largest_count(epsilon: float, keys: int) -> int:
    """max #{j : p_j >= epsilon} over all rows p of `keys` weights, by a mixed-integer program."""
    from scipy import optimize

    one, zero = np.ones(keys), np.zeros(keys)
    above = np.hstack([np.eye(keys), -epsilon * np.eye(keys)])  # p_j - epsilon z_j >= 0
    found = optimize.milp(
        np.concatenate([zero, -one]),
        constraints=[
            optimize.LinearConstraint(np.concatenate([one, zero])[None], 1, 1),
            optimize.LinearConstraint(above, 0, np.inf),
        ],
        integrality=np.concatenate([zero, one]),
        bounds=optimize.Bounds(0, 1),
    )
    return round(-found.fun)


def check_most(most: Callable) -> Evidence:
    """most(eps) is attained by uniform weights (in fractions) and is the optimum of the integer program."""
    wrong = 0
    for epsilon in THRESHOLDS:
        count = most(epsilon)
        wrong += not (count >= 1 and Fraction(1, count) > epsilon)
        wrong += largest_count(float(epsilon) + 1e-4, 24) != count  # above, not at, the threshold
    return compare(wrong, "==", 0, 0.0, detail=f"disagreements at {len(THRESHOLDS)} thresholds from 1/17 to 1/2")


def ineffective(count: Callable, rate: float, keys: int, epsilon: float) -> tuple[float, int]:
    """(count(w, k) of the row exp(-R d), k being its entries above epsilon; its entries at or below epsilon)."""
    row = softmax(-rate * np.arange(keys))
    return float(count(keys, int((row > epsilon).sum()))), int((row <= epsilon).sum())


def check_ineffective(count: Callable) -> Evidence:
    """Uniform rows (R = 0), rows without noise, then simulated ones."""
    values = product((0.4, 0.1, 0.01), (2, 8, 64), (1.0, 0.1, 0.0))
    found = smallest_counterexample(ineffective, count, ({"rate": r, "keys": n, "epsilon": e} for e, n, r in values))
    wrong = 0
    for _, keys, weights in simulated():
        for epsilon in (0.1, 0.01):
            k = (weights > epsilon).sum(axis=1)
            wrong += int((count(keys, k) != (weights <= epsilon).sum(axis=1)).sum())
    return compare(wrong, "==", 0, 0.0, detail="of 10800 simulated rows") if wrong else by_search(found, "counted")


def at_two_widths(number: Callable, rate: float, narrow: int, wide: int, epsilon: float) -> tuple[float, float]:
    """number(w, k) of the row exp(-R d) at two widths, k being its entries above epsilon."""
    rows = (softmax(-rate * np.arange(keys)) for keys in (narrow, wide))
    return tuple(float(number(len(row), int((row > epsilon).sum()))) for row in rows)


def check_settles(number: Callable) -> Evidence:
    """A number that is its own limit over w is the same at all widths past which the row hardly changes."""
    values = ((1.0, 2, 3, 0.1), (1.0, 16, 17, 0.1), (0.5, 16, 17, 0.1), (1.0, 16, 4096, 0.01))
    grid = (dict(zip(("rate", "narrow", "wide", "epsilon"), row, strict=True)) for row in values)
    found = smallest_counterexample(at_two_widths, number, grid)
    return by_search(found, "what the limit is said to be, at two widths")


def possible_share(limit: Callable, epsilon: float, keys: int) -> tuple[float, float]:
    """(limit of the share of entries above epsilon, as stated; nearest share that a row of `keys` entries can have)."""
    claimed = limit(epsilon)
    return claimed, max(0.0, min(claimed, parallel.most_effective(epsilon) / keys))


def check_share(limit: Callable) -> Evidence:
    grid = ({"epsilon": e, "keys": n} for e in (0.5, 0.1, 0.01) for n in (100, 10**6))
    found = smallest_counterexample(possible_share, limit, grid)
    share = max(limit(e) for e in (0.5, 0.1, 0.01))
    return compare(share, "<=", 1e-3, counterexample=found, detail="share above epsilon; at most 1 / (epsilon w)")


# Rows with decay: A.2, A.5 and the corrected bound


def noise(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Independent noise of mean 0 and variance proxy 1: Gaussian, signs, uniform on [-sqrt 3, sqrt 3]."""
    if kind == "gaussian":
        return rng.standard_normal(shape)
    return rng.choice([-1.0, 1.0], shape) if kind == "signs" else rng.uniform(-math.sqrt(3), math.sqrt(3), shape)


def rows_of(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


SIMULATED = tuple(product(("gaussian", "signs", "uniform"), (0.05, 0.5, 3.0), (16, 256)))


def simulated(rows: int = 300) -> Iterator[tuple[float, int, np.ndarray]]:
    """(rate, keys, weights [rows, keys]) for each kind of noise, rate and width."""
    for number, (kind, rate, keys) in enumerate(SIMULATED):
        rng = np.random.default_rng(number)
        yield rate, keys, rows_of(noise(kind, (rows, keys), rng) - rate * np.arange(keys))


def surely_at_most(failures: int, rows: int, delta: float) -> bool:
    """Whether the exact binomial interval of 99.9 % lies at or below delta."""
    from scipy import stats

    return bool(stats.binomtest(failures, rows).proportion_ci(0.998).high <= delta)


def check_together(log_bound: Callable) -> Evidence:
    """ln A_d <= log_bound(R, d, t) for all lags together, in all but a share delta of rows."""
    bad, worst = 0, 0.0
    for rate, keys, weights in simulated():
        t = parallel.noise_level(keys, DELTA)
        with np.errstate(divide="ignore"):
            broken = int((np.log(weights) > log_bound(rate, np.arange(keys), t) + 1e-12).any(axis=1).sum())
        bad += not surely_at_most(broken, len(weights), DELTA)
        worst = max(worst, broken / len(weights))
    return compare(bad, "==", 0, 0.0, detail=f"of 18 settings; largest share of rows {worst:.3g}, delta = {DELTA}")


def adversarial(rate: float, lags: np.ndarray, t: float) -> Iterator[np.ndarray]:
    """Rows with |g| <= t: the lags up to some distance, or those beyond it, at t and all others at -t."""
    for reach in (0, 1, 3, 10, 20, 40, 100, 1000):
        for lifted in (lags <= reach, lags > reach):
            yield softmax(np.where(lifted & (lags > 0), t, -t) - rate * lags)


def check_count(bound: Callable) -> Evidence:
    """bound(R, eps, t, copies) >= #{A > eps} for the worst noise of size t, in one chunk and in eight."""
    worst = -math.inf
    for rate, epsilon, chunks in product((0.02, 0.2, 1.0), (1e-7, 1e-3, 0.05), (1, 8)):
        lags = parallel.reused_lags(chunks, 128)
        t = parallel.noise_level(len(lags), DELTA)
        for row in adversarial(rate, lags, t):
            worst = max(worst, int((row > epsilon).sum()) - bound(rate, epsilon, t, chunks))
    return compare(worst, "<=", 0.0, detail="largest count - bound, noise at its worst")


def check_growth(growth: Callable) -> Evidence:
    """count_bound <= 4 growth(ln w, R, eps) for w = 10 to 1e300, R <= 1 and eps = .1 to 1e-300."""
    worst = max(
        parallel.count_bound(rate, eps, parallel.noise_level(10**n, DELTA)) / growth(n * math.log(10), rate, eps)
        for n, rate, eps in product((1, 3, 30, 300), (1.0, 0.1, 0.001), (0.1, 1e-3, 1e-5, 1e-30, 1e-300))
    )
    return compare(worst, "<=", 4.0, detail="largest bound / growth for w = 10 to 1e300, R <= 1")


# A.2 and A.5 as printed


def printed_threshold(rate: float, keys: int, ineffective: int, delta: float) -> float:
    """exp(-R sqrt(ln(w (w - k) / delta))) with the constant of O(R) set to 1."""
    return math.exp(-rate * math.sqrt(math.log(keys * (keys - ineffective) / delta)))


def threshold_allowed(bound: Callable, rate: float, keys: int, epsilon: float, delta: float) -> tuple[float, float]:
    """(least threshold that the bound allows for the row exp(-R d) and its own k, the threshold taken)."""
    k = int((softmax(-rate * np.arange(keys)) <= epsilon).sum())
    return (max(epsilon, bound(rate, keys, k, delta)) if k < keys else epsilon), epsilon


def check_necessary(bound: Callable) -> Evidence:
    grid = (
        {"rate": r, "keys": n, "epsilon": e, "delta": d}
        for d, e, n, r in product((0.5, 0.05), (0.1, 0.01, 1e-6), (2, 8, 64), (1.0, 0.1))
    )
    found = smallest_counterexample(threshold_allowed, bound, grid)
    return by_search(found, "every threshold obeys it")


def effective_entries(bound: Callable, rate: float, keys: int, ineffective: int, delta: float) -> tuple[int, int]:
    """(most entries above the bound that are promised, w - k; entries of the row exp(-R d) above it)."""
    found = int((softmax(-rate * np.arange(keys)) > bound(rate, keys, ineffective, delta)).sum())
    return keys - ineffective, max(found, keys - ineffective)


def check_sufficient(bound: Callable) -> Evidence:
    """At this threshold at least k entries are ineffective: rows without noise, then simulated ones."""
    grid = (
        {"rate": r, "keys": n, "ineffective": k, "delta": d}
        for d, n in product((0.5, 0.05), (2, 16, 128))
        for r, k in product((4.0, 1.0, 0.2), sorted({n // 2, n - 1}))
    )
    found = smallest_counterexample(effective_entries, bound, grid)
    bad = 0
    for rate, keys, weights in simulated():
        for k in (keys // 2, keys - 4):
            broken = int(((weights > bound(rate, keys, k, DELTA)).sum(axis=1) > keys - k).sum())
            bad += not surely_at_most(broken, len(weights), DELTA)
    detail = f"noiseless rows, and 36 simulated settings of which {bad} break the promise"
    return by_search(found, detail) if found or not bad else compare(bad, "==", 0, 0.0, detail=detail)


def corrected_threshold(rate: float, keys: int, ineffective: int, delta: float) -> float:
    """exp(2 t - R (w - k)), t = sqrt(2 ln(2 w / delta)): all lags from w - k on are at most this."""
    return math.exp(parallel.log_weight_bound(rate, keys - ineffective, parallel.noise_level(keys, delta)))


def remaining(factor: Callable, chunks: int, width: int, query: int, epsilon: float) -> tuple[int, int]:
    """(entries above epsilon by the printed factor, by count) in a uniform row of C w + w_q entries."""
    keys = chunks * width + query
    below = keys if 1 / keys < epsilon else 0
    return factor(chunks, width, query, below), keys - below


def check_remaining(factor: Callable) -> Evidence:
    grid = (
        {"chunks": c, "width": w, "query": q, "epsilon": e}
        for c, w, q, e in product((1, 4), (1, 100), (1, 10), (0.6, 0.4, 0.01))
    )
    found = smallest_counterexample(remaining, factor, grid)
    return by_search(found, "entries above epsilon")


def global_threshold(bound: Callable, rate: float, width: int, query: int, epsilon: float, delta: float):
    """(least threshold that the bound allows, the threshold taken) for the query's last token and one chunk."""
    row = softmax(-rate * parallel.reused_lags(1, width, query - 1))
    k = int((row < epsilon).sum())
    argument = (width + query) * (query - k) / delta
    return (max(epsilon, bound(rate, argument)) if argument > 1 else epsilon), epsilon


def check_global(bound: Callable) -> Evidence:
    grid = (
        {"rate": r, "width": w, "query": q, "epsilon": e, "delta": d}
        for d, e, (w, q), r in product((0.5, 0.05), (0.1, 0.01, 1e-6), ((1, 1), (4, 2), (64, 8)), (1.0, 0.1))
    )
    found = smallest_counterexample(global_threshold, bound, grid)
    return by_search(found, "every threshold obeys it")


# The corrected statement without decay


def check_collapse(width: Callable) -> Evidence:
    """Uniform rows of w keys: none is above eps from width(eps) on, all are just before."""
    wrong = 0
    for epsilon in THRESHOLDS:
        first = math.ceil(width(epsilon))
        wrong += Fraction(1, first) > epsilon
        wrong += Fraction(1, first - 1) <= epsilon
    return compare(wrong, "==", 0, 0.0, detail="of 12 rows, in exact fractions")


def check_relative(share: Callable) -> Evidence:
    """share(c, s) against scipy's normal tail, and against rows of 2^15 keys: mean of 24, within 4 standard errors."""
    from scipy import stats

    worst, shown = 0.0, 0.0
    for number, (c, s) in enumerate(product((0.5, 1.0, 3.0), (0.5, 1.0, 1.5))):
        claimed = share(c, s)
        worst = max(worst, abs(claimed - stats.norm.sf((np.log(c) + s * s / 2) / s)) / 1e-12)
        weights = rows_of(s * np.random.default_rng(number).standard_normal((24, 2**15)))
        shares = (weights > c / 2**15).mean(axis=1)
        worst = max(worst, abs(shares.mean() - claimed) / (4 * shares.std(ddof=1) / math.sqrt(24)))
        shown = float(shares.mean()) if (c, s) == (1.0, 1.0) else shown
    return compare(worst, "<=", 1.0, detail=f"largest deviation over its allowance; share {shown:.4f} at c = s = 1")


def rest(keys, effective):
    return keys - effective


CHECKS = {
    check.id: check
    for check in (
        Check(
            "PC-T3.1c",
            (
                Part("Of w entries, k of them effective, w - k are ineffective.", rest, check_ineffective,
                     lambda w, k: w - k + 1, ineffective),
                Part("That is a limit over w: the number settles as the row grows.", rest, check_settles,
                     lambda w, k: w + k, at_two_widths, repaired=lambda w, k: k),
            ),
            Part("k <= ceil(1/eps) - 1 in every row of every width: w - k grows without limit, and the share of "
                 "ineffective entries tends to 1.",
                 parallel.most_effective, check_most, lambda e: parallel.most_effective(e) + 1),
            practice="Nothing probabilistic is left of Part 3: that k entries are effective and w - k are not is "
                     "bookkeeping, and says nothing about a model.",
        ),
        Check(
            "PC-TA.2",
            (
                Part("A threshold with k ineffective entries satisfies eps >= exp(-R sqrt(ln(w (w - k)/delta))).",
                     printed_threshold, check_necessary, lambda r, w, k, d: printed_threshold(r / 2, w, k, d),
                     threshold_allowed, repaired=lambda r, w, k, d: 0.0),
                Part("At that threshold at most w - k entries are effective, with probability 1 - delta.",
                     printed_threshold, check_sufficient, lambda r, w, k, d: printed_threshold(2 * r, w, k, d),
                     effective_entries),
            ),
            Part("With probability >= 1 - delta, k entries or more are ineffective as soon as eps >= "
                 "exp(2 t - R (w - k)), t = sqrt(2 ln(2 w/delta)): R multiplies a distance, and t has a plus.",
                 corrected_threshold, check_sufficient,
                 lambda r, w, k, d: math.exp(-2 * parallel.noise_level(w, d) - r * (w - k))),
            practice="The noise raises the threshold that suppresses far keys; it does not lower it. Only the distance "
                     "does, at rate R.",
        ),
        Check(
            "PC-TA.2x",
            (
                Part("With probability >= 1 - delta, A_d <= e^(2 t - R d) at all lags together.",
                     parallel.log_weight_bound, check_together, lambda r, d, t: -r * d),
                Part("Hence at most min{1/eps, 1 + (2 t + ln(1/eps))/R} entries exceed eps.", parallel.count_bound,
                     check_count, lambda r, e, t, copies: parallel.count_bound(r, e, t / 2, copies)),
                Part("That is O((sqrt(ln w) + ln(1/eps))/R) for bounded R.",
                     lambda log_w, r, e: (log_w**0.5 - math.log(e)) / r, check_growth,
                     lambda log_w, r, e: log_w**0.5 - math.log(e)),
            ),
            practice="With decay R the effective window is about (2 t + ln(1/eps))/R keys and hardly grows with the "
                     "context. For unbounded R a 1 must be added in the O: one key is always left.",
        ),
        Check(
            "PC-TA.3",
            (
                Part("With S = {A > eps}, |S| = w - k and k = o(w): the share above eps tends to 1.", lambda e: 1.0,
                     check_share, lambda e: 0.5, possible_share, repaired=lambda e: 0.0),
            ),
            Part("|S| <= ceil(1/eps) - 1 in every row, so the share above eps tends to 0, with or without decay.",
                 parallel.most_effective, check_most, lambda e: parallel.most_effective(e) + 1),
            practice="A constant threshold counts 1/eps keys at most. That most weights fall below it in a long row "
                     "says that weights sum to one.",
        ),
        Check(
            "PC-TA.3x",
            (
                Part("Fewer than 1/eps entries exceed eps, and uniform weights reach ceil(1/eps) - 1.",
                     parallel.most_effective, check_most, lambda e: parallel.most_effective(e) + 1),
                Part("Uniform attention collapses too: no entry exceeds eps once w > 1/eps.", lambda e: 1 / e,
                     check_collapse, lambda e: 2 / e),
                Part("For independent logits N(0, s^2) the share above c/w tends to Q((ln c + s^2/2)/s).",
                     parallel.share_above, check_relative,
                     lambda c, s: parallel.share_above(c * math.exp(-s * s / 2), s)),
            ),
            practice="Compare weights with the uniform share 1/w. A row has collapsed if the share above c/w falls "
                     "with w, not if weights fall below a constant.",
        ),
        Check(
            "PC-TA.5",
            (
                Part("In a row of C w + w_q entries, k_g below eps, the factor w_q - k_g counts the others.",
                     lambda c, w, q, k: q - k, check_remaining, lambda c, w, q, k: w - k, remaining,
                     repaired=lambda c, w, q, k: c * w + q - k),
                Part("Where it is defined, eps >= exp(-R sqrt(ln((C w + w_q)(w_q - k_g)/delta))).",
                     lambda r, x: math.exp(-r * math.sqrt(math.log(x))), check_global,
                     lambda r, x: math.exp(-r * math.log(x)), global_threshold, repaired=lambda r, x: 0.0),
            ),
            Part("With positions shared by C chunks and t = sqrt(2 ln(2 (C w + w_q)/delta)), with probability "
                 ">= 1 - delta at most min{1/eps, C (1 + (2 t + ln(1/eps))/R)} entries exceed eps.",
                 parallel.count_bound, check_count, lambda r, e, t, copies: parallel.count_bound(r, e, t, 1)),
            practice="Shared positions multiply the effective window by the number of chunks, up to 1/eps.",
        ),
        Check(
            "PC-TA.6",
            (
                Part("The limit over w_q of |S| is (C w + w_q) - k_g, k_g counted above eps as in the proof.", rest,
                     check_settles, lambda n, k: n + k, at_two_widths, repaired=lambda n, k: k),
                Part("The k_g entries below eps are o(C w + w_q): the share above eps tends to 1.", lambda e: 1.0,
                     check_share, lambda e: 0.5, possible_share, repaired=lambda e: 0.0),
            ),
            Part("|S| <= ceil(1/eps) - 1 for all C, w and w_q, so k_g >= C w + w_q - 1/eps and k_g/(C w + w_q) tends "
                 "to 1; what is o(C w + w_q) is |S|.",
                 parallel.most_effective, check_most, lambda e: parallel.most_effective(e) + 1),
            practice="The proof counts k_g above eps, the theorem below: only the proof's reading is possible. It "
                     "holds for every attention matrix.",
        ),
    )
}  # fmt: skip
