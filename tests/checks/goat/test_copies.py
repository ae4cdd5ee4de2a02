"""Goat's claims about copies and sinks in worlds where they hold, where they fail, and where seeds or arms lack."""

from dataclasses import replace

import pytest

from attention_priors.checks import CHECKS
from checks.goat import copies

EMPIRICAL = ("GOAT-F1", "GOAT-EQ19", "GOAT-F2b", "GOAT-F2c", "GOAT-CSINK", "GOAT-C-11")


def outcome(name, frames):
    return CHECKS[name].verdict("full", frames).outcome


def found(name, frames):
    return [each.found for each in CHECKS[name].found(frames)]


def world(**changes):
    mine = {key: changes.pop(key) for key in list(changes) if key in copies.copying.__code__.co_varnames[:8]}
    return copies.copying(**mine) | copies.sinks(**changes)


@pytest.mark.parametrize("name", EMPIRICAL)
def test_they_hold_where_goat_does_as_it_says(name):
    assert outcome(name, world()) == "agrees"


@pytest.mark.parametrize(
    ("name", "change", "place"),
    [
        ("GOAT-F1", {"first": 0.5}, 0),
        ("GOAT-F1", {"previous": 0.5}, 1),
        ("GOAT-F1", {"u_peak": 7}, 2),
        ("GOAT-F1", {"kappa_peak": 3}, 3),
        ("GOAT-EQ19", {"far": 0.3}, 1),
        ("GOAT-F2b", {"spike": -1.0}, 0),
        ("GOAT-F2c", {"start": 0.2}, 1),
        ("GOAT-F2c", {"left": 0.4}, 2),
        ("GOAT-F2c", {"default": 0.0, "left": 0.09}, 3),
        ("GOAT-F2c", {"rope": 0.0, "left": 0.09}, 4),
        ("GOAT-CSINK", {"norm": 0.7}, 0),
        ("GOAT-CSINK", {"norm": 0.7}, 3),
        ("GOAT-CSINK", {"content": 0.97}, 2),
        ("GOAT-C-11", {"content": -0.1}, 0),
        ("GOAT-C-11", {"cost": 0.2}, 1),
    ],
)
def test_each_sentence_can_fail(name, change, place):
    frames = world(**change)
    assert found(name, frames)[place] == "disagrees" and outcome(name, frames) == "disagrees"


def test_a_line_of_u_decides_nothing():
    falling = world(rise=-1.0)
    assert found("GOAT-F2b", falling)[2] == "disagrees" and outcome("GOAT-F2b", falling) == "agrees"


@pytest.mark.parametrize("name", EMPIRICAL)
def test_one_seed_decides_nothing(name):
    frames = {key: frame[frame["seed"] == 0] if "seed" in frame else frame for key, frame in world().items()}
    assert outcome(name, frames) == "undecided"


def test_models_that_have_not_copied_decide_nothing_about_priors():
    frames = world(excess=0.06)
    assert found("GOAT-F1", frames) == ["undecided"] * 4
    note = CHECKS["GOAT-F1"].judged(frames)[0].note
    assert "no model of goat-eight has copied" in note
    some = world(excess=0.048)
    assert "3 of 5 models have copied" in CHECKS["GOAT-F1"].judged(some)[0].note


def test_without_a_head_that_sinks_nothing_is_said_of_sinks():
    assert found("GOAT-CSINK", world(mass=0.1))[:2] == ["undecided"] * 2
    notes = [each.note for each in CHECKS["GOAT-CSINK"].judged(world(mass=0.1))]
    assert "no head of rope sinks" in notes[0] and "no head of alibi sinks" in notes[1]


@pytest.mark.parametrize(("lacking", "name", "place"), [("goat-no-sink", "GOAT-C-11", 0), ("alibi", "GOAT-F2c", 3)])
def test_a_row_that_is_not_there_or_missed_its_gate_leaves_its_sentence_open(lacking, name, place):
    frames = world()
    gone = {key: frame[frame["encoding"] != lacking] for key, frame in frames.items()}
    missed = {key: frame.assign(passed=frame["encoding"] != lacking) for key, frame in frames.items()}
    for each in (gone, missed):
        assert found(name, each)[place] == "undecided"


def test_forms_for_another_training_length_stand_for_theirs():
    frames = {key: frame.replace({"encoding": {"goat-code": "goat-code-2048"}}) for key, frame in world().items()}
    assert found("GOAT-F2b", frames) == ["agrees"] * 3


def test_two_ranks_make_the_printed_dimensions():
    law, found = CHECKS["GOAT-TAB1"].laws[0]
    assert found.holds and not replace(law, cases=[{"relative": 2, "absolute": 2}]).judge().holds  # 2R + 2
