"""ParallelComp, Theorem 3.1 (Parts 1 and 2), A.1, A.4 and the role of d: decay, its rate, and the printed bounds.

Independent evidence: queries and keys that realise the premise, numpy's least squares and ranks, scipy's exponential
and lognormal laws, sympy for limits, simulation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import product

import numpy as np

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.checks.parallel_theory import by_search
from attention_priors.checks.parallel_theory_counts import check_most, rows_of
from attention_priors.theory import parallel
from attention_priors.theory.inference import softmax

SETTINGS = tuple(product((0.3, 1.0, 4.0), (2, 16, 64)))


def allowed(sign: int, before: float, after: float) -> tuple[float, float]:
    """(nearest value to `after` that rises from `before` (sign 1), falls (-1) or stays (0), `after`)."""
    return ({1: max, -1: min}[sign](before, after) if sign else before), after


# A.1 and A.4: the identity, and what its rate means


def check_rate(rate: Callable) -> Evidence:
    """Vectors with q_i . k_j = -alpha (i - j): ln A has the slope -rate(alpha, d) over distance (least squares)."""
    from scipy import special

    worst = 0.0
    for alpha, width in SETTINGS:
        j = np.arange(40.0)
        k = np.zeros((40, width))
        k[:, 0], k[:, 1] = 1.0, j
        q = np.zeros(width)
        q[0], q[1] = -alpha * 39.0, alpha
        weights = special.softmax(k @ q / math.sqrt(width))
        slope = np.polyfit(39.0 - j, np.log(weights), 1)[0]
        worst = max(worst, abs(slope + rate(alpha, width)))
    return compare(worst, "<=", 1e-10, detail="largest difference of slopes, nine pairs (alpha, d)")


@functools.cache
def rotary_product(lag: int) -> float:
    """<R(lag) q, k> under RoPE for q = k = (1, 0), one plane of frequency 1."""
    import torch

    from attention_priors.positions.rotary import Rotary, rope

    unit = torch.tensor([[[[1.0, 0.0]]]], dtype=torch.float64)
    q, k = Rotary(rope(2))(unit, unit, torch.tensor([lag]), torch.tensor([0]))
    return float((q * k).sum())


def product_falls(inner: Callable, near: int, far: int) -> tuple[float, float]:
    """(largest value that a falling product can have at the farther lag, its value there)."""
    return min(inner(near), inner(far)), inner(far)


def check_falls(inner: Callable) -> Evidence:
    grid = ({"near": a, "far": b} for b in range(1, 12) for a in range(b))
    found = smallest_counterexample(product_falls, inner, grid)
    return by_search(found, "falls at all lags up to 11")


def relative_weight(sign: int, low: float, high: float, lag: int) -> tuple[float, float]:
    """(nearest weight relative to lag 0 that the statement allows at the higher rate, weight there)."""
    before, after = (float(w[lag] / w[0]) for w in (softmax(-rate * np.arange(8.0)) for rate in (low, high)))
    return allowed(sign, before, after)


def check_sign(sign: int) -> Evidence:
    """sign = 1: a higher rate leaves more weight at a distance (slower decay); -1: less; 0: the same."""
    grid = ({"low": r, "high": 2 * r, "lag": d} for r, d in product((1.0, 0.1), (1, 7)))
    found = smallest_counterexample(relative_weight, sign, grid)
    return by_search(found, "weight at a lag, from R to 2 R")


def check_half_life(half_life: Callable) -> Evidence:
    """Against scipy's exponential law: the median of rate R."""
    from scipy import stats

    rates = (0.01, 0.3, 1.0, 5.0)
    worst = max(abs(half_life(r) / stats.expon(scale=1 / r).median() - 1) for r in rates)
    return compare(float(worst), "<=", 1e-12, detail="largest relative difference from the median, R = .01 to 5")


def oldest_to_newest(ratio: Callable, rate: float, size: int, chunks: int) -> tuple[float, float]:
    """(stated, found) weight of the oldest chunk's first key over that of the newest chunk's, positions shared."""
    weights = softmax(-rate * parallel.reused_lags(chunks, size)).reshape(-1)[: chunks * size].reshape(chunks, size)
    return float(ratio(rate, size, chunks)), float(weights[0, 0] / weights[-1, 0])


def check_across(ratio: Callable) -> Evidence:
    grid = ({"rate": r, "size": w, "chunks": c} for c, w, r in product((2, 5), (2, 16), (1.0, 0.1)))
    found = smallest_counterexample(oldest_to_newest, ratio, grid)
    return by_search(found, "same key, oldest over newest")


# The role of the head dimension d


