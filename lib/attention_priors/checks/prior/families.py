"""Across the documents: the generalised Gaussian beside KERPLE's power kernel and a window; priors of largest entropy.

Truths: the trainable priors, eigenvalues, transformers' Mistral, scipy's density, cvxpy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from math import exp, log

import numpy as np
import sympy
import torch
from scipy import special, stats

from attention_priors.attention import window
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.buckets import T5Buckets
from attention_priors.positions.kerple import KerpleLog, KerplePower
from attention_priors.positions.priors import Laplace, RelativePrior
from attention_priors.theory import generalised_gaussian, inference
from attention_priors.theory.classification import Mode, realise

LAGS = np.arange(513.0)
SHAPES = [{"alpha": a, "beta": b} for a, b in product((0.5, 1.0, 7.0, 40.0), (0.1, 0.5, 1.0, 1.5, 2.0))]
BETAS = [{"beta": b} for b in (-2.0, -1.0, -0.5, -0.05, 0.05, 0.5, 1.0, 1.5, 2.0, 2.2, 3.0, 4.0)]
LOCATED = [{"d": d, "alpha": 5.0, "beta": 1.5, "mu": mu} for d, mu in product((1.0, 2.0, 39.0), (0.5, -3.0))]
BETWEEN = [{"alpha": a, "d": d} for a in (0.5, 7.25, 31.5) for d in (0, 1, 7, 8, 31, 32, 512)]
AT_THE_EDGE = [{"alpha": a, "d": a} for a in (1.0, 2.0, 7.0, 32.0)]
WINDOWS = [{"size": size, "keys": 64} for size in (1, 2, 8, 32)]
KEYS = np.arange(40.0)
ALPHA, BETA, D = sympy.symbols("alpha beta d", positive=True)

# KERPLE's power kernel


def kerple(alpha: float, beta: float) -> np.ndarray:
    """The trainable kernel with r1 = alpha^-beta, r2 = beta at the lags 0..512."""
    return KerplePower([alpha**-beta], [beta]).double().log_prior(torch.arange(513))[0].detach().numpy()


def bam(alpha: float, beta: float) -> np.ndarray:
    """The trainable generalised Gaussian of scale alpha and shape beta, without its epsilon."""
    prior = generalised_gaussian.module(-beta * log(alpha), beta, epsilon=1e-300)
    return prior.log_prior(torch.arange(513))[0].detach().numpy()


def power(alpha: float, beta: float, sign: int = -1) -> np.ndarray:
    return -(alpha ** (sign * beta)) * LAGS**beta


def least_form(beta: float) -> float:
    """Least eigenvalue of -(|x_i - x_j| + epsilon)^beta on vectors that sum to 0, over the largest modulus."""
    x = np.arange(65.0)
    kernel = -((np.abs(x[:, None] - x) + 1e-5 * (beta < 0)) ** beta)
    basis = np.linalg.svd(np.ones((1, 65)))[2][1:]
    values = np.linalg.eigvalsh(basis @ kernel @ basis.T)
    return float(values.min() / np.abs(values).max())


def asymmetry(d: float, alpha: float, beta: float, mu: float) -> float:
    """b(d) - b(-d)."""
    return float(np.subtract(*(inference.log_generalised_gaussian(x, alpha, beta, mu) for x in (-d, d))))


# a sliding window


def relative(alpha: float, d: float) -> float:
    """Weight at lag d over that at lag 0, beta = 5000."""
    with np.errstate(over="ignore"):
        return float(np.exp(inference.log_generalised_gaussian(-d, alpha, 5000.0)))


def density(alpha: float, d: float) -> float:
    """The same by scipy's density."""
    with np.errstate(over="ignore"):
        return float(np.exp(np.subtract(*stats.gennorm.logpdf([d, 0.0], 5000.0, scale=alpha))))


def band(size: int, keys: int) -> np.ndarray:
    """Keys j <= i with i - j < size."""
    lags = np.subtract.outer(np.arange(keys), np.arange(keys))
    return (lags >= 0) & (lags < size)


def mistral(size: int, keys: int) -> np.ndarray:
    """The keys that get weight in transformers' Mistral with a sliding window. Bool [keys, keys]."""
    from transformers import MistralConfig, MistralModel

    sizes = {"vocab_size": 8, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 1, "num_key_value_heads": 1, "sliding_window": size}
    model = MistralModel(MistralConfig(**sizes, **heads, attn_implementation="eager")).eval()
    with torch.no_grad():
        seen = model(torch.ones(1, keys, dtype=torch.int64), output_attentions=True).attentions[0][0, 0]
    return (seen > 0).numpy()


# largest entropy


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
        "X-3",
        Law("-r1 d^r2 with r1 = alpha^-beta, r2 = beta is -(d / alpha)^beta.",
            ALPHA**-BETA * D**BETA, (D / ALPHA) ** BETA, wrong=ALPHA**BETA * D**BETA, symbolic=True),
        *(Law(f"So the trainable prior of {name} is this one at every lag.", power, prior, SHAPES,
              wrong=partial(power, sign=1), tolerance=lambda alpha, beta: 1e-5 * max(1, (512 / alpha) ** beta))
          for name, prior in (("KERPLE", kerple), ("BAM", bam))),
        Law("BAM's beta <= 0 and beta > 2 lie outside KERPLE's kernels: conditionally positive definite exactly for "
            "0 < beta <= 2.",
            lambda beta: 0 < beta <= 2, lambda beta: least_form(beta) >= -1e-9, BETAS,
            wrong=lambda beta: 0 < beta <= 3),
        Law("And so does mu != 0, which is not symmetric in the lag.",
            lambda d, alpha, beta, mu: (abs(d - mu) / alpha) ** beta - (abs(d + mu) / alpha) ** beta, asymmetry,
            LOCATED, wrong=0.0),
        practice="A result for KERPLE's power kernel holds for a BAM head with 0 < beta <= 2 and mu = 0; retrieval "
                 "heads (beta < 0) have no counterpart there.",
    ),
    claim(
        "X-4",
        Law("As beta grows, here to 5000, the prior tends to the window |d| < alpha (no lag equals alpha).",
            lambda d, alpha: float(d < alpha), relative, BETWEEN, wrong=lambda d, alpha: float(d < alpha + 1)),
        Law("The same where a lag equals alpha.",
            lambda d, alpha: float(d < alpha), relative, AT_THE_EDGE, wrong=lambda d, alpha: float(d <= alpha)),
        Law("A sliding window of w keys shows the lags |d| < w.", band, mistral, WINDOWS,
            wrong=lambda size, keys: band(size + 1, keys)),
        Law("So does the window of this library.", band, lambda size, keys: window(keys, size).dense(keys).numpy(),
            WINDOWS, wrong=lambda size, keys: band(size + 1, keys)),
        corrected=Law("The limit is the window of w keys for w - 1 < alpha < w. A lag equal to alpha keeps exp(-1) of "
                      "the weight of lag 0, whatever beta is.",
                      lambda d, alpha: float(d < alpha) + exp(-1) * (d == alpha), density, BETWEEN + AT_THE_EDGE,
                      wrong=lambda d, alpha: float(d <= alpha)),
        practice="A head can learn a soft window: alpha is its width, beta its steepness; keep alpha between lags.",
    ),
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
