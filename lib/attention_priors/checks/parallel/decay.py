"""ParallelComp, Theorem 3.1 (Part 1), A.1, A.2, A.4, A.5 and the role of d: decay, its rate, and what follows from it.

Truths: vectors that realise the premise, rows of softmax, the reference backend, scipy's laws, noise drawn and noise at
its worst with exact binomial intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from math import ceil, cos, exp, expm1, log, sqrt

import numpy as np
import sympy
import torch
from scipy import special, stats

from attention_priors.checks.parallel.chunks import content_free
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.theory import parallel

DELTA = 0.05
SETTINGS = [{"alpha": a, "width": d} for a, d in product((0.3, 1.0, 4.0), (2, 16, 64))]
PAIRS = [{"near": a, "far": b} for b in range(1, 12) for a in range(b)]
RATES = [{"low": r, "high": 2 * r, "lag": d} for r, d in product((1.0, 0.1), (1, 7))]
OLDEST = [{"rate": r, "size": w, "chunks": c} for c, w, r in product((2, 5), (2, 16), (1.0, 0.1))]
HEADS = [
    {"alpha": 1.0, "lag": d, "keys": w, "narrow": a, "wide": b}
    for d, w, a, b in ((0, 2, 1, 4), (16, 4096, 16, 64), (16, 4096, 64, 1024))
]
NOISES = [{"alpha": a, "narrow": n, "wide": 4 * n} for a, n in product((1.0, 0.1), (1, 16))]
STRICTER = [{"keys": w, "delta": 0.5, "narrow": n, "wide": 2 * n} for w, n in product((2, 64), (1, 8))]
ROWS = [
    {"rate": r, "keys": n, "epsilon": e, "delta": x, "constant": c}
    for c, x, e, n, r in product((1.0, 0.25, 4.0), (0.5, 0.05), (0.1, 0.01, 1e-6), (2, 64), (1.0, 0.1))
]
NOISELESS = [
    {"rate": r, "keys": n, "ineffective": k, "delta": x}
    for x, n in product((0.5, DELTA), (2, 16, 128)) for r, k in product((4.0, 1.0, 0.2), sorted({n // 2, n - 1}))
]  # fmt: skip
DRAWN = [
    {"kind": kind, "rate": r, "keys": n}
    for kind, r, n in product(("gaussian", "signs", "uniform"), (0.05, 0.5, 3.0), (16, 256))
]
DRAWN_COUNTS = [case | {"ineffective": k} for case in DRAWN for k in (case["keys"] // 2, case["keys"] - 4)]
WORST = [{"rate": r, "epsilon": e, "width": 128} for r, e in product((0.02, 0.2, 1.0), (1e-7, 1e-3, 0.05))]
GROWTH = [
    {"digits": n, "rate": r, "epsilon": e}
    for n, r, e in product((1, 3, 30, 300), (1.0, 0.1, 0.001), (0.1, 1e-3, 1e-5, 1e-30, 1e-300))
]
JOINT = [
    {"chunks": c, "width": w, "query": q, "epsilon": e}
    for c, w, q, e in product((1, 4), (1, 100), (1, 10), (0.6, 0.4, 0.01))
]
QUERIES = [
    {"rate": r, "width": w, "query": q, "epsilon": e, "delta": x}
    for x, e, (w, q), r in product((0.5, 0.05), (0.1, 0.01, 1e-6), ((1, 1), (4, 2), (64, 8)), (1.0, 0.1))
]
QUANTILES = [
    {"rate": r, "share": f, "narrow": n, "wide": 2 * n} for n, f, r in product((2, 64), (0.5, 0.25), (0.0, 0.1, 1.0))
]
SKETCHED = [
    {"rate": r, "ineffective": 0, "delta": 0.5, "narrow": w, "wide": 2 * w} for w, r in product((1, 64), (1.0, 0.1))
]
SHARES = [{"share": f, "s": s} for f in (0.1, 0.5) for s in (0.5, 1.0)]


def row(rate: float, keys: int) -> np.ndarray:
    """The weights of logits -R d, d = 0..w-1."""
    return special.softmax(-rate * np.arange(keys))


def slope(alpha: float, width: int) -> float:
    """Of -ln A over distance for vectors with q_i . k_j = -alpha (i - j), by least squares."""
    j, k, q = np.arange(40.0), np.zeros((40, width)), np.zeros(width)
    k[:, 0], k[:, 1] = 1.0, j
    q[0], q[1] = -alpha * 39.0, alpha
    return -float(np.polyfit(39.0 - j, special.log_softmax(k @ q / sqrt(width)), 1)[0])


def turned(far: int) -> float:
    """<R(lag) q, k> under RoPE for q = k = (1, 0), one plane of frequency 1."""
    unit = torch.tensor([[[[1.0, 0.0]]]], dtype=torch.float64)
    q, k = Rotary(rope(2))(unit, unit, torch.tensor([far]), torch.tensor([0]))
    return float((q * k).sum())


def left(high: float, lag: int) -> float:
    """Weight at a lag relative to the weight at lag 0."""
    return float(row(high, 8)[lag] / row(high, 8)[0])


def oldest_to_newest(rate: float, size: int, chunks: int) -> float:
    """Weight of the oldest chunk's first key over that of the newest chunk's, positions shared."""
    found = content_free(chunks, size, "alibi", rate)
    return float(found[0] / found[(chunks - 1) * size])


def near(alpha: float, lag: int, keys: int, wide: int) -> float:
    """Mass within `lag`."""
    return float(row(alpha / sqrt(wide), keys)[: lag + 1].sum())


def mass(alpha: float, lag: int, keys: int, narrow: int, exponent: float = 0.5) -> float:
    """(1 - e^(-R (D + 1))) / (1 - e^(-R w)), R = alpha / sqrt(d)."""
    rate = alpha / narrow**exponent
    return expm1(-rate * (lag + 1)) / expm1(-rate * keys)


def noise_to_decay(alpha: float, wide: int) -> float:
    """Deviation of the sum of d random signs over sqrt(d), by scipy's binomial law, over the rate alpha / sqrt(d)."""
    return 2 * stats.binom(wide, 0.5).std() / sqrt(wide) / (alpha / sqrt(wide))


