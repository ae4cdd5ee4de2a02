"""ParallelComp, section 3.1, Eq. 3, 4 and 8: which chunks stay, and which keys calibration removes.

Truths: enumeration of all queries, a stable sort.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise, product

import numpy as np
from scipy import stats

from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.theory import parallel

SEEDS = grid(seed=range(8))
CHUNKS = [{"information": x, "kept": 1} for x in ([1.0, 2.0], [2.0, 1.0])] + [
    {"information": np.random.default_rng(s).random(9).tolist(), "kept": m} for s in range(8) for m in (1, 3, 7)
]
HIGH = [{"scores": [0.9, 0.1], "threshold": 0.5}] + [
    {"scores": np.random.default_rng(s).exponential(size=40).tolist(), "threshold": x}
    for s in range(8)
    for x in (0.1, 1.0, 2.5)
]


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


def regions(length: int, only: tuple[str, ...] = parallel.REGIONS) -> list[int]:
    """Tokens of high score in the first 100, the middle and the last 100."""
    return sorted(j for name in only for j in np.intersect1d(spikes(length), parallel.regions(length)[name]).tolist())


def spikes(length: int) -> np.ndarray:
    return np.flatnonzero(np.random.default_rng(length).exponential(size=length) > 2.0)


CHECKS = claims(
    claim(
        "PC-EQ3",
        Law(
            "e^(-I_c) is a law over queries: I_c = -log P(X^q | X^c) sums over its tokens.",
            lambda seed: np.exp(-information(seed)).sum(axis=1),
            np.ones(6),
            SEEDS,
            wrong=lambda seed: np.exp(-information(seed, np.mean)).sum(axis=1),
        ),
        Law(
            "It orders chunks as the perplexity of the query does.",
            lambda seed: information(seed).argsort(axis=0),
            perplexity_order,
            SEEDS,
            wrong=lambda seed: (-information(seed)).argsort(axis=0),
            tolerance=0,
        ),
        Law(
            "A priority queue of fixed size keeps the chunks of lowest I_c.",
            lambda seed, size: parallel.lowest(iter(stream(seed)), size),
            stable_sort,
            grid(seed=range(8), size=(1, 3, 8, 60)),
            wrong=lambda seed, size: parallel.lowest([-x for x in stream(seed)], size),
            tolerance=0,
        ),
        Law(
            "The selected set is {c | c <= eps}.",
            lambda kept: numbered(list(range(kept))),
            of_lowest,
            CHUNKS,
            wrong=lambda kept: numbered(list(range(1, kept + 1))),
            quote=r"$S=\{c\mid c\leq\epsilon\}$, … is a threshold that determines whether a chunk "
            r"will be selected",
            place="§3.1",
        ),
        corrected=Law(
            "The selected set is {c | I_c <= eps}, with eps the m-th lowest self-information when m chunks stay.",
            up_to,
            of_lowest,
            CHUNKS,
            wrong=lambda information, kept: up_to(information, kept + 1),
        ),
        practice="With equal priors, P(c | X^q) is proportional to e^(-I_c): the queue keeps the chunks of highest "
        "posterior. Fix their number (3, or 1 for retrieval), not a threshold on an unscaled I_c.",
        severity="editorial",
    ),
    claim(
        "PC-EQ8",
        Law(
            "R_H is made of its parts in the first 100, the middle and the last 100 tokens.",
            regions,
            lambda length: spikes(length).tolist(),
            grid(length=(200, 201, 333, 4096)),
            wrong=partial(regions, only=("sink", "recency")),
            tolerance=0,
        ),
        Law(
            "K_x[R_H] is the cache without R_H, the tokens with scores above lambda.",
            lambda scores, threshold: parallel.within_threshold(scores, threshold).tolist(),
            lambda scores, threshold: [j for j, score in enumerate(scores) if not score > threshold],
            HIGH,
            wrong=lambda scores, threshold: parallel.within_threshold(-np.array(scores), -threshold).tolist(),
            tolerance=0,
        ),
        practice="One region can be evicted alone. In a chunk of fewer than 200 tokens the first and the last 100 "
        "overlap.",
    ),
)