def by_dimension(sign: int, alpha: float, lag: int, keys: int, narrow: int, wide: int) -> tuple[float, float]:
    """(nearest mass within `lag` that the statement allows at the wider head, mass there), no noise."""
    before, after = (
        float(softmax(-alpha / math.sqrt(width) * np.arange(keys))[: lag + 1].sum()) for width in (narrow, wide)
    )
    return allowed(sign, before, after)


def check_concentration(sign: int) -> Evidence:
    grid = (
        {"alpha": 1.0, "lag": d, "keys": w, "narrow": a, "wide": b}
        for d, w, a, b in ((0, 2, 1, 4), (16, 4096, 16, 64), (16, 4096, 64, 1024))
    )
    found = smallest_counterexample(by_dimension, sign, grid)
    masses = []
    for number, width in enumerate((16, 64, 256, 1024)):  # the same with the noise of the proof
        rows = parallel.noisy_rows(1 / math.sqrt(width), 4096, 40, np.random.default_rng(number))
        masses.append(rows[:, :17].sum(axis=1).mean())
    shown = ", ".join(f"{mass:.3f}" for mass in masses)
    detail = f"with noise, mass within 16 lags for d = 16, 64, 256, 1024: {shown}"
    return by_search(found, detail)


def noise_over_decay(sign: int, alpha: float, narrow: int, wide: int) -> tuple[float, float]:
    """(nearest ratio that the statement allows, ratio): standard deviation of Z / sqrt(d) over alpha / sqrt(d)."""
    before, after = (math.sqrt(width) / alpha for width in (narrow, wide))  # Z / sqrt(d) has deviation 1
    return allowed(sign, before, after)


def check_noise(sign: int) -> Evidence:
    grid = ({"alpha": a, "narrow": n, "wide": 4 * n} for a, n in product((1.0, 0.1), (1, 16)))
    found = smallest_counterexample(noise_over_decay, sign, grid)
    rng = np.random.default_rng(0)
    deviations = [np.einsum("nd,nd->n", *rng.standard_normal((2, 4000, d))).std() / math.sqrt(d) for d in (4, 256)]
    detail = f"noise per unit of decay; deviation of q . k / sqrt(d): {deviations[0]:.2f} (d = 4), {deviations[1]:.2f}"
    return by_search(found, detail + " (256)")


def bound_by_dimension(sign: int, keys: int, delta: float, narrow: int, wide: int) -> tuple[float, float]:
    """(nearest bound on k that the statement allows at the wider head, printed bound there), eps w = 1."""
    before, after = (printed_count(keys, 1 / keys, delta, 1.0, width) for width in (narrow, wide))
    return allowed(sign, before, after)


def check_strictness(sign: int) -> Evidence:
    grid = ({"keys": w, "delta": 0.5, "narrow": n, "wide": 2 * n} for w, n in product((2, 64), (1, 8)))
    found = smallest_counterexample(bound_by_dimension, sign, grid)
    return by_search(found, "bound on k, from d to 2 d")


def check_within(mass: Callable) -> Evidence:
    """mass(alpha, d, D, w) against a softmax; it falls with d; its limit is (D + 1) / w (sympy)."""
    import sympy

    worst, rises = 0.0, 0
    for alpha, (lag, keys) in product((0.5, 2.0), ((0, 2), (16, 512))):
        found = [mass(alpha, width, lag, keys) for width in (1, 4, 16, 64, 256, 1024)]
        rises += int((np.diff(found) >= 0).sum())
        for width, value in zip((1, 4, 16, 64, 256, 1024), found, strict=True):
            exact = softmax(-alpha / math.sqrt(width) * np.arange(keys))[: lag + 1].sum()
            worst = max(worst, abs(float(exact) - value))
    r = sympy.Symbol("r", positive=True)
    limit = sympy.limit((1 - sympy.exp(-17 * r)) / (1 - sympy.exp(-512 * r)), r, 0)
    worst = max(worst, abs(float(limit) - mass(1.0, 1e24, 16, 512)))
    return compare(worst + rises, "<=", 1e-9, detail="largest difference, and the number of rises with d")


# Theorem 3.1, Parts 1 and 2


def printed_count(keys: int, epsilon: float, delta: float, constant: float, width: int = 1, rank: int = 1) -> float:
    """w - exp(c ln^2(eps w) / R^2) delta / (w d), the constant of O being c."""
    return keys - math.exp(constant * math.log(epsilon * keys) ** 2 / rank**2) * delta / (keys * width)


def uniform_count(bound: Callable, keys: int, epsilon: float, delta: float, constant: float) -> tuple[float, float]:
    """(most entries above epsilon that the bound allows, entries above it in a uniform row): a matrix of rank 1."""
    found = keys if 1 / keys > epsilon else 0
    return max(0.0, min(bound(keys, epsilon, delta, constant), found)), float(found)


