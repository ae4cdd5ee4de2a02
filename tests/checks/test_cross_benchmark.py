"""X-11: what decides it, and that it can be decided either way."""

import itertools

import pandas as pd
import pytest

from attention_priors.checks import cross_benchmark as x11
from attention_priors.experiments.benchmark import MULTIPLES

NAMES = [names[0] for names in x11.LISTED.values()]


def frames(names=NAMES, slope=1.0, multiples=MULTIPLES):
    rows = [(name, 128 * multiple, 128) for name, multiple in itertools.product(names, multiples)]
    by_length = pd.DataFrame(rows, columns=["encoding", "length", "trained"])
    tails = [(f"prior {i}", seed, 2048, 128, i / 9, 0.5 + slope * (i / 9 - 0.5)) for i in range(10) for seed in (0, 1)]
    columns = ["encoding", "seed", "length", "trained", "tail", "accuracy"]
    return {x11.BY_LENGTH: by_length, x11.TAILS: pd.DataFrame(tails, columns=columns)}


def test_order_and_coverage_together_agree():
    found = x11.verdict(frames())
    assert found.outcome == "agrees" and found.measured == pytest.approx(1) and found.seeds == (0, 1)


@pytest.mark.parametrize("given", [frames(NAMES[:-1]), frames(multiples=(1, 4)), frames(slope=0.0)])
def test_what_was_not_measured_or_has_no_spread_stays_open(given):
    assert x11.verdict(given).outcome == "undecided"


def test_what_is_missing_is_named():
    assert "without: NoPE" in x11.covered(frames([name for name in NAMES if name != "nope"])[x11.BY_LENGTH]).text


def test_priors_that_order_the_wrong_way_disagree_whatever_is_missing():
    assert x11.verdict(frames(NAMES[:-1], slope=-1.0)).outcome == "disagrees"


@pytest.mark.parametrize("slope", [-1.0, 0.0, 1.0])
def test_the_flip_changes_the_answer(slope):
    given = frames(slope=slope)
    assert x11.verdict(x11.flip(given)).outcome != x11.verdict(given).outcome
