"""Shapes and outliers in worlds where the claims hold, where they fail, and without order."""

import itertools

import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.chunks.outliers import HEADS

NAMES = ("PC-CQ1", "PC-F3", "PC-F6")
ALL = ("U", "mountain", "uniform", "U")
NONE = ("other",) * 4


def frames(shapes=ALL, largest=9.0, seeds=3, passed=True):
    rows = [
        {
            "encoding": "rope",
            "seed": seed,
            "layer": layer,
            "head": head,
            "shape": shapes[head],
            "passed": passed,
            "largest": largest + head / 100 + seed / 10,
        }
        for seed, layer, head in itertools.product(range(seeds), range(6), range(4))
    ]
    return {HEADS: pd.DataFrame(rows)}


def outcomes(name, given):
    return [each.outcome for each in CHECKS[name].judged(given)]


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_can_hold(name):
    assert set(outcomes(name, frames())) == {"agrees"}


def test_sentences_can_fail():
    assert outcomes("PC-CQ1", frames(NONE))[0] == "disagrees"
    assert "agrees" not in outcomes("PC-F3", frames(NONE))
    assert outcomes("PC-F3", frames(("U", "U", "U", "mountain"))) == ["agrees", "agrees", "undecided"]
    assert outcomes("PC-F6", frames(largest=2.0)) == ["disagrees"]


@pytest.mark.parametrize("name", NAMES)
def test_models_without_order_decide_nothing(name):
    judged = CHECKS[name].judged(frames(passed=False))
    assert {each.outcome for each in judged} == {"undecided"} and "gate missed" in judged[0].note
