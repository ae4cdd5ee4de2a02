"""The log-priors of the phase diagram, as functions of float64 lags."""

import numpy as np
import torch

from ...positions.priors import Sandwich, T5Buckets, bucket_starts
from ...theory import generalised_gaussian as gaussian


def power(r1: float, r2: float = 1.0) -> gaussian.LogPrior:
    """KERPLE's logarithm, -r1 ln(1 + r2 d)."""
    return lambda lags: -r1 * np.log1p(r2 * np.asarray(lags, dtype=np.float64))


def t5() -> gaussian.LogPrior:
    """T5's buckets fitted to -1.5 ln(1 + d) at the start of each: steep up to lag 113, then flat."""
    prior = T5Buckets(1)
    with torch.no_grad():
        prior.values.copy_(-1.5 * torch.tensor(bucket_starts(), dtype=torch.float32).log1p())
    return gaussian.of(prior)


def family() -> dict[str, gaussian.LogPrior]:
    """One or two members of each family that lie on different sides of the border."""
    return {
        "ALiBi, m = 1/2": gaussian.laplace(1 / 2),
        "ALiBi, m = 1/256": gaussian.laplace(1 / 256),
        "GGD, β = 1/2": gaussian.printed(1.0, 0.5),
        "GGD, β = 1/10": gaussian.printed(1.0, 0.1),
        "KERPLE-log, r₁ = 2": power(2.0),
        "KERPLE-log, r₁ = 1/2": power(0.5),
        "Sandwich, head 3": gaussian.of(Sandwich(12), 2),
        "Sandwich, head 12": gaussian.of(Sandwich(12), 11),
        "T5, fitted": t5(),
        "GGD, β = -1/2": gaussian.coded(0.0, -0.5),
        "uniform": gaussian.laplace(0.0),
    }
