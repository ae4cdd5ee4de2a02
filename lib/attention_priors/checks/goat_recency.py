"""Goat, appendix F.3 and section 4: maximum entropy under a mean lag, the key-linear slope in exact and bf16 numbers.

Independent evidence: cvxpy, mpmath, sympy, scipy's truncated geometric law, torch's own bf16 attention.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.theory import key_slope
from attention_priors.theory.inference import truncated_geometric
from attention_priors.theory.maximum_entropy import maximum_entropy

# Theorem 3


def concave(keys: int, objective: Callable, mean: float | None = None) -> np.ndarray:
    """The law on lags 0 .. keys - 1 that cvxpy finds for the largest objective(q, lags), with the mean lag if given."""
    import cvxpy

    q, lags = cvxpy.Variable(keys), np.arange(keys, dtype=float)
    constraints = [cvxpy.sum(q) == 1] + ([] if mean is None else [lags @ q == mean])
    cvxpy.Problem(cvxpy.Maximize(objective(q, lags)), constraints).solve(solver="CLARABEL")
    return np.asarray(q.value)


def entropy_of(q, lags):
    import cvxpy

    return cvxpy.sum(cvxpy.entr(q))


def tilted(keys: int, mean: float) -> np.ndarray:
    """exp(-λ d) / Z with the λ that gives the mean."""
    return maximum_entropy(np.arange(keys), mean)[0]


def check_maximiser(law: Callable) -> Evidence:
    worst = 0.0
    for keys, mean in ((2, 0.3), (3, 1.0), (10, 1.0), (10, 4.5), (10, 7.0), (64, 2.5), (64, 50.0)):
        worst = max(worst, float(np.abs(law(keys, mean) - concave(keys, entropy_of, mean)).max()))
    return compare(worst, "<=", 1e-4, detail="largest distance to cvxpy's maximiser, L = 2 to 64, seven means")


def check_derivative(derivative: Callable) -> Evidence:
    """m'(λ) by 40-digit differences (mpmath) against derivative(variance); m runs from L - 1 down to 0."""
    import mpmath

    worst, mpmath.mp.dps = 0.0, 40
    for keys in (2, 5, 64):

        def moment(rate, power, keys=keys):
            weights = [mpmath.exp(-rate * d) for d in range(keys)]
            return sum(w * mpmath.mpf(d) ** power for d, w in enumerate(weights)) / sum(weights)

        for rate in map(mpmath.mpf, ("-2", "-0.1", "0", "0.3", "1.5")):
            variance = moment(rate, 2) - moment(rate, 1) ** 2
            step = mpmath.mpf("1e-12")
            slope = (moment(rate + step, 1) - moment(rate - step, 1)) / (2 * step)
            worst = max(worst, float(abs(slope - derivative(variance))))
            worst = max(worst, float(derivative(variance) >= 0))
        ends = abs(moment(-60, 1) - (keys - 1)) + moment(60, 1)
        worst = max(worst, float(ends))
    return compare(worst, "<=", 1e-15, detail="largest |m' - formula|, its sign, and the distance of both ends")


# T3p: the interior argument


def mean_after(change: Callable, source: int, target: int, mass: float) -> tuple[float, float]:
    """Mean lag of (1/2, 0, 1/2) after moving mass: (what the statement says, what it is)."""
    q = np.array([0.5, 0.0, 0.5])
    q[source] -= mass
    q[target] += mass
    return 1.0 + change(source, target, mass), float(q @ np.arange(3))


def check_transfer(change: Callable) -> Evidence:
    cases = [{"source": s, "target": 1, "mass": 0.1} for s in (0, 2)]
    wrong = sum(abs(np.subtract(*mean_after(change, **case))) > 1e-12 for case in cases)
    found = smallest_counterexample(mean_after, change, cases)
    return compare(int(wrong), "==", 0, 0.0, counterexample=found, detail="moves with another change of mean, of two")


def active(fewest: Callable, keys: int, mean: int) -> tuple[int, int]:
    """Fewest positive coordinates of a law with this integer mean: (statement, the point mass at the mean)."""
    point = np.eye(keys)[mean]
    return fewest(keys, mean), int((point > 0).sum())


