"""Survey, before any encoding: what attention without positions sees, what a bias does there, who adds and who turns.

Independent evidence: torch's attention kernel, transformers' RoPE, and softmaxes written out.
"""

from __future__ import annotations

import math

import numpy as np

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.theory.inference import softmax

TOLERANCE = 1e-12


# C0: permutations


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


def other_output(layer, first, second):
    """(claimed, actual): the output of the first of two tokens of width one before and after they change places.

    Equivariance claims that it moves along unchanged.
    """
    x = np.array([[first], [second]], dtype=np.float64)
    return float(layer(x)[0, 0]), float(layer(x[::-1].copy())[1, 0])


def check_equivariant(layer) -> Evidence:
    """layer(P x) = P layer(x) for 20 random permutations of 12 tokens."""
    draw, worst = np.random.default_rng(1), 0.0
    for seed in range(20):
        x, order = draw.standard_normal((12, 4)), draw.permutation(12)
        worst = max(worst, float(np.abs(layer(x[order], seed) - layer(x, seed)[order]).max()))
    grid = ({"first": 0.0, "second": second} for second in (1.0, 2.0))
    found = smallest_counterexample(other_output, layer, grid, tolerance=1e-6)
    return compare(worst, "<=", 1e-10, counterexample=found, detail="|layer(P x) - P layer(x)|, 20 permutations")


def last_output(layers: int, causal: bool, order) -> np.ndarray:
    """The last token's output of a stack of residual attention layers, its earlier tokens in the given order."""
    x = np.random.default_rng(2).standard_normal((8, 4))
    x = np.concatenate([x[:-1][order], x[-1:]])
    for layer in range(layers):
        x = x + self_attention(x, layer, causal)
    return x[-1]


def check_order_of_past(feels) -> Evidence:
    """`feels(layers, causal)`: the last output changes when its earlier tokens are rearranged."""
    draw, wrong = np.random.default_rng(3), []
    for layers in (1, 2, 3):
        for causal in (False, True):
            plain = last_output(layers, causal, np.arange(7))
            moved = max(np.abs(last_output(layers, causal, draw.permutation(7)) - plain).max() for _ in range(5))
            if not (moved > 1e-6 if feels(layers, causal) else moved < 1e-10):
                wrong.append((layers, causal))
    return compare(len(wrong), "==", 0, 0, detail=f"of 6 stacks that answer otherwise: {wrong or 'none'}")


# C1: who adds, who turns


def jacobian(encode, x, position) -> np.ndarray:
    """d encode(x, position) / d x by central differences."""
    steps = 1e-4 * np.eye(len(x))
    return np.stack([(encode(x + h, position) - encode(x - h, position)) / 2e-4 for h in steps], axis=1)


