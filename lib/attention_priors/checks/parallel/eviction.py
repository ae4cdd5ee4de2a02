"""ParallelComp, section 3.1, Eq. 3 to 8: which chunks and which keys stay, and what eviction does to attention.

Truths: enumeration of all queries and of all caches of a size, torch's topk, scipy's softmax without the evicted keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations, pairwise, product

import numpy as np
import torch
from scipy import special, stats

from attention_priors.claims.law import Law, claim, claims
from attention_priors.theory import parallel

SEEDS = [{"seed": s} for s in range(8)]
CHUNKS = [{"information": x, "kept": 1} for x in ([1.0, 2.0], [2.0, 1.0])] + [
    {"information": np.random.default_rng(s).random(9).tolist(), "kept": m} for s in range(8) for m in (1, 3, 7)
]
GAPS = ([1.0], [3.0, -2.0], [5.0, -2.0, -2.0], *(np.random.default_rng(s).normal(0, 4, 8).tolist() for s in range(20)))
CACHES = [{"scores": [0.9, 0.1], "budget": 1}] + [
    {"scores": np.random.default_rng(s).random(7).tolist(), "budget": b} for s in range(8) for b in (1, 3, 6)
]
HIGH = [{"scores": [0.9, 0.1], "threshold": 0.5}] + [
    {"scores": np.random.default_rng(s).exponential(size=40).tolist(), "threshold": x}
    for s in range(8) for x in (0.1, 1.0, 2.5)
]  # fmt: skip
ROWS = [{"weights": [0.5, 0.49, 0.01], "threshold": 0.495}, {"weights": [0.6, 0.1, 0.1, 0.1, 0.1], "threshold": 0.5}]
LOGITS = [{"logits": (2 * np.random.default_rng(s).standard_normal(n)).tolist()} for s in range(8) for n in (2, 9)]


def chains(seed: int) -> np.ndarray:
    """P(token | what precedes it) of all queries of four tokens under six Markov chains. [tokens, chunks, queries]"""
    rng = np.random.default_rng(seed)
    start, step = rng.dirichlet(np.ones(3), 6), rng.dirichlet(np.ones(3), (6, 3))
    queries = np.array(list(product(range(3), repeat=4)))
    later = (step[:, before, token] for before, token in pairwise(queries.T))
    return np.stack([start[:, queries[:, 0]], *later])


def information(seed: int, average: Callable = np.sum) -> np.ndarray:
    """-ln P(X^q | X^c) for every chunk and query."""
    return -average(np.log(chains(seed)), axis=0)


def perplexity_order(seed: int) -> np.ndarray:
    """For each query, the chunks by rising perplexity of the query."""
    return (1 / stats.gmean(chains(seed), axis=0)).argsort(axis=0)


def stream(seed: int) -> list[float]:
    return np.random.default_rng(seed).integers(0, 12, 40).astype(float).tolist()  # values repeat


def stable_sort(seed: int, size: int) -> list[int]:
    return np.argsort(stream(seed), kind="stable")[:size].tolist()


def numbered(chunks: list[int]) -> str:
    """Chunks counted from 1."""
    return ", ".join(str(c + 1) for c in sorted(chunks))


def of_lowest(information: list[float], kept: int) -> str:
    return numbered(sorted(range(len(information)), key=information.__getitem__)[:kept])


def up_to(information: list[float], kept: int) -> str:
    """{c : I_c <= eps} with eps the kept-th lowest self-information."""
    return numbered([c for c, value in enumerate(information) if value <= sorted(information)[kept - 1]])


def attention(seed: int) -> np.ndarray:
    return special.softmax(2 * np.random.default_rng(seed).standard_normal((24, 50)), axis=1)


def by_topk(seed: int, budget: int) -> list[int]:
    """torch: the keys with the largest sums over the last 8 rows (SnapKV without its pooling)."""
    return torch.from_numpy(attention(seed))[-8:].sum(0).topk(budget).indices.sort().values.tolist()


def by_score(seed: int, budget: int, rows: slice = slice(-8, None)) -> list[int]:
    scores = parallel.cumulative_scores(attention(seed)[rows], 8)
    return parallel.heaviest(scores, budget).tolist()


def first_kept(differences: list[float]) -> int:
    """Which of two keys sums of attention keep, the logits being (difference, 0) for each query."""
    return 1 + int(sum(special.expit(differences)) < len(differences) / 2)


def by_products(differences: list[float], sign: int = 1) -> int:
    """Which of them sums of the products keep."""
    return 1 + int(sign * sum(differences) < 0)


def by_weights(differences: list[float]) -> int:
    return 1 + int(np.argmax(special.softmax([[x, 0.0] for x in differences], axis=1).sum(axis=0)))


def largest_total(scores: list[float], budget: int) -> float:
    """Of all caches of the budget, enumerated."""
    return max(map(sum, combinations(scores, budget)))


def total(scores: list[float], budget: int, evict: int = 1) -> float:
    """Total score of the cache without the tokens of low score (evict = -1: of high score)."""
    return float(np.asarray(scores)[parallel.heaviest(evict * np.asarray(scores), budget)].sum())


def regions(length: int, only: tuple[str, ...] = parallel.REGIONS) -> list[int]:
    """Tokens of high score in the first 100, the middle and the last 100."""
    return sorted(j for name in only for j in np.intersect1d(spikes(length), parallel.regions(length)[name]).tolist())


def spikes(length: int) -> np.ndarray:
    return np.flatnonzero(np.random.default_rng(length).exponential(size=length) > 2.0)


def evicted(weights: list[float], threshold: float) -> np.ndarray:
    """The row once the weights above the threshold are gone, normalised."""
    left = [p for p in weights if p <= threshold]
    return np.array(left) / sum(left)


def evenness(p: np.ndarray) -> float:
    """Entropy over ln(keys): 1 for uniform weights."""
    return float(special.entr(p).sum() / math.log(len(p)))


def without_top(logits: list[float]) -> np.ndarray:
    """Weights of the survivors, from a softmax that never saw the heaviest key."""
    return special.softmax(np.delete(logits, np.argmax(logits)))


def grown(logits: list[float], sign: int = 1) -> np.ndarray:
    """p / (1 - m), m the weight of the heaviest key."""
    p, top = special.softmax(logits), int(np.argmax(logits))
    return np.delete(p, top) / (1 - sign * p[top])


def change_of_top(logits: list[float]) -> tuple[bool, bool]:
    """Whether the largest weight falls and the entropy rises when the heaviest key goes."""
    p, left = special.softmax(logits), without_top(logits)
    return bool(left.max() < p.max()), bool(special.entr(left).sum() > special.entr(p).sum())


def rule(logits: list[float], share: int = 1) -> tuple[bool, bool]:
    """p_2 < p_1 (1 - p_1); H > h(p_1) / p_1."""
    p = np.sort(special.softmax(logits))
    own = special.entr([p[-1], 1 - p[-1]]).sum()
    return bool(p[-2] < p[-1] * (1 - p[-1]) ** share), bool(special.entr(p).sum() > own / p[-1] ** share)


def guarantee(text: str, before: Callable, relation: str, after: Callable, wrong: Callable, repaired: float) -> Law:
    """before(weights, threshold) `relation` after(the row that is left)."""
    return Law(text, before, lambda weights, threshold: after(evicted(weights, threshold)), ROWS, relation=relation,
               wrong=wrong, repaired=repaired)  # fmt: skip


CHECKS = claims(
    claim(
        "PC-EQ3",
        Law("e^(-I_c) is a law over queries: I_c = -log P(X^q | X^c) sums over its tokens.",
            lambda seed: np.exp(-information(seed)).sum(axis=1), np.ones(6), SEEDS,
            wrong=lambda seed: np.exp(-information(seed, np.mean)).sum(axis=1)),
        Law("It orders chunks as the perplexity of the query does.",
            lambda seed: information(seed).argsort(axis=0), perplexity_order, SEEDS,
            wrong=lambda seed: (-information(seed)).argsort(axis=0), tolerance=0),
        Law("A priority queue of fixed size keeps the chunks of lowest I_c.",
            lambda seed, size: parallel.lowest(iter(stream(seed)), size), stable_sort,
            [{"seed": s, "size": m} for s in range(8) for m in (1, 3, 8, 60)],
            wrong=lambda seed, size: parallel.lowest([-x for x in stream(seed)], size), tolerance=0),
        Law("The selected set is {c | c <= eps}.",
            lambda kept: numbered(list(range(kept))), of_lowest, CHUNKS,
            wrong=lambda kept: numbered(list(range(1, kept + 1)))),
        corrected=Law("The selected set is {c | I_c <= eps}, with eps the m-th lowest self-information when m chunks "
                      "stay.", up_to, of_lowest, CHUNKS, wrong=lambda information, kept: up_to(information, kept + 1)),
        practice="With equal priors, P(c | X^q) is proportional to e^(-I_c): the queue keeps the chunks of highest "
                 "posterior. Fix their number (3, or 1 for retrieval), not a threshold on an unscaled I_c.",
    ),
    claim(
        "PC-EQ6",
        Law("S_j sums the attention that the last 8 queries give to key j; low sums go.",
            by_score, by_topk, [{"seed": s, "budget": b} for s in range(8) for b in (1, 10, 49)],
            wrong=partial(by_score, rows=slice(None, 8)), tolerance=0),
        Law("The summand f(X_i, X_j) is a matrix product (Eq. 5).",
            by_products, first_kept, [{"differences": x} for x in GAPS], wrong=partial(by_products, sign=-1),
            tolerance=0),
        Law("K_x[R_L] is the cache without the tokens R_L of low score: of all caches of its size it loses the least "
            "attention.", total, largest_total, CACHES, wrong=partial(total, evict=-1)),
        corrected=Law("The summand is the softmax weight A of Eq. 1.",
                      by_weights, first_kept, [{"differences": x} for x in GAPS],
                      wrong=lambda differences: 3 - by_weights(differences), tolerance=0),
        practice="The output moves by m times (mean kept value - mean evicted value), m being the evicted mass. "
                 "The score is about m, and says nothing about the values.",
    ),
    claim(
        "PC-EQ8",
        Law("R_H is made of its parts in the first 100, the middle and the last 100 tokens.",
            regions, lambda length: spikes(length).tolist(), [{"length": n} for n in (200, 201, 333, 4096)],
            wrong=partial(regions, only=("sink", "recency")), tolerance=0),
        Law("K_x[R_H] is the cache without R_H, the tokens with scores above lambda.",
            lambda scores, threshold: parallel.within_threshold(scores, threshold).tolist(),
            lambda scores, threshold: [j for j, score in enumerate(scores) if not score > threshold], HIGH,
            wrong=lambda scores, threshold: parallel.within_threshold(-np.array(scores), -threshold).tolist(),
            tolerance=0),
        practice="One region can be evicted alone. In a chunk of fewer than 200 tokens the first and the last 100 "
                 "overlap.",
    ),
    claim(
        "PC-EQ8g",
        guarantee("Eviction lowers the largest weight.", lambda weights: max(weights), ">=", np.max,
                  wrong=lambda weights: max(weights) ** 2, repaired=1.0),
        guarantee("It makes the weights more even: entropy over ln(keys) rises.",
                  lambda weights: evenness(np.array(weights)), "<=", evenness,
                  wrong=lambda weights: evenness(np.array(weights)) ** 0.5, repaired=0.0),
        guarantee("It leaves no weight above the threshold.", lambda threshold: threshold, ">=", np.max,
                  wrong=lambda threshold: threshold**2, repaired=1.0),
        corrected=(
            Law("Survivors keep their odds and grow by 1/(1 - m), m being the evicted mass.",
                grown, without_top, LOGITS, wrong=partial(grown, sign=-1), tolerance=1e-12),
            Law("A row without its top weight p_1 has a lower maximum exactly if p_2 < p_1 (1 - p_1), a higher entropy "
                "exactly if H > h(p_1)/p_1.", rule, change_of_top, LOGITS, wrong=partial(rule, share=2), tolerance=0),
        ),
        practice="Eviction calibrates a row only where the outlier stood alone. Measure the rest before evicting; "
                 "the next heaviest key inherits the most.",
    ),
)  # fmt: skip