def check_printed_count(bound: Callable) -> Evidence:
    """Uniform rows, and every constant of the O from -4 to 4."""
    constants = (1.0, 0.5, 2.0, 4.0, 0.0, -1.0, -4.0)
    grid = [
        {"keys": w, "epsilon": e, "delta": d, "constant": c}
        for c, d, (w, e) in product(constants, (0.5, 0.05), ((2, 0.4), (8, 0.1), (8, 0.01)))
    ]
    found = smallest_counterexample(uniform_count, bound, grid)
    refuted = {case["constant"] for case in grid if smallest_counterexample(uniform_count, bound, [case])}
    detail = f"broken by uniform rows for {len(refuted)} of {len(constants)} constants of the O"
    return by_search(found, detail)


def rank_claimed(rank: Callable, alpha: float, width: int, keys: int) -> tuple[float, float]:
    """(R as stated, rank of the matrix softmax(-alpha |i - j| / sqrt(d)), without a mask)."""
    lags = np.abs(np.subtract.outer(np.arange(keys), np.arange(keys)))
    return float(rank(alpha, width, keys)), float(np.linalg.matrix_rank(rows_of(-alpha / math.sqrt(width) * lags)))


def check_rank(rank: Callable) -> Evidence:
    grid = ({"alpha": a, "width": d, "keys": w} for w, a, d in product((2, 5, 9), (1.0, 3.0), (1, 16)))
    found = smallest_counterexample(rank_claimed, rank, grid)
    return by_search(found, "R of A.2 is a rank")


def sketched(rate: float, keys: int, ineffective: int, delta: float, sign: int = 1) -> float:
    """exp(+R sqrt(ln(w (w - k) / delta))), the bound of the sketch; sign = -1 is that of A.2."""
    return math.exp(sign * rate * math.sqrt(math.log(keys * (keys - ineffective) / delta)))


def threshold_falls(bound: Callable, rate: float, ineffective: int, delta: float, narrow: int, wide: int):
    """(largest threshold at the wider chunk that the statement allows, threshold there)."""
    before, after = (bound(rate, keys, ineffective, delta) for keys in (narrow, wide))
    return min(before, after), after


def check_threshold_falls(bound: Callable) -> Evidence:
    grid = (
        {"rate": r, "ineffective": 0, "delta": 0.5, "narrow": w, "wide": 2 * w} for w, r in product((1, 64), (1.0, 0.1))
    )
    found = smallest_counterexample(threshold_falls, bound, grid)
    return by_search(found, "from w to 2 w")


def below_one(bound: Callable, rate: float, keys: int, ineffective: int, delta: float) -> tuple[float, float]:
    """(largest threshold below which a weight can be, the printed one)."""
    found = bound(rate, keys, ineffective, delta)
    return min(found, 1.0), found


def check_below_one(bound: Callable) -> Evidence:
    grid = (
        {"rate": r, "keys": w, "ineffective": k, "delta": 0.5}
        for (w, k), r in product(((1, 0), (64, 10), (64, 63)), (1.0, 0.01))
    )
    found = smallest_counterexample(below_one, bound, grid)
    return by_search(found, "a weight can exceed it")


def check_same_share(scaled: Callable) -> Evidence:
    """w times the threshold above which a share f of a row lies: scipy's lognormal law, and rows of 2^15 keys."""
    from scipy import stats

    worst = 0.0
    for number, (share, s) in enumerate(product((0.01, 0.1, 0.5), (0.5, 1.0, 1.5))):
        claimed = scaled(share, s)
        worst = max(worst, abs(claimed / stats.lognorm(s, scale=math.exp(-s * s / 2)).isf(share) - 1) / 1e-9)
        weights = rows_of(s * np.random.default_rng(number).standard_normal((16, 2**15)))
        found = 2**15 * np.quantile(weights, 1 - share, axis=1)
        worst = max(worst, abs(found.mean() - claimed) / (4 * found.std(ddof=1) / 4))
    return compare(worst, "<=", 1.0, detail="largest deviation over its allowance (1e-9; 4 standard errors)")


def normal_quantile(share: float, s: float) -> float:
    from scipy import special

    return math.exp(-s * special.ndtri(share) - s * s / 2)


