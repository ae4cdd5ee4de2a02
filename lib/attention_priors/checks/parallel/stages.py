"""ParallelComp, Fig. 2 as a program: 5 chunks of 12 keys, of which 2 chunks and 4 keys a chunk stay.

Truth: torch's attention under a mask.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy import special
from torch.nn import functional

from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.theory import parallel

KEEP_CHUNKS, KEEP_KEYS = 2, 4


def state(seed: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed).standard_normal
    found = {"q": draw((3, 8)), "k": draw((5, 12, 8)), "v": draw((5, 12, 8)), "own k": draw((3, 8))}
    everything = {"keys": np.ones((5, 12), dtype=bool), "chunks": np.ones((5, 1), dtype=bool)}
    return found | everything | {"own v": draw((3, 8))}


def parallel_attention(at: dict) -> None:
    """S_cj = sum_i A_ij (Eq. 6), and a score of the query given the chunk.

    The score stands in for the self-information of Eq. 3, which needs a language model; any score does for the order.
    """
    logits = np.einsum("id,cjd->cij", at["q"], at["k"]) / np.sqrt(8)
    at["S"] = [parallel.cumulative_scores(weights) for weights in special.softmax(logits, axis=2)]
    at["I"] = -special.logsumexp(logits, axis=2).sum(axis=1)


def token_eviction(at: dict) -> None:
    at["keys"] = np.zeros((5, 12), dtype=bool)
    for row, scores in zip(at["keys"], at["S"], strict=True):
        row[parallel.heaviest(scores, KEEP_KEYS)] = True


def chunk_eviction(at: dict) -> None:
    at["chunks"] = np.zeros((5, 1), dtype=bool)
    at["chunks"][parallel.lowest(at["I"], KEEP_CHUNKS)] = True


def global_attention(at: dict) -> None:
    """The query attends to all keys that are left and to its own (Eqs. 9 to 11)."""
    kept = at["keys"] & at["chunks"]
    k, v = (np.concatenate([at[name][kept], at[f"own {name}"]]) for name in "kv")
    at["out"] = special.softmax(at["q"] @ k.T / np.sqrt(8), axis=1) @ v


def output(says: tuple[Callable, ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The query's output of (the stages in this order, torch's attention to all keys, evicted ones masked)."""
    at = state(seed)
    for stage in says:
        stage(at)
    q, k, v, own_k, own_v = (torch.from_numpy(state(seed)[name]) for name in ("q", "k", "v", "own k", "own v"))
    logits = torch.einsum("id,cjd->cij", q, k) / 8**0.5
    seen = torch.zeros(5, 12, dtype=torch.bool)
    for c in logits.exp().sum(-1).log().sum(-1).topk(KEEP_CHUNKS).indices:
        seen[c, logits[c].softmax(-1).sum(0).topk(KEEP_KEYS).indices] = True
    k, v = torch.cat([k.flatten(0, 1), own_k]), torch.cat([v.flatten(0, 1), own_v])
    mask = torch.cat([seen.flatten(), torch.ones(3, dtype=torch.bool)])
    return at["out"], functional.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask)[0].numpy()


STAGES = (parallel_attention, token_eviction, chunk_eviction, global_attention)

CHECKS = claims(
    claim(
        "PC-F2",
        Law(
            "Parallel attention, parallel KV cache eviction, chunk eviction, global attention, as the caption says: "
            "the query's output is attention over the keys that are left.",
            STAGES,
            output,
            grid(seed=range(3)),
            wrong=(parallel_attention, token_eviction, global_attention, chunk_eviction),
            tolerance=1e-12,
        ),
        practice="The two evictions commute, since both scores come from the first stage.",
    ),
)
