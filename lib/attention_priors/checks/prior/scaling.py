"""BAM, section 2.5: scalable softmax as it is defined.

Truths: mpmath at 50 digits with n^(s z) written as a power, and the library.
"""

from __future__ import annotations

from math import log

import mpmath
import numpy as np
import torch

from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.positions.scaling import ScalableSoftmax
from attention_priors.theory.inference import scalable


def scores(keys: int) -> np.ndarray:
    return 4 * np.random.default_rng(keys).standard_normal(keys)


def powers(keys: int, scale: float, base: int = 0) -> list[float]:
    """n^(s z_i) / sum_j n^(s z_j), as powers and at 50 digits."""
    with mpmath.workdps(50):
        terms = [mpmath.mpf(keys + base) ** (mpmath.mpf(scale) * mpmath.mpf(float(z))) for z in scores(keys)]
        return [float(term / mpmath.fsum(terms)) for term in terms]


def row_factor(scale: float, row: int) -> float:
    """What the library multiplies the logits of a row of a causal context with, in a head of this scale."""
    module = ScalableSoftmax(2).double()
    with torch.no_grad():
        module.scale.copy_(torch.tensor([9.0, scale], dtype=torch.float64))
        return module(torch.tensor([row]))[1, 0].item()


CHECKS = claims(
    claim(
        "BAM-D6",
        Law(
            "n^(s z) / sum n^(s z) = softmax((s ln n) z).",
            powers,
            lambda keys, scale: scalable(scores(keys), scale),
            grid(keys=(1, 2, 7, 60), scale=(-0.5, 0.0, 0.43, 1.0, 2.0)),
            wrong=lambda keys, scale: powers(keys, scale, base=1),
            tolerance=1e-12,
        ),
        Law(
            "Row i of a causal context has n = i, and each head its s: the factor is s ln i.",
            lambda scale, row: scale * log(row),
            row_factor,
            grid(scale=(0.4, 1.0, 2.5), row=(1, 2, 3, 10, 100)),
            wrong=lambda scale, row: scale * log(row + 1),
            tolerance=1e-12,
        ),
        practice="Silent about what z is: content alone, or content plus prior (BAM-E13). Both are encodings here.",
    ),
)
