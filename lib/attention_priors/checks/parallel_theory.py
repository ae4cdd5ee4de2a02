"""ParallelComp, section 3.1: chunks with shared positions, their joint attention, and the prior that this implies.

Independent evidence: torch's scaled dot-product attention under a block mask, scipy's softmax over joined caches, an
untrained model of this project that runs chunks as packed documents, the reference backend with arbitrary positions.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.theory import parallel
from attention_priors.theory.margins import chunk_prior

SEEDS = range(3)


def by_search(found: dict | None, detail: str) -> Evidence:
    """What a search for counterexamples says: the actual value against the claimed one, or that there is none."""
    if found:
        return compare(found["actual"], "==", found["claimed"], 0.0, counterexample=found, detail=detail)
    return compare("no counterexample", "==", "no counterexample", detail=detail)


# PC-EQ1: chunks and local attention


def check_chunks(count: Callable) -> Evidence:
    """count(N, w) against torch.split, which cuts a sequence in order into pieces of at most w."""
    import torch

    wrong = sum(
        count(length, size) != len(torch.arange(length).split(size)) for length in range(1, 60) for size in range(1, 20)
    )
    return compare(wrong, "==", 0, 0.0, detail="pairs (N, w) in 1..59 x 1..19 with another number of pieces")


def rotate(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """RoPE with complex numbers, half-split layout: (x_i + i x_(i + d/2)) e^(i p omega_i)."""
    half = x.shape[1] // 2
    turned = (x[:, :half] + 1j * x[:, half:]) * np.exp(1j * np.outer(positions, 10_000.0 ** (-np.arange(half) / half)))
    return np.concatenate([turned.real, turned.imag], axis=1)


def local_attention(q, k, v, causal: bool):
    """softmax(Q K^T / sqrt(d)) V of one chunk, as Eq. 1 and 2 are printed, with or without the causal mask."""
    hidden = np.triu(np.full((len(q), len(k)), -np.inf), 1) if causal else 0.0
    return parallel.partial_attention(q @ k.T / np.sqrt(q.shape[1]) + hidden, v)[0]


def unscaled_attention(q, k, v, causal: bool):
    return local_attention(q * np.sqrt(q.shape[1]), k, v, causal)


def check_local(local: Callable) -> Evidence:
    """Chunk by chunk with positions 0.. against one call of torch over all chunks under a block mask."""
    import torch

    from attention_priors.positions.rotary import Rotary, rope

    worst = 0.0
    for seed, causal in product(SEEDS, (False, True)):
        rng = np.random.default_rng(seed)
        sizes = (7, 7, 4)
        q, k, v = rng.standard_normal((3, sum(sizes), 8))
        positions = np.concatenate([np.arange(size) for size in sizes])
        chunk = np.repeat(np.arange(len(sizes)), sizes)
        allowed = chunk[:, None] == chunk
        if causal:
            allowed &= np.tri(len(q), dtype=bool)
        turned = Rotary(rope(8))(*(torch.as_tensor(x)[None, None] for x in (q, k)), *[torch.as_tensor(positions)] * 2)
        whole = torch.nn.functional.scaled_dot_product_attention(
            *turned, torch.as_tensor(v)[None, None], attn_mask=torch.as_tensor(allowed)
        )[0, 0].numpy()
        parts = [
            local(rotate(q[chunk == c], np.arange(n)), rotate(k[chunk == c], np.arange(n)), v[chunk == c], causal)
            for c, n in enumerate(sizes)
        ]
        worst = max(worst, float(np.abs(np.concatenate(parts) - whole).max()))
    return compare(worst, "<=", 1e-12, detail="largest difference, three chunks, with and without a causal mask")


def check_layers(row: Callable) -> Evidence:
    """row(chunk, query): the tokens of one parallel pass. Untrained RoPE model, two layers, float64.

    The passes together are one pass over packed documents; a single chunk is an ordinary pass over the sequence.
    """
    import torch

    from attention_priors.config import ModelConfig
    from attention_priors.model import Transformer

    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = {"layers": 2, "heads": 2, "width": 16, "hidden": 32, "vocabulary": 31, "encoding": "rope"}
        model = Transformer(ModelConfig(**config)).double()
        tokens = torch.randint(31, (21,))
    query, chunks = tokens[18:], tokens[:18].split(6)
    documents = [torch.cat([chunk, query]) for chunk in chunks]
    with torch.no_grad():
        ids = torch.arange(len(chunks)).repeat_interleave(9)[None]
        packed = model(torch.cat(documents)[None], document_ids=ids)[0].unflatten(0, (3, 9))[:, -3:]
        apart = torch.cat([model(row(chunk, query)[None]) for chunk in chunks])[:, -3:]
        plain, alone = model(tokens[None]), model(row(tokens[:18], query)[None])
    worst = max(float((packed - apart).abs().max()), float((plain - alone).abs().max()))
    return compare(worst, "<=", 1e-10, detail="largest difference of logits: packed documents, and a single chunk")


def join(chunk, query):
    import torch

    return torch.cat([chunk, query])


def join_in_front(chunk, query):
    import torch

    return torch.cat([query, chunk])


def chunks_that_fit(count: Callable, length: int, context: int, query: int) -> tuple[int, int]:
    """(printed number of chunks, fewest chunks of which each fits into the context together with the query)."""
    needed = next(c for c in range(1, length + 1) if c * (context - query) >= length)
    return count(length, context, query), needed


def check_fit(count: Callable) -> Evidence:
    grid = (
        {"length": n, "context": w, "query": q} for n in range(1, 40) for w in range(1, 12) for q in range(1, w)
    )  # fmt: skip
    found = smallest_counterexample(chunks_that_fit, count, grid)
    return by_search(found, "chunk and query fit together")


# PC-EQ10: global attention over the joined caches


def check_merge(merge: Callable) -> Evidence:
    """Outputs of chunks, merged, against scipy's softmax over the joined logits; hidden keys, large logits."""
    from scipy import special

    worst = 0.0
    for seed, scale in product(SEEDS, (1.0, 30.0, 300.0)):
        rng = np.random.default_rng(seed)
        sizes = (5, 8, 3, 6)
        logits, v = scale * rng.standard_normal((4, sum(sizes))), rng.standard_normal((sum(sizes), 3))
        logits[:, rng.random(sum(sizes)) < 0.2] = -np.inf
        logits[1:, 13:16] = -np.inf  # three queries see nothing of the third chunk
        logits[:, -6:] = np.where(np.tri(4, 6, 2, dtype=bool), logits[:, -6:], -np.inf)
        edges = np.cumsum(sizes)[:-1]
        pieces = zip(np.split(logits, edges, axis=1), np.split(v, edges), strict=True)
        outputs, log_totals = zip(*(parallel.partial_attention(s, values) for s, values in pieces), strict=True)
        worst = max(worst, float(np.abs(merge(outputs, log_totals) - special.softmax(logits, axis=1) @ v).max()))
    return compare(worst, "<=", 1e-12, detail="largest difference from one softmax over all keys")


