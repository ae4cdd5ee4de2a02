"""The survey on KERPLE's kernels of the distance.

Independent evidence: eigenvalues of Gram matrices, BLOOM's weights, which are read off at zero content.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import torch
from scipy.special import softmax

from attention_priors.claims.law import Law, claim, claims, grid

SINGLE = 1e-5  # transformers keeps slopes in float32
ROUNDING = 1e-12  # of the largest eigenvalue
POWERS = grid(r2=(0.1, 0.5, 1.0, 1.5, 1.9, 2.0, 2.1, 2.5, 3.0, 3.9))
LOGS = grid(r1=(0.1, 1.0, 5.0), r2=(0.01, 1.0, 30.0), points=("integers", "reals"))
SCALED = [{"width": 5, "r1": 0.3, "r2": 0.5}, {"width": 12, "r1": 0.01, "r2": 2.0}, {"width": 64, "r1": 2.0, "r2": 1.0}]
NEAREST = [{"slope": 2.0**-h, "width": 4, "keys": n} for n in (2, 3, 24) for h in range(1, 9)]


@functools.cache
def bloom(width: int) -> np.ndarray:
    """Weights of the last query [2 layers, 8 heads, lags] of transformers' BLOOM when queries and keys are zero."""
    from transformers import BloomConfig, BloomModel

    torch.manual_seed(0)
    config = BloomConfig(vocab_size=8, hidden_size=8 * width, n_layer=2, n_head=8)
    model = BloomModel._from_config(config, attn_implementation="eager").double().eval()
    with torch.no_grad():
        for block in model.h:
            block.self_attention.query_key_value.weight.zero_()
            block.self_attention.query_key_value.bias.zero_()
        found = model(torch.zeros(1, 24, dtype=torch.long), output_attentions=True).attentions
    return torch.cat(found).double().numpy()[:, :, -1, ::-1]


def least(kernel: Callable, points: str = "integers") -> float:
    """Smallest eigenvalue on vectors of sum zero, relative to the largest: >= 0 is conditional definiteness."""
    draw = np.random.default_rng(0)
    x = np.arange(40.0) if points == "integers" else np.sort(draw.uniform(0, 100, 40))
    centre = np.eye(40) - 1 / 40
    values = np.linalg.eigvalsh(centre @ kernel(np.abs(np.subtract.outer(x, x))) @ centre)
    return float(values[0] / np.abs(values).max())


def content(width: int) -> np.ndarray:
    """Scores qᵀk of 30 keys."""
    draw = np.random.default_rng(width)
    return draw.standard_normal((30, width)) @ draw.standard_normal(width)


def beside(width: int, r1: float, r2: float, power: float = 0.5) -> np.ndarray:
    """Weights of scaled content beside a bias -r1 / width^power lag^r2."""
    return softmax(content(width) / math.sqrt(width) - r1 / width**power * np.arange(29, -1, -1.0) ** r2)


def inside(width: int, r1: float, r2: float) -> np.ndarray:
    """Weights of softmax((qᵀk - r1 lag^r2) / sqrt(width)), as printed."""
    return softmax((content(width) - r1 * np.arange(29, -1, -1.0) ** r2) / math.sqrt(width))


def nearest(slope: float, width: int, keys: int) -> float:
    """BLOOM's weight of the query's own key among the nearest, no content, in the head with that slope."""
    weights = bloom(width)[0, -round(math.log2(slope)) - 1, :keys]
    return float(weights[0] / weights.sum())


def triangle(r1: float, width: int, keys: int, power: int = 1) -> float:
    """The same of softmax(r1 (c - lag^power) / sqrt(width)): c cancels."""
    return float(softmax(-r1 * np.arange(float(keys)) ** power / math.sqrt(width))[0])


CHECKS = claims(
    claim(
        "PE-KERPLE",
        Law(
            "-r1 |lag|^r2 is a kernel of the method (conditionally positive definite) for 0 < r2 <= 2, not beyond.",
            lambda r2: 0 < r2 <= 2,
            lambda r2: least(lambda d: -(d**r2)) >= -ROUNDING,
            POWERS,
            wrong=lambda r2: 0 < r2 < 2,
        ),
        Law(
            "-r1 log(1 + r2 |lag|) is one for all r1, r2 > 0 (no negative eigenvalue on vectors of sum zero).",
            lambda d, r1, r2: -r1 * np.log1p(r2 * d),
            lambda says, r1, r2, points: (0.0, least(lambda d: says(d, r1, r2), points)),
            LOGS,
            wrong=lambda d, r1, r2: r1 * np.log1p(r2 * d),
            relation="<=",
            tolerance=ROUNDING,
        ),
        Law(
            "Inside the softmax it is divided by sqrt(d) like the content of width d: r1 / sqrt(d) beside scaled "
            "content.",
            beside,
            inside,
            SCALED,
            wrong=lambda width, r1, r2: beside(width, r1, r2, 0.0),
        ),
        Law(
            "The triangle kernel c - |lag| reduces to ALiBi.",
            lambda width, keys: triangle(1.0, width, keys),
            nearest,
            NEAREST,
            wrong=lambda width, keys: triangle(1.0, width, keys, 2),
            tolerance=SINGLE,
            quote=r"Triangle kernel: $c-\vert m-n\vert$. This reduces to ALiBi.",
            place="KERPLE",
        ),
        corrected=Law(
            "With a factor, r1 (c - |lag|), that is r2 = 1, the triangle kernel gives ALiBi: r1 = slope x "
            "sqrt(d) in a head of width d. Without it all heads have one slope.",
            lambda slope, width, keys: triangle(slope * math.sqrt(width), width, keys),
            nearest,
            NEAREST,
            wrong=lambda slope, width, keys: triangle(slope, width, keys),
            tolerance=SINGLE,
        ),
        practice="printed r1 are sqrt(d) times those of code that adds the bias after the scaling (d is the width); "
        "the logarithm with r1 <= sqrt(d) as printed (<= 1 in that code) is the one kernel without a window",
        severity="editorial",
    ),
)
