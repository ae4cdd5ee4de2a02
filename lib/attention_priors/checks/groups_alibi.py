"""ALiBi as a defective generator, and every polynomial of the lag as a larger one.

Independent evidence: transformers' ALiBi, exact Jordan forms (sympy), torch's own attention, mpmath in 40 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import torch

from attention_priors.attention import attention
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions.finite_rank import ExponentialPolynomial, extend
from attention_priors.positions.priors import GeneralizedGaussian, Laplace, RelativePrior
from attention_priors.theory import groups as theory

# Log-priors as exact sequences: is the shift behind them diagonalisable?


def exact_shift(values: list[Fraction]) -> list[list[Fraction]]:
    """The matrix of the shift on the least recurrence that the sequence satisfies, exactly (Hankel matrices)."""
    import sympy

    half = len(values) // 2
    hankel = sympy.Matrix(half, half, lambda i, j: sympy.Rational(values[i + j].numerator, values[i + j].denominator))
    rank = hankel.rank()
    later = sympy.Matrix(rank, rank, lambda i, j: sympy.Rational(*values[i + j + 1].as_integer_ratio()))
    shift = hankel[:rank, :rank].inv() * later
    return [[Fraction(int(entry.p), int(entry.q)) for entry in shift.row(i)] for i in range(rank)]


def is_defective(values: list[Fraction]) -> bool:
    """Has the shift behind these lags a Jordan block of size above 1?"""
    return any(block.defective for block in theory.jordan_form(exact_shift(values))[0])


def published() -> dict[str, list[Fraction]]:
    """Scores by lag of published encodings at a setting with rational values."""
    cosine = [Fraction(x, 2) for x in (2, 1, -1, -2, -1, 1, 2, 1)]  # cos(pi d / 3)
    return {
        "NoPE": [Fraction(1)] * 8,
        "RoPE": cosine,
        "decay": [Fraction(1, 2**d) for d in range(8)],
        "RetNet": [c / 2**d for d, c in enumerate(cosine)],
        "ALiBi": [Fraction(-d, 2) for d in range(8)],
    }


def check_published(defective: Callable) -> Evidence:
    """defective(name) against the exact Jordan form of the shift behind the encoding's scores."""
    wrong = sum(bool(defective(name)) != is_defective(values) for name, values in published().items())
    found = smallest_counterexample(evaluate_published, defective, [{"bias": [0.0, -0.5, -1.0, -1.5]}])
    return compare(wrong, "==", 0, counterexample=found, detail=f"wrong answers over {', '.join(published())}")


def evaluate_published(defective: Callable, bias: list[float]) -> tuple[bool, bool]:
    """ALiBi's bias at lags 0 .. 3: its second differences vanish and its first do not, an eigenvalue 1 of size 2."""
    first = [b - a for a, b in pairwise(bias)]
    return bool(defective("ALiBi")), first[0] == first[1] == first[2] != 0


def released(heads: int = 8, n: int = 9) -> list[list[Fraction]]:
    """BLOOM's bias by lag, a list a head, as exact fractions of the floats that transformers computes."""
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    bias = build_alibi_tensor(torch.ones(1, n), heads, torch.float64)[:, 0].tolist()
    return [[Fraction(row[n - 1 - d]) - Fraction(row[n - 1]) for d in range(n - 1)] for row in bias]


def check_used(defective: Callable) -> Evidence:
    """defective(head) against the exact Jordan form of the shift behind the bias of BLOOM's head."""
    wrong = sum(bool(defective(head)) != is_defective(values) for head, values in enumerate(released()))
    found = smallest_counterexample(evaluate_used, defective, [{"bias": [float(b) for b in released()[0][:4]]}])
    return compare(wrong, "==", 0, counterexample=found, detail="wrong answers over BLOOM's biases of 8 heads")


def evaluate_used(defective: Callable, bias: list[float]) -> tuple[bool, bool]:
    """The steepest head's bias at lags 0 .. 3: second differences vanish and first ones do not."""
    first = [b - a for a, b in pairwise(bias)]
    return bool(defective(0)), first[0] == first[1] == first[2] != 0


