"""Published encodings whose generator is defective (OPG-15).

Independent evidence: transformers' ALiBi, exact Jordan forms (sympy).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import sympy
import torch

from attention_priors.claims.law import Law, claim, claims

PUBLISHED = {  # scores at lags 0 .. 3, at settings where they are rational: RoPE at an angle of 60 degrees
    "NoPE": [1.0, 1.0, 1.0, 1.0],
    "RoPE": [1.0, 0.5, -0.5, -1.0],
    "decay": [1.0, 0.5, 0.25, 0.125],
    "RetNet": [1.0, 0.25, -0.125, -0.125],
    "ALiBi": [0.0, -0.5, -1.0, -1.5],
}
SCORES = [{"encoding": name, "scores": scores} for name, scores in PUBLISHED.items()]
HEADS = [{"slope": 2.0**-h} for h in range(1, 9)]


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


CHECKS = claims(
    claim(
        "OPG-15",
        Law(
            "No published encoding comes from a defective generator.",
            False,
            defective,
            SCORES,
            wrong=lambda encoding: encoding == "RoPE",
            tolerance=0,
            ours=True,
        ),
        Law(
            "As a factor of content, which is what the post looks at, no published encoding is defective.",
            False,
            defective,
            [case for case in SCORES if case["encoding"] != "ALiBi"],
            wrong=lambda encoding: encoding == "RoPE",
            tolerance=0,
        ),
        Law(
            '"Most likely" defective generators have no practical application. Read as: no method in use has a shift '
            "that is exactly defective (BLOOM's heads, by slope).",
            False,
            lambda slope: defective(released(slope)),
            HEADS,
            wrong=lambda slope: slope == 0.5,
            tolerance=0,
            quote="most likely they have no practical application",
            place="Defective generators",
        ),
        corrected=Law(
            "ALiBi comes from a defective generator, on coordinates that are constant and carry no content: a Jordan "
            "block "
            "of size 2 at eigenvalue 1. Those that act on content (NoPE, RoPE, exponential decay, RetNet) are not "
            "defective.",
            lambda encoding: encoding == "ALiBi",
            defective,
            SCORES,
            wrong=lambda encoding: encoding in ("ALiBi", "RetNet"),
            tolerance=0,
            answers=(1, 2),
        ),
        practice="What the author knew of is not tested. BLOOM and MPT ship a defective generator under the name of "
        "ALiBi; Goat's trained key slope is the "
        "same block. On bounded lags diagonalisable generators come as close as one likes, at coefficients "
        "that grow without bound. Polynomials of the lag are read as distance, not content.",
        severity="editorial",
    ),
)