def check_active(fewest: Callable) -> Evidence:
    cases = [{"keys": n, "mean": m} for n in (3, 4, 8) for m in range(1, n - 1)]
    wrong = sum(len(set(active(fewest, **case))) > 1 for case in cases)
    found = smallest_counterexample(active, fewest, cases)
    return compare(wrong, "==", 0, 0.0, counterexample=found, detail=f"integer means, of {len(cases)}")


def check_interior(holds: Callable) -> Evidence:
    """The smallest weight of cvxpy's maximiser against holds(smallest)."""
    smallest = min(float(concave(n, entropy_of, mean).min()) for n, mean in ((3, 1.0), (10, 2.0), (10, 5.5)))
    return compare(bool(holds(smallest)), "==", True, detail=f"smallest weight {smallest:.2g}")


def check_mixing(rate: Callable) -> Evidence:
    """(H((1 - ε) q + ε r) - H(q)) / ε grows like rate(q, r) ln(1/ε): from ε = 1e-15 to 1e-25, with 60 digits."""
    import mpmath

    worst, mpmath.mp.dps = 0.0, 60
    cases = (([0.5, 0, 0.5], 1.0), ([0, 1, 0], 1.0), ([0, 0.5, 0, 0.5, 0], 2.0), ([0.25, 0, 0, 0.75], 2.25))

    def nats(p) -> mpmath.mpf:
        return -sum(value * mpmath.log(value) for value in p if value)

    for q, mean in cases:
        exact, r = [mpmath.mpf(value) for value in q], tilted(len(q), mean)
        r = [mpmath.mpf(float(value)) / mpmath.fsum(map(float, r)) for value in r]

        def quotient(step, q=exact, r=r):
            return (nats([(1 - step) * a + step * b for a, b in zip(q, r, strict=True)]) - nats(q)) / step

        growth = quotient(mpmath.mpf("1e-25")) - quotient(mpmath.mpf("1e-15"))
        worst = max(worst, float(abs(growth - rate(q, r) * mpmath.log(10**10))))
    return compare(worst, "<=", 1e-9, detail="largest error of the growth, four laws with zeros")


def mass_at_zeros(q: list, r: list) -> float:
    return sum(b for a, b in zip(q, r, strict=True) if a == 0)


# T3r: one slope for all rows


def stationary_mean(m: float, keys: int) -> float:
    """1 / (e^m - 1), whatever the row."""
    return 1 / math.expm1(m)


def row_mean(m: float, keys: int) -> float:
    """1 / (e^m - 1) - n / (e^(n m) - 1) on n lags."""
    return 1 / math.expm1(m) - (0.0 if keys * m > 700 else keys / math.expm1(keys * m))


def means(mean: Callable, m: float, keys: int) -> tuple[float, float]:
    lags = np.arange(keys)
    return mean(m, keys), float(truncated_geometric(m, keys) @ lags)


def check_means(mean: Callable) -> Evidence:
    """Mean lags of rows of 2 to 1001 keys against scipy's truncated geometric law (boltzmann)."""
    from scipy import stats

    rows = (2, 6, 21, 101, 1001)
    worst = max(abs(mean(m, n) - stats.boltzmann.mean(m, n)) for m in (0.01, 0.1, math.log(2)) for n in rows)
    candidates = ({"m": math.log(2), "keys": n} for n in rows)
    found = smallest_counterexample(means, mean, candidates, 1e-9)
    shown = ", ".join(f"{stats.boltzmann.mean(0.1, n):.3g}" for n in rows)
    detail = f"largest error of the mean lag; slope .1 in rows of 2, 6, 21, 101, 1001 keys: {shown}"
    return compare(float(worst), "<=", 1e-9, counterexample=found, detail=detail)


def check_each_row(law: Callable) -> Evidence:
    """Each row of ALiBi against law(keys, its own mean)."""
    worst = max(
        float(np.abs(law(n, float(p @ np.arange(n))) - p).max())
        for m in (0.05, 0.3, 1.0)
        for n in (2, 7, 40)
        for p in [truncated_geometric(m, n)]
    )
    return compare(worst, "<=", 1e-7, detail="largest difference of a weight, nine rows")


