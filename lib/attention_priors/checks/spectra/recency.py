"""Goat, sections 3 and 4, appendices E.2 and F.3: encodings as priors, maximum entropy under a mean lag, the key slope.

Truths: cvxpy, mpmath, scipy's truncated geometric law, the library's rotation and priors, torch's own bf16 attention.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import exp, expm1, log, sqrt

import mpmath
import numpy as np
import sympy
import torch
from scipy import optimize, special, stats
from torch.nn import functional

from attention_priors.attention import attention
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.absolute import Sinusoidal
from attention_priors.positions.finite_rank import extend
from attention_priors.positions.priors import (
    GeneralizedGaussian,
    KerpleLog,
    KerplePower,
    Laplace,
    RelativePrior,
    Sandwich,
    T5Buckets,
)
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.theory import key_slope
from attention_priors.theory.classification import Mode, realise

WIDTH = KEYS = 12  # equal, so that values can be indicators of the keys
PRIORS = ("ALiBi", "BAM", "KERPLE, power", "KERPLE, logarithm", "T5", "Sandwich")
SCALES = [{"a": a, "b": b, "lag": d} for (a, b), d in product(((2.0, 1.0), (1.0, 3.0), (0.1, 5.0)), (1, 7, 100))]
MEANS = [
    {"keys": n, "mean": m} for n, m in ((2, 0.3), (3, 1.0), (10, 1.0), (10, 4.5), (10, 7.0), (64, 2.5), (64, 50.0))
]
LAMBDAS = [{"keys": n, "rate": x} for n, x in product((2, 5, 64), (-2.0, -0.1, 0.0, 0.3, 1.5))]
MIXED = [
    {"q": [0.5, 0, 0.5], "r": [0.3, 0.4, 0.3]},
    {"q": [0, 1, 0], "r": [0.2, 0.6, 0.2]},
    {"q": [0.25, 0, 0, 0.75], "r": [0.125, 0.125, 0.125, 0.625]},
]
ROWS = [{"m": m, "keys": n} for n, m in product((2, 6, 21, 101, 1001), (log(2), 0.1, 0.01))]
SHORT = [{"m": m, "keys": n} for m, n in product((0.1, log(2)), (2, 5, 30))]
ODDS = [{"m": 1.0, "older": j - 1, "newer": j} for j in (1, 2, 255, 256, 257)]
M, I_, J_ = sympy.symbols("m i j", real=True)

# Encodings as priors


def prior_of(encoding: str) -> RelativePrior:
    """One head of an additive encoding, in float64."""
    buckets = T5Buckets(1, 8, 16)
    with torch.no_grad():
        buckets.values.copy_(torch.sin(torch.arange(8.0))[None])
    found = (Laplace([0.3]), GeneralizedGaussian([0.2], [0.6]), KerplePower([0.5], [1.5]), KerpleLog([1.0], [0.5]))
    return dict(zip(PRIORS, (*found, buckets, Sandwich(1, 8)), strict=True))[encoding].double()


def content() -> torch.Tensor:
    """Queries and keys [2, keys, width]."""
    return torch.randn(2, KEYS, WIDTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def attended(encoding: str) -> np.ndarray:
    """Weights of the last query in the library's attention."""
    q, k = content()[:, None, None]
    v = torch.eye(KEYS, dtype=torch.float64)[None, None]
    with torch.no_grad():
        return attention(q, k, v, prior=prior_of(encoding), backend="reference")[0, 0, -1].numpy()


def transported(says: Callable, encoding: str) -> tuple[np.ndarray, np.ndarray]:
    """(cvxpy's minimum of -<p, s> + KL(p || prior) for the prior that says(bias) names, the library's attention)."""
    import cvxpy as cp

    q, k = content()
    scores, p = (q[-1] @ k.T / WIDTH**0.5).numpy(), cp.Variable(KEYS)
    with torch.no_grad():
        bias = prior_of(encoding).log_prior(torch.arange(KEYS - 1, -1, -1))[0].double().numpy()
    cp.Problem(cp.Minimize(-scores @ p + cp.sum(cp.rel_entr(p, says(bias)))), [cp.sum(p) == 1]).solve(solver="CLARABEL")
    return p.value, attended(encoding)


