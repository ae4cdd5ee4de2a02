"""Goat's claims about resolution in worlds where they hold, where they fail, and where arms or seeds are missing."""

import pytest

from attention_priors.checks import CHECKS
from attention_priors.experiments.resolution import BARE, COUNTED, STRETCHED
from figures.test_resolution import FEW, share, world


def printed(name, ratio, places):
    """What the paper says: the table falls, Goat does not, and its prior is why."""
    if name == "goat-2d":
        return max(0.1, 0.98 - 0.4 * (ratio - 1)) if places == BARE else 0.98
    return max(0.1, 0.98 - 0.4 * (ratio - 1))


def reversed_(name, ratio, places):
    """The table gains, Goat falls, with its prior more than without."""
    if name == "learned-2d":
        return 0.96 if ratio == 1 else 1.0
    return max(0.1, 0.98 - (0.3 if places == BARE else 0.45) * (ratio - 1))


def outcomes(claim, made):
    return [each.outcome for each in CHECKS[claim].judged(made)]


def notes(claim, made):
    return [each.note for each in CHECKS[claim].judged(made)]


@pytest.mark.parametrize("claim", ["GOAT-F5", "GOAT-C-9"])
def test_worlds_where_it_holds_and_where_it_fails(claim) -> None:
    holds, fails = world(rule=printed), world(rule=reversed_, slope=0.3)
    assert set(outcomes(claim, holds)) == {"agrees"} and set(outcomes(claim, fails)) == {"disagrees"}
    assert CHECKS[claim].verdict("cpu", holds).outcome == "agrees"
    assert CHECKS[claim].verdict("cpu", fails).outcome == "disagrees"


def test_stretching_may_save_what_counting_loses() -> None:
    """The comparison with the table takes the better way, the cause that the paper names does not."""
    made = world(rule=share)
    assert outcomes("GOAT-F5", made) == ["agrees", "agrees", "agrees"]
    assert f"decided by places {STRETCHED}" in notes("GOAT-F5", made)[1]
    assert outcomes("GOAT-C-9", made)[0] == "disagrees"
    counted = world(rule=lambda name, ratio, places: share(name, ratio, COUNTED))
    assert outcomes("GOAT-F5", counted)[1] == "disagrees"


@pytest.mark.parametrize("claim", ["GOAT-F5", "GOAT-C-9"])
def test_what_missed_its_gate_one_seed_and_an_arm_that_is_not_there_decide_nothing(claim) -> None:
    lost = world(rule=lambda name, ratio, places: 0.9 * printed(name, ratio, places))
    assert set(outcomes(claim, lost)) == {"undecided"} and all("gate missed" in note for note in notes(claim, lost))
    alone = CHECKS[claim].verdict("cpu", world(rule=printed, seeds=1))
    assert alone.outcome == "undecided"
    assert "not in this profile: goat-2d" in notes(claim, world(FEW[:3], rule=printed))[1]


def test_with_a_class_token_alone_that_is_judged() -> None:
    assert outcomes("GOAT-F5", world(rule=printed, tokens=(True,))) == ["agrees"] * 3


def test_the_prior_is_held_against_a_uniform_one() -> None:
    found = CHECKS["GOAT-F5"].judged(world(rule=printed, slope=0.0))[2]
    assert found.estimate.value == pytest.approx(0.0) and found.outcome != "agrees"
