"""Which difference between two encodings some seeds and prompts can show: the power of the intervals used here."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy import stats

SURE = 0.8  # power at which a difference counts as detectable
STEPS = np.arange(0.02, 1.0, 0.02)  # differences that are tried


def drawn(
    mean: float, spread: float, seeds: int, prompts: int, draws: int, generator: np.random.Generator
) -> Float[np.ndarray, "draws seeds"]:
    """Answered prompts of `draws` experiments whose models have accuracies of that mean and standard deviation.

    Accuracies follow a beta distribution; a spread that none can have at this mean gives models of accuracy 0 or 1.
    """
    widest = mean * (1 - mean)
    if spread == 0 or widest == 0:
        accuracies = np.full((draws, seeds), mean)
    elif spread**2 >= widest:
        accuracies = (generator.random((draws, seeds)) < mean).astype(float)
    else:
        size = widest / spread**2 - 1
        accuracies = generator.beta(mean * size, (1 - mean) * size, (draws, seeds))
    return generator.binomial(prompts, accuracies)


def interval(right: Float[np.ndarray, "draws seeds"], prompts: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, low and high of `evaluation.share_interval` for each experiment."""
    seeds = right.shape[1]
    shares, total, trials = right / prompts, right.sum(1), seeds * prompts
    mean = shares.mean(1)
    half = stats.t.ppf(0.975, seeds - 1) * shares.std(1, ddof=1) / np.sqrt(seeds)
    low = np.where(total == 0, 0, stats.beta.ppf(0.025, np.maximum(total, 1), trials - total + 1))
    high = np.where(total == trials, 1, stats.beta.ppf(0.975, total + 1, np.maximum(trials - total, 1)))
    return mean, np.maximum(0, np.minimum(mean - half, low)), np.minimum(1, np.maximum(mean + half, high))


def power(difference: float, spread: float, seeds: int, prompts: int, draws: int, seed: int = 0) -> float:
    """How often the interval of a difference, around accuracies of one half, lies above 0.

    ValueError for a difference outside (0, 1), fewer than two seeds, or no prompt.
    """
    if not 0 < difference < 1 or seeds < 2 or prompts < 1:
        raise ValueError(
            f"difference {difference}, {seeds} seeds, {prompts} prompts: it must lie between 0 and 1, "
            "with at least two seeds and one prompt"
        )
    generator = np.random.default_rng(seed)
    better, worse = (
        interval(drawn(0.5 + sign * difference / 2, spread, seeds, prompts, draws, generator), prompts)
        for sign in (1, -1)
    )
    low = better[0] - worse[0] - np.hypot(better[0] - better[1], worse[2] - worse[0])
    return float((low > 0).mean())


def detectable(spread: float, seeds: int, prompts: int, draws: int, seed: int = 0) -> float:
    """The smallest of STEPS that is found with power SURE; NaN where none is."""
    low, high = 0, len(STEPS) - 1
    if power(STEPS[high], spread, seeds, prompts, draws, seed) < SURE:
        return float("nan")
    while low < high:
        middle = (low + high) // 2
        if power(STEPS[middle], spread, seeds, prompts, draws, seed) >= SURE:
            high = middle
        else:
            low = middle + 1
    return float(STEPS[low])
