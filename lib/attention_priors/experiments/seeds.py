"""What several seeds say together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..evaluation import binomial_interval, seed_interval


def over_seeds(
    frame: pd.DataFrame,
    by: Sequence[str],
    say: Callable[[pd.DataFrame], dict[str, Any]],
    *carried: str,
    sort: bool = False,
) -> pd.DataFrame:
    """A row per group of `by`, in the order of the frame or sorted: its names, then what `say` tells of its seeds.

    Last come the columns `carried`, as `carry` has them.
    """
    groups = frame.groupby(list(by), sort=sort)
    made = pd.DataFrame([dict(zip(by, names, strict=True)) | say(group) for names, group in groups])
    return made.assign(**carry(frame, *carried))


def answered(right: int, asked: int) -> dict[str, Any]:
    """Prompts answered, and their share with its exact binomial interval."""
    low, high = binomial_interval(right, asked)
    return {"correct": right, "samples": asked, "accuracy": right / asked, "low": low, "high": high}


def spread(values: Any, interval: tuple[float, float]) -> dict[str, float]:
    """Mean over seeds, its interval and the extremes."""
    low, high = interval
    return {"mean": values.mean(), "low": low, "high": high, "worst": values.min(), "best": values.max()}


def carry(frame: pd.DataFrame, *columns: str) -> dict[str, Any]:
    """The values of those columns that the frame has, the same in all rows, for `DataFrame.assign`."""
    return {column: frame[column].iloc[0] for column in columns if column in frame}


def score_interval(scores: Sequence[float], prompts: Sequence[int], confidence: float = 0.95) -> tuple[float, float]:
    """The interval of a mean score over seeds, as `evaluation.share_interval` has it for hits.

    A prompt with several answers counts as one trial, since its answers are not independent; the limits are those of
    the next whole numbers of prompts below and above.
    """
    scores, prompts = np.asarray(scores, dtype=float), np.asarray(prompts)
    hits, trials = float((scores * prompts).sum()), int(prompts.sum())
    low, high = seed_interval(scores, confidence)
    # Sums of thirds and quarters: what differs from a whole number by rounding is one.
    least, most = int(np.floor(hits + 1e-9)), int(np.ceil(hits - 1e-9))
    low = min(low, binomial_interval(least, trials, confidence)[0])
    high = max(high, binomial_interval(most, trials, confidence)[1])
    return max(0.0, low), min(1.0, high)
