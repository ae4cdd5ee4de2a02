"""Findings of one module, which share the metrics that they read and what their estimates are given."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from attention_priors.claims.finding import Estimate, Finding, Frames


def measuring(*metrics: str, read: Callable[[Frames], Any] | None = None, **always: Any) -> Callable[..., Finding]:
    """Makes findings: made(text, estimate) says that an estimate lies above 0, or in another relation to a bound.

    An estimate takes the frame of the one metric, of several all frames, or what `read` makes of them.
    """
    if read is None and len(metrics) == 1:
        read = itemgetter(*metrics)

    def made(
        text: str, estimate: Callable[[Any], Estimate], relation: str = ">", bound: float = 0.0, **more: Any
    ) -> Finding:
        def of(frames: Frames) -> Estimate:
            return estimate(read(frames) if read else frames)

        return Finding(text, of, relation, bound, metrics=metrics, **always | more)

    return made
