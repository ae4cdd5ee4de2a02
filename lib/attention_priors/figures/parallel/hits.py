"""How often the chunk that a query was drawn from is kept: the simulation behind a table of the notebook."""

from collections.abc import Iterable

import numpy as np

from ...runtime import seed_for
from ...theory.inference import softmax
from ...theory.parallel import lowest
from ..spec import Rows


def hits(query_lengths: Iterable[int], chunks: int, tokens: int, kept: int, draws: int, seed: int) -> Rows:
    """How often the chunk that a query was drawn from is among the `kept` of lowest self-information.

    Each chunk c is a law P_c over `tokens` tokens (Dirichlet, 1/2), the query is drawn from one of them, and
    I_c = -sum_i ln P_c(x_i). Rows {query, kept, hits, draws, expected}: `expected` is the posterior mass of the kept
    chunks under Bayes' rule with equal priors, averaged over the queries.
    """
    found = []
    for length in query_lengths:
        rng = np.random.default_rng(seed_for(seed, f"13/hits/{length}"))
        count, mass = 0, 0.0
        for _ in range(draws):
            laws = np.log(np.maximum(rng.dirichlet(np.full(tokens, 0.5), chunks), 1e-300))
            needle = int(rng.integers(chunks))
            query = rng.choice(tokens, size=length, p=softmax(laws[needle]))
            information = -laws[:, query].sum(axis=1)
            selected = lowest(information, kept)
            count += needle in selected
            mass += float(softmax(-information)[selected].sum())
        found.append({"query": length, "kept": kept, "hits": count, "draws": draws, "expected": mass / draws})
    return found
