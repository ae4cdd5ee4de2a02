"""What eviction does by region and depth, in worlds where the paper is right, where not, and where none can tell."""

import itertools

import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.chunks.outliers import REGIONS
from attention_priors.experiments.parallel_profiles import (
    ALL,
    DEEP,
    DEPTHS,
    EARLY,
    ENDS,
    INTERMEDIATE,
    NONE,
    RECENCY,
    SINK,
)
from attention_priors.experiments.parallel_profiles import REGIONS as PARTS

NAME = "PC-CQ3ii"
# (region, layers): change of the distance, change of the middle, as the paper has them
PAPER = {(SINK, EARLY): (0.1, 0), (SINK, DEEP): (-0.1, 0), (RECENCY, INTERMEDIATE): (-0.1, 0),
         (RECENCY, DEEP): (0, 0.2), (ENDS, INTERMEDIATE): (-0.1, 0), (ALL, ALL): (-0.2, 0)}  # fmt: skip


def frames(sign=1, seeds=3, passed=True, evicted=0.02, but=()):
    """A little other for each seed and document; `but`: (region, layers) in which nothing exceeds the threshold."""
    rows = []
    for seed, document in itertools.product(range(seeds), range(2)):
        common = {"encoding": "rope", "seed": seed, "document": document, "passed": passed}
        for way in ((NONE, NONE), *itertools.product(PARTS, DEPTHS)):
            shift = sign * (1 + 0.01 * seed + 0.1 * document)
            distance, middle = (shift * change for change in PAPER.get(way, (0, 0)))
            gone = 0 if way == (NONE, NONE) or way in but else evicted
            rows.append(
                common
                | {
                    "region": way[0],
                    "layers": way[1],
                    "evicted": gone,
                    "distance": 0.4 + 0.05 * seed + distance,
                    "middle": 0.9 + middle,
                }
            )
    return {REGIONS: pd.DataFrame(rows)}


def outcomes(given):
    return [each.outcome for each in CHECKS[NAME].judged(given)]


def test_every_sentence_can_hold_and_fail():
    assert outcomes(frames()) == ["agrees"] * 6
    assert outcomes(frames(-1)) == ["disagrees"] * 6


@pytest.mark.parametrize("change", [{"seeds": 1}, {"passed": False}])
def test_one_seed_and_models_without_order_decide_nothing(change):
    judged = CHECKS[NAME].judged(frames(**change))
    assert {each.outcome for each in judged} == {"undecided"}
    assert change != {"passed": False} or all("gate missed: rope (seed 0, 1, 2)" in each.note for each in judged)


def test_where_there_is_no_outlier_nothing_is_decided():
    judged = CHECKS[NAME].judged(frames(but=[(RECENCY, DEEP)]))
    assert [each.outcome for each in judged] == ["agrees"] * 3 + ["undecided"] + ["agrees"] * 2
    assert judged[3].note == "no outlier there: seed 0, 1, 2"


def test_layers_that_a_model_lacks_are_undecided():
    made = frames()[REGIONS]
    judged = CHECKS[NAME].judged({REGIONS: made[made["layers"] != INTERMEDIATE]})
    assert [each.outcome for each in judged].count("undecided") == 2