def rotated(q: torch.Tensor, k: torch.Tensor, lag: int) -> float:
    """RoPE: <R(lag) q, k>."""
    here, there = torch.tensor([lag]), torch.tensor([0])
    return float((Rotary(rope(len(q)))(q[None, None, None], k[None, None, None], here, there)[0][0, 0, 0] * k).sum())


def embedded(q: torch.Tensor, k: torch.Tensor, lag: int) -> float:
    """Sinusoidal: <q + p_i, k + p_j> at i = 20, j = 20 - lag (identity projections)."""
    table = Sinusoidal(len(q))(torch.tensor([20, 20 - lag])).double()
    return float(((q + table[0]) * (k + table[1])).sum())


def biased(q: torch.Tensor, k: torch.Tensor, lag: int) -> float:
    """ALiBi: <q, k> - lag / 2."""
    return float((q * k).sum()) - 0.5 * lag


def explained(encoding: str) -> float:
    """What the best log-prior explains of the variance over lags: 1 where every content sees the same bias."""
    logit = {"RoPE": rotated, "sinusoidal": embedded, "ALiBi": biased}[encoding]
    table = np.array([[logit(q, k, lag) for lag in range(KEYS)] for q, k in zip(*content(), strict=True)])
    moves = table - table.mean(axis=1, keepdims=True)  # what lag does to each content
    return float(1 - ((moves - moves.mean(axis=0)) ** 2).sum() / (moves**2).sum())


def scaled_part(a: float, b: float, lag: int) -> float:
    """z(lag) - z(0) of the library's rotation with q and k scaled."""
    q, k = content()[:, 0]
    return rotated(a * q, b * k, lag) - rotated(a * q, b * k, 0)


