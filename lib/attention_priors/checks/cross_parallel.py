"""Parallel chunks as a prior (X-15): positions that are reused divide the local prior by the number of chunks.

Independent evidence: the library's reference attention at the reused positions, and root-finding on its weights.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from attention_priors.attention.reference import weights
from attention_priors.attention.visible import bidirectional
from attention_priors.checks.evidence import Check, Evidence, Part, compare
from attention_priors.positions.priors import Laplace, Prior, Uniform
from attention_priors.theory import generalised_gaussian as gaussian
from attention_priors.theory.inference import posterior, softmax
from attention_priors.theory.margins import chunk_prior, extra_margin

WIDTH = 12  # keys of a chunk


def priors() -> dict[str, Prior]:
    shaped = gaussian.module(-0.5, 0.6).double()
    return {"uniform": Uniform(1), "ALiBi": Laplace([0.3]).double(), "generalised Gaussian": shaped}


def attend(prior: Prior, chunks: int, content: np.ndarray) -> np.ndarray:
    """Weights of one query behind its chunks, all of which stand at the positions 0..WIDTH-1. Content logits [keys]."""
    k = torch.from_numpy(content)[None, None, :, None]  # width 1, and a query of 1: the logits are the keys
    q = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    with torch.no_grad():
        found = weights(
            q, k, prior=prior, logit_scale=None, prior_scale=None, visible=bidirectional(1, len(content)),
            q_positions=torch.tensor([WIDTH]), k_positions=torch.arange(WIDTH).repeat(chunks),
        )  # fmt: skip
    return found[0, 0, 0].numpy()


def local(prior: Prior) -> np.ndarray:
    """pi_loc: the prior over one chunk."""
    with torch.no_grad():
        return softmax(prior.log_prior(WIDTH - torch.arange(WIDTH))[0].double().numpy())


def check_prior(statement: Callable) -> Evidence:
    """statement(pi_loc, C) against attention without content, and as the prior of Bayes' rule with content."""
    draw, worst = np.random.default_rng(0), 0.0
    for prior in priors().values():
        for chunks in (1, 2, 7):
            said = statement(local(prior), chunks)
            content = 2 * draw.standard_normal(chunks * WIDTH)
            worst = max(worst, np.abs(attend(prior, chunks, np.zeros(chunks * WIDTH)) - said).max())
            worst = max(worst, np.abs(attend(prior, chunks, content) - posterior(content, said)).max())
    detail = "three priors, 1, 2 and 7 chunks of 12 keys, with and without content"
    return compare(float(worst), "<=", 1e-7, detail=detail)


def lead_for_half(prior: Prior, chunks: int, target: int) -> float:
    """The content lead at which one key gets half of the weight, found on the weights themselves."""
    from scipy.optimize import brentq

    def excess(lead: float) -> float:
        return attend(prior, chunks, np.where(np.arange(chunks * WIDTH) == target, lead, 0.0))[target] - 0.5

    return float(brentq(excess, -20, 40, xtol=1e-10))


def check_extra(statement: Callable) -> Evidence:
    """statement(C) against the extra lead of the keys of two chunks, which must be within -ln(1 - pi_loc) of it."""
    worst, exact, largest = -np.inf, 0.0, 0.0
    for prior in priors().values():
        pi = local(prior)
        alone = [lead_for_half(prior, 1, j) for j in range(WIDTH)]
        for chunks in (2, 8, 32):
            for first in (0, (chunks - 1) * WIDTH):  # the farthest chunk and the nearest
                extra = np.array([lead_for_half(prior, chunks, first + j) for j in range(WIDTH)]) - alone
                worst = max(worst, (np.abs(extra - statement(chunks)) + np.log1p(-pi)).max())
                exact = max(exact, np.abs(extra - extra_margin(pi, chunks)).max())
                largest = max(largest, (extra - np.log(chunks)).max())
    detail = "distance beyond the allowance -ln(1 - pi_loc), 2, 8 and 32 chunks; excess over ln C at most "
    detail += f"{largest:.3f}; from ln((C - pi) / (1 - pi)) at most {exact:.1e}"
    return compare(float(worst), "<=", 1e-6, detail=detail)


CHECKS = {
    check.id: check
    for check in (
        Check(
            "X-15",
            (
                Part("Attention over C chunks that reuse positions has the prior pi_loc(j) / C", chunk_prior,
                     check_prior, lambda pi, chunks: np.tile(pi, chunks)),
                Part("Retrieval across C chunks needs about ln C more lead than inside one, wherever the chunk is",
                     np.log, check_extra, lambda chunks: 2 * np.log(chunks)),
            ),
            practice="Between chunks this is NoPE: the price of C chunks is ln C, of their order that it is lost.",
        ),
    )
}  # fmt: skip