def check_price(statement: tuple[Callable, Callable]) -> Evidence:
    """(mean, price): the mean lags; and cvxpy's largest H(q) - price(m) E[d], the same price in every row."""
    mean, price = statement
    found = check_means(mean)
    worst = 0.0
    for m in (0.1, math.log(2)):
        for n in (2, 5, 30):
            best = concave(n, lambda q, d, m=m: entropy_of(q, d) - price(m) * (d @ q))
            worst = max(worst, float(np.abs(best - truncated_geometric(m, n)).max()))
    detail = f"largest distance to cvxpy's maximiser in six rows; error of the mean {found.measured:.0e}"
    return compare(worst if found.holds else math.inf, "<=", 1e-4, detail=detail)


# F.6 and its rounding


@dataclass(frozen=True)
class Biases:
    """Two biases (m, i, j) that are to give the same weights on the keys j <= i."""

    first: Callable
    second: Callable


def check_constant(statement: Biases) -> Evidence:
    import sympy

    m, i, j = sympy.symbols("m i j", real=True)
    difference = sympy.simplify(sympy.diff(statement.first(m, i, j) - statement.second(m, i, j), j))
    return compare(str(difference), "==", "0", detail="derivative in j of the difference (sympy)")


def check_same_weights(statement: Biases) -> Evidence:
    """50-digit softmax over j <= i, random content of size 30, rows of up to 2000 keys."""
    import mpmath

    worst, mpmath.mp.dps, draw = mpmath.mpf(0), 50, np.random.default_rng(0)
    for m, i in ((0.5, 3), (0.1, 40), (-0.3, 25), (0.0039, 2000)):
        content = [mpmath.mpf(float(value)) for value in 30 * draw.standard_normal(i + 1)]
        rows = []
        for bias in (statement.first, statement.second):
            weights = [mpmath.exp(s + bias(mpmath.mpf(m), i, j)) for j, s in enumerate(content)]
            total = mpmath.fsum(weights)
            rows.append([weight / total for weight in weights])
        worst = max(worst, mpmath.fsum(abs(a - b) for a, b in zip(*rows, strict=True)) / 2)
    return compare(float(worst), "<=", 1e-40, detail="largest total variation, 50 digits")


def odds(coordinates: Callable, m: float, older: int, newer: int) -> tuple[float, float]:
    """Weight of a newer key relative to an older one: (e^(m lag), what the stored coordinates give)."""
    bias = coordinates(m, newer + 1, "bf16").sum(axis=0)
    return math.exp(m * (newer - older)), float(np.exp(bias[newer] - bias[older]))


def attended(coordinates: np.ndarray, width: int = 64) -> np.ndarray:
    """Weights of the last `width` - 1 keys, after that of all others, as torch's own attention gives them in bf16.

    Content is zero; values are indicators of the keys.
    """
    lanes, keys = coordinates.shape
    k = torch.zeros(1, keys, width, dtype=torch.bfloat16)
    k[0, :, :lanes] = torch.as_tensor(coordinates.T).bfloat16()
    q = torch.zeros(1, 1, width, dtype=torch.bfloat16)
    q[..., :lanes] = width**0.5
    column = torch.arange(keys).sub(keys - width).clamp(min=0)
    v = torch.nn.functional.one_hot(column, width).bfloat16()[None]
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)[0, 0].double().numpy()


def check_rounded(coordinates: Callable) -> Evidence:
    """Last query, equal content, up to 16,384 keys in bf16: rounding emulated, and through torch's own attention."""
    worst, actual = 0.0, 0.0
    for m in (0.5, 0.25, 0.0625):
        for keys in (256, 2048, 16_384):
            found = coordinates(m, keys, "bf16")
            worst = max(worst, key_slope.misplaced(found, m))
            exact = truncated_geometric(m, keys)[::-1]
            exact = np.concatenate([[exact[:-63].sum()], exact[-63:]])
            actual = max(actual, key_slope.total_variation(attended(found), exact))
        longest = coordinates(m, 65_536, "bf16").sum(axis=0)
        worst = max(worst, float(np.abs(longest - m * np.arange(65_536)).max()))
    candidates = ({"m": 1.0, "older": j - 1, "newer": j} for j in (1, 2, 255, 256, 257))
    found = smallest_counterexample(odds, coordinates, candidates, 1e-6)
    detail = f"largest misplaced weight, or error of a logit at 65,536 keys; torch's bf16 attention: {actual:.3g}"
    return compare(max(worst, actual), "<=", 0.01, counterexample=found, detail=detail)


