"""ParallelComp, section 3.1: chunks that share their positions, and Fig. 2.

Truths: torch's attention under masks, packed documents, scipy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from scipy import special
from torch.nn import functional

from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.config import ModelConfig
from attention_priors.model import Transformer
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.theory import parallel

LENGTHS = grid(length=range(1, 40), size=(1, 2, 5, 19))
FITS = [{"length": n, "context": w, "query": q} for n in range(1, 30) for w in (2, 5, 11) for q in {1, w - 1}]
SIZES = (7, 7, 4)  # of chunks; the last is shorter


def pieces(length: int, size: int) -> tuple[torch.Tensor, ...]:
    """A sequence cut in order into pieces of at most `size`, by torch."""
    return torch.arange(length).split(size)


def fewest(length: int, context: int, query: int) -> int:
    """The least number of chunks that hold `length` tokens, each together with the query in its context."""
    return next(c for c in range(1, length + 1) if c * (context - query) >= length)


def drawn(seed: int) -> np.ndarray:
    """Queries, keys and values [3, tokens, 8]."""
    return np.random.default_rng(seed).standard_normal((3, sum(SIZES), 8))


def turned(x: np.ndarray) -> np.ndarray:
    """RoPE at the positions 0.. with complex numbers, half-split: (x_i + i x_(i + d/2)) e^(i p omega_i)."""
    half = x.shape[1] // 2
    angles = np.outer(np.arange(len(x)), 10_000.0 ** (-np.arange(half) / half))
    z = (x[:, :half] + 1j * x[:, half:]) * np.exp(1j * angles)
    return np.concatenate([z.real, z.imag], axis=1)


def chunk_by_chunk(seed: int, causal: bool, exponent: float = 0.5) -> np.ndarray:
    """softmax(Q K^T / d^exponent) V of each chunk (Eq. 1, 2), every one at the positions 0.."""
    edges, found = np.cumsum(SIZES)[:-1], []
    for q, k, v in zip(*(np.split(x, edges) for x in drawn(seed)), strict=True):
        hidden = np.triu(np.full((len(q), len(k)), -np.inf), 1) if causal else 0.0
        found.append(special.softmax(turned(q) @ turned(k).T / q.shape[1] ** exponent + hidden, axis=1) @ v)
    return np.concatenate(found)


def under_a_block_mask(seed: int, causal: bool) -> np.ndarray:
    """One call of torch over all chunks, queries and keys turned by the library."""
    positions = torch.cat([torch.arange(size) for size in SIZES])
    chunk = torch.arange(len(SIZES)).repeat_interleave(torch.tensor(SIZES))
    seen = chunk[:, None] == chunk
    q, k, v = torch.from_numpy(drawn(seed))[:, None, None]
    q, k = Rotary(rope(8))(q, k, positions, positions)
    seen = seen.tril() if causal else seen
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)[0, 0].numpy()


def passes(says: Callable, chunks: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits of the query's tokens in (a pass for each says(chunk, query), one pass over packed documents).

    Untrained RoPE model of two layers, float64.
    """
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        config = {"layers": 2, "heads": 2, "width": 16, "hidden": 32, "vocabulary": 31, "encoding": "rope"}
        model = Transformer(ModelConfig(**config)).double()
        query, *rest = torch.randint(31, (chunks + 1, 6))
        documents = torch.cat([torch.cat([chunk, query]) for chunk in rest])[None]
        packed = model(documents, document_ids=torch.arange(chunks).repeat_interleave(12)[None])
        apart = [model(says(chunk, query)[None])[0, -6:] for chunk in rest]
    return torch.stack(apart).numpy(), packed[0].unflatten(0, (chunks, 12))[:, -6:].numpy()


# Fig. 2 as a program: 5 chunks of 12 keys, of which 2 chunks and 4 keys a chunk stay

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
        "PC-EQ1",
        Law(
            "The input is cut into ceil(N/w) chunks of at most w tokens.",
            lambda length, size: -(-length // size),
            lambda length, size: len(pieces(length, size)),
            LENGTHS,
            wrong=lambda length, size: length // size,
            tolerance=0,
        ),
        Law(
            "In each chunk F = softmax(Q K^T / sqrt(d)) V, at the positions 0, 1, ... of every chunk.",
            chunk_by_chunk,
            under_a_block_mask,
            grid(seed=range(3), causal=(False, True)),
            wrong=partial(chunk_by_chunk, exponent=1.0),
            tolerance=1e-12,
        ),
        Law(
            "The query is appended to each chunk; through all layers, its passes are those of packed documents.",
            lambda chunk, query: torch.cat([chunk, query]),
            passes,
            grid(chunks=(1, 3)),
            wrong=lambda chunk, query: torch.cat([query, chunk]),
            tolerance=1e-10,
        ),
        Law(
            "If w counts the query's w_q tokens too (App. C), N tokens fill ceil(N/(w - w_q)) chunks.",
            lambda length, context, query: -(-length // (context - query)),
            fewest,
            FITS,
            wrong=lambda length, context, query: -(-length // context),
            tolerance=0,
        ),
        practice="Budget chunks of w - w_q tokens: with w tokens each, the appended query lies beyond the trained "
        "context. Parallel passes are packed documents, so any kernel with document masks runs them.",
    ),
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
