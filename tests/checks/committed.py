"""Frames as they are committed, in place of made-up ones: what a check reads of them."""

import functools

import pandas as pd

from attention_priors import config
from attention_priors.checks import CHECKS
from attention_priors.publish.report import Report
from attention_priors.store.layout import Layout

RESULTS = config.ROOT / "results"


@functools.cache
def frame(metric: str, profile: str = "full") -> pd.DataFrame:
    """Nobody writes into it: tests assign."""
    return Report(Layout(RESULTS, profile), "verdicts").read(metric)[0]


def frames(identifier: str, profile: str = "full", table=CHECKS, **changed: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What the check of a claim reads, some of it changed; pretrained models are asked under profile cpu alone."""
    metrics = table[identifier].metrics
    profile = "cpu" if metrics[0].startswith("pretrained") else profile
    assert changed.keys() <= {*metrics}, f"{identifier} reads {metrics}"
    return {name: changed[name] if name in changed else frame(name, profile) for name in metrics}


def outcomes(identifier: str, given: dict[str, pd.DataFrame], table=CHECKS) -> list[str]:
    """The outcome of every sentence."""
    return [each.outcome for each in table[identifier].judged(given)]


def notes(identifier: str, given: dict[str, pd.DataFrame]) -> list[str]:
    return [each.note for each in CHECKS[identifier].judged(given)]
