"""The sizes in Goat's recipe for ImageNet (appendix H, Table 2): what position takes of a head."""

from __future__ import annotations

import numpy as np

from attention_priors.claims.law import Law, Reading, claim, claims


def rank(pairs: int, sinks: int, side: int) -> int:
    """Of a prior over all lags of a grid, half of its waves along each axis, and of biases on keys.

    So many coordinates queries and keys need at least to hold the sum as a product.
    """
    rng = np.random.default_rng(0)
    places = np.stack(np.divmod(np.arange(side**2), side))  # [2, places]
    waves = 2 * np.pi * np.arange(1, pairs // 2 + 1) / side  # harmonics: orthogonal as long as side > pairs
    angles = (waves[:, None, None] * places).reshape(pairs, -1)
    lags = angles[:, :, None] - angles[:, None, :]
    bias = np.cos(lags).sum(0) + sinks * rng.normal(size=side**2)
    return int(np.linalg.matrix_rank(bias, tol=1e-6))


def grid(sinks: int, pairs: int = 16, side: int = 18) -> dict:
    return {"pairs": pairs, "sinks": sinks, "side": side}


CHECKS = claims(
    claim(
        "GOAT-TAB2",
        Law(
            "Sixteen pairs, half of them along each axis, take 32 dimensions,",
            32,
            rank,
            [grid(0)],
            wrong=31,
            tolerance=0,
        ),
        Reading(
            "ViT-S with SwiGLU, 12 layers, 6 heads, width 384; AdamW (.9, .999), decay .05, 1e-3 along a cosine, "
            "20 epochs of warm-up out of 150, batches of 1024, fp16",
            "recipe",
            "App. H, Table 2",
        ),
        Law(
            "and the key bias one more: 33 (34 with the padding of section 4).",
            lambda pairs: 2 * pairs + 1,
            rank,
            [grid(1), grid(1, pairs=14)],
            wrong=lambda pairs: 2 * pairs,
            tolerance=0,
            ours=True,
        ),
        practice="Position takes half of a head of 64. Whether a pair or the bias was left out of the 32 is not "
        "printed, and who repeats the experiment has to choose.",
    ),
)
