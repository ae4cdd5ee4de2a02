"""ParallelComp, section 3.1: chunks that share their positions, their joint attention, its prior, its cost, Fig. 2.

Truths: torch's attention under masks and its counter of operations, packed documents, scipy, the reference backend.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import torch
from scipy import optimize, special
from torch.nn import functional

from attention_priors.attention import reference
from attention_priors.attention.visible import bidirectional
from attention_priors.claims.law import Law, claim, claims
from attention_priors.config import ModelConfig
from attention_priors.model import Transformer
from attention_priors.positions.priors import Laplace, Uniform
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.theory import generalised_gaussian, parallel

LENGTHS = [{"length": n, "size": w} for n, w in product(range(1, 40), (1, 2, 5, 19))]
FITS = [{"length": n, "context": w, "query": q} for n in range(1, 30) for w in (2, 5, 11) for q in {1, w - 1}]
SIZES = (7, 7, 4)  # of chunks; the last is shorter
KEPT = [{"kept": kept, "query": q} for kept, q in (([2, 1], 1), ([5, 8, 3], 2), ([7, 7, 7, 7], 3))]
CONTENT_FREE = [
    {"chunks": c, "size": size, "kind": kind, "parameter": x}
    for (c, size), (kind, x) in product(
        ((1, 4), (3, 8), (64, 5)), (("alibi", 1 / 64), ("alibi", 2.0), ("rope", 1.0), ("rope", 5.0))
    )
]
COSTS = [{"chunks": c, "width": w} for c, w in ((1, 16), (4, 16), (16, 8), (3, 50))]


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


def logits_and_values(seed: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Logits [queries, keys] of four chunks, some keys hidden, one chunk hidden from all queries but one; values."""
    rng = np.random.default_rng(seed)
    logits, v = scale * rng.standard_normal((4, 22)), rng.standard_normal((22, 3))
    logits[:, rng.random(22) < 0.2] = -np.inf
    logits[1:, 13:16] = -np.inf
    logits[:, -6:] = np.where(np.tri(4, 6, 2, dtype=bool), logits[:, -6:], -np.inf)
    return logits, v


def merged(seed: int, scale: float, weigh: Callable = parallel.merge) -> np.ndarray:
    """Each chunk's output and log normaliser, then the outputs weighed."""
    logits, v = logits_and_values(seed, scale)
    edges = (5, 13, 16)
    chunks = zip(np.split(logits, edges, axis=1), np.split(v, edges), strict=True)
    return weigh(*zip(*(parallel.partial_attention(*chunk) for chunk in chunks), strict=True))


def at_once(seed: int, scale: float) -> np.ndarray:
    """scipy's softmax over all keys."""
    logits, v = logits_and_values(seed, scale)
    return special.softmax(logits, axis=1) @ v


def columns(kept: list[int], query: int) -> int:
    """Of the weights when caches of these sizes and the query's own keys are joined."""
    keys = np.concatenate([np.zeros((n, 2)) for n in (*kept, query)])
    return special.softmax(np.zeros((query, 2)) @ keys.T, axis=1).shape[1]


def content_free(chunks: int, size: int, kind: str, parameter: float) -> np.ndarray:
    """Weights of the first query token on the chunks' keys and on itself, from the reference backend."""
    keys, query = torch.cat([torch.arange(size).repeat(chunks), torch.tensor([size])]), torch.tensor([size])
    q, k = (torch.zeros(1, 1, n, 4, dtype=torch.float64) for n in (1, len(keys)))
    prior = None
    if kind == "alibi":
        prior = Laplace(torch.tensor([parameter], dtype=torch.float64))
    else:  # a rotation needs a vector to turn: every token has the same query and the same key
        q, k = Rotary(rope(4, base=100.0))(q + parameter, k + 1.0, query, keys)
    return reference.weights(
        q, k, prior=prior, logit_scale=None, prior_scale=None, visible=bidirectional(1, len(keys)),
        q_positions=query, k_positions=keys,
    )[0, 0, 0].numpy()  # fmt: skip


def on_the_chunks(chunks: int, size: int, kind: str, parameter: float) -> np.ndarray:
    """The same over the chunks' keys alone, where it sums to one."""
    found = content_free(chunks, size, kind, parameter)[:-1]
    return found / found.sum()


def of_each_chunk(chunks: int, size: int, kind: str, parameter: float) -> np.ndarray:
    return content_free(chunks, size, kind, parameter)[:-1].reshape(chunks, size).sum(axis=1)


def kernel(lags: np.ndarray, kind: str, parameter: float) -> np.ndarray:
    """Logits by lag: -m d, or <R(d) q, k> / 2 for q = parameter (1, 1, 1, 1), k = (1, 1, 1, 1)."""
    if kind == "alibi":
        return -parameter * lags
    return parameter * (np.cos(lags) + np.cos(lags / 10.0))  # frequencies 1 and 100^(-1/2); 2 cos each, over sqrt(4)


