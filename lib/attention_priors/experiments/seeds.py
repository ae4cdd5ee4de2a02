"""What several seeds say together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd


def over_seeds(
    frame: pd.DataFrame, by: Sequence[str], say: Callable[[pd.DataFrame], dict[str, Any]], sort: bool = False
) -> pd.DataFrame:
    """A row per group of `by`, in the order of the frame or sorted: its names, then what `say` tells of its seeds."""
    groups = frame.groupby(list(by), sort=sort)
    return pd.DataFrame([dict(zip(by, names, strict=True)) | say(group) for names, group in groups])


def spread(values: Any, interval: tuple[float, float]) -> dict[str, float]:
    """Mean over seeds, its interval and the extremes."""
    low, high = interval
    return {"mean": values.mean(), "low": low, "high": high, "worst": values.min(), "best": values.max()}


def carry(frame: pd.DataFrame, *columns: str) -> dict[str, Any]:
    """The values of those columns that the frame has, the same in all rows, for `DataFrame.assign`."""
    return {column: frame[column].iloc[0] for column in columns if column in frame}
