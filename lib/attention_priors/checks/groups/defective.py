"""ALiBi as a defective generator, and every polynomial of the lag as a larger one (OPG-15, X-2).

Independent evidence: transformers' ALiBi, exact Jordan forms (sympy), torch's own attention, mpmath in 40 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import sympy
import torch
from scipy.linalg import expm

from attention_priors.attention import attention
from attention_priors.checks.groups.axioms import exact
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.finite_rank import ExponentialPolynomial, extend
from attention_priors.positions.priors import GeneralizedGaussian, Laplace
from attention_priors.theory import groups as theory

Realised = tuple[np.ndarray, np.ndarray, np.ndarray]
PUBLISHED = {  # scores at lags 0 .. 3, at settings where they are rational: RoPE at an angle of 60 degrees
    "NoPE": [1.0, 1.0, 1.0, 1.0],
    "RoPE": [1.0, 0.5, -0.5, -1.0],
    "decay": [1.0, 0.5, 0.25, 0.125],
    "RetNet": [1.0, 0.25, -0.125, -0.125],
    "ALiBi": [0.0, -0.5, -1.0, -1.5],
}
SCORES = [{"encoding": name, "scores": scores} for name, scores in PUBLISHED.items()]
HEADS = [{"slope": 2.0**-h} for h in range(1, 9)]
SLOPES = [{"slope": m, "lag": d} for m in (0.5, 2**-8) for d in (0, 1, 2, 63)]
GAUSSIANS = [{"alpha": alpha, "lag": d} for alpha in (1.0, 4.0, 16.0) for d in (0, 1, 2, 10, 63)]
POLYNOMIALS = [{"degree": p, "lag": d} for p, d in product(range(6), (0, 1, 3, 10))]


def defective(scores: Sequence[float]) -> bool:
    """Has the shift behind these lags, on the least recurrence that they satisfy, a Jordan block of size above 1?
    Exact: Hankel matrices of fractions."""
    values = [sympy.Rational(*Fraction(score).as_integer_ratio()) for score in scores]
    half = len(values) // 2
    rank = sympy.Matrix(half, half, lambda i, j: values[i + j]).rank()
    now, later = (sympy.Matrix(rank, rank, lambda i, j, k=k: values[i + j + k]) for k in (0, 1))
    return any(cell.shape[0] > 1 for cell in (now.inv() * later).jordan_form()[1].get_diag_blocks())


def released(slope: float, keys: int = 8) -> list[float]:
    """BLOOM's bias by lag in the head with that slope, relative to the query's own key."""
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    bias = build_alibi_tensor(torch.ones(1, keys), 8, torch.float64)[round(-math.log2(slope)) - 1, 0].tolist()
    return [bias[keys - 1 - d] - bias[keys - 1] for d in range(keys)]


def line(slope: float) -> Realised:
    """q = (-m, 0), X = [[0, 1], [0, 0]], k = (0, 1)."""
    return np.array([-slope, 0.0]), np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([0.0, 1.0])


def rising(slope: float) -> Realised:
    return line(-slope)


def scored(realised: Realised, lag: int) -> float:
    """c^T e^{dX} b."""
    c, x, b = realised
    return float(c @ expm(lag * x) @ b)


def alibi(slope: float, lag: int) -> float:
    return float(Laplace([slope]).log_prior(torch.tensor([lag]))[0, 0].detach())


def appended(says: Callable[[float], Realised], slope: float) -> tuple[np.ndarray, np.ndarray]:
    """torch's attention over q and k with two coordinates appended, and the library's with the prior, 64 tokens."""
    q, k, v = torch.randn(3, 1, 1, 64, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    c, x, b = says(slope)
    step, start, end = (torch.as_tensor(a)[None] for a in (expm(x), b, c))
    longer = extend(q, k, *ExponentialPolynomial(step, start, end).features(torch.arange(64)))
    mine = torch.nn.functional.scaled_dot_product_attention(*longer, v, is_causal=True)
    return mine.numpy(), attention(q, k, v, prior=Laplace([slope]), backend="reference").numpy()


def gaussian(alpha: float, lag: int) -> float:
    prior = GeneralizedGaussian([-2 * math.log(alpha)], [2.0], epsilon=1e-12).double()
    return float(prior.log_prior(torch.tensor([lag]))[0, 0].detach())


def evaluated(says: Callable[[np.ndarray], Realised], degree: int, lag: int) -> tuple[list[float], list[float]]:
    """A random polynomial by the block said, its exponential in 40 digits, and the size; Horner's value, degree + 1."""
    a = np.random.default_rng(degree).normal(size=degree + 1)
    c, x, b = says(a)
    value = float(np.polyval(a[::-1], lag))
    scale = max(1.0, abs(value))
    return [float(c @ exact(x, lag) @ b) / scale, len(x)], [value / scale, degree + 1]


