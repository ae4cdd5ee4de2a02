"""Across the documents: of which averages over lags each prior has the largest entropy. Truth: cvxpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log

import numpy as np
import torch
from scipy import special

from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.priors import KerpleLog, Laplace, RelativePrior, T5Buckets
from attention_priors.theory import generalised_gaussian
from attention_priors.theory.classification import Mode, realise

KEYS = np.arange(40.0)


def weights(prior: RelativePrior, lags: np.ndarray = KEYS) -> np.ndarray:
    with torch.no_grad():
        return special.softmax(prior.log_prior(torch.as_tensor(lags, dtype=torch.int64))[0].double().numpy())


def entropic(p: np.ndarray, statistics: np.ndarray) -> np.ndarray:
    """The law of largest entropy with p's means of the statistics, by cvxpy."""
    import cvxpy as cp

    statistics = np.atleast_2d(np.asarray(statistics, dtype=np.float64))
    statistics = statistics[np.ptp(statistics, axis=1) > 0]  # a bucket that holds no lag has no mean to fix
    q = cp.Variable(len(p))
    constraints = [cp.sum(q) == 1, statistics @ q == statistics @ p]
    cp.Problem(cp.Maximize(cp.sum(cp.entr(q))), constraints).solve(solver="CLARABEL")
    return q.value


def gaussian(alpha: float, beta: float) -> np.ndarray:
    """The generalised Gaussian on the lags 0..39; 1..39 for a negative beta."""
    prior = generalised_gaussian.module(-beta * log(alpha), beta, epsilon=1e-12)
    return weights(prior, KEYS[int(beta < 0) :])


def spectral(*frequencies: float) -> np.ndarray:
    draw = np.random.default_rng(0)
    return weights(realise([Mode(1, w, (float(draw.normal()),), (float(draw.normal()),)) for w in frequencies]))


def table(buckets: int, farthest: int) -> np.ndarray:
    """T5's prior with random biases."""
    prior = T5Buckets(1, buckets, farthest)
    with torch.no_grad():
        next(prior.parameters()).normal_(generator=torch.Generator().manual_seed(0))
    return weights(prior)


def bucket(lags: np.ndarray, buckets: int, farthest: int) -> np.ndarray:
    """Half of the buckets hold one lag each, the others logarithmic ranges up to `farthest`."""
    exact = buckets // 2
    far = np.log(np.maximum(lags, exact) / exact) / log(farthest / exact) * (buckets - exact)
    return np.where(lags < exact, lags, np.minimum(exact + np.floor(far + 1e-9), buckets - 1))


def maximises(family: Callable) -> Callable:
    """says(lags, *parameters) -> (the prior, the law of largest entropy that has its means of these statistics)."""

    def truth(says: Callable, parameters: list) -> tuple[np.ndarray, np.ndarray]:
        p = family(*parameters)
        return p, entropic(p, says(KEYS[-len(p) :], *parameters))

    return truth


def parameters(*each: list) -> list[dict]:
    return [{"parameters": one} for one in each]


def geometric(slope: float) -> np.ndarray:
    return weights(Laplace([slope]))


def logarithmic(r1: float, r2: float) -> np.ndarray:
    return weights(KerpleLog([r1], [r2]))


def sink(height: float, key: int) -> np.ndarray:
    return special.softmax(height * np.eye(40)[key])


def three_buckets(says: Callable, biases: list[float]) -> tuple[float, float]:
    """Lags 0, 1, .. in a bucket each: weight of lag 1 under (the law of largest entropy, the biases)."""
    p, lags = special.softmax(biases), np.arange(float(len(biases)))
    return float(entropic(p, says(lags, 2 * len(biases), 4 * len(biases)))[1]), float(p[1])


def waves(lags: np.ndarray, *frequencies: float, kinds: tuple[Callable, ...] = (np.cos, np.sin)) -> np.ndarray:
    return np.array([kind(w * lags) for w in frequencies for kind in kinds])


def indicators(lags: np.ndarray, buckets: int, farthest: int, of: slice = slice(None)) -> np.ndarray:
    return (bucket(lags, buckets, farthest) == np.arange(buckets)[of, None]).astype(float)


CHECKS = claims(
    claim(
        "X-6",
        Law("E[d]: ALiBi, the geometric law.", lambda d, slope: d, maximises(geometric), parameters([0.01], [0.7]),
            wrong=lambda d, slope: d**2, tolerance=1e-4),
        Law("E[d^beta], beta > 0: the generalised Gaussian.", lambda d, alpha, beta: d**beta, maximises(gaussian),
            parameters([3.0, 0.5], [10.0, 3.0], [0.4, 0.3]), wrong=lambda d, alpha, beta: d ** (beta / 2),
            tolerance=1e-4),
        Law("E[log(1 + r2 d)]: KERPLE's logarithm.", lambda d, r1, r2: np.log1p(r2 * d), maximises(logarithmic),
            parameters([0.5, 1.0], [2.0, 0.1]), wrong=lambda d, r1, r2: np.log1p(d / (5 * r2)), tolerance=1e-4),
        Law("E[cos w_r d], E[sin w_r d]: Goat's spectral prior.", waves, maximises(spectral),
            parameters([0.7], [0.05, 0.6, 2.4]), wrong=partial(waves, kinds=(np.cos,)), tolerance=1e-4),
        Law("E[1(j = j*)]: the sink.", lambda d, height, key: d == key, maximises(sink),
            parameters([5.0, 0], [1.0, 7]), wrong=lambda d, height, key: d == key + 1, tolerance=1e-4),
        Law("E[d^-|beta|] on lags d >= 1: the generalised Gaussian with beta < 0.",
            lambda d, alpha, beta: d**beta, maximises(gaussian), parameters([1.0, -1.0], [20.0, -2.0]),
            wrong=lambda d, alpha, beta: d**-beta, tolerance=1e-4),
        Law("E[bucket]: T5, here three lags in a bucket each.",
            bucket, three_buckets, [{"biases": [0.0, 1.0, 0.0]}, {"biases": [1.0, 0.0, 2.0, 0.0]}],
            wrong=lambda lags, buckets, farthest: bucket(lags, buckets, farthest) ** 2, repaired=indicators,
            tolerance=1e-4),
        corrected=Law("T5's biases maximise entropy for the probabilities E[1(bucket = b)] of all buckets, one "
                      "statistic a bias. The mean bucket number is one number and gives exp(-lambda bucket), T5 only "
                      "if its biases are linear in the bucket.",
                      indicators, maximises(table), parameters([8, 32], [16, 40]),
                      wrong=lambda d, buckets, farthest: indicators(d, buckets, farthest, slice(3)), tolerance=1e-4),
        practice="To choose an additive prior is to choose which averages over lags a head may fix; what a prior "
                 "cannot express are the averages that it has no statistic for.",
    ),
)  # fmt: skip
