"""Every law of notebook 06 holds and refutes a false variant of itself."""

import pytest

from attention_priors.checks import rotation_laws as laws


@pytest.mark.parametrize("name", laws.LAWS)
def test_every_law_holds_and_its_checker_can_say_no(name):
    assert laws.LAWS[name].judge().holds
    assert not laws.LAWS[name].judge_false().holds


def test_the_frame_shows_the_laws_asked_for():
    shown = laws.frame("2-D RoPE", "ReRoPE")
    assert shown.index.tolist() == ["2-D RoPE", "ReRoPE"] and shown["holds"].all()