def tiled(chunks: int, size: int, kind: str, parameter: float, newest: int = 1) -> np.ndarray:
    """pi_loc(j) / C."""
    lags = np.arange(size, 0, -1.0) if newest else np.arange(1.0, size + 1)
    return np.tile(special.softmax(kernel(lags, kind, parameter)), chunks) / chunks


def equal(chunks: int, size: int, kind: str, parameter: float, others: int = 0) -> np.ndarray:
    """(1 - mass of the query chunk) / C for every chunk."""
    on_keys, own = (np.exp(kernel(d, kind, parameter)).sum() for d in (np.arange(1.0, size + 1), np.zeros(1)))
    return np.full(chunks, (1 - own / (own + chunks * on_keys)) / (chunks + others))


def scores_computed(chunks: int, width: int) -> int:
    """Dot products in C products of [w, 8] by [8, w], by torch's counter of operations."""
    from torch.utils.flop_counter import FlopCounterMode

    x = torch.zeros(chunks, width, 8)
    with FlopCounterMode(display=False) as counter:
        x @ x.transpose(1, 2)
    return counter.get_total_flops() // 16


def saving(chunks: int, width: int) -> float:
    return scores_computed(1, chunks * width) / scores_computed(chunks, width)


# chunks as a prior, 12 keys each

BIAS = {
    "uniform": lambda lags: 0 * lags,
    "ALiBi": lambda lags: -0.3 * lags,
    "generalised Gaussian": lambda lags: -np.exp(-0.5) * (lags + 1e-5) ** 0.6,
}
PRIORS = {
    "uniform": Uniform(1), "ALiBi": Laplace([0.3]).double(),
    "generalised Gaussian": generalised_gaussian.module(-0.5, 0.6).double(),
}  # fmt: skip
ATTENDED = [{"prior": p, "chunks": c, "scale": s} for p in PRIORS for c in (1, 2, 7) for s in (0.0, 2.0)]
LEADS = [
    {"prior": p, "chunks": c, "chunk": b, "key": j}
    for p, (c, b), j in product(PRIORS, ((2, 0), (2, 1), (32, 0), (32, 31)), (0, 6, 11))
]


def local(prior: str) -> np.ndarray:
    """pi_loc: the prior over one chunk."""
    return special.softmax(BIAS[prior](np.arange(12, 0, -1.0)))


def contents(chunks: int, scale: float) -> np.ndarray:
    return scale * np.random.default_rng(chunks).standard_normal(12 * chunks)