def printed(rate: float, keys: int, ineffective: int, delta: float, constant: float = 1.0) -> float:
    """exp(-c R sqrt(ln(w (w - k) / delta))): A.2 for c > 0, the sketch of Theorem 3.1 for c < 0."""
    return exp(-constant * rate * sqrt(log(keys * (keys - ineffective) / delta)))


def demanded(rate: float, keys: int, epsilon: float, delta: float, constant: float) -> float:
    """The least threshold that A.2 allows for the row exp(-R d) and its own k; none where all are ineffective."""
    k = int((row(rate, keys) <= epsilon).sum())
    return printed(rate, keys, k, delta, constant) if k < keys else 0.0


def mended(rate: float, keys: int, ineffective: int, delta: float = DELTA, sign: int = 1) -> float:
    """exp(2 t - R (w - k)), t = sqrt(2 ln(2 w / delta)): all lags from w - k on are at most this."""
    return exp(sign * 2 * sqrt(2 * log(2 * keys / delta)) - rate * (keys - ineffective))


def effective(says: Callable, rate: float, keys: int, ineffective: int, delta: float) -> tuple[int, int]:
    """(w - k, entries of the row exp(-R d) above the threshold)."""
    return keys - ineffective, int((row(rate, keys) > says(rate, keys, ineffective, delta)).sum())


def noisy(kind: str, rate: float, keys: int) -> np.ndarray:
    """300 rows with independent noise of mean 0 and variance proxy 1."""
    rng = np.random.default_rng(keys)
    noise = {
        "gaussian": rng.standard_normal((300, keys)),
        "signs": rng.choice([-1.0, 1.0], (300, keys)),
        "uniform": rng.uniform(-sqrt(3), sqrt(3), (300, keys)),
    }[kind]
    return special.softmax(noise - rate * np.arange(keys), axis=1)


def surely(broken: np.ndarray) -> tuple[float, float]:
    """(delta, upper end of the exact 99.9 % interval of the share of rows that break the promise)."""
    return DELTA, stats.binomtest(int(broken.sum()), len(broken)).proportion_ci(0.998).high


def too_many(says: Callable, kind: str, rate: float, keys: int, ineffective: int) -> tuple[float, float]:
    above = noisy(kind, rate, keys) > says(rate, keys, ineffective, DELTA)
    return surely(above.sum(axis=1) > keys - ineffective)


def too_heavy(says: Callable, kind: str, rate: float, keys: int) -> tuple[float, float]:
    """Rows in which some weight A_d exceeds says(R, d, t)."""
    t = sqrt(2 * log(2 * keys / DELTA))
    return surely((noisy(kind, rate, keys) > says(rate, np.arange(keys), t) + 1e-12).any(axis=1))


