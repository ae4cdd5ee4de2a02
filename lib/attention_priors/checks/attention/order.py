"""The survey before any encoding: what attention without positions sees, who adds and who turns, what a bias does.

Independent evidence: torch's attention kernel, transformers' RoPE, and softmaxes written out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attention_priors.claims.law import Law, claim, claims

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


def causal_attention(x, seed=None):
    return self_attention(x, seed, causal=True)


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


def first_share(position: int, length: int) -> float:
    """The output at a position (from 1) of one causal layer with equal scores and a value of 1 at the first token."""
    import torch

    zero, value = torch.zeros(2, 1, length, 1, dtype=torch.float64)
    value[0, 0] = 1.0
    found = torch.nn.functional.scaled_dot_product_attention(zero, zero, value, is_causal=True)
    return float(found[0, position - 1, 0])


def angles(position: float) -> np.ndarray:
    """Of the four planes of a vector of eight."""
    return position / 1e4 ** (2 * np.arange(4) / 8)


def jacobian(position: float) -> np.ndarray:
    """d encode(x, position) / dx by central differences, for Vaswani et al.'s embedding added to x."""

    def encode(x: np.ndarray) -> np.ndarray:
        return x + np.stack([np.sin(angles(position)), np.cos(angles(position))], axis=1).ravel()

    x, steps = np.random.default_rng(4).standard_normal(8), 1e-4 * np.eye(8)
    return np.stack([(encode(x + h) - encode(x - h)) / 2e-4 for h in steps], axis=1)


def turned(position: float, seed: int, sign: float = 1.0) -> np.ndarray:
    """A rotation of the plane of coordinates c and c + 4, for each c, times the vector that `seed` draws."""
    x, a = np.random.default_rng(seed).standard_normal(8), angles(position)
    first, second = x[:4], x[4:]
    return np.concatenate(
        [np.cos(a) * first - sign * np.sin(a) * second, sign * np.sin(a) * first + np.cos(a) * second]
    )


def rotary(position: float, seed: int) -> np.ndarray:
    """transformers' RoPE of the same vector."""
    import torch
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    row = torch.from_numpy(np.random.default_rng(seed).standard_normal(8))[None, None, None]
    turns = torch.from_numpy(np.tile(angles(position), 2))[None, None]
    return apply_rotary_pos_emb(row, row, turns.cos(), turns.sin())[0][0, 0, 0].numpy()


PAIRS = [{"first": 0.0, "second": 1.0}, {"first": 0.0, "second": 2.0}]
STACKS = [{"layers": layers, "causal": causal} for layers in (1, 2, 3) for causal in (False, True)]
PLACES = [{"position": position, "seed": seed} for position in (1, 17, 300) for seed in range(3)]

CHECKS = claims(
    claim(
        "PE-C0",
        Law(
            "Self-attention without positions and without a mask commutes with every permutation.",
            self_attention,
            permuted,
            [{"seed": seed} for seed in range(20)],
            wrong=with_alibi,
            tolerance=1e-10,
        ),
        Law(
            "So does every transformer layer without positional encoding: none can tell a sequence from its "
            "rearrangements (the causal layer of a language model).",
            causal_attention,
            exchanged,
            PAIRS,
            wrong=with_slope,
            repaired=self_attention,
            tolerance=1e-6,
            quote="Transformers are permutation-equivariant by design",
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
        practice="decoders can be trained with no encoding at all (NoPE), encoders cannot",
        severity="needs a repair",
    ),
    claim(
        "PE-C1",
        Law(
            "Sinusoidal encoding adds a vector that does not depend on the content, coordinate by coordinate: its "
            "derivative is the identity.",
            np.eye(8),
            jacobian,
            [{"position": position} for position in (0, 1, 17, 300)],
            wrong=0.5 * np.eye(8),
            tolerance=1e-8,
        ),
        Law(
            "RoPE multiplies, by a rotation that mixes the two coordinates of each pair.",
            turned,
            rotary,
            PLACES,
            wrong=lambda position, seed: turned(position, seed, -1.0),
        ),
        practice="what is added must be told from the content again by the projections; what multiplies q and k keeps "
        "their norms and leaves the values alone",
    ),
    claim(
        "PE-E1",
        Law(
            "The opening: transformers without positions are permutation-equivariant (here a causal one).",
            causal_attention,
            exchanged,
            PAIRS,
            wrong=with_slope,
            repaired=self_attention,
            tolerance=1e-6,
            quote="Transformers are permutation-equivariant by design",
            place="Positional Encoding in Transformers",
        ),
        Law(
            "The NoPE part: a causal model without encoding can find positions from its mask, as 1 / i.",
            lambda position: 1 / position,
            first_share,
            [{"position": i, "length": 200} for i in (1, 2, 3, 50, 200)],
            wrong=lambda position: 1 / (position + 1),
        ),
        corrected=Law(
            "Without a causal mask attention without positions is permutation-equivariant.",
            self_attention,
            permuted,
            [{"seed": seed} for seed in range(20)],
            wrong=causal_attention,
            tolerance=1e-10,
        ),
        practice="The opening is about encoders. A decoder has positions without being given any, which is why NoPE is "
        "a baseline and not a bag of words.",
        severity="editorial",
    ),
)