def split_at(size: int) -> Callable:
    """Two coordinates with j = size a + b."""

    def coordinates(m: float, keys: int, dtype: str) -> np.ndarray:
        coarse, fine = np.divmod(np.arange(keys, dtype=float), size)
        return key_slope.rounded(np.stack([m * size * coarse, m * fine]), dtype)

    return coordinates


CHECKS = {
    check.id: check
    for check in (
        Check(
            "GOAT-F.T3",
            (
                Part("The unique entropy maximiser with mean mu in (0, L - 1) is exp(-lambda d) / Z.", tilted,
                     check_maximiser, lambda keys, mean: tilted(keys, 0.9 * mean)),
                Part("lambda is unique, since m'(lambda) = -Var < 0 and m runs from L - 1 to 0.",
                     lambda variance: -variance, check_derivative, lambda variance: -2 * variance),
            ),
            practice="lambda > 0 (recency) only for mu < (L - 1)/2; at (L - 1)/2 the maximiser is uniform, beyond it "
                     "prefers the oldest keys.",
        ),
        Check(
            "GOAT-F.T3p",
            (
                Part("The maximiser has full support.", lambda smallest: smallest > 1e-6, check_interior,
                     lambda smallest: smallest < 1e-6),
                Part("Mass moved from one lag to another preserves the mean.", lambda source, target, mass: 0.0,
                     check_transfer, lambda source, target, mass: mass,
                     mean_after, repaired=lambda source, target, mass: mass * (target - source)),
                Part("A law with this mean and a zero has two positive coordinates at least.", lambda keys, mean: 2,
                     check_active, lambda keys, mean: 3, active, repaired=lambda keys, mean: 1),
            ),
            Part("Mix with a law r > 0 of the same mean: the entropy of (1 - eps) q + eps r has a slope at 0 that "
                 "grows like r(zeros of q) ln(1/eps), so no maximiser has a zero.", mass_at_zeros, check_mixing,
                 lambda q, r: 1 - mass_at_zeros(q, r)),
            practice="None for models: the theorem stands, with three coordinates moving instead of two.",
        ),
        Check(
            "GOAT-F.T3r",
            (
                Part("Each row of ALiBi is the entropy maximiser for its own mean lag.", tilted, check_each_row,
                     lambda keys, mean: tilted(keys, 0.9 * mean)),
                Part("One slope means one mean lag in all rows.", stationary_mean, check_means,
                     lambda m, keys: 1 / m, means, repaired=row_mean),
            ),
            Part("One slope means one price of lag: every row maximises H(q) - m E[d]. Its mean lag 1/(e^m - 1) - "
                 "n/(e^(n m) - 1) grows with the n visible keys and settles only for n well above 1/m.",
                 (row_mean, lambda m: m), check_price, (row_mean, lambda m: 1.1 * m)),
            practice="A small slope does not have its nominal reach 1/m in a short context: in a row of n << 1/m "
                     "keys the prior is uniform, with mean (n - 1)/2.",
        ),
        Check(
            "GOAT-F.6",
            (
                Part("-m (i - j) and m j differ by a constant of the row.",
                     Biases(lambda m, i, j: -m * (i - j), lambda m, i, j: m * j), check_constant,
                     Biases(lambda m, i, j: -m * (i - j), lambda m, i, j: -m * j)),
                Part("Hence equal weights on the keys j <= i for any content, in exact arithmetic.",
                     Biases(lambda m, i, j: -m * (i - j), lambda m, i, j: m * j), check_same_weights,
                     Biases(lambda m, i, j: -m * (i - j), lambda m, i, j: m * j / 2)),
            ),
            practice="One coordinate instead of ALiBi's bias table, in causal attention only: for j > i the bias "
                     "-m |i - j| falls while m j goes on rising. And in exact arithmetic only: see GOAT-E6.",
        ),
        Check(
            "GOAT-E6",
            (
                Part("m j in one bf16 coordinate gives ALiBi's weights.", key_slope.key_slope, check_rounded,
                     lambda m, keys, dtype: -key_slope.key_slope(m, keys, dtype), odds),
            ),
            Part("With m a power of two, two coordinates of j = 256 a + b give them exactly, up to 65,536 keys.",
                 key_slope.split_key_slope, check_rounded, split_at(4096)),
            practice="Give the slope two coordinates, or keep the bias in float32, which has no such limit. ALiBi "
                     "has it too where its bias is built in the model's dtype, as transformers' BLOOM does in bf16.",
        ),
    )
}  # fmt: skip
