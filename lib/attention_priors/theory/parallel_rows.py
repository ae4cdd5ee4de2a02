"""The numbers behind the figures and tables of notebook 13, as rows: one dictionary per point."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from attention_priors.runtime import seed_for
from attention_priors.theory import parallel
from attention_priors.theory.inference import softmax
from attention_priors.theory.transport import entropy

Rows = list[dict[str, float | str]]
RATES = (0.0, 0.05, 0.2, 1.0)


def prior_rows(chunks: int, size: int, slope: float) -> Rows:
    """Weight without content of each key for the first query token, relative to the uniform share, by true distance.

    Bias -slope * lag: with the true positions, and with positions that the chunks share. Rows {positions, distance,
    chunk, share}; chunk counts from the oldest, 0 is the query itself.
    """
    shared = parallel.reused_lags(chunks, size)
    distance = chunks * size - np.arange(chunks * size + 1)
    chunk = np.append(np.repeat(np.arange(1, chunks + 1), size), 0)
    return [
        {"positions": name, "distance": int(d), "chunk": int(c), "share": float(w * len(shared))}
        for name, lags in (("true", distance), ("shared", shared))
        for d, c, w in zip(distance, chunk, softmax(-slope * lags), strict=True)
    ]


def count_rows(widths: Iterable[int], epsilon: float, delta: float, rows: int, seed: int) -> Rows:
    """#{j : A_j > eps} in rows with logits -R d + N(0, 1): mean, least and most of `rows`, and the bounds.

    Rows {rate, keys, mean, least, most, bound, share}; `share` is the part of the row above 1 / w, a threshold that
    moves with the width. R = 0 has no decay and no bound but 1 / eps.
    """
    found: Rows = []
    for rate in RATES:
        for keys in widths:
            rng = np.random.default_rng(seed_for(seed, f"13/counts/{rate}/{keys}"))
            weights = parallel.noisy_rows(rate, keys, rows, rng)
            above = (weights > epsilon).sum(axis=1)
            t = parallel.noise_level(keys, delta)
            bound = parallel.count_bound(rate, epsilon, t) if rate else 1 / epsilon
            found.append(
                {
                    "rate": rate, "keys": keys, "epsilon": epsilon, "mean": float(above.mean()),
                    "least": int(above.min()), "most": int(above.max()), "bound": bound,
                    "share": float((weights > 1 / keys).mean()),
                }
            )  # fmt: skip
    return found


def dimension_rows(widths: Iterable[int], alpha: float, lag: int, keys: int, rows: int, seed: int) -> Rows:
    """Mass within `lag` under the logits (-alpha d + Z) / sqrt(width), Z ~ N(0, width), by head width.

    Rows {width, mass, error, quiet}: mean and standard error over `rows`, and the mass without noise.
    """
    found: Rows = []
    for width in widths:
        rate = alpha / math.sqrt(width)
        rng = np.random.default_rng(seed_for(seed, f"13/dimension/{width}"))
        near = parallel.noisy_rows(rate, keys, rows, rng)[:, : lag + 1].sum(axis=1)
        found.append(
            {
                "width": width, "lag": lag, "mass": float(near.mean()),
                "error": float(near.std(ddof=1) / math.sqrt(rows)), "quiet": parallel.mass_within(rate, lag, keys),
            }
        )  # fmt: skip
    return found


def calibration_rows(steps: int) -> Rows:
    """Three keys, p_1 >= p_2 >= p_3, the heaviest evicted: what becomes of the largest weight and of the entropy.

    Rows {first, second, largest, entropy}: differences after - before, the entropy relative to ln(keys).
    """
    found: Rows = []
    for first in np.linspace(1 / 3, 0.99, steps):
        for second in np.linspace((1 - first) / 2, min(first, 1 - first), steps):
            p = np.array([first, second, max(1 - first - second, 0.0)])
            left = parallel.after_eviction(p, [1, 2])
            found.append(
                {
                    "first": float(first), "second": float(second), "largest": float(left.max() - first),
                    "entropy": entropy(left) / math.log(2) - entropy(p) / math.log(3),
                }
            )  # fmt: skip
    return found


def budget_rows(keys: int, width: int, queries: int, sharpness: float, seed: int) -> Rows:
    """Output error of a cache of the heaviest keys, against its budget, next to a random cache of that size.

    Logits N(0, sharpness^2), values N(0, 1); the error is |o' - o| / |o| in the mean over the last 8 queries. Rows
    {rule, budget, error, evicted, bound}: the evicted mass m, and m times the diameter of the values over |o|.
    """
    rng = np.random.default_rng(seed_for(seed, "13/budget"))
    common = rng.standard_normal(keys)  # what all queries agree on, so that a score over queries means something
    logits = sharpness * (common + rng.standard_normal((queries, keys))) / math.sqrt(2)
    weights = np.apply_along_axis(softmax, 1, logits)
    v = rng.standard_normal((keys, width))
    diameter = max(float(np.linalg.norm(v - row, axis=1).max()) for row in v)
    scores, shuffled, found = parallel.cumulative_scores(weights), rng.permutation(keys), []
    for budget in sorted({max(1, keys >> power) for power in range(8)}):
        for rule, kept in (("heaviest", parallel.heaviest(scores, budget)), ("random", np.sort(shuffled[:budget]))):
            moved = [(*parallel.eviction_shift(row, v, kept), np.linalg.norm(row @ v)) for row in weights[-8:]]
            found.append(
                {
                    "rule": rule, "keys": keys, "budget": budget,
                    "error": float(np.mean([np.linalg.norm(shift) / size for shift, _, size in moved])),
                    "evicted": float(np.mean([mass for _, mass, _ in moved])),
                    "bound": float(np.mean([mass * diameter / size for _, mass, size in moved])),
                }
            )  # fmt: skip
    return found


def hit_rows(query_lengths: Iterable[int], chunks: int, tokens: int, kept: int, draws: int, seed: int) -> Rows:
    """How often the chunk that a query was drawn from is among the `kept` of lowest self-information.

    Each chunk c is a law P_c over `tokens` tokens (Dirichlet, 1/2), the query is drawn from one of them, and
    I_c = -sum_i ln P_c(x_i). Rows {query, kept, hits, draws, expected}: `expected` is the posterior mass of the kept
    chunks under Bayes' rule with equal priors, averaged over the queries.
    """
    found: Rows = []
    for length in query_lengths:
        rng = np.random.default_rng(seed_for(seed, f"13/hits/{length}"))
        hits, mass = 0, 0.0
        for _ in range(draws):
            laws = np.log(np.maximum(rng.dirichlet(np.full(tokens, 0.5), chunks), 1e-300))
            needle = int(rng.integers(chunks))
            query = rng.choice(tokens, size=length, p=softmax(laws[needle]))
            information = -laws[:, query].sum(axis=1)
            selected = parallel.lowest(information, kept)
            hits += needle in selected
            mass += float(softmax(-information)[selected].sum())
        found.append({"query": length, "kept": kept, "hits": hits, "draws": draws, "expected": mass / draws})
    return found
