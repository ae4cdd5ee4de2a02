"""The numbers behind the figures on finite rank, as rows: coordinates by context, error by number of coordinates."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from attention_priors.positions.buckets import T5Buckets
from attention_priors.positions.kerple import KerpleLog, KerplePower
from attention_priors.positions.priors import GeneralizedGaussian, Laplace, RelativePrior
from attention_priors.positions.rotary import rope
from attention_priors.theory import classification as theory
from attention_priors.theory.classification import Kernel, Mode

Rows = list[dict[str, float | str]]
EXACT = 1e-12  # relative size of a singular value that counts as zero: finite ranks end here, infinite ones do not


def kernel_of(prior: RelativePrior) -> Kernel:
    """The log-prior of a prior's first head as a function of float64 lags."""
    prior = prior.double()

    def kappa(lags: np.ndarray) -> np.ndarray:
        flat = torch.as_tensor(np.asarray(lags)).long().flatten()
        with torch.no_grad():
            return prior.log_prior(flat)[0].double().numpy().reshape(np.shape(lags))

    return kappa


def survey(buckets_seed: int = 0) -> dict[str, Kernel]:
    """One head of every kind of relative prior, scales that matter at 1000 lags; T5's table is random.

    Sandwich is a sum of 64 cosines (Chi et al. 2023), here in float64: rounding to float32 has full rank.
    """
    buckets = T5Buckets(1)
    with torch.no_grad():
        buckets.values.normal_(generator=torch.Generator().manual_seed(buckets_seed))
    modes = [Mode(1, 0.5, (1.0,), (0.6,)), Mode(1, 0.05, (0.8,), (-0.4,))]
    return {
        "ALiBi": kernel_of(Laplace([0.25])),
        "damped mode": theory.kernel([Mode(0.98, 0.2, (1.0,), (0.5,))]),
        "Goat, 2 modes": theory.kernel(modes),
        "BAM, beta = 2": kernel_of(GeneralizedGaussian([-6.0], [2.0], epsilon=1e-12)),
        "Sandwich": theory.kernel([Mode(1, omega, (1 / 8,)) for omega in rope(128).omega]),
        "KERPLE, logarithm": kernel_of(KerpleLog([1.0], [1.0])),
        "KERPLE, square root": kernel_of(KerplePower([1.0], [0.5])),
        "BAM, beta = -1/5": kernel_of(GeneralizedGaussian([0.0], [-0.2])),
        "T5": kernel_of(buckets),
    }


def rank_rows(lengths: Iterable[int], most: int = 24) -> Rows:
    """Coordinates by keys n and, at the last n, largest logit error by coordinates. Rows {panel, prior, x, value}.

    The block has n queries and n keys, all visible (`causal_block`), its row means removed, which softmax ignores. The
    error is that of the truncated singular value decomposition.
    """
    rows: Rows = []
    lengths = tuple(lengths)
    for name, kappa in survey().items():
        for n in lengths:
            left, values, right = np.linalg.svd(theory.centred(theory.causal_block(kappa, n)))
            rank = int((values > EXACT * values[0]).sum())
            rows.append({"panel": "rank", "prior": name, "x": n, "value": rank})
        residual = (left * values) @ right
        for r in range(min(most, n) + 1):
            rows.append({"panel": "error", "prior": name, "x": r, "value": float(np.abs(residual).max())})
            if r < n:
                residual = residual - np.outer(left[:, r] * values[r], right[r])
    return rows
