"""Settings of every additive prior of the survey, BAM and Goat, which the page and the table of priors share."""

import math

import torch

from attention_priors.positions.priors import (
    GeneralizedGaussian,
    KerpleLog,
    KerplePower,
    Laplace,
    RelativePrior,
    Sandwich,
    T5Buckets,
    Uniform,
    bucket_starts,
)
from attention_priors.positions.spectral import Fourier


def examples() -> dict[str, list[tuple[str, RelativePrior, int]]]:
    """Up to three settings of a family, which share a picture: name, prior and the head of it."""
    t5 = T5Buckets(3)
    starts = torch.tensor(bucket_starts(), dtype=torch.float32)
    with torch.no_grad():  # what training may leave: a slope in ln d, a far-sighted head, a head that skips neighbours
        t5.values.copy_(torch.stack([-1.5 * starts.log1p(), -0.25 * starts.log1p(), -4.0 / (1 + starts)]))
    modes = (2 * math.pi / 16, 2 * math.pi / 128, 2 * math.pi / 1024)
    waves = Fourier(modes, torch.tensor([[0.0, 0, 1], [0, 1.5, 1.5], [1, 1, 1]]), torch.zeros(3, 3))
    slopes, gaussians = (1 / 4, 1 / 16, 1 / 256), ((1.0, 16.0), (0.5, 4.0), (0.25, 1.0))
    below, powers = (-0.25, -0.5, -1.0), ((0.25, 0.5), (0.05, 1.0), (1e-4, 2.0))
    logs = ((2.0, 1.0), (1.0, 1.0), (0.5, 1.0))
    return {
        "Uniform (NoPE)": [("", Uniform(1), 0)],
        "ALiBi": [(f"m = 1/{1 / m:.0f}", Laplace([m]), 0) for m in slopes],
        "GGD, β > 0": [(f"β = {b:g}, α = {a:g}", _gaussian(a, b), 0) for b, a in gaussians],
        "GGD, β < 0": [(f"β = {b:g}, α = 16", _gaussian(16.0, b), 0) for b in below],
        "KERPLE, power": [(f"r₁ = {a:g}, r₂ = {b:g}", KerplePower([a], [b]), 0) for a, b in powers],
        "KERPLE, log": [(f"r₁ = {a:g}, r₂ = {b:g}", KerpleLog([a], [b]), 0) for a, b in logs],
        "T5 buckets": [(name, t5, head) for head, name in enumerate(("steep", "flat", "far"))],
        "Sandwich": [(f"head {h} of 12", Sandwich(12), h - 1) for h in (3, 6, 12)],
        "Fourier (Goat)": [(name, waves, head) for head, name in enumerate(("1 mode", "2 modes", "3 modes"))],
    }


def _gaussian(alpha: float, beta: float) -> GeneralizedGaussian:
    return GeneralizedGaussian([-beta * math.log(alpha)], [beta])


@torch.no_grad()
def table(prior: RelativePrior, head: int, keys: int) -> torch.Tensor:
    """The log-prior of one head at the lags 0 .. keys - 1 in float64: [1 keys]."""
    return prior.log_prior(torch.arange(keys))[head : head + 1].double()
