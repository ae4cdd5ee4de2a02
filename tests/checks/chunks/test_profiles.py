"""Claims on where attention goes in chunks, in worlds where they hold, where they fail, and without order or seeds."""

import itertools

import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.chunks.profiles import BIASES, EFFECTIVE
from attention_priors.experiments.parallel_profiles import APART, CALIBRATED, GLOBAL, KINDS, LOCAL, PLAIN, WHOLE

NAMES = ("PC-DISC", "PC-CQ2", "PC-CQ3i", "PC-C18", "PC-F1", "PC-F4", "PC-F5")
# kind: sink, recency, peaks, repeats, distance, largest
HOLDS = {PLAIN: (2.0, 4.0, 2, 0.5, 0.40, 4), LOCAL: (1.5, 3.0, 4, 1.0, 0.45, 2), GLOBAL: (1.5, 2.0, 8, 1.0, 0.3, 2),
         WHOLE: (3.0, 5.0, 2, 0.5, 0.60, 5), APART: (1.8, 2.5, 8, 1.0, 0.4, 3),
         CALIBRATED: (1.2, 2.2, 8, 1.0, 0.35, 2)}  # fmt: skip
FAILS = {PLAIN: (0.5, 0.8, 8, 0.0, 0.40, 4), LOCAL: (0.5, 0.8, 8, 0.0, 0.2, 2), GLOBAL: (0.95, 0.9, 2, 0.0, 0.6, 2),
         WHOLE: (3.0, 5.0, 2, 0.5, 0.30, 5), APART: (1.8, 2.5, 8, 1.0, 0.4, 3),
         CALIBRATED: (1.2, 2.2, 8, 1.0, 0.35, 4)}  # fmt: skip
COLUMNS = ("sink", "recency", "peaks", "repeats", "distance", "largest")


def frames(world, effective=(3.0, 2.0, 1.0), seeds=3, passed=True):
    """A little other for each seed and document."""
    biased, counts = [], []
    for seed, document in itertools.product(range(seeds), range(2)):
        common = {"encoding": "rope", "seed": seed, "document": document, "passed": passed}
        shift = 1 + 0.001 * seed + 0.01 * document
        for kind in KINDS:
            own = {name: value * shift for name, value in zip(COLUMNS, world[kind], strict=True)}
            biased.append(common | {"kind": kind} | own)
        counts += [
            common | {"window": window, "entries": entries * shift}
            for window, entries in zip((64, 128, 256), effective, strict=True)
        ]
    return {BIASES: pd.DataFrame(biased), EFFECTIVE: pd.DataFrame(counts)}


def outcomes(name, given):
    return {each.outcome for each in CHECKS[name].judged(given)}


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_can_hold(name):
    assert outcomes(name, frames(HOLDS)) == {"agrees"}


@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_can_fail(name):
    found = [each.outcome for each in CHECKS[name].judged(frames(FAILS, effective=(10.0, 20.0, 30.0)))]
    # the recency of joined chunks is below both bounds and above neither sink nor that of ordinary attention
    assert set(found) == {"disagrees"}, dict(zip([each.text for each in CHECKS[name].sentences], found, strict=True))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [{"seeds": 1}, {"passed": False}])
def test_one_seed_and_models_without_order_decide_nothing(name, change):
    judged = CHECKS[name].judged(frames(HOLDS, **change))
    assert {each.outcome for each in judged} == {"undecided"}
    assert change != {"passed": False} or all("gate missed: rope (seed 0, 1, 2)" in each.note for each in judged)