CHECKS = {
    check.id: check
    for check in (
        Check(
            "PC-T3.1a",
            (
                Part("The threshold decreases as w increases: the theorem's words, with the sign of A.2's formula "
                     "exp(-R sqrt(ln(w (w - k)/delta))).", functools.partial(sketched, sign=-1),
                     check_threshold_falls, sketched, threshold_falls),
                Part("The threshold of the sketch, exp(+R sqrt(ln(w (w - k)/delta))), falls as w grows.", sketched,
                     check_threshold_falls, functools.partial(sketched, sign=2), threshold_falls,
                     repaired=functools.partial(sketched, sign=-1)),
                Part("It is a threshold that a weight can exceed.", sketched, check_below_one,
                     functools.partial(sketched, sign=2), below_one, repaired=functools.partial(sketched, sign=-1)),
            ),
            Part("Without decay, a share f of a row stays above eps exactly if eps falls as 1/w: for logits N(0, s^2) "
                 "w eps tends to exp(s z - s^2/2), z being the normal quantile of 1 - f.",
                 normal_quantile, check_same_share, lambda f, s: normal_quantile(f, s) * math.exp(s * s / 2)),
            practice='A lower threshold admits more entries: "decreases" and the sketch\'s "stricter" exclude each '
                     "other. Scale a threshold on weights with 1/w; a constant one changes its meaning with w.",
        ),
        Check(
            "PC-T3.1b",
            (
                Part("k <= w - exp(c ln^2(eps w)/R^2) delta/(w d) for some constant c of the O.", printed_count,
                     check_printed_count, lambda w, e, d, c: printed_count(w, e, d, 2 * c), uniform_count,
                     repaired=lambda w, e, d, c: parallel.most_effective(e)),
                Part("R = alpha/sqrt(d) is the rank of the attention matrix.", lambda a, d, w: a / math.sqrt(d),
                     check_rank, lambda a, d, w: a * math.sqrt(d), rank_claimed, repaired=lambda a, d, w: w),
            ),
            Part("k <= ceil(1/eps) - 1 in every row, and the maximum is attained.", parallel.most_effective, check_most,
                 lambda e: parallel.most_effective(e) - 1),
            practice="The printed bound is anything from w (no information) down to below 0 (impossible), depending on "
                     "the constant and on R. Use 1/eps, or the bound of PC-TA.2x where there is decay.",
        ),
        Check(
            "PC-TA.1",
            (
                Part("If q_i . k_j = -alpha d(i, j), then A is proportional to exp(-alpha d(i, j)/sqrt(d)).",
                     lambda a, d: a / math.sqrt(d), check_rate, lambda a, d: a / d),
                Part("Under relative (rotary) encoding the inner product diminishes with distance.", rotary_product,
                     check_falls, lambda lag: float(lag), product_falls, repaired=lambda lag: -float(lag)),
                Part("A higher R yields slower decay.", 1, check_sign, 0, relative_weight, repaired=-1),
            ),
            Part("R = alpha/sqrt(d) is the rate of decay: half of the weight is lost every ln 2/R lags, so a higher R "
                 "yields faster decay. The premise is ALiBi's bias; a rotation is bounded and returns.",
                 lambda r: math.log(2) / r, check_half_life, lambda r: math.log(2) * r),
            practice="The theorem describes ALiBi. RoPE heads need a measured decay before any of the bounds applies.",
        ),
        Check(
            "PC-TA.2d",
            (
                Part("With larger d more mass lies near the query.", 1, check_concentration, 0, by_dimension,
                     repaired=-1),
                Part("With larger d noise loses weight against the decay.", -1, check_noise, 0, noise_over_decay,
                     repaired=1),
                Part("The d in its denominator makes the printed bound on k stricter.", -1, check_strictness, 0,
                     bound_by_dimension, repaired=1),
            ),
            Part("At a fixed alpha the rate alpha/sqrt(d) falls while the noise keeps deviation 1: without noise the "
                 "mass within D is (1 - e^(-R (D + 1)))/(1 - e^(-R w)), falling with d to (D + 1)/w.",
                 lambda a, d, lag, keys: parallel.mass_within(a / math.sqrt(d), lag, keys), check_within,
                 lambda a, d, lag, keys: parallel.mass_within(a / d, lag, keys)),
            practice="Concentration with d needs alpha to grow faster than sqrt(d). A bias added after the scaling, as "
                     "ALiBi's is, does not depend on d.",
        ),
        Check(
            "PC-TA.4",
            (
                Part("If q_i . k_j = -alpha d(i, j), global attention is proportional to exp(-R d(i, j)), R = "
                     "alpha/sqrt(d).", lambda a, d: a / math.sqrt(d), check_rate, lambda a, d: a * math.sqrt(d)),
                Part("With that it decays over the whole sequence of chunks.",
                     lambda r, w, c: math.exp(-r * w * (c - 1)), check_across,
                     lambda r, w, c: math.exp(r * w * (c - 1)), oldest_to_newest),
            ),
            Part("d(i, j) is the distance within a chunk: the same key has the same weight in all chunks.",
                 lambda r, w, c: 1.0, check_across, lambda r, w, c: 1 / c),
            practice="Sharing positions removes the decay between chunks. What remains of recency is inside each chunk "
                     "and in the query chunk.",
        ),
    )
}  # fmt: skip