def unscaled_part(lag: int) -> float:
    """The same without scales in complex numbers: Re sum q conj(k) (e^(i omega d) - 1)."""
    q, k = (x[: WIDTH // 2] + 1j * x[WIDTH // 2 :] for x in content()[:, 0].numpy())
    omega = 10_000.0 ** (-np.arange(WIDTH // 2) * 2 / WIDTH)
    return float((q * k.conj() * (np.exp(1j * omega * lag) - 1)).real.sum())


def goat(lags: np.ndarray) -> np.ndarray:
    return np.cos(0.5 * lags) + 0.7 * np.sin(0.5 * lags) - 0.6 * np.cos(1.7 * lags)


def goat_coordinates() -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        return realise([Mode(1, 0.5, (1.0,), (0.7,)), Mode(1, 1.7, (-0.6,))]).features(torch.arange(KEYS))


def added(scale: float) -> np.ndarray:
    """Logits of extended vectors less the content score, content scaled."""
    q, k = content()[:, None]
    long_q, long_k = extend(scale * q, k, *goat_coordinates())
    scores = scale * (q @ k.mT) / sqrt(WIDTH)
    return (long_q @ long_k.mT / sqrt(long_q.shape[-1]) - scores)[0].numpy()


def without_content(encoding: str) -> np.ndarray:
    """Weights of the last query in torch's attention, content scaled by 1e-12."""
    q, k = 1e-6 * content()[:, None]
    if encoding == "RoPE":
        q, k = (x[0] for x in Rotary(rope(WIDTH))(q[None], k[None], torch.arange(KEYS), torch.arange(KEYS)))
    else:
        q, k = extend(q, k, *goat_coordinates())
    units = torch.eye(KEYS, dtype=torch.float64)[None]
    return functional.scaled_dot_product_attention(q[:, -1:], k, units)[0, 0].numpy()


# Maximum entropy under a mean lag


def tilted(keys: int, mean: float) -> np.ndarray:
    """exp(-lambda d) / Z with the lambda that gives the mean."""
    lags = np.arange(keys)
    rate = optimize.brentq(lambda x: special.softmax(-x * lags) @ lags - mean, -50, 50, xtol=1e-14)
    return special.softmax(-rate * lags)


def concave(keys: int, mean: float | None = None, price: float = 0.0) -> np.ndarray:
    """cvxpy's largest H(q) - price E[d] on the lags 0 .. keys - 1, with the mean lag if given."""
    import cvxpy as cp

    q, lags = cp.Variable(keys), np.arange(keys, dtype=float)
    constraints = [cp.sum(q) == 1] + ([] if mean is None else [lags @ q == mean])
    cp.Problem(cp.Maximize(cp.sum(cp.entr(q)) - price * (lags @ q)), constraints).solve(solver="CLARABEL")
    return q.value


def moment(keys: int, rate: mpmath.mpf) -> mpmath.mpf:
    weights = [mpmath.exp(-rate * d) for d in range(keys)]
    return sum(w * d for d, w in enumerate(weights)) / sum(weights)


def derivative(keys: int, rate: float) -> float:
    """m'(lambda) by differences with 40 digits."""
    with mpmath.workdps(40):
        rate, step = mpmath.mpf(rate), mpmath.mpf("1e-12")
        return float((moment(keys, rate + step) - moment(keys, rate - step)) / (2 * step))


def variance(keys: int, rate: float) -> float:
    lags = np.arange(keys)
    p = special.softmax(-rate * lags)
    return float(p @ lags**2 - (p @ lags) ** 2)


def mean_after(source: int, target: int, mass: float) -> float:
    """Mean lag of (1/2, 0, 1/2) after moving mass."""
    q = np.array([0.5, 0.0, 0.5])
    q[source], q[target] = q[source] - mass, q[target] + mass
    return float(q @ np.arange(3))


def growth(q: list[float], r: list[float]) -> float:
    """(H((1 - eps) q + eps r) - H(q)) / eps from eps = 1e-15 to 1e-25, over ln(1e10), with 60 digits."""
    with mpmath.workdps(60):
        q, r = ([mpmath.mpf(x) for x in each] for each in (q, r))

        def nats(p: list[mpmath.mpf]) -> mpmath.mpf:
            return -mpmath.fsum(x * mpmath.log(x) for x in p if x)

        def quotient(step: mpmath.mpf) -> mpmath.mpf:
            return (nats([(1 - step) * a + step * b for a, b in zip(q, r, strict=True)]) - nats(q)) / step

        return float((quotient(mpmath.mpf("1e-25")) - quotient(mpmath.mpf("1e-15"))) / mpmath.log(10**10))


def mass_at_zeros(q: list[float], r: list[float]) -> float:
    return sum(b for a, b in zip(q, r, strict=True) if a == 0)


def alibi(m: float, keys: int) -> np.ndarray:
    """A row of the library's ALiBi."""
    with torch.no_grad():
        return special.softmax(Laplace([m]).double().log_prior(torch.arange(keys))[0].numpy())


def row_mean(m: float, keys: int) -> float:
    """1 / (e^m - 1) - n / (e^(n m) - 1) on n lags."""
    return 1 / expm1(m) - (0.0 if keys * m > 700 else keys / expm1(keys * m))


def same_weights(says: Callable, m: float, i: int) -> tuple[float, float]:
    """(0, total variation on j <= i of softmax with -m (i - j) and with says(m, j)), content of size 30, 50 digits."""
    with mpmath.workdps(50):
        scores = [mpmath.mpf(float(x)) for x in 30 * np.random.default_rng(i).standard_normal(i + 1)]
        rows = []
        for bias in (lambda m, j: -m * (i - j), says):
            weights = [mpmath.exp(s + bias(mpmath.mpf(m), j)) for j, s in enumerate(scores)]
            total = mpmath.fsum(weights)
            rows.append([w / total for w in weights])
        return 0.0, float(mpmath.fsum(abs(a - b) for a, b in zip(*rows, strict=True)) / 2)


# The key slope in bf16


def odds(m: float, older: int, newer: int) -> float:
    """Weight of a newer key over that of an older one, m j stored in one bf16 coordinate."""
    bias = key_slope.key_slope(m, newer + 1, "bf16").sum(axis=0)
    return float(np.exp(bias[newer] - bias[older]))


def split_logits(m: float, keys: int) -> np.ndarray:
    """m j from the two bf16 coordinates of the library."""
    return key_slope.split_key_slope(m, keys, "bf16").sum(axis=0)


def last_weights(coordinates: np.ndarray, width: int = 64) -> np.ndarray:
    """Weight of all other keys, then of the last `width` - 1, as torch's attention gives them in bf16, content zero."""
    lanes, keys = coordinates.shape
    k = torch.zeros(1, keys, width, dtype=torch.bfloat16)
    k[0, :, :lanes] = torch.as_tensor(coordinates.T).bfloat16()
    q = torch.zeros(1, 1, width, dtype=torch.bfloat16)
    q[..., :lanes] = width**0.5
    column = torch.arange(keys).sub(keys - width).clamp(min=0)
    v = functional.one_hot(column, width).bfloat16()[None]
    return functional.scaled_dot_product_attention(q, k, v)[0, 0].double().numpy()


def misplaced(says: Callable, m: float, keys: int) -> tuple[float, float]:
    """(0, weight of the last query that says(m, keys, "bf16") misplaces: emulated, and in torch's own attention)."""
    found, exact = says(m, keys, "bf16"), special.softmax(m * np.arange(keys))
    blocks = np.concatenate([[exact[:-63].sum()], exact[-63:]])
    gaps = special.softmax(found.sum(axis=0)) - exact, last_weights(found) - blocks
    return 0.0, max(float(np.abs(gap).sum() / 2) for gap in gaps)


def split_at(size: int) -> Callable:
    """Two coordinates with j = size a + b."""

    def coordinates(m: float, keys: int, dtype: str) -> np.ndarray:
        coarse, fine = np.divmod(np.arange(keys, dtype=float), size)
        return key_slope.rounded(np.stack([m * size * coarse, m * fine]), dtype)

    return coordinates


CHECKS = claims(
    claim(
        "GOAT-P3.1b",
        Law("RoPE and sinusoidal embeddings are no log-priors: content and lag interact, so that no prior explains all "
            "that a lag does to logits.", 1.0, explained, [{"encoding": e} for e in ("RoPE", "sinusoidal")],
            relation=">", wrong=0.0),
        Law("They stand in for one: the best prior explains most of what a lag does (independent contents).",
            0.5, explained, [{"encoding": e} for e in ("RoPE", "sinusoidal")], relation="<", wrong=0.9, repaired=0.0,
            ours=True),
        Law("ALiBi, BAM, KERPLE, T5 and Sandwich only stand in for one: their weights are not those of transport.",
            special.softmax, transported, [{"encoding": e} for e in PRIORS], relation="!=",
            wrong=lambda bias: np.exp(bias) / np.exp(bias).sum(), repaired=lambda bias: special.softmax(2 * bias),
            tolerance=1e-4,
            ours=True),
        corrected=(
            Law("ALiBi, BAM, KERPLE, T5 and Sandwich are log-priors exactly.",
                special.softmax, transported, [{"encoding": e} for e in PRIORS],
                wrong=lambda bias: special.softmax(2 * bias), tolerance=1e-4,
                answers=(2,)),
            Law("RoPE is near none: over independent contents the best explains less than a fifth of what a lag does.",
                0.2, explained, [{"encoding": "RoPE"}], relation=">", wrong=0.01,
                answers=(1,)),
        ),
        practice="Tail mass, mean lag and maximum entropy speak of additive encodings only. For RoPE they depend "
                 "on the content of the pair at hand.",
    ),
    claim(
        "GOAT-E.2",
        Law("RoPE's positional part z(d) - z(0) scales with |q| |k|.",
            lambda a, b, lag: a * b * unscaled_part(lag), scaled_part, SCALES,
            wrong=lambda a, b, lag: a * unscaled_part(lag)),
        Law("Goat's K does not involve the norms of the content.",
            lambda scale: goat(np.subtract.outer(np.arange(KEYS), np.arange(KEYS))), added,
            [{"scale": a} for a in (1e-3, 1.0, 50.0)],
            wrong=lambda scale: scale * goat(np.subtract.outer(np.arange(KEYS), np.arange(KEYS)))),
        Law("As content vanishes RoPE's weights become uniform and Goat's become the prior.",
            lambda encoding: special.softmax((encoding == "Goat") * goat(np.arange(KEYS)[::-1])), without_content,
            [{"encoding": "RoPE"}, {"encoding": "Goat"}], wrong=np.full(KEYS, 1 / KEYS)),
        practice="A default for tokens that match nothing needs an additive term; a rotation has none to give.",
    ),
    claim(
        "GOAT-F.T3",
        Law("The unique entropy maximiser with mean mu in (0, L - 1) is exp(-lambda d) / Z.",
            tilted, lambda keys, mean: concave(keys, mean), MEANS,
            wrong=lambda keys, mean: tilted(keys, 0.9 * mean), tolerance=1e-4),
        Law("lambda is unique, since m'(lambda) = -Var < 0", lambda keys, rate: -variance(keys, rate), derivative,
            LAMBDAS, wrong=lambda keys, rate: -2 * variance(keys, rate)),
        Law("and m runs from L - 1 to 0.", lambda keys: [keys - 1, 0],
            lambda keys: [float(moment(keys, rate)) for rate in (-60, 60)], [{"keys": n} for n in (2, 5, 64)],
            wrong=lambda keys: [keys, 0]),
        practice="lambda > 0 (recency) only for mu < (L - 1)/2; at (L - 1)/2 the maximiser is uniform, beyond it "
                 "prefers the oldest keys.",
    ),
    claim(
        "GOAT-F.T3p",
        Law("The maximiser has full support.", 1e-6, lambda keys, mean: float(concave(keys, mean).min()),
            [{"keys": n, "mean": m} for n, m in ((3, 1.0), (10, 2.0), (10, 5.5))], relation="<", wrong=0.1),
        Law("Mass moved from one lag to another preserves the mean.", 1.0, mean_after,
            [{"source": s, "target": 1, "mass": 0.1} for s in (0, 2)], wrong=lambda mass: 1 - mass,
            quote="Consider a perturbation that transfers an infinitesimal amount of mass from "
                  "$d_{1}$ to $d_{0}$ while preserving both constraints",
            place="App. F.3"),
        Law("A law with this mean and a zero has two positive coordinates at least.",
            2, lambda keys, mean: int((np.eye(keys)[mean] > 0).sum()),
            [{"keys": n, "mean": m} for n in (3, 4, 8) for m in range(1, n - 1)], relation="<=", wrong=3, repaired=1,
            quote="lies on a face of the simplex with at least two active coordinates",
            place="App. F.3"),
        corrected=Law("Mix with a law r > 0 of the same mean: the entropy of (1 - eps) q + eps r has a slope at 0 that "
                      "grows like r(zeros of q) ln(1/eps), so no maximiser has a zero.", mass_at_zeros, growth, MIXED,
                      wrong=lambda q, r: 1 - mass_at_zeros(q, r),
                      answers=(1, 2)),
        practice="None for models: the theorem stands, with three coordinates moving instead of two.",
        severity="needs a repair"),
    claim(
        "GOAT-F.T3r",
        Law("Each row of ALiBi is the entropy maximiser for its own mean lag.",
            lambda m, keys: tilted(keys, row_mean(m, keys)), alibi, SHORT,
            wrong=lambda m, keys: tilted(keys, 0.9 * row_mean(m, keys)), tolerance=1e-7),
        Law("One slope means one mean lag in all rows.",
            lambda m: 1 / expm1(m), lambda m, keys: float(stats.boltzmann.mean(m, keys)), ROWS, wrong=lambda m: 1 / m,
            ours=True),
        corrected=(
            Law("One slope means one price of lag: every row maximises H(q) - m E[d].",
                lambda m, keys: concave(keys, price=m), alibi, SHORT,
                wrong=lambda m, keys: concave(keys, price=1.1 * m), tolerance=1e-4),
            Law("Its mean lag 1/(e^m - 1) - n/(e^(n m) - 1) grows with the n visible keys and settles only for n well "
                "above 1/m.", row_mean, lambda m, keys: float(stats.boltzmann.mean(m, keys)), ROWS,
                wrong=lambda m, keys: row_mean(m, keys + 1)),
        ),
        practice="A small slope does not have its nominal reach 1/m in a short context: in a row of n << 1/m "
                 "keys the prior is uniform, with mean (n - 1)/2.",
    ),
    claim(
        "GOAT-F.6",
        Law("-m (i - j) and m j differ by a constant of the row: both rise by m a key.",
            sympy.diff(M * J_, J_), sympy.diff(-M * (I_ - J_), J_), wrong=sympy.diff(-M * J_, J_), symbolic=True),
        Law("Hence equal weights on the keys j <= i for any content, in exact arithmetic.",
            lambda m, j: m * j, same_weights,
            [{"m": m, "i": i} for m, i in ((0.5, 3), (0.1, 40), (-0.3, 25), (0.0039, 2000))],
            wrong=lambda m, j: m * j / 2, tolerance=1e-40),
        practice="One coordinate instead of ALiBi's bias table, in causal attention only: for j > i the bias "
                 "-m |i - j| falls while m j goes on rising. And in exact arithmetic only: see GOAT-E6.",
    ),
    claim(
        "GOAT-E6",
        Law("m j in one bf16 coordinate gives ALiBi's weights: a newer key has e^(m lag) times that of an older.",
            lambda m, older, newer: exp(m * (newer - older)), odds, ODDS,
            wrong=lambda m, older, newer: exp(m * (older - newer)),
            quote="under causal masking this is equivalent to a key-linear bias",
            place="App. F.3"),
        corrected=(
            Law("With m a power of two, two coordinates of j = 256 a + b give them (to the rounding of bf16 weights),",
                split_at(256), misplaced,
                [{"m": m, "keys": n} for m in (0.5, 0.25, 0.0625) for n in (256, 2048, 16_384)], wrong=split_at(512),
                tolerance=0.01),
            Law("exactly so as logits up to 65,536 keys.",
                lambda m, keys: m * np.arange(keys), split_logits, [{"m": m, "keys": 65_536} for m in (0.5, 0.0625)],
                wrong=lambda m, keys: m * np.arange(1, keys + 1),
                tolerance=0),
        ),
        practice="Give the slope two coordinates, or keep the bias in float32, which has no such limit. ALiBi "
                 "has it too where its bias is built in the model's dtype, as transformers' BLOOM does in bf16.",
        severity="needs a repair"),
    claim(
        "GOAT-E11",
        Law("For every mean lag in (0, L - 1) the maximiser is a recency prior: the newest key outweighs the oldest.",
            lambda keys, mean: concave(keys, mean)[-1], lambda keys, mean: tilted(keys, mean)[0],
            [{"keys": 10, "mean": m} for m in (1.0, 3.0, 4.5, 7.0)], relation="<", wrong=1.0, repaired=0.0,
            quote="Unique maximum-entropy recency prior under a mean constraint", place="App. F.3, Theorem 3",
            boundary="mean lags from the middle, (L - 1)/2, on"),
        corrected=Law("It is for mean lags below the middle, (L - 1)/2; there it is uniform, and beyond it rises "
                      "with the lag.", lambda keys, mean: float(np.sign((keys - 1) / 2 - mean)),
                      lambda keys, mean: float(np.sign(round(tilted(keys, mean)[0] - tilted(keys, mean)[-1], 9))),
                      [{"keys": 10, "mean": m} for m in (1.0, 3.0, 4.5, 7.0)],
                      wrong=lambda keys, mean: float(np.sign((keys + 1) / 2 - mean))),
        practice="A learned slope may come out negative: then the head prefers old keys, and is still of this family.",
        severity="editorial"),
)  # fmt: skip
