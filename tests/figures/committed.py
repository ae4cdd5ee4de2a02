"""The committed metrics of the larger profile, and of theory: the numbers that readers see."""

import functools

import pandas as pd

from attention_priors import config
from attention_priors.publish.report import Report
from attention_priors.store.layout import Layout

LAYOUT = Layout(config.ROOT / "results", "full")  # it leaves nothing out
REPORT = Report(LAYOUT, "verdicts")


@functools.cache
def _read(metric: str) -> pd.DataFrame:
    return REPORT.read(metric)[0]


def frame(metric: str) -> pd.DataFrame:
    """A copy, which a test may change."""
    return _read(metric).copy()
