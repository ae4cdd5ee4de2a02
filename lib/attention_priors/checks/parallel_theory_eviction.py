"""ParallelComp, section 3.1, Eq. 3 to 8: which chunks and which keys stay, and what eviction does to attention.

Independent evidence: enumeration of all queries and of all caches of a size, torch's topk, scipy's softmax with hidden
keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise, product

import numpy as np

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.checks.parallel_theory import by_search
from attention_priors.theory import parallel
from attention_priors.theory.inference import softmax
from attention_priors.theory.transport import entropy

SEEDS = range(20)

# PC-EQ3: chunks of low self-information


def self_information(probabilities) -> float:
    """-ln P(X^q | X^c) from the probability of each query token given what precedes it."""
    return -float(np.log(probabilities).sum())


def check_information(information: Callable) -> Evidence:
    """All queries of four tokens under a Markov chain per chunk: e^-I is a law; its order is that of perplexity."""
    from scipy import stats

    worst = 0.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        start, step = rng.dirichlet(np.ones(3), 6), rng.dirichlet(np.ones(3), (6, 3))
        queries = np.array(list(product(range(3), repeat=4)))
        later = (step[:, before, token] for before, token in pairwise(queries.T))
        tokens = np.stack([start[:, queries[:, 0]], *later])
        found = np.array([[information(tokens[:, c, q]) for q in range(len(queries))] for c in range(6)])
        worst = max(worst, float(np.abs(np.exp(-found).sum(axis=1) - 1).max()))
        perplexity = 1 / stats.gmean(tokens, axis=0)
        worst = max(worst, float((found.argsort(axis=0) != perplexity.argsort(axis=0)).sum()))
    return compare(worst, "<=", 1e-12, detail="|sum over queries of e^-I - 1|, and orders unlike that of perplexity")


def check_queue(lowest: Callable) -> Evidence:
    """lowest(stream, size) against a stable sort of the whole list; values repeat."""
    wrong = 0
    for seed in SEEDS:
        values = np.random.default_rng(seed).integers(0, 12, 40).astype(float)
        wrong += sum(lowest(iter(values), m) != np.argsort(values, kind="stable")[:m].tolist() for m in (1, 3, 8, 60))
    return compare(wrong, "==", 0, 0.0, detail="of 80 streams, ties included")


def chosen_chunks(select: Callable, information: list[float], kept: int) -> tuple[str, str]:
    """(chunks selected, chunks of lowest self-information), counted from 1."""
    best = sorted(sorted(range(len(information)), key=information.__getitem__)[:kept])
    return tuple(", ".join(str(c + 1) for c in chosen) for chosen in (select(information, kept), best))


def check_selection(select: Callable) -> Evidence:
    """select(I, m) keeps the m chunks of lowest self-information."""
    drawn = (np.random.default_rng(seed).random(9).tolist() for seed in SEEDS)
    candidates = [([1.0, 2.0], 1), ([2.0, 1.0], 1), *((values, m) for values in drawn for m in (1, 3, 7))]
    found = smallest_counterexample(
        chosen_chunks, select, ({"information": values, "kept": m} for values, m in candidates)
    )
    return by_search(found, "the lowest I are selected")


def by_index(information, kept):
    """{c : c <= eps} with eps = kept, chunks counted from 1."""
    return [c for c in range(len(information)) if c + 1 <= kept]


def by_information(information, kept):
    """{c : I_c <= eps} with eps the kept-th lowest self-information."""
    return [c for c, value in enumerate(information) if value <= sorted(information)[kept - 1]]


# PC-EQ6: keys of low cumulative score


def check_scores(scores: Callable) -> Evidence:
    """Keys kept by score against torch: softmax, sum of the last 8 rows, topk (SnapKV without its pooling)."""
    import torch

    wrong = 0
    for seed in SEEDS:
        logits = 2 * np.random.default_rng(seed).standard_normal((24, 50))
        summed = torch.as_tensor(logits).softmax(-1)[-8:].sum(0)
        rows = np.apply_along_axis(softmax, 1, logits)
        for budget in (1, 10, 49):
            wrong += not np.array_equal(
                parallel.heaviest(scores(rows), budget), summed.topk(budget).indices.sort().values.numpy()
            )
    return compare(wrong, "==", 0, 0.0, detail="of 60 caches")


def first_kept(summand: Callable, differences: list[float]) -> tuple[int, int]:
    """(key kept by sums of `summand`, key kept by sums of attention) of two keys, logits (difference, 0) per query."""
    from scipy import special

    logits = np.array([[x, 0.0] for x in differences])
    sums = (np.asarray(rows).sum(axis=0) for rows in (summand(logits), special.softmax(logits, axis=1)))
    return tuple(int(np.argmax(total)) + 1 for total in sums)


def softmax_rows(logits):
    return np.apply_along_axis(softmax, 1, logits)


def check_summand(summand: Callable) -> Evidence:
    drawn = (np.random.default_rng(seed).normal(0, 4, 8).tolist() for seed in SEEDS)
    candidates = ([1.0], [3.0, -2.0], [5.0, -2.0, -2.0], *drawn)
    found = smallest_counterexample(first_kept, summand, ({"differences": x} for x in candidates))
    return by_search(found, "the same key is kept")


def retained_score(cache: Callable, scores: list[float], budget: int) -> tuple[float, float]:
    """(total score of the cache, largest total of any cache of the budget, all of them enumerated)."""
    kept = np.asarray(cache(scores, budget))
    best = max(sum(scores[j] for j in chosen) for chosen in combinations(range(len(scores)), budget))
    return float(np.asarray(scores)[kept].sum()), float(best)


def check_cache(cache: Callable) -> Evidence:
    drawn = (np.random.default_rng(seed).random(7).tolist() for seed in range(8))
    candidates = [([0.9, 0.1], 1), *((scores, budget) for scores in drawn for budget in (1, 3, 6))]
    found = smallest_counterexample(
        retained_score, cache, ({"scores": scores, "budget": budget} for scores, budget in candidates)
    )
    return by_search(found, "most attention is kept")


def low_scores(scores, budget):
    """R_L itself: the tokens that were to go."""
    return np.setdiff1d(np.arange(len(scores)), parallel.heaviest(scores, budget))


# PC-EQ8: keys of high score


def check_regions(regions: Callable) -> Evidence:
    """The tokens above a threshold are the disjoint union of those in the three regions."""
    wrong = 0
    for seed, length in product(range(5), (200, 201, 333, 4096)):
        rng = np.random.default_rng(seed)
        high = np.flatnonzero(rng.exponential(size=length) > 2.0)
        parts = [np.intersect1d(high, region) for region in regions(length).values()]
        wrong += not np.array_equal(np.sort(np.concatenate(parts)), high)
    return compare(wrong, "==", 0, 0.0, detail="of 20 chunks of 200 to 4096 tokens")


def largest_left(cache: Callable, scores: list[float], threshold: float) -> tuple[float, float]:
    """(largest score in the cache, largest score not above the threshold); 0 where there is none."""
    s = np.asarray(scores)
    kept = s[np.asarray(cache(scores, threshold), dtype=int)]
    return float(kept.max(initial=0.0)), float(s[s <= threshold].max(initial=0.0))


def check_high(cache: Callable) -> Evidence:
    drawn = (np.random.default_rng(seed).exponential(size=40).tolist() for seed in SEEDS)
    candidates = [([0.9, 0.1], 0.5), *((scores, threshold) for scores in drawn for threshold in (0.1, 1.0, 2.5))]
    found = smallest_counterexample(
        largest_left, cache, ({"scores": scores, "threshold": threshold} for scores, threshold in candidates)
    )
    return by_search(found, "scores above lambda are gone")


def high_scores(scores, threshold):
    """R_H itself."""
    return np.flatnonzero(np.asarray(scores) > threshold)


# PC-EQ8g: is the rest calibrated?


@dataclass(frozen=True)
class Guarantee:
    """Once the weights above a threshold are evicted, after(p') is on the side `sign` of before(p, kept, threshold)."""

    before: Callable
    after: Callable
    sign: int


def evicted(statement: Guarantee, weights: list[float], threshold: float) -> tuple[float, float]:
    """(nearest value that the statement allows, value found); nothing is evicted where nothing would be left."""
    p = np.asarray(weights)
    kept = parallel.within_threshold(p, threshold)
    if not 0 < len(kept) < len(p):
        return 0.0, 0.0
    left = parallel.after_eviction(p, kept)
    before, after = float(statement.before(p, kept, threshold)), float(statement.after(left))
    return (max if statement.sign > 0 else min)(before, after), after


THREE = ([0.5, 0.49, 0.01], 0.495)
FLAT = ([0.6, 0.1, 0.1, 0.1, 0.1], 0.5)


def check_guarantee(statement: Guarantee) -> Evidence:
    """The guarantee over rows of attention; the first failure is the counterexample."""
    drawn = []
    for seed in SEEDS:
        p = np.random.default_rng(seed).dirichlet(np.full(12, 0.3))
        drawn.append((p.tolist(), float(np.sort(p)[-2:].mean())))
    candidates = ({"weights": p, "threshold": x} for p, x in (THREE, FLAT, *drawn))
    found = smallest_counterexample(evicted, statement, candidates)
    return by_search(found, "in each of 22 rows")


def evenness(p) -> float:
    """Entropy over ln(keys): 1 for uniform weights."""
    return entropy(p) / np.log(len(p)) if len(p) > 1 else 1.0


def check_survivors(after: Callable) -> Evidence:
    """after(p, m) of each survivor against a softmax in which the evicted keys are hidden; the entropy's rule too."""
    from scipy import special

    worst = 0.0
    for seed in SEEDS:
        logits = 2 * np.random.default_rng(seed).standard_normal(9)
        p, top = special.softmax(logits), int(np.argmax(logits))
        left = special.softmax(np.delete(logits, top))
        found = np.array([after(x, p[top]) for x in np.delete(p, top)])
        own = special.entr([p[top], 1 - p[top]]).sum()
        rule = (special.entr(p).sum() - own) / (1 - p[top])
        worst = max(worst, float(np.abs(found - left).max()), abs(float(special.entr(found).sum() - rule)))
    return compare(worst, "<=", 1e-12, detail="largest difference of weights and of H' = (H - h(m)) / (1 - m)")


FALLS = Guarantee(lambda p, kept, threshold: p.max(), np.max, -1)
EVENS = Guarantee(lambda p, kept, threshold: evenness(p), evenness, 1)
BOUNDED = Guarantee(lambda p, kept, threshold: threshold, np.max, -1)
SURVIVOR = Guarantee(lambda p, kept, threshold: p[kept].max(), np.max, 1)

CHECKS = {
    check.id: check
    for check in (
        Check(
            "PC-EQ3",
            (
                Part("I_c = -log P(X^q | X^c) orders chunks as the perplexity of the query does.", self_information,
                     check_information, lambda p: -float(np.log(p).mean())),
                Part("A priority queue of fixed size keeps the chunks of lowest I_c.", parallel.lowest, check_queue,
                     lambda values, size: parallel.lowest([-x for x in values], size)),
                Part("The selected set is {c | c <= eps}.", by_index, check_selection,
                     lambda information, kept: by_information([-x for x in information], kept), chosen_chunks),
            ),
            Part("The selected set is {c | I_c <= eps}, with eps the m-th lowest self-information when m chunks stay.",
                 by_information, check_selection, lambda information, kept: by_information(information, kept + 1)),
            practice="With equal priors, P(c | X^q) is proportional to e^(-I_c): the queue keeps the chunks of highest "
                     "posterior. Fix their number (3, or 1 for retrieval), not a threshold on an unscaled I_c.",
        ),
        Check(
            "PC-EQ6",
            (
                Part("S_j sums the attention that the last 8 queries give to key j; low sums go.",
                     parallel.cumulative_scores, check_scores, lambda rows: np.asarray(rows)[:8].sum(axis=0)),
                Part("The summand f(X_i, X_j) is a matrix product (Eq. 5).", lambda logits: logits, check_summand,
                     lambda logits: -logits, first_kept, repaired=softmax_rows),
                Part("K_x[R_L] is the cache without the tokens R_L of low score: of all caches of its size it loses "
                     "the least attention.", parallel.heaviest, check_cache, low_scores, retained_score),
            ),
            Part("The summand is the softmax weight A of Eq. 1.", softmax_rows, check_summand,
                 lambda logits: np.exp(logits)),
            practice="The output moves by m times (mean kept value - mean evicted value), m being the evicted mass. "
                     "The score is about m, and says nothing about the values.",
        ),
        Check(
            "PC-EQ8",
            (
                Part("R_H is made of its parts in the first 100, the middle and the last 100 tokens.", parallel.regions,
                     check_regions, lambda n: {"sink": np.arange(100), "recency": np.arange(n - 100, n)}),
                Part("K_x[R_H] is the cache without R_H, the tokens with scores above lambda.",
                     parallel.within_threshold, check_high, high_scores, largest_left),
            ),
            practice="One region can be evicted alone. In a chunk of fewer than 200 tokens the first and the last 100 "
                     "overlap.",
        ),
        Check(
            "PC-EQ8g",
            (
                Part("Eviction lowers the largest weight.", FALLS, check_guarantee,
                     Guarantee(FALLS.before, FALLS.after, 1), evicted, repaired=SURVIVOR),
                Part("It makes the weights more even: entropy over ln(keys) rises.", EVENS, check_guarantee,
                     Guarantee(EVENS.before, EVENS.after, -1), evicted, repaired=SURVIVOR),
                Part("It leaves no weight above the threshold.", BOUNDED, check_guarantee,
                     Guarantee(BOUNDED.before, BOUNDED.after, 1), evicted, repaired=SURVIVOR),
            ),
            Part("Survivors keep their odds and grow by 1/(1 - m), m being the evicted mass. A row without its top "
                 "weight p_1 has a lower maximum exactly if p_2 < p_1 (1 - p_1), a higher entropy exactly if "
                 "H > h(p_1)/p_1.",
                 lambda p, m: p / (1 - m), check_survivors, lambda p, m: p / (1 + m)),
            practice="Eviction calibrates a row only where the outlier stood alone. Measure the rest before evicting; "
                     "the next heaviest key inherits the most.",
        ),
    )
}  # fmt: skip
