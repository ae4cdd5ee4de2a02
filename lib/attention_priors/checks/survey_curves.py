"""Survey, two drawings: how RoPE turns pairs, and how xPos decays.

The drawings are not in the text; both follow from formulas that are. Independent evidence: transformers' Llama
rotation, and the library's attention scores against sums written out.
"""

from __future__ import annotations

import math

import numpy as np

from attention_priors.checks.evidence import Check, Evidence, Part, compare

WIDTH, BASE = 64, 1e4
FAR = 2**18
SCALE, GAMMA = 512.0, 0.4


def llama_turn(position: int, width: int) -> np.ndarray:
    """e^(i angle) of each pair: what transformers' Llama does to the unit vectors (1, 0)."""
    import torch
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    layer = LlamaRotaryEmbedding(LlamaConfig(hidden_size=width, num_attention_heads=1))
    first = torch.cat([torch.ones(width // 2), torch.zeros(width // 2)])[None, None, None]
    cos, sin = layer(first, torch.tensor([[position]]))
    turned = apply_rotary_pos_emb(first, first, cos, sin)[0][0, 0, 0].double().numpy()
    return turned[: width // 2] + 1j * turned[width // 2 :]


def check_turn(angle) -> Evidence:
    """`angle(position, pair, width)`: direction and length of every turned pair."""
    worst = 0.0
    for width in (8, WIDTH):
        for position in (0, 1, 5, 100):
            claimed = np.exp(1j * np.array([angle(position, pair, width) for pair in range(width // 2)]))
            worst = max(worst, float(np.abs(llama_turn(position, width) - claimed).max()))
    return compare(worst, "<=", 1e-5, detail="distance of turned unit vectors from e^(i angle), float32")


def check_relative(angle) -> Evidence:
    """The angle between the pairs of two positions depends on their lag alone."""
    between = [
        [np.angle(llama_turn(start + lag, 8) / llama_turn(start, 8)) for start in (0, 3, 40)] for lag in (1, 2, 7)
    ]
    claimed = [[angle(lag)] * 3 for lag in (1, 2, 7)]
    gap = np.abs(np.exp(1j * np.array(between)) - np.exp(1j * np.array(claimed))).max()
    return compare(float(gap), "<=", 1e-4, detail="three lags from three starts each, float32")


def similarity(lags, decay=True) -> np.ndarray:
    """sum_i zeta_i^(lag / 512) cos(lag theta_i): the score of equal vectors of ones, halved."""
    i = np.arange(WIDTH // 2)
    zeta = (2 * i / WIDTH + GAMMA) / (1 + GAMMA) if decay else np.ones(len(i))
    lags = np.asarray(lags, dtype=np.float64)[..., None]
    return (zeta ** (lags / SCALE) * np.cos(lags * BASE ** (-2 * i / WIDTH))).sum(-1)


def check_score(curve) -> Evidence:
    """`curve(lags)` against the score of equal vectors under the library's damped rotation."""
    import torch

    from attention_priors.positions.xpos import DampedRotary, xpos

    lags = np.arange(0, 2000, 7)
    ones = torch.ones(1, 1, len(lags), WIDTH, dtype=torch.float64)
    layer = DampedRotary(xpos(WIDTH, BASE, GAMMA, SCALE))
    q, k = layer(ones[:, :, :1], ones, torch.tensor([2000]), torch.as_tensor(2000 - lags))
    scores = (q @ k.transpose(-1, -2))[0, 0, 0].numpy() / 2
    return compare(float(np.abs(scores - curve(lags)).max()), "<=", 1e-9, detail="lags 0..2000, width 64")


def check_vanishes(curve) -> Evidence:
    """Below 1 % of its value at lag 0 on a whole stretch of far lags."""
    far = float(np.abs(curve(FAR + np.arange(4096))).max() / curve(0))
    return compare(far, "<=", 0.01, detail=f"largest value / value at lag 0, on 4096 lags from {FAR:,} on")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "PE-F2",
            (
                Part(
                    "pair i of a vector at position m is turned by m 10000^(-2i/d) and keeps its length (the drawing "
                    "follows from this formula)",
                    lambda position, pair, width: position * BASE ** (-2 * pair / width),
                    check_turn,
                    false=lambda position, pair, width: position * BASE ** (-pair / width),
                ),
                Part(
                    "between two positions it turns by the lag times that frequency, wherever they are",
                    lambda lag: lag * BASE ** (-np.arange(4) / 4),
                    check_relative,
                    false=lambda lag: -lag * BASE ** (-np.arange(4) / 4),
                ),
            ),
            practice="the first pairs tell neighbours apart and wrap within 7 tokens; the last hardly move",
        ),
        Check(
            "PE-F4",
            (
                Part(
                    "the curve is the score of equal vectors: plane i falls as zeta_i^(lag / 512) and turns as in RoPE "
                    "(the drawing follows from this formula)",
                    similarity,
                    check_score,
                    false=lambda lags: similarity(lags, decay=False),
                ),
                Part(
                    "it decays to zero with the distance",
                    similarity,
                    check_vanishes,
                    false=lambda lags: similarity(lags, decay=False),
                ),
            ),
            practice=f"at the released scale of {SCALE:g} and width {WIDTH} the slowest plane halves only every "
            f"{-SCALE * math.log(2) / math.log((1 - 2 / WIDTH + GAMMA) / (1 + GAMMA)):,.0f} tokens: what xPos removes "
            "early are the oscillations of the fast planes",
        ),
    )
}
