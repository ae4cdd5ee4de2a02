"""X-6: the additive priors of the documents as maximum-entropy laws, each for the mean of its own statistic.

A prior's weights give the moments; the law of largest entropy with these moments is computed by cvxpy and by the dual
solver of the library, and must be the prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions.buckets import T5Buckets, t5_bucket
from attention_priors.positions.kerple import KerpleLog
from attention_priors.positions.priors import Laplace, RelativePrior
from attention_priors.theory import generalised_gaussian
from attention_priors.theory.classification import Mode, realise
from attention_priors.theory.inference import softmax
from attention_priors.theory.maximum_entropy import maximum_entropy

KEYS = 40
LAGS = np.arange(KEYS, dtype=np.float64)
Cases = Callable[[], Iterator[tuple[np.ndarray, np.ndarray, tuple]]]  # weights, lags, parameters


def weights(prior: RelativePrior, lags: np.ndarray = LAGS) -> np.ndarray:
    with torch.no_grad():
        return softmax(prior.log_prior(torch.as_tensor(lags, dtype=torch.int64))[0].double().numpy())


def distance(p: np.ndarray, statistics: np.ndarray) -> float:
    """Largest difference between p and the law of largest entropy with p's means of the statistics (cvxpy, dual)."""
    import cvxpy

    statistics = np.atleast_2d(np.asarray(statistics, dtype=np.float64))
    q = cvxpy.Variable(len(p))
    constraints = [cvxpy.sum(q) == 1, statistics @ q == statistics @ p]
    cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.entr(q))), constraints).solve(solver="CLARABEL")
    dual = maximum_entropy(statistics, statistics @ p)[0]
    return float(max(np.abs(p - q.value).max(), np.abs(p - dual).max()))


def against(cases: Cases) -> Callable[[Callable], Evidence]:
    """The checker of statistics(lags, *parameters) for one family of priors."""

    def check(statistics: Callable) -> Evidence:
        worst, count = 0.0, 0
        for p, lags, parameters in cases():
            worst, count = max(worst, distance(p, statistics(lags, *parameters))), count + 1
        return compare(worst, "<=", 1e-4, detail=f"largest distance of a weight, {count} priors on {KEYS} lags")

    return check


def laplace_cases() -> Iterator:
    for slope in (0.01, 0.7):
        yield weights(Laplace([slope])), LAGS, ()


def gaussian_cases() -> Iterator:
    for alpha, beta in ((3.0, 0.5), (10.0, 3.0), (0.4, 0.3)):
        yield weights(generalised_gaussian.module(-beta * np.log(alpha), beta, epsilon=1e-12)), LAGS, (beta,)


def negative_cases() -> Iterator:
    lags = LAGS[1:]
    for alpha, beta in ((1.0, -1.0), (20.0, -2.0)):
        yield weights(generalised_gaussian.module(-beta * np.log(alpha), beta, epsilon=1e-12), lags), lags, (beta,)


def kerple_cases() -> Iterator:
    for r1, r2 in ((0.5, 1.0), (2.0, 0.1)):
        yield weights(KerpleLog([r1], [r2])), LAGS, (r2,)


def spectral_cases() -> Iterator:
    draw = np.random.default_rng(0)
    for omegas in ((0.7,), (0.05, 0.6, 2.4)):
        modes = [Mode(1, w, (float(draw.normal()),), (float(draw.normal()),)) for w in omegas]
        yield weights(realise(modes)), LAGS, (omegas,)


def sink_cases() -> Iterator:
    for height, key in ((5.0, 0), (1.0, 7)):
        yield softmax(height * np.eye(KEYS)[key]), LAGS, (key,)


def bucket_cases() -> Iterator:
    draw = torch.Generator().manual_seed(0)
    for buckets, farthest in ((8, 32), (16, 40)):
        prior = T5Buckets(1, buckets, farthest)
        with torch.no_grad():
            next(prior.parameters()).normal_(generator=draw)
        yield weights(prior), LAGS, (buckets, farthest)


def number_of_bucket(lags: np.ndarray, buckets: int, farthest: int) -> np.ndarray:
    return t5_bucket(torch.as_tensor(lags, dtype=torch.int64), buckets, farthest).numpy()[None].astype(float)


def each_bucket(lags: np.ndarray, buckets: int, farthest: int) -> np.ndarray:
    return (number_of_bucket(lags, buckets, farthest) == np.arange(buckets)[:, None]).astype(float)


def near_weight(statistics: Callable, biases: list[float]) -> tuple[float, float]:
    """Lags 0, 1, .. in a bucket each: weight of lag 1 under (the law of the statement, the biases)."""
    lags = np.arange(len(biases), dtype=float)
    p = softmax(biases)
    table = np.atleast_2d(statistics(lags, 2 * len(biases), 4 * len(biases)))
    table = table[np.ptp(table, axis=1) > 0]
    return round(float(maximum_entropy(table, table @ p)[0][1]), 9), round(float(p[1]), 9)


def check_buckets(statistics: Callable) -> Evidence:
    def seen(lags: np.ndarray, *parameters: int) -> np.ndarray:
        table = np.atleast_2d(statistics(lags, *parameters))
        return table[np.ptp(table, axis=1) > 0]  # a bucket that holds no lag has no mean to fix

    found = against(bucket_cases)(seen)
    example = smallest_counterexample(near_weight, statistics, [{"biases": [0.0, 1.0, 0.0]}], 1e-6)
    return compare(found.measured, "<=", 1e-4, counterexample=example, detail=found.detail)


def waves(lags: np.ndarray, omegas: tuple[float, ...]) -> np.ndarray:
    return np.array([wave(omega * lags) for omega in omegas for wave in (np.cos, np.sin)])


CHECKS = {
    check.id: check
    for check in (
        Check(
            "X-6",
            (
                Part("E[d]: ALiBi, the geometric law.", lambda d: d, against(laplace_cases), lambda d: d**2),
                Part("E[d^beta], beta > 0: the generalised Gaussian.", lambda d, beta: d**beta, against(gaussian_cases),
                     lambda d, beta: d ** (beta / 2)),
                Part("E[log(1 + r2 d)]: KERPLE's logarithm.", lambda d, r2: np.log1p(r2 * d), against(kerple_cases),
                     lambda d, r2: np.log1p(d / (5 * r2))),
                Part("E[cos w_r d], E[sin w_r d]: Goat's spectral prior.", waves, against(spectral_cases),
                     lambda d, omegas: waves(d, omegas)[::2]),
                Part("E[1(j = j*)]: the sink.", lambda d, key: d == key, against(sink_cases),
                     lambda d, key: d == key + 1),
                Part("E[d^-|beta|] on lags d >= 1: the generalised Gaussian with beta < 0.",
                     lambda d, beta: d**beta, against(negative_cases), lambda d, beta: d**-beta),
                Part("E[bucket]: T5.", number_of_bucket, check_buckets,
                     lambda lags, *sizes: number_of_bucket(lags, *sizes) ** 2, near_weight),
            ),
            Part("T5's biases maximise entropy for the probabilities E[1(bucket = b)] of all buckets, one statistic a "
                 "bias. The mean bucket number is one number and gives exp(-lambda bucket), T5 only if its biases are "
                 "linear in the bucket.", each_bucket, check_buckets,
                 lambda lags, *sizes: each_bucket(lags, *sizes)[:3]),
            practice="To choose an additive prior is to choose which averages over lags a head may fix; what a prior "
                     "cannot express are the averages that it has no statistic for.",
        ),
    )
}  # fmt: skip