def attend(prior: str, content: np.ndarray) -> np.ndarray:
    """Weights of one query behind its chunks, all of which stand at the positions 0..11, from the reference backend."""
    k = torch.from_numpy(content)[None, None, :, None]  # width 1, and a query of 1: the logits are the keys
    with torch.no_grad():
        return reference.weights(
            torch.ones(1, 1, 1, 1, dtype=torch.float64), k, prior=PRIORS[prior], logit_scale=None, prior_scale=None,
            visible=bidirectional(1, len(content)), q_positions=torch.tensor([12]),
            k_positions=torch.arange(12).repeat(len(content) // 12),
        )[0, 0, 0].numpy()  # fmt: skip


def posterior(prior: str, chunks: int, scale: float, power: int = 1) -> np.ndarray:
    """Bayes' rule with the prior pi_loc / C."""
    joint = np.exp(contents(chunks, scale)) * np.tile(local(prior) ** power, chunks) / chunks
    return joint / joint.sum()


def attended(prior: str, chunks: int, scale: float) -> np.ndarray:
    return attend(prior, contents(chunks, scale))


def lead(prior: str, chunks: int, target: int) -> float:
    """The content lead at which one key gets half of the weight, found on the weights themselves."""

    def excess(lead: float) -> float:
        return attend(prior, np.where(np.arange(12 * chunks) == target, lead, 0.0))[target] - 0.5

    return float(optimize.brentq(excess, -20, 40, xtol=1e-10))


def extra_lead(prior: str, chunks: int, chunk: int, key: int) -> float:
    return lead(prior, chunks, 12 * chunk + key) - lead(prior, 1, key)


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
        Law("The input is cut into ceil(N/w) chunks of at most w tokens.",
            lambda length, size: -(-length // size), lambda length, size: len(pieces(length, size)), LENGTHS,
            wrong=lambda length, size: length // size, tolerance=0),
        Law("In each chunk F = softmax(Q K^T / sqrt(d)) V, at the positions 0, 1, ... of every chunk.",
            chunk_by_chunk, under_a_block_mask, [{"seed": s, "causal": c} for s in range(3) for c in (False, True)],
            wrong=partial(chunk_by_chunk, exponent=1.0), tolerance=1e-12),
        Law("The query is appended to each chunk; through all layers, its passes are those of packed documents.",
            lambda chunk, query: torch.cat([chunk, query]), passes, [{"chunks": 1}, {"chunks": 3}],
            wrong=lambda chunk, query: torch.cat([query, chunk]), tolerance=1e-10),
        Law("If w counts the query's w_q tokens too (App. C), N tokens fill ceil(N/(w - w_q)) chunks.",
            lambda length, context, query: -(-length // (context - query)), fewest, FITS,
            wrong=lambda length, context, query: -(-length // context), tolerance=0),
        practice="Budget chunks of w - w_q tokens: with w tokens each, the appended query lies beyond the trained "
                 "context. Parallel passes are packed documents, so any kernel with document masks runs them.",
    ),
    claim(
        "PC-EQ10",
        Law("Attention over the joined caches is one softmax; per-chunk results determine it.",
            merged, at_once, [{"seed": s, "scale": x} for s in range(3) for x in (1.0, 30.0, 300.0)],
            wrong=partial(merged, weigh=lambda outputs, log_totals: np.mean(outputs, axis=0)), tolerance=1e-12),
        Law("Its matrix has C w + w_q columns, C = ceil(N/w).",
            lambda length, size, query: -(-length // size) * size + query,
            lambda length, size, query: columns([len(piece) for piece in pieces(length, size)], query),
            [{"length": n, "size": w, "query": q} for q in (1, 2) for w in range(1, 6) for n in range(1, 20)],
            wrong=lambda length, size, query: length // size * size + query, tolerance=0),
        corrected=Law("The matrix has as many columns as tokens were kept, sum_c n_c + w_q; C w + w_q only if w "
                      "divides N and nothing is evicted.",
                      lambda kept, query: sum(kept) + query, columns, KEPT,
                      wrong=lambda kept, query: max(kept) * len(kept) + query, tolerance=0),
        practice="Keep ln Z_c with each chunk's output: the merge is then exact, in any order, on any machine, and "
                 "Z_c / Z is the chunk's share of attention.",
    ),
    claim(
        "PC-PRIOR",
        Law("Without content, pi(c, j) = pi_loc(j) / C on the chunks' keys.",
            tiled, on_the_chunks, CONTENT_FREE, wrong=partial(tiled, newest=0), tolerance=1e-12),
        Law("Each chunk has the same mass, (1 - mass of the query chunk) / C, however far away it is.",
            equal, of_each_chunk, CONTENT_FREE, wrong=partial(equal, others=1), tolerance=1e-12),
        practice="Order and distance of chunks are invisible to the model. Recency inside a chunk becomes C equal "
                 "peaks; a chunk with fewer kept keys has less mass, in proportion to its sum of exp(bias).",
    ),
    claim(
        "X-15",
        Law("Attention over C chunks that reuse positions has the prior pi_loc(j) / C, with and without content.",
            posterior, attended, ATTENDED, wrong=partial(posterior, power=2), tolerance=1e-7),
        Law("Retrieval across C chunks needs about ln C more lead than inside one, wherever the chunk is: it is off by "
            "less than -ln(1 - pi_loc).",
            lambda chunks: np.log(chunks), extra_lead, LEADS, wrong=lambda chunks: 2 * np.log(chunks),
            tolerance=lambda prior, key: 1e-6 - np.log1p(-local(prior)[key])),
        Law("Exactly, ln((C - pi_loc) / (1 - pi_loc)).",
            lambda prior, chunks, key: np.log((chunks - local(prior)[key]) / (1 - local(prior)[key])), extra_lead,
            LEADS, wrong=lambda chunks: np.log(chunks), tolerance=1e-6),
        practice="Between chunks this is NoPE: the price of C chunks is ln C, of their order that it is lost.",
    ),
    claim(
        "PC-DISC2",
        Law("C = N / w chunks of width w cost the sum over c of w^2 = N w dot products.",
            lambda chunks, width: chunks * width * width, scores_computed, COSTS,
            wrong=lambda chunks, width: chunks * width * (width + 1) / 2, tolerance=0),
        Law("That is less than N^2 by the factor C.", lambda chunks: chunks, saving, COSTS,
            wrong=lambda chunks: chunks**2),
        practice="The factor is that of the chunks' own dot products. Copies of the query, global attention and "
                 "all layers that are not attention (linear in N) dilute it; under a causal mask it is "
                 "(N + 1) / (w + 1).",
    ),
    claim(
        "PC-F2",
        Law("Parallel attention, parallel KV cache eviction, chunk eviction, global attention, as the caption says: "
            "the query's output is attention over the keys that are left.",
            STAGES, output, [{"seed": s} for s in range(3)],
            wrong=(parallel_attention, token_eviction, global_attention, chunk_eviction), tolerance=1e-12),
        practice="The two evictions commute, since both scores come from the first stage.",
    ),
)  # fmt: skip
