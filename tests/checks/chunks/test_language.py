"""PC-TAB3 in worlds where it holds, where it fails, and where models know no order or are alone."""

import itertools

import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.chunks.language import BY_SEED


def frames(plain=2.0, chunks=0.1, seeds=3, passed=True, methods=("plain", "k3")):
    """Growth at every length beyond T, a little other for each seed."""
    rows = []
    for method, seed, multiple in itertools.product(methods, range(seeds), (1, 16, 64)):
        grown = ({"plain": plain, "k3": chunks}[method] + seed / 100) * (multiple > 1)
        rows.append(
            {
                "encoding": "rope",
                "method": method,
                "seed": seed,
                "length": 128 * multiple,
                "trained": 128,
                "growth": grown,
                "loss": 1.5 + grown,
                "passed": passed,
            }
        )
    return {BY_SEED: pd.DataFrame(rows)}


def outcomes(given):
    return [each.outcome for each in CHECKS["PC-TAB3"].judged(given)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (frames(), ["agrees"] * 3),
        (frames(plain=0.1, chunks=0.2), ["disagrees", "agrees", "disagrees"]),
        (frames(plain=2.0, chunks=3.0), ["agrees", "disagrees", "disagrees"]),
        (frames(seeds=1), ["undecided"] * 3),
        (frames(passed=False), ["undecided"] * 3),
        (frames(methods=("plain",)), ["agrees", "undecided", "undecided"]),
    ],
)
def test_every_sentence_can_be_decided_either_way(given, expected):
    assert outcomes(given) == expected


def test_models_without_order_are_named():
    assert "gate missed: rope (seed 0, 1, 2)" in CHECKS["PC-TAB3"].judged(frames(passed=False))[0].note