def without_factorial(a: np.ndarray) -> Realised:
    """The coefficients themselves on the block, without k!."""
    return np.array(a, dtype=float)[::-1], *theory.polynomial(a)[1:]


CHECKS = claims(
    claim(
        "OPG-15",
        Law("The class \"seems\" unexplored (\"I failed to find\" literature that \"directly addresses\" it). Read as: "
            "no published encoding comes from a defective generator.",
            False, defective, SCORES, wrong=lambda encoding: encoding == "RoPE", tolerance=0,
            quote="technically legal class of positional encodings that seems to be totally "
                  "unexplored",
            place="Attention is a computational primitive"),
        Law("\"Most likely\" defective generators have no practical application. Read as: no method in use has a shift "
            "that is exactly defective (BLOOM's heads, by slope).",
            False, lambda slope: defective(released(slope)), HEADS, wrong=lambda slope: slope == 0.5, tolerance=0,
            quote="most likely they have no practical application",
            place="Defective generators"),
        corrected=Law("ALiBi comes from a defective generator: the shift behind its bias is a Jordan block of size 2 "
                      "at eigenvalue 1. Those behind NoPE, RoPE, exponential decay and RetNet are not defective.",
                      lambda encoding: encoding == "ALiBi", defective, SCORES,
                      wrong=lambda encoding: encoding in ("ALiBi", "RetNet"), tolerance=0,
                      answers=(1, 2)),
        practice="BLOOM and MPT ship a defective generator under the name of ALiBi; Goat's trained key slope is the "
                 "same block. On bounded lags diagonalisable generators come as close as one likes, at coefficients "
                 "that grow without bound. Polynomials of the lag are read as distance, not content.",
        severity="needs a repair"),
    claim(
        "X-2",
        Law("-m(t - s) = q^T exp((t - s) [[0, 1], [0, 0]]) k with q = (-m, 0) and k = (0, 1).",
            lambda slope, lag: scored(line(slope), lag), alibi, SLOPES,
            wrong=lambda slope, lag: scored(rising(slope), lag)),
        Law("Appended to q and k, these two coordinates are ALiBi in any attention.",
            line, appended, [{"slope": 0.5}, {"slope": 2**-8}], wrong=rising),
        Law("A block of size 3 gives -(t - s)^2 / alpha^2, the generalised Gaussian of shape 2.",
            lambda alpha, lag: scored(theory.polynomial((0.0, 0.0, -(alpha**-2))), lag), gaussian, GAUSSIANS,
            wrong=lambda alpha, lag: scored(theory.polynomial((0.0, 0.0, -1 / alpha)), lag),
            tolerance=lambda alpha, lag: 1e-6 * (1 + (lag / alpha) ** 2)),
        Law("A block of size p + 1 gives every polynomial of degree p.",
            theory.polynomial, evaluated, POLYNOMIALS, wrong=without_factorial),
        practice="Two constant coordinates carry ALiBi through any attention kernel, RoPE included. Odd powers are "
                 "those of the lag, not of the distance: on keys after the query they change sign.",
    ),
)  # fmt: skip