def worst_count(rate: float, epsilon: float, width: int, chunks: int = 1) -> int:
    """The most entries above epsilon over rows with |g| <= t: lags up to a distance, or beyond it, at t, else at -t."""
    lags = np.concatenate([np.tile(np.arange(width, 0, -1), chunks), [0]])
    t, found = sqrt(2 * log(2 * len(lags) / DELTA)), 0
    for reach, beyond in product((0, 1, 3, 10, 20, 40, 100, 1000), (False, True)):
        lifted = ((lags > reach) if beyond else (lags <= reach)) & (lags > 0)
        weights = special.softmax(np.where(lifted, t, -t) - rate * lags)
        found = max(found, int((weights > epsilon).sum()))
    return found


def most(
    rate: float, epsilon: float, width: int, chunks: int = 1, noise: float = 2.0, copies: int | None = None
) -> float:
    """min{1/eps, C (1 + (2 t + ln(1/eps)) / R)}."""
    t = sqrt(2 * log(2 * (chunks * width + 1) / DELTA))
    return min(1 / epsilon, (copies or chunks) * (1 + (noise * t + log(1 / epsilon)) / rate))


def bound_at(digits: int, rate: float, epsilon: float) -> float:
    """The library's bound at w = 10^digits."""
    return parallel.count_bound(rate, epsilon, parallel.noise_level(10**digits, DELTA))


def below(chunks: int, width: int, query: int, epsilon: float) -> int:
    """k_g: entries below epsilon of a uniform row of C w + w_q."""
    keys = chunks * width + query
    return keys if 1 / keys < epsilon else 0


def counted(chunks: int, width: int, query: int, epsilon: float) -> int:
    """Entries of that row that are not below epsilon, one by one."""
    return int((special.softmax(np.zeros(chunks * width + query)) >= epsilon).sum())


def demanded_globally(rate: float, width: int, query: int, epsilon: float, delta: float, power: float = 0.5) -> float:
    """exp(-R sqrt(ln((w + w_q) (w_q - k_g) / delta))) for the query's last token; 0 where the root is undefined."""
    k = int((row(rate, width + query) < epsilon).sum())
    argument = (width + query) * (query - k) / delta
    return exp(-rate * log(argument) ** power) if argument > 1 else 0.0


def quantile(rate: float, share: float, narrow: int, power: int = 1) -> float:
    """The ceil(f w)-th largest weight of the row exp(-R d): e^(-R (ceil(f w) - 1)) (1 - e^-R) / (1 - e^(-R w))."""
    first = 1 / narrow**power if rate == 0 else expm1(-rate) / expm1(-rate * narrow)
    return exp(-rate * (ceil(share * narrow) - 1)) * first


def sorted_weight(rate: float, share: float, wide: int) -> float:
    return float(np.sort(row(rate, wide))[::-1][ceil(share * wide) - 1])


def scaled_quantile(share: float, s: float) -> float:
    """w times the weight above which a share f lies, in 16 rows of 2^15 keys with logits N(0, s^2)."""
    logits = s * np.random.default_rng(0).standard_normal((16, 2**15))
    return float(2**15 * np.quantile(special.softmax(logits, axis=1), 1 - share, axis=1).mean())


R = sympy.Symbol("R", positive=True)

