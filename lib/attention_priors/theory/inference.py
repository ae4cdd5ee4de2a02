"""Attention as inference over one discrete variable: which visible key j answers query i.

All functions are float64 numpy on one row of attention: logits or probabilities of shape [keys], keys j = 1..i first to
last, so that the last entry is the query's own position (lag 0). -inf is an invisible key.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from attention_priors.positions import priors as positions

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def log_sum_exp(logits: ArrayLike) -> float:
    """ln sum_j exp(x_j), the logarithm of a partition function (minus the free energy)."""
    return float(np.logaddexp.reduce(np.asarray(logits, dtype=np.float64)))


def softmax(logits: ArrayLike) -> Vector:
    """p_j = exp(x_j) / sum_z exp(x_z), shifted by the maximum. ValueError when no key is visible."""
    x = np.asarray(logits, dtype=np.float64)
    top = x.max(initial=-np.inf)
    if top == -np.inf:
        raise ValueError("no visible key (every logit is -inf): give the query at least its own position")
    weights = np.exp(x - top)
    return weights / weights.sum()


def posterior(content: ArrayLike, prior: ArrayLike) -> Vector:
    """p_j = pi_j exp(f_j) / sum_z pi_z exp(f_z): Bayes' rule with prior pi and likelihood proportional to exp(f).

    The corrected form of BAM, Definition 2. `content` are logits f [keys], `prior` probabilities pi [keys]; a prior of
    zero makes a key invisible, a uniform prior gives softmax(f). ValueError when the prior is zero everywhere.
    """
    f, pi = np.asarray(content, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return softmax(f + np.log(pi))


def overlap(p: ArrayLike, q: ArrayLike) -> float:
    """Z = <p, q> = sum_j p_j q_j = P(J = J') for independent J ~ p, J' ~ q (BAM, Theorem 1 and appendix I.2).

    In [0, 1]; 1 only where both are the same one-hot; max_q <p, q> = max_j p_j, at the mode of p and not at q = p.
    """
    return float(np.dot(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)))


def partition_ratio(content: ArrayLike, position: ArrayLike) -> float:
    """C = Z_cont Z_pos / Z_joint = 1 / <softmax(f), softmax(g)> (BAM, appendix I.1, which prints it as the overlap)."""
    f, g = np.asarray(content, dtype=np.float64), np.asarray(position, dtype=np.float64)
    return float(np.exp(log_sum_exp(f) + log_sum_exp(g) - log_sum_exp(f + g)))


def cosine(p: ArrayLike, q: ArrayLike) -> float:
    """<p, q> / (|p| |q|), which is 1 exactly where p = q (BAM, appendix I.2)."""
    return overlap(p, q) / float(np.linalg.norm(p) * np.linalg.norm(q))


def printed_information(p: ArrayLike, q: ArrayLike) -> float:
    """sum_j r_j ln(r_j / (p_j q_j)) with r = p q / <p, q>: what BAM, appendix I.3, calls mutual information.

    The logarithm does not depend on j, so the sum is -ln <p, q>: >= 0, ln L when q is uniform over L keys, and falling
    as p and q agree more.
    """
    return -float(np.log(overlap(p, q)))


def log_lift(p: ArrayLike, q: ArrayLike) -> float:
    """ln(L <p, q>) = ln(1 + L^2 Cov_j(p, q)), the covariance over the L keys drawn uniformly.

    Zero exactly when p and q are uncorrelated across keys (so whenever one is uniform), positive when they favour the
    same keys, negative when they favour different ones; ln Z = lift - ln L.
    """
    return float(np.log(len(np.asarray(p)) * overlap(p, q)))


def gibbs(scores: ArrayLike, gamma: float) -> Vector:
    """p_j = exp(gamma s_j) / sum_z exp(gamma s_z) (BAM, appendix I.1); dH/dgamma = -gamma Var_p(s) <= 0, gamma > 0."""
    return softmax(gamma * np.asarray(scores, dtype=np.float64))


def scalable(scores: ArrayLike, s: float) -> Vector:
    """p_j = n^(s z_j) / sum_k n^(s z_k) with n the number of keys: odds n^(s (z_j - z_k)) (BAM, section 2.5)."""
    z = np.asarray(scores, dtype=np.float64)
    return gibbs(z, s * np.log(len(z)))


def causal_row(i: int, length: int) -> Vector:
    """M_ij = 0 for j <= i and -inf beyond, j = 1..length (BAM, appendix B.1). ValueError outside 1 <= i <= length."""
    if not 1 <= i <= length:
        raise ValueError(f"query {i} is not among the positions 1..{length}; choose one of them")
    return np.where(np.arange(1, length + 1) <= i, 0.0, -np.inf)


def truncated_geometric(m: float, i: int) -> Vector:
    """P(lag = d) = (1 - r) r^d / (1 - r^i), r = exp(-m), d = 0..i-1: the prior of ALiBi with slope m at query i.

    What BAM, Lemma 2, calls Uniform times Laplace. m -> 0 gives 1/i; i -> inf gives the geometric law of mean lag
    1 / (e^m - 1). Shape [i], by lag. ValueError unless m >= 0 and i >= 1.
    """
    if m < 0 or i < 1:
        raise ValueError(f"slope {m} and query {i}: the slope must be >= 0 and the query >= 1")
    if m == 0:
        return np.full(i, 1.0 / i)
    return np.exp(-m * np.arange(i)) * np.expm1(-m) / np.expm1(-m * i)


def uniform_times_laplace(m: float, i: int) -> Vector:
    """Uniform(1, i, j) Laplace(0, 1/m, -d) = (1/i) (m/2) exp(-m d), d = 0..i-1, read as densities (BAM, Lemma 2).

    Proportional to `truncated_geometric` but not normalised. Shape [i], by lag.
    """
    return np.exp(-m * np.arange(i)) * m / (2.0 * i)


def log_generalised_gaussian(x: ArrayLike, alpha: float, beta: float, mu: float = 0.0) -> Vector:
    """-|(x - mu) / alpha|^beta, up to ln(beta / (2 alpha Gamma(1/beta))); x = key - query (BAM, appendix A).

    beta = 1 is Laplace of scale alpha, beta = 2 is Normal of standard deviation alpha / sqrt(2), beta -> inf a window.
    On the lags that a query sees, its softmax is the prior. ValueError unless alpha > 0.
    """
    if alpha <= 0:
        raise ValueError(f"alpha = {alpha}: the scale must be positive")
    return -(np.abs((np.asarray(x, dtype=np.float64) - mu) / alpha) ** beta)


def score_matrices(content: Matrix, alpha: float, beta: float, mu: float = 0.0) -> tuple[Matrix, Matrix, Matrix]:
    """(Q K^T, M, B) of score = Q K^T + M + B (BAM, Fig. 5): content logits, causal mask, generalised Gaussian bias.

    `content` is Q K^T [queries keys], square; M_ij = 0 for j <= i, else -inf; B_ij = -|(j - i - mu) / alpha|^beta.
    """
    content = np.asarray(content, dtype=np.float64)
    length = len(content)
    lag = np.arange(length)[None, :] - np.arange(length)[:, None]
    mask = np.where(lag <= 0, 0.0, -np.inf)
    return content, mask, log_generalised_gaussian(lag, alpha, beta, mu)


def t5_bucket(lags: ArrayLike, buckets: int = 32, farthest: int = 128) -> NDArray[np.int64]:
    """Bucket of each causal lag, as an array (`positions.priors.t5_bucket`; Raffel et al. 2020).

    Lags 16 to 18 share a bucket, and so do all lags from 113 on.
    """
    return positions.t5_bucket(torch.as_tensor(np.asarray(lags, dtype=np.int64)), buckets, farthest).numpy()


def printed_t5_bucket(d: int) -> int:
    """min(31, floor(16 ln(d/16) / (128/16))) for d >= 16: T5's bucket as the survey prints it, which is wrong."""
    return min(31, math.floor(math.log(d / 16) / (128 / 16) * 16))
