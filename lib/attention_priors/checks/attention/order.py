"""The survey before any encoding: what attention without positions sees.

Independent evidence: torch's attention kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from attention_priors.claims.law import Law, claim, claims, grid

Layer = Callable[..., np.ndarray]


def self_attention(x, seed=None, causal=False, bias=None):
    """x [tokens width] -> [tokens width]: one head, torch's kernel in float64; q = k = v = x without a seed."""
    import torch

    width = x.shape[1]
    drawn = [np.eye(width)] * 3 if seed is None else np.random.default_rng(seed).normal(size=(3, width, width))
    q, k, v = (torch.from_numpy(x @ matrix)[None] for matrix in drawn)
    mask = None if bias is None else torch.from_numpy(bias)
    found = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    return found[0].numpy()


def with_alibi(x, seed=None):
    lags = np.abs(np.subtract.outer(np.arange(len(x)), np.arange(len(x))))
    return self_attention(x, seed, bias=-0.5 * lags)


def with_slope(x, seed=None):
    """A bias that grows with the key's place."""
    return self_attention(x, seed, bias=np.tile(0.5 * np.arange(len(x)), (len(x), 1)))


def permuted(says: Layer, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """P layer(x), as equivariance has it, and layer(P x): 12 tokens, a random permutation."""
    draw = np.random.default_rng(seed)
    x, order = draw.standard_normal((12, 4)), draw.permutation(12)
    return says(x, seed)[order], says(x[order], seed)


def exchanged(says: Layer, first: float, second: float) -> tuple[float, float]:
    """The output of the first of two tokens of width one, before and after they change places."""
    x = np.array([[first], [second]], dtype=np.float64)
    return float(says(x)[0, 0]), float(says(x[::-1].copy())[1, 0])


def feels(layers: int, causal: bool) -> bool:
    """Whether the last output of a stack of residual layers changes when the tokens before it are rearranged."""
    x, draw = np.random.default_rng(2).standard_normal((8, 4)), np.random.default_rng(3)

    def last(order: np.ndarray) -> np.ndarray:
        stream = np.concatenate([x[:-1][order], x[-1:]])
        for layer in range(layers):
            stream = stream + self_attention(stream, layer, causal)
        return stream[-1]

    plain = last(np.arange(7))
    return max(np.abs(last(draw.permutation(7)) - plain).max() for _ in range(5)) > 1e-8


PAIRS = [{"first": 0.0, "second": 1.0}, {"first": 0.0, "second": 2.0}]
STACKS = grid(layers=(1, 2, 3), causal=(False, True))

CHECKS = claims(
    claim(
        "PE-C0",
        Law(
            "Self-attention without positions and without a mask commutes with every permutation.",
            self_attention,
            permuted,
            grid(seed=range(20)),
            wrong=with_alibi,
            tolerance=1e-10,
        ),
        Law(
            "So does every transformer layer without positional encoding: none can tell a sequence from its "
            "rearrangements (the causal layer of a language model).",
            partial(self_attention, causal=True),
            exchanged,
            PAIRS,
            wrong=with_slope,
            repaired=self_attention,
            tolerance=1e-6,
            quote="Transformers are permutation-equivariant by design—without explicit positional information, "
            "a self-attention layer cannot distinguish",
            place="Positional Encoding in Transformers",
        ),
        corrected=Law(
            "Without positional encoding bidirectional stacks see no order at any depth; of a causal stack, "
            "one layer sees which tokens came before but not in which order, and two layers see the order.",
            lambda layers, causal: causal and layers >= 2,
            feels,
            STACKS,
            wrong=lambda layers, causal: causal,
        ),
        practice="a decoder without an encoding (NoPE) can use order from its second layer on; an encoder sees none",
        severity="editorial",
    ),
)