CHECKS = claims(
    claim(
        "PC-T3.1a",
        Law("The threshold above which a share f of a row lies falls as w grows.",
            quantile, sorted_weight, QUANTILES, relation=">", wrong=partial(quantile, power=3)),
        Law("The threshold of the sketch, exp(+R sqrt(ln(w (w - k)/delta))), falls as w grows.",
            lambda rate, ineffective, delta, narrow: printed(rate, narrow, ineffective, delta, -1.0),
            lambda rate, ineffective, delta, wide: printed(rate, wide, ineffective, delta, -1.0), SKETCHED,
            relation=">=", wrong=lambda rate, ineffective, delta, narrow: printed(rate, narrow, ineffective, delta),
            repaired=lambda rate, ineffective, delta, wide: printed(rate, wide, ineffective, delta, -2.0)),
        Law("It is a threshold that a weight can exceed: it is below 1.",
            lambda rate, keys, ineffective, delta: printed(rate, keys, ineffective, delta, -1.0), 1.0,
            [{"rate": r, "keys": w, "ineffective": k, "delta": 0.5}
             for (w, k), r in product(((1, 0), (64, 10), (64, 63)), (1.0, 0.01))], relation="<",
            wrong=lambda rate, keys, ineffective, delta: printed(rate, keys, ineffective, delta, -2.0),
            repaired=printed),
        corrected=Law("Without decay, a share f of a row stays above eps exactly if eps falls as 1/w: for logits "
                      "N(0, s^2) w eps tends to exp(s z - s^2/2), z being the normal quantile of 1 - f.",
                      lambda share, s: exp(s * stats.norm.isf(share) - s * s / 2), scaled_quantile, SHARES,
                      wrong=lambda share, s: exp(s * stats.norm.isf(share)), tolerance=0.02),
        practice='A lower threshold admits more entries: "decreases" and the sketch\'s "stricter" exclude each '
                 "other. Scale a threshold on weights with 1/w; a constant one changes its meaning with w.",
    ),
    claim(
        "PC-TA.1",
        Law("If q_i . k_j = -alpha d(i, j), then A is proportional to exp(-alpha d(i, j)/sqrt(d)).",
            lambda alpha, width: alpha / sqrt(width), slope, SETTINGS, wrong=lambda alpha, width: alpha / width),
        Law("Under relative (rotary) encoding the inner product diminishes with distance.",
            lambda near: cos(near), turned, PAIRS, relation=">=", wrong=lambda near: cos(near) ** 2, repaired=1.0),
        Law("A higher R yields slower decay: the weight at a lag rises with R.",
            lambda low, lag: exp(-low * lag), left, RATES, relation="<=", wrong=lambda low, lag: exp(-low * lag / 2),
            repaired=lambda high, lag: exp(-high * lag)),
        corrected=Law("R = alpha/sqrt(d) is the rate of decay: half of the weight is lost every ln 2/R lags, so a "
                      "higher R yields faster decay. The premise is ALiBi's bias; a rotation is bounded and returns.",
                      lambda rate: log(2) / rate, lambda rate: float(stats.expon(scale=1 / rate).median()),
                      [{"rate": r} for r in (0.01, 0.3, 1.0, 5.0)], wrong=lambda rate: log(2) * rate),
        practice="The theorem describes ALiBi. RoPE heads need a measured decay before any of the bounds applies.",
    ),
    claim(
        "PC-TA.2",
        Law("A threshold with k ineffective entries satisfies eps >= exp(-c R sqrt(ln(w (w - k)/delta))), c the "
            "constant of O(R).",
            demanded, lambda epsilon: epsilon, ROWS, relation="<=",
            wrong=lambda rate, keys, epsilon, delta, constant: demanded(rate, keys, epsilon, delta, constant / 2),
            repaired=0.0),
        Law("At that threshold, with c = 1, at most w - k entries are effective.",
            printed, effective, NOISELESS, relation=">=",
            wrong=lambda rate, keys, ineffective, delta: printed(2 * rate, keys, ineffective, delta), repaired=mended),
        corrected=Law("With probability >= 1 - delta, k entries or more are ineffective as soon as eps >= "
                      "exp(2 t - R (w - k)), t = sqrt(2 ln(2 w/delta)): R multiplies a distance, and t has a plus.",
                      mended, too_many, DRAWN_COUNTS, relation=">=", wrong=partial(mended, sign=-1)),
        practice="The noise raises the threshold that suppresses far keys; it does not lower it. Only the distance "
                 "does, at rate R.",
    ),
    claim(
        "PC-TA.2x",
        Law("With probability >= 1 - delta, A_d <= e^(2 t - R d) at all lags together.",
            lambda rate, lags, t: np.exp(2 * t - rate * lags), too_heavy, DRAWN, relation=">=",
            wrong=lambda rate, lags, t: np.exp(-rate * lags)),
        Law("Hence at most min{1/eps, 1 + (2 t + ln(1/eps))/R} entries exceed eps.",
            most, worst_count, WORST, relation=">=", wrong=partial(most, noise=1.0)),
        Law("That is O((sqrt(ln w) + ln(1/eps))/R) for bounded R: at most 4 times this for R <= 1, w = 10^digits.",
            lambda digits, rate, epsilon: 4 * (sqrt(digits * log(10)) - log(epsilon)) / rate, bound_at, GROWTH,
            relation=">=", wrong=lambda digits, rate, epsilon: 4 * sqrt(digits * log(10)) / rate),
        practice="With decay R the effective window is about (2 t + ln(1/eps))/R keys and hardly grows with the "
                 "context. For unbounded R a 1 must be added in the O: one key is always left.",
    ),
    claim(
        "PC-TA.2d",
        Law("With larger d more mass lies near the query.",
            mass, near, HEADS, relation="<=", wrong=partial(mass, exponent=0.25),
            repaired=lambda alpha, lag, keys, wide: mass(alpha, lag, keys, wide)),
        Law("With larger d noise loses weight against the decay.",
            lambda alpha, narrow: sqrt(narrow) / alpha, noise_to_decay, NOISES, relation=">=",
            wrong=lambda alpha, narrow: 1 / (alpha * narrow), repaired=lambda alpha, wide: sqrt(wide) / alpha),
        Law("The d in its denominator makes the printed bound on k stricter (eps w = 1).",
            lambda keys, delta, narrow: keys - delta / (keys * narrow),
            lambda keys, delta, wide: keys - delta / (keys * wide), STRICTER, relation=">=",
            wrong=lambda keys, delta, narrow: keys - 2 * delta / (keys * narrow), repaired=lambda keys: keys),
        corrected=(
            Law("At a fixed alpha the rate alpha/sqrt(d) falls while the noise keeps deviation 1: without noise the "
                "mass within D is (1 - e^(-R (D + 1)))/(1 - e^(-R w)), falling with d",
                mass, near, [{"alpha": a, "lag": d, "keys": w, "narrow": n, "wide": n}
                             for a, (d, w), n in product((0.5, 2.0), ((0, 2), (16, 512)), (1, 16, 1024))],
                wrong=partial(mass, exponent=1)),
            Law("to (D + 1)/w.", sympy.Rational(17, 512),
                sympy.limit((1 - sympy.exp(-17 * R)) / (1 - sympy.exp(-512 * R)), R, 0), wrong=sympy.Rational(16, 512),
                symbolic=True),
        ),
        practice="Concentration with d needs alpha to grow faster than sqrt(d). A bias added after the scaling, as "
                 "ALiBi's is, does not depend on d.",
    ),
    claim(
        "PC-TA.4",
        Law("If q_i . k_j = -alpha d(i, j), global attention is proportional to exp(-R d(i, j)), R = alpha/sqrt(d).",
            lambda alpha, width: alpha / sqrt(width), slope, SETTINGS,
            wrong=lambda alpha, width: alpha * sqrt(width)),
        Law("With that it decays over the whole sequence of chunks.",
            lambda rate, size, chunks: exp(-rate * size * (chunks - 1)), oldest_to_newest, OLDEST,
            wrong=lambda rate, size, chunks: exp(-rate * size * chunks)),
        corrected=Law("d(i, j) is the distance within a chunk: the same key has the same weight in all chunks.",
                      1.0, oldest_to_newest, OLDEST, wrong=lambda chunks: 1 / chunks),
        practice="Sharing positions removes the decay between chunks. What remains of recency is inside each chunk "
                 "and in the query chunk.",
    ),
    claim(
        "PC-TA.5",
        Law("In a row of C w + w_q entries, k_g below eps, the factor w_q - k_g counts the others.",
            lambda chunks, width, query, epsilon: query - below(chunks, width, query, epsilon), counted, JOINT,
            wrong=lambda chunks, width, query, epsilon: width - below(chunks, width, query, epsilon), tolerance=0),
        Law("Where it is defined, eps >= exp(-R sqrt(ln((C w + w_q)(w_q - k_g)/delta))), here for one chunk and 1 as "
            "the constant of O(R).",
            demanded_globally, lambda epsilon: epsilon, QUERIES, relation="<=",
            wrong=partial(demanded_globally, power=1), repaired=0.0),
        corrected=Law("With positions shared by C chunks and t = sqrt(2 ln(2 (C w + w_q)/delta)), with probability "
                      ">= 1 - delta at most min{1/eps, C (1 + (2 t + ln(1/eps))/R)} entries exceed eps.",
                      most, worst_count, [case | {"chunks": c} for case in WORST for c in (1, 8)], relation=">=",
                      wrong=partial(most, copies=1)),
        practice="Shared positions multiply the effective window by the number of chunks, up to 1/eps.",
    ),
)  # fmt: skip
