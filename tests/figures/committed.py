"""The committed metrics: the numbers that readers see."""

import functools

import pandas as pd

from attention_priors import config
from attention_priors.publish.report import NotMeasured, Report
from attention_priors.store.layout import Layout


@functools.cache
def _read(metric: str) -> tuple[Report, pd.DataFrame]:
    """Of the larger profile, which leaves nothing out; of the smaller one what is new there."""
    larger, smaller = (Report(Layout(config.ROOT / "results", name), "verdicts") for name in ("full", "cpu"))
    try:
        return larger, larger.read(metric)[0]
    except NotMeasured:
        return smaller, smaller.read(metric)[0]


def report(metric: str) -> Report:
    return _read(metric)[0]


def frame(metric: str) -> pd.DataFrame:
    """A copy, which a test may change."""
    return _read(metric)[1].copy()
