"""Goat's trained prior on a mixture of copies (Fig. 1, equation 19), and the sizes of its recipe (appendix G).

Models that stay farther than `NEAR` nats from the best prediction have not learned the mixture: their priors decide
nothing. Of several heads the one counts that has most of the mass in question.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import torch

from attention_priors.attention import attention
from attention_priors.checks.goat.retrieval import FAR as TIMES
from attention_priors.checks.goat.retrieval import PAPER, digits
from attention_priors.checks.measured import measuring
from attention_priors.checks.passkey.runs import MARGIN
from attention_priors.claims.finding import ANY, SHARE, Estimate, mean, unknown
from attention_priors.claims.law import Law, Reading, claim, claims, grid
from attention_priors.positions.priors import Product
from attention_priors.positions.spectral import Fourier, Sink, geometric
from attention_priors.tasks.copying import NEAR

JUDGED = "copying_judged"
GOAT, ALONE = "goat-eight", "goat-no-sink"
MOST = 0.8  # of a query's mass
RECIPE = "copying"
KEYS = 16


def column(
    name: str, *, of: Callable = lambda values: values, within: tuple[float, float] = ANY
) -> Callable[[pd.DataFrame], Estimate]:
    """The mean of a column over the seeds of Goat that have copied."""

    def estimate(frame: pd.DataFrame) -> Estimate:
        every = frame[frame["encoding"] == GOAT].set_index("seed")
        own = every[every["copied"].astype(bool)]
        if own.empty:
            return unknown(f"no model of {GOAT} has copied" if len(every) else f"{GOAT} is not in this profile")
        found = mean(of(own[name]).to_dict(), within)
        note = f"{len(own)} of {len(every)} models have copied" if len(own) < len(every) else ""
        return Estimate(found.value, found.interval, found.seeds, note)

    return estimate


finding = measuring(JUDGED, ours=True)


def off(peak: int) -> Callable[[pd.Series], pd.Series]:
    """How many places a peak lies from where it is said to be."""
    return lambda values: (values - peak).abs()


def log_odds(slope: float, query: int) -> list[float]:
    """ln p_ij - ln p_i0 over the keys j that a query sees, of attention without content under a sink of that slope."""
    prior = Product(Fourier.uniform(1, geometric(1)), Sink(torch.tensor([slope]))).double()
    zero = torch.zeros(1, 1, KEYS, KEYS, dtype=torch.float64)
    with torch.no_grad():  # values are unit vectors, so that the output is the row of weights
        p = attention(zero, zero, torch.eye(KEYS)[None, None].double(), prior=prior, backend="composite")
    row = p[0, 0, query, : query + 1].log()
    return (row - row[0]).tolist()


def millions(layers: int, width: int, vocabulary: int) -> float:
    """Weights of a decoder whose head is its embedding: 4 d² of attention and 8 d² beside it a layer, and V d."""
    return float(np.sum([12 * width**2] * layers) + vocabulary * width) / 1e6


QUERIES = grid(slope=(0.25, -0.5), query=(3, 9, 15))
CHECKS = claims(
    claim(
        "GOAT-F1",
        finding(
            f"A sink: some head's prior gives the first key more than {MOST}",
            column("prior_first", within=SHARE),
            ">",
            MOST,
        ),
        finding(
            f"A diagonal: some head's prior gives lag 1 more than {MOST}",
            column("prior_previous", within=SHARE),
            ">",
            MOST,
        ),
        finding("The sink's u peaks at key 0 (places off, mean over seeds)", column("u_peak", of=off(0)), "<", 0.5),
        finding(
            "The diagonal's κ peaks at lag 1 (places off, mean over seeds)", column("kappa_peak", of=off(1)), "<", 0.5
        ),
        missing="the troughs between the two",
        recipe=RECIPE,
    ),
    claim(
        "GOAT-EQ19",
        Law(
            "<1, u(j)> = u(j) in every row: a slope s on keys makes the log-odds of keys j and 0 s j at each query",
            lambda slope, query: [slope * j for j in range(query + 1)],
            log_odds,
            QUERIES,
            wrong=lambda slope, query: [-slope * j for j in range(query + 1)],
            tolerance=1e-9,
        ),
        finding(
            f"Extrapolation is robust: at the longest length, 16T, at most {NEAR} nats above the best prediction",
            column("far"),
            "<=",
            NEAR,
        ),
        digits(
            f"On passkeys u costs no reach: waves alone are at most {MARGIN} ahead (digits, mean from 2T to {TIMES}T)",
            lambda data: data.lead(ALONE, PAPER, data.past(ALONE, PAPER)),
            "<=",
            MARGIN,
            ours=True,
        ),
        recipe=RECIPE,
        practice="The line that u and κ can trade extrapolates; the network is asked at inputs that training never had "
        "as soon as j/L passes 1 under a fixed L.",
    ),
    claim(
        "GOAT-TAB1",
        Law(
            "Position takes 12 dimensions: two for each of the relative rank 2, and an absolute rank of 8",
            12,
            lambda relative, absolute: 2 * relative + absolute,
            [{"relative": 2, "absolute": 8}],
            wrong=10,
            quote=r"$d_{\text{pos}}=12$ (Pos Rank 2, Abs Rank 8), Key Bias enabled",
            place="Table 1",
        ),
        Law(
            "12 layers of width 768 over gpt2's 50,257 tokens are a model of 125M weights, within 2M",
            125.0,
            millions,
            [{"layers": 12, "width": 768, "vocabulary": 50_257}],
            wrong=128.0,
            tolerance=2.0,
        ),
        Reading(
            "Length 2048, 4.0e9 tokens in batches of 32, AdamW (.9, .95, 1e-8), decay .1, 2000 steps of warm-up, "
            "1e-4 to 3e-5 along a cosine, clipping at 1, bf16",
            r"Peak $1\times 10^{-4}$",
            "App. G, Table 1",
        ),
        practice="By section 4 a relative rank R and a key bias take 2R + 2 coordinates, 6 for R = 2; what "
        "the absolute rank of 8 holds is not said there.",
    ),
)
