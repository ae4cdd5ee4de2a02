"""Every law of notebook 06 holds, refutes a near variant of itself and rests on another truth than its sentence."""

import pytest

from attention_priors.checks.rotations import laws


@pytest.mark.parametrize("name", laws.LAWS)
def test_every_law_holds_and_its_checker_can_say_no(name):
    law = laws.LAWS[name]
    assert law.objection() is None and law.decide("here").holds and law.circular() == []


def test_the_frame_shows_the_laws_asked_for():
    shown = laws.frame("2-D RoPE", "ReRoPE")
    assert shown.index.tolist() == ["2-D RoPE", "ReRoPE"] and shown["holds"].all()
    assert shown["cases"].tolist() == [6, 4]