def joined_columns(columns: Callable, length: int, size: int, query: int) -> tuple[int, int]:
    """(columns as printed, keys that the joined caches of all chunks and of the query really hold)."""
    keys = np.concatenate([np.zeros((s.stop - s.start, 1)) for s in parallel.chunk_slices(length, size)])
    return columns(length, size, query), len(keys) + query


def check_columns(columns: Callable) -> Evidence:
    grid = ({"length": n, "size": w, "query": q} for q in (1, 2) for w in range(1, 6) for n in range(1, 20))
    found = smallest_counterexample(joined_columns, columns, grid)
    return by_search(found, "the size is that of the caches")


def check_retained(columns: Callable) -> Evidence:
    """columns(tokens kept of each chunk, w_q) against the weights over caches from which keys were evicted."""
    from scipy import special

    wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        length, query = int(rng.integers(5, 60)), int(rng.integers(1, 5))
        caches = []
        for piece in parallel.chunk_slices(length, 8):
            scores = rng.random(piece.stop - piece.start)
            caches.append(parallel.heaviest(scores, int(rng.integers(1, len(scores) + 1))))
        joined = np.concatenate([*caches, np.arange(query)])
        weights = special.softmax(rng.standard_normal((query, len(joined))), axis=1)
        wrong += weights.shape != (query, columns([len(cache) for cache in caches], query))
    return compare(wrong, "==", 0, 0.0, detail="of 20 random caches after eviction")


# PC-PRIOR: the prior of shared positions


def content_free(chunks: int, size: int, kind: str, parameter: float) -> np.ndarray:
    """Weights of the first query token on [chunks, size] keys and its own key, from the library's reference backend."""
    import torch

    from attention_priors.attention.reference import weights
    from attention_priors.attention.visible import bidirectional
    from attention_priors.positions.priors import Laplace
    from attention_priors.positions.rotary import Rotary, rope

    keys = torch.cat([torch.arange(size).repeat(chunks), torch.tensor([size])])
    query = torch.tensor([size])
    q, k = (torch.zeros(1, 1, n, 4, dtype=torch.float64) for n in (1, len(keys)))
    prior = None
    if kind == "alibi":
        prior = Laplace(torch.tensor([parameter], dtype=torch.float64))
    else:  # a rotation has no prior without a vector to turn: every token has the same query and the same key
        q, k = Rotary(rope(4, base=100.0))(q + parameter, k + 1.0, query, keys)
    return weights(
        q, k, prior=prior, logit_scale=None, prior_scale=None, visible=bidirectional(1, len(keys)),
        q_positions=query, k_positions=keys,
    )[0, 0, 0].numpy()  # fmt: skip