def sinusoidal(x, position, factor=1.0):
    """x plus Vaswani et al.'s embedding, sine and cosine interleaved."""
    angles = position / 1e4 ** (2 * np.arange(len(x) // 2) / len(x))
    return factor * x + np.stack([np.sin(angles), np.cos(angles)], axis=1).ravel()


def rotary(x, position):
    """transformers' RoPE of one vector: coordinate c is paired with c + width / 2."""
    import torch
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    angles = position / 1e4 ** (2 * np.arange(len(x) // 2) / len(x))
    angles = torch.from_numpy(np.concatenate([angles, angles]))[None, None]
    row = torch.from_numpy(np.asarray(x, dtype=np.float64))[None, None, None]
    return apply_rotary_pos_emb(row, row, angles.cos(), angles.sin())[0][0, 0, 0].numpy()


def check_adds(encode) -> Evidence:
    """The Jacobian is the identity: position is added, and no coordinate enters another."""
    draw = np.random.default_rng(4)
    gaps = [np.abs(jacobian(encode, draw.standard_normal(8), p) - np.eye(8)).max() for p in (0, 1, 17, 300)]
    return compare(float(max(gaps)), "<=", 1e-8, detail="|d encode / d x - 1|, positions 0, 1, 17, 300")


def check_turns_pairs(encode) -> Evidence:
    """encode(0) = 0, and the Jacobian is a rotation that couples c with c + width / 2 and nothing else."""
    draw, worst, mixed = np.random.default_rng(5), 0.0, np.inf
    pairs = np.tile(np.eye(4), (2, 2)) > 0
    for position in (1, 17, 300):
        matrix = jacobian(encode, draw.standard_normal(8), position)
        outside = np.abs(matrix[~pairs]).max()
        turned = np.abs(matrix @ matrix.T - np.eye(8)).max()
        worst = max(worst, outside, turned, np.abs(encode(np.zeros(8), position)).max())
        mixed = min(mixed, np.abs(matrix[pairs & ~np.eye(8, dtype=bool)]).max())
    measured = float(worst) if mixed > 0.1 else math.inf  # without coupling it does not work on pairs
    return compare(measured, "<=", 1e-8, detail="distance from rotations of four pairs, each of which mixes")


# BIAS2: a bias on queries and keys, without positions


def weights_without(q, keys, a, b):
    """As claimed: neither bias shows."""
    return softmax(keys @ q)


def weights_with_query_bias(q, keys, a, b):
    return softmax(keys @ (q + a))


def direct(q, keys, a, b) -> np.ndarray:
    """Attention weights of (q + a)ᵀ(k_n + b), written out."""
    scores = [sum((q[c] + a[c]) * (key[c] + b[c]) for c in range(len(q))) for key in keys]
    weights = [math.exp(score - max(scores)) for score in scores]
    return np.array(weights) / sum(weights)


def bias_distance(weights, query_bias: bool) -> float:
    draw, worst = np.random.default_rng(0), 0.0
    for _ in range(50):
        q, a, b = draw.standard_normal((3, 4))
        keys, a = draw.standard_normal((9, 4)), a * query_bias
        worst = max(worst, float(np.abs(weights(q, keys, a, b) - direct(q, keys, a, b)).max()))
    return worst


def check_key_bias(weights) -> Evidence:
    return compare(bias_distance(weights, False), "<=", TOLERANCE, detail="difference of weights, 50 random rows")


def check_both_biases(weights) -> Evidence:
    return compare(bias_distance(weights, True), "<=", TOLERANCE, detail="with a bias on the query too")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "PE-C0",
            (
                Part(
                    "self-attention without positions and without a mask commutes with every permutation",
                    self_attention,
                    check_equivariant,
                    false=with_alibi,
                ),
                Part(
                    "so does every transformer layer without positional encoding: none can tell a sequence from its "
                    "rearrangements (the causal layer of a language model)",
                    causal_attention,
                    check_equivariant,
                    false=with_alibi,
                    evaluate=other_output,
                    repaired=self_attention,
                ),
            ),
            corrected=Part(
                "Without positional encoding bidirectional stacks see no order at any depth; of a causal stack, one "
                "layer sees which tokens came before but not in which order, and two layers see the order.",
                lambda layers, causal: causal and layers >= 2,
                check_order_of_past,
                false=lambda layers, causal: causal,
            ),
            practice="decoders can be trained with no encoding at all (NoPE), encoders cannot",
        ),
        Check(
            "PE-C1",
            (
                Part(
                    "sinusoidal encoding adds a vector that does not depend on the content, coordinate by coordinate",
                    sinusoidal,
                    check_adds,
                    false=lambda x, position: sinusoidal(x, position, factor=0.5),
                ),
                Part(
                    "RoPE multiplies, by a rotation that mixes the two coordinates of each pair",
                    rotary,
                    check_turns_pairs,
                    false=lambda x, position: x * np.cos(position),
                ),
            ),
            practice="what is added must be told from the content again by the projections; what multiplies q and k "
            "keeps their norms and leaves the values alone",
        ),
        Check(
            "PE-BIAS2",
            (
                Part(
                    "without positions a bias on the keys cancels in the softmax",
                    weights_without,
                    check_key_bias,
                    false=lambda q, keys, a, b: softmax(keys @ (q + b)),
                ),
                Part(
                    "(ours, not the survey's) a bias a on the queries does not cancel: the weights are "
                    "softmax((q + a)ᵀ k_n)",
                    weights_with_query_bias,
                    check_both_biases,
                    false=weights_without,
                ),
            ),
            practice="the bias of the key projection is a wasted parameter without RoPE; the bias of the query "
            "projection is a learned prior over keys, such as an attention sink",
        ),
    )
}
