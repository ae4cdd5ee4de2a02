"""The protocol on broken generators and scorings."""

import contextlib

import pytest
import torch

from attention_priors.checks import CHECKS, bam_passkey_task
from attention_priors.tasks import passkey


def test_the_protocol_is_verified():
    decision = CHECKS["BAM-D7"].decide()
    assert decision.verdict == "verified" and len(decision.printed) == 5


@pytest.mark.parametrize("name", ["KEY_SENTENCE", "QUESTION", "DESCRIPTION"])
def test_a_generator_with_other_counts_is_found(name, monkeypatch):
    monkeypatch.setattr(passkey, name, getattr(passkey, name).replace(" the ", " the the ", 1))
    with contextlib.suppress(ValueError, RuntimeError):  # parts that do not fit together any more
        assert not bam_passkey_task.check_parts(bam_passkey_task.PRINTED).holds


def test_scores_that_shift_or_forgive_are_found():
    def shifted(model, tokens):
        guess = model(tokens[None], last=passkey.DIGITS).argmax(-1)[0]
        return bool((guess == tokens[-passkey.DIGITS :]).all())

    assert not bam_passkey_task.check_scoring(shifted).holds
    assert not bam_passkey_task.check_scoring(lambda model, tokens: True).holds
    assert not bam_passkey_task.check_scoring(lambda model, tokens: False).holds
    assert bam_passkey_task.all_right(bam_passkey_task.tiny_model(), torch.zeros(90, dtype=torch.long), needed=0)