def kernel(lags: np.ndarray, kind: str, parameter: float) -> np.ndarray:
    """Logits by lag, written out: -m d, or <R(d) q, k> / 2 for q = parameter (1, 1, 1, 1), k = (1, 1, 1, 1)."""
    if kind == "alibi":
        return -parameter * lags
    return parameter * (np.cos(lags) + np.cos(lags / 10.0))  # frequencies 1 and 100^(-1/2); 2 cos each, over sqrt(4)


CONTENT_FREE = tuple(
    (c, size, kind, x)
    for (c, size), (kind, x) in product(
        ((1, 4), (3, 8), (7, 16), (64, 5)),
        (("alibi", 1 / 64), ("alibi", 0.125), ("alibi", 2.0), ("rope", 1.0), ("rope", 5.0)),
    )
)


def check_prior(joint: Callable) -> Evidence:
    """joint(pi_loc, C) -> [C w] against the weights on the chunks' keys, the query chunk's own set aside."""
    from scipy import special

    worst = 0.0
    for chunks, size, kind, parameter in CONTENT_FREE:
        found = content_free(chunks, size, kind, parameter)[:-1]
        local = special.softmax(kernel(np.arange(size, 0, -1.0), kind, parameter))
        worst = max(worst, float(np.abs(found / found.sum() - joint(local, chunks)).max()))
    return compare(worst, "<=", 1e-12, detail="largest difference, 20 settings of ALiBi and of RoPE on equal vectors")


def check_shares(share: Callable) -> Evidence:
    """share(C, mass on the query chunk): mass of each chunk, near or far."""
    worst = 0.0
    for chunks, size, kind, parameter in CONTENT_FREE:
        found = content_free(chunks, size, kind, parameter)
        masses = found[:-1].reshape(chunks, size).sum(axis=1)
        worst = max(worst, float(np.abs(masses - share(chunks, found[-1])).max()))
    return compare(worst, "<=", 1e-12, detail="largest difference over all chunks, the oldest included")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "PC-EQ1",
            (
                Part("The input is cut into ceil(N/w) chunks of at most w tokens.", lambda n, w: -(-n // w),
                     check_chunks, lambda n, w: n // w),
                Part("In each chunk F = softmax(Q K^T / sqrt(d)) V, positions 0, 1, ... in every chunk.",
                     local_attention, check_local, unscaled_attention),
                Part("The query is appended to each chunk; through all layers, a single chunk is ordinary attention.",
                     join, check_layers, join_in_front),
                Part("Chunk and query together fit into the context of w positions 0..w-1.",
                     lambda n, w, q: -(-n // w), check_fit, lambda n, w, q: n // w, chunks_that_fit),
            ),
            Part("In a context of w positions, w_q of them for the query, N tokens need C = ceil(N/(w - w_q)) chunks.",
                 parallel.chunk_count, check_fit, lambda n, w, q: -(-n // (w - q)) + 1),
            practice="Budget chunks of w - w_q tokens: with w tokens each, the appended query lies beyond the trained "
                     "context. Parallel passes are packed documents, so any kernel with document masks runs them.",
        ),
        Check(
            "PC-EQ10",
            (
                Part("Attention over the joined caches is one softmax; per-chunk results determine it.",
                     parallel.merge, check_merge, lambda outputs, log_totals: np.mean(outputs, axis=0)),
                Part("Its matrix has C w + w_q columns, C = ceil(N/w).", lambda n, w, q: -(-n // w) * w + q,
                     check_columns, lambda n, w, q: (n // w) * w + q, joined_columns,
                     repaired=lambda n, w, q: n + q),
            ),
            Part("The matrix has as many columns as tokens were kept, sum_c n_c + w_q; C w + w_q only if w divides N "
                 "and nothing is evicted.",
                 lambda kept, query: sum(kept) + query, check_retained,
                 lambda kept, query: max(kept) * len(kept) + query),
            practice="Keep ln Z_c with each chunk's output: the merge is then exact, in any order, on any machine, and "
                     "Z_c / Z is the chunk's share of attention.",
        ),
        Check(
            "PC-PRIOR",
            (
                Part("Without content, pi(c, j) = pi_loc(j) / C on the chunks' keys.",
                     chunk_prior, check_prior,
                     lambda local, chunks: chunk_prior(local[::-1], chunks)),
                Part("Each chunk has the same mass, (1 - mass of the query chunk) / C, however far away it is.",
                     lambda chunks, own: (1 - own) / chunks, check_shares,
                     lambda chunks, own: (1 - own) / (chunks + 1)),
            ),
            practice="Order and distance of chunks are invisible to the model. Recency inside a chunk becomes C equal "
                     "peaks; a chunk with fewer kept keys has less mass, in proportion to its sum of exp(bias).",
        ),
    )
}  # fmt: skip