def slope(m: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q = (-m, 0), X = [[0, 1], [0, 0]], k = (0, 1)."""
    return np.array([-m, 0.0]), np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([0.0, 1.0])


# polynomials of the lag


def check_slope(readout: Callable) -> Evidence:
    """q^T e^{dX} k against the library's ALiBi prior, and attention over appended coordinates against the prior's."""
    lags, worst = torch.arange(64), 0.0
    for m in (0.5, 2**-8):
        q, x, k = readout(m)
        prior = Laplace([m])
        mine = np.einsum("a,dab,b->d", q, theory.exponential(x, lags.double().numpy()), k)
        worst = max(worst, float(np.abs(mine - prior.log_prior(lags)[0].double().numpy()).max()))
        step, start, end = (torch.as_tensor(a)[None] for a in (theory.exponential(x, 1.0), k, q))
        worst = max(worst, extension_gap(ExponentialPolynomial(step, start, end), prior))
    return compare(worst, "<=", 1e-12, detail="bias at 64 lags, and outputs of attention on 64 tokens, two slopes")


def extension_gap(features: ExponentialPolynomial, prior: RelativePrior) -> float:
    """torch's attention over q and k with the features appended against the library's attention with the prior."""
    draw = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, 1, 64, 8, generator=draw, dtype=torch.float64)
    longer = extend(q, k, *features.features(torch.arange(64)))
    mine = torch.nn.functional.scaled_dot_product_attention(*longer, v, is_causal=True)
    return float((mine - attention(q, k, v, prior=prior, backend="reference")).abs().max())


def check_gaussian(coefficients: Callable) -> Evidence:
    """A block of size 3 read out by coefficients(α) against the generalised Gaussian of shape 2 (the library's)."""
    worst = 0.0
    for alpha in (1.0, 4.0, 16.0):
        c, x, b = theory.polynomial(coefficients(alpha))
        prior = GeneralizedGaussian([-2 * math.log(alpha)], [2.0], epsilon=1e-12).double()
        lags = torch.arange(64)
        mine = np.einsum("a,dab,b->d", c, theory.exponential(x, lags.double().numpy()), b)
        exact = prior.log_prior(lags)[0].detach().double().numpy()
        worst = max(worst, float(np.abs(mine - exact).max() / np.abs(exact).max()), float(len(x) - 3))
    return compare(worst, "<=", 1e-6, detail="largest relative difference over 64 lags, three scales")


def check_polynomial(realised: Callable) -> Evidence:
    """realised(a) = (c, X, b), X of size p + 1, against random polynomials of degree p, in 40 digits."""
    import mpmath

    draw, worst = np.random.default_rng(0), 0.0
    for degree in range(6):
        a = draw.normal(size=degree + 1)
        c, x, b = realised(a)
        for d in (0, 1, 3, 10):
            with mpmath.workdps(40):
                power = np.array(mpmath.expm(mpmath.matrix(x.tolist()) * d).tolist(), dtype=float)
                exact = float(mpmath.polyval([mpmath.mpf(v) for v in a[::-1]], d))
            worst = max(worst, abs(c @ power @ b - exact) / max(1.0, abs(exact)), float(len(x) - degree - 1))
    return compare(worst, "<=", 1e-12, detail="largest relative difference, degrees 0 to 5")


def wrong_factorial(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The coefficients themselves on the block, without k!."""
    _, x, b = theory.polynomial(a)
    return np.array(a, dtype=float)[::-1], x, b


CHECKS = {
    check.id: check
    for check in (
        Check(
            "OPG-15",
            (
                Part("The class \"seems\" unexplored (\"I failed to find\" literature that \"directly addresses\" it). "
                     "Read as: no published encoding comes from a defective generator.", lambda name: False,
                     check_published, lambda name: name == "RoPE", evaluate_published),
                Part("\"Most likely\" defective generators have no practical application. Read as: no method in use "
                     "has a shift that is exactly defective.", lambda head: False, check_used, lambda head: head == 7,
                     evaluate_used, repaired=lambda head: True),
            ),
            Part("ALiBi comes from a defective generator: the shift behind its bias is a Jordan block of size 2 at "
                 "eigenvalue 1. Those behind NoPE, RoPE, exponential decay and RetNet are not defective.",
                 lambda name: name == "ALiBi", check_published, lambda name: name in ("ALiBi", "RetNet")),
            practice="BLOOM and MPT ship a defective generator under the name of ALiBi; Goat's trained key slope is "
                     "the same block. On bounded lags diagonalisable generators come as close as one likes, at "
                     "coefficients that grow without bound. Polynomials of the lag are read as distance, not content.",
        ),
        Check(
            "X-2",
            (
                Part("-m(t - s) = q^T exp((t - s) [[0, 1], [0, 0]]) k with q = (-m, 0) and k = (0, 1).", slope,
                     check_slope, lambda m: (-slope(m)[0], *slope(m)[1:])),
                Part("A block of size 3 gives -(t - s)^2 / alpha^2, the generalised Gaussian of shape 2.",
                     lambda alpha: (0.0, 0.0, -(alpha**-2)), check_gaussian, lambda alpha: (0.0, 0.0, -1 / alpha)),
                Part("A block of size p + 1 gives every polynomial of degree p.", theory.polynomial, check_polynomial,
                     wrong_factorial),
            ),
            practice="Two constant coordinates carry ALiBi through any attention kernel, RoPE included. Odd powers are "
                     "those of the lag, not of the distance: on keys after the query they change sign.",
        ),
    )
}  # fmt: skip
